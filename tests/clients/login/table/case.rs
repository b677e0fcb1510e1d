//! A row of the table.

use super::difference::Difference;
use super::speaker::Who;

/// The password of each account, unless it has none.
pub const PASSWORD: &str = "secret one, of thirty-two bytes.";
/// That of accounts with another one, too.
pub const SECOND: &str = "secret two, of thirty-two bytes.";
const WRONG: &str = "no secret, but of thirty-two too";

/// How the proxy reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    /// Plain, with the server's RSA key in the rules.
    Key,
    Tls,
    Socket,
}

/// Whether the client speaks TLS, and how the proxy reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub tls: bool,
    pub way: Way,
}

/// Where there is a difference by design, and which.
pub type ByDesign = (fn(Column) -> bool, &'static Difference);

/// A way to log in, what the server says to it directly, and what a proxy changes by design.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub who: Who,
    /// What a plain client and one with TLS are told directly.
    pub direct: [&'static str; 2],
    /// Whether nobody becomes it by COM_CHANGE_USER: it is the connection that is refused.
    pub login_only: bool,
    /// Statements of root: before the first login, before each, and after the last.
    pub before: &'static [&'static str],
    pub each: &'static [&'static str],
    pub after: &'static [&'static str],
    /// The password of a direct login before the first, by which the server knows the account's.
    pub prior: Option<&'static str>,
    /// Whether one with a wrong password follows it.
    pub fails: bool,
    /// Whether that session is kept meanwhile.
    pub holds: bool,
    /// Whether clients with TLS have a certificate.
    pub certified: bool,
    pub differs: &'static [ByDesign],
}

impl Case {
    /// With the right password, by a client that can do everything.
    pub const fn new(name: &'static str, user: &'static str, direct: &'static str) -> Self {
        Self {
            name,
            who: Who {
                user,
                passwords: &[PASSWORD],
                schema: None,
                announces: None,
                handles_expired: true,
                knows_plugins: true,
                from: 1,
                says: None,
            },
            direct: [direct; 2],
            login_only: false,
            before: &[],
            each: &[],
            after: &[],
            prior: Some(PASSWORD),
            holds: false,
            fails: false,
            certified: false,
            differs: &[],
        }
    }

    pub const fn wrong(mut self) -> Self {
        self.who.passwords = &[WRONG];
        self
    }

    pub const fn empty(mut self) -> Self {
        self.who.passwords = &[""];
        self.prior = None;
        self
    }

    pub const fn passwords(mut self, passwords: &'static [&'static str]) -> Self {
        self.who.passwords = passwords;
        self
    }

    pub const fn schema(mut self, schema: &'static str) -> Self {
        self.who.schema = Some(schema);
        self
    }

    pub const fn announces(mut self, plugin: &'static str) -> Self {
        self.who.announces = Some(plugin);
        self
    }

    pub const fn cannot_handle_expired(mut self) -> Self {
        self.who.handles_expired = false;
        self
    }

    pub const fn knows_no_plugins(mut self) -> Self {
        self.who.knows_plugins = false;
        self
    }

    pub const fn of_another_host(mut self) -> Self {
        self.who.from = 2;
        self
    }

    pub const fn says(mut self, statement: &'static str) -> Self {
        self.who.says = Some(statement);
        self
    }

    /// If clients with TLS are told something else directly.
    pub const fn over_tls(mut self, direct: &'static str) -> Self {
        self.direct[1] = direct;
        self
    }

    pub const fn login_only(mut self) -> Self {
        self.login_only = true;
        self
    }

    pub const fn before(mut self, statements: &'static [&'static str]) -> Self {
        self.before = statements;
        self
    }

    /// Before each login; nobody has logged in then.
    pub const fn each(mut self, statements: &'static [&'static str]) -> Self {
        self.each = statements;
        self.prior = None;
        self
    }

    pub const fn after(mut self, statements: &'static [&'static str]) -> Self {
        self.after = statements;
        self
    }

    pub const fn holds(mut self) -> Self {
        self.holds = true;
        self
    }

    pub const fn fails(mut self) -> Self {
        self.fails = true;
        self
    }

    pub const fn prior(mut self, password: &'static str) -> Self {
        self.prior = Some(password);
        self
    }

    pub const fn certified(mut self) -> Self {
        self.certified = true;
        self
    }

    pub const fn differs(mut self, differs: &'static [ByDesign]) -> Self {
        self.differs = differs;
        self
    }

    /// The difference that there is by design in this column.
    pub fn difference(&self, column: Column) -> Option<&'static Difference> {
        let mut differs = self.differs.iter();
        differs.find_map(|(is_there, difference)| is_there(column).then_some(*difference))
    }
}

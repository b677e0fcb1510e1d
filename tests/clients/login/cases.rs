//! Who logs in, and what the server says to it.

use countersink_sandbox::Flavour;

use crate::login::client::Kind;
use crate::login::upstream::{PASSWORD, SECOND_PASSWORD, Upstream};

/// A way to log in.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    account: Account,
    pub password: &'static str,
    pub answer: Answer,
}

#[derive(Clone, Copy, Debug)]
enum Account {
    Named(&'static str),
    /// A new one each time.
    Cold,
}

/// What becomes of a login that is made directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Welcome,
    /// Error 1045 by the server.
    Denied,
    /// The client gives up by itself, for it does not know the plugin.
    Unable,
}

use Account::{Cold, Named};
use Answer::{Denied, Unable, Welcome};

const fn case(
    name: &'static str,
    account: Account,
    password: &'static str,
    answer: Answer,
) -> Case {
    Case {
        name,
        account,
        password,
        answer,
    }
}

const MYSQL: &[Case] = &[
    case("caching_sha2_password, cold", Cold, PASSWORD, Welcome),
    case(
        "caching_sha2_password, warm",
        Named("warm"),
        PASSWORD,
        Welcome,
    ),
    case(
        "caching_sha2_password, cold, wrong password",
        Cold,
        "wrong",
        Denied,
    ),
    case(
        "caching_sha2_password, warm, wrong password",
        Named("warm"),
        "wrong",
        Denied,
    ),
    case(
        "caching_sha2_password, empty password",
        Named("passwordless"),
        "",
        Welcome,
    ),
    case(
        "caching_sha2_password, a password where none is",
        Named("passwordless"),
        "wrong",
        Denied,
    ),
    case(
        "caching_sha2_password, none where a password is",
        Named("warm"),
        "",
        Denied,
    ),
    case("sha256_password", Named("sha256"), PASSWORD, Welcome),
    case(
        "sha256_password, wrong password",
        Named("sha256"),
        "wrong",
        Denied,
    ),
    case(
        "sha256_password, empty password",
        Named("empty_sha256"),
        "",
        Welcome,
    ),
    case(
        "sha256_password, none where a password is",
        Named("sha256"),
        "",
        Denied,
    ),
    case("unknown user", Named("nobody"), "wrong", Denied),
    case("unknown user, no password", Named("nobody"), "", Denied),
];

const MARIADB: &[Case] = &[
    case("mysql_native_password", Named("native"), PASSWORD, Welcome),
    case(
        "mysql_native_password, wrong password",
        Named("native"),
        "wrong",
        Denied,
    ),
    case(
        "mysql_native_password, none where a password is",
        Named("native"),
        "",
        Denied,
    ),
    case("empty password", Named("passwordless"), "", Welcome),
    case(
        "a password where none is",
        Named("passwordless"),
        "wrong",
        Denied,
    ),
    case("ed25519", Named("ed"), PASSWORD, Welcome),
    case("ed25519, wrong password", Named("ed"), "wrong", Denied),
    case("ed25519 of two plugins", Named("either"), PASSWORD, Welcome),
    case(
        "mysql_native_password of two plugins",
        Named("either"),
        SECOND_PASSWORD,
        Welcome,
    ),
    case("unknown user", Named("nobody"), "wrong", Denied),
    case("unknown user, no password", Named("nobody"), "", Denied),
];

impl Case {
    /// All that there are for this family's servers.
    pub fn all(flavour: Flavour) -> &'static [Self] {
        match flavour {
            Flavour::MySql => MYSQL,
            Flavour::MariaDb => MARIADB,
        }
    }

    /// The account to log in with this time.
    pub fn user(&self, upstream: &Upstream) -> String {
        match self.account {
            Named(name) => name.to_owned(),
            Cold => upstream.cold_account(),
        }
    }

    /// What becomes of it with this client: some lack plugins.
    pub fn answer_to(&self, client: Kind) -> Answer {
        // An unknown user goes through the motions of a plugin that MariaDB chooses by the name: for `nobody` native.
        let is_ed25519 = ["ed", "either"]
            .iter()
            .any(|name| matches!(self.account, Named(account) if account == *name));
        match (client, self.name) {
            (Kind::Mysql | Kind::Mysql2, _) if is_ed25519 => Unable,
            // mysql2 sends a password of no letters where MySQL expects none.
            (Kind::Mysql2, "sha256_password, empty password") => Denied,
            // PyMySQL follows one change of plugin only.
            (Kind::PyMySql, "mysql_native_password of two plugins") => Unable,
            _ => self.answer,
        }
    }
}

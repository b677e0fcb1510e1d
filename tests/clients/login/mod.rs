//! The connection phase: who logs in directly logs in through the proxy, and who is refused is refused alike.
//!
//! Each client logs in with each plugin, password right, wrong, empty or missing, over TLS and plain; directly and
//! through proxies that reach the server plain, over TLS and over its unix socket. What it sees must be the same, its
//! ordinary session (tests/clients) included, but for the host that errors name: the server sees the proxy's.
//!
//! The drivers are fetched by pip and npm; where Python or Node.js is missing their tests say so and pass, except in
//! CI.

mod cases;
mod certificates;
mod client;
mod hostile;
mod proxy_protocol;
mod raw;
mod said;
mod socket_accounts;
mod table;
mod tls;
mod upstream;

use std::io::Write;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

use countersink_sandbox::Flavour;

use cases::{Answer, Case};
use client::{Client, Kind, Login};
use said::Said;
use upstream::{PASSWORD, Proxy, Upstream, Way};

/// The most findings that a test shows.
const MOST_SHOWN: usize = 12;

macro_rules! clients {
    ($flavour:ident: $($name:ident $kind:ident),* $(,)?) => {
        $(#[test] fn $name() { super::compare(super::Flavour::$flavour, super::Kind::$kind); })*
    };
}

mod mysql_admits_and_refuses_alike {
    clients!(MySql: mysql Mysql, mariadb Mariadb, pymysql PyMySql, mysql2 Mysql2, mariadb_node MariadbNode);
}

mod mariadb_admits_and_refuses_alike {
    clients!(MariaDb: mysql Mysql, mariadb Mariadb, pymysql PyMySql, mysql2 Mysql2, mariadb_node MariadbNode);
}

/// `mysql` asks nobody for a key unless told to: it shows which logins the server takes for cold.
#[test]
fn a_cold_password_is_not_sent_in_the_clear() {
    let _cache = cache_may_be_flushed();
    let upstream = Upstream::of(Flavour::MySql);
    let mut client = Client::without_key();
    let mut login = |port, user: &str| login_with(&mut client, port, user, false);
    upstream.warm("warm_two", PASSWORD);
    for port in plain_ports(upstream) {
        assert!(login(port, "warm_two").ok, "port {port}: warm");
        let said = login(port, &upstream.cold_account());
        assert_eq!(
            (said.code, said.message.as_str()),
            (
                Some(2061),
                "Authentication plugin 'caching_sha2_password' reported error: \
                 Authentication requires secure connection."
            )
        );
    }
}

/// And a login over TLS through the proxy, by which the server fills its cache, makes the account warm for everyone.
#[test]
fn after_flush_privileges_everyone_is_cold() {
    let _cache = cache_may_be_flushed();
    let upstream = Upstream::of(Flavour::MySql);
    let mut client = Client::without_key();
    for way in [Way::Plain, Way::Tls, Way::Socket] {
        let (plain, tls) = (
            upstream.proxy(way, false).port,
            upstream.proxy(way, true).port,
        );
        upstream.warm("warm_two", PASSWORD);
        upstream.administer("FLUSH PRIVILEGES");
        let said = login_with(&mut client, plain, "warm_two", false);
        assert_eq!(said.code, Some(2061), "{way:?}: cold");
        let said = login_with(&mut client, tls, "warm_two", true);
        assert!(said.ok, "{way:?}: over TLS {said:?}");
        let said = login_with(&mut client, plain, "warm_two", false);
        assert!(said.ok, "{way:?}: warm {said:?}");
    }
    upstream.warm("warm", PASSWORD);
    upstream.warm(client::OTHER.0, client::OTHER.1);
}

/// A documented limit: the server judges REQUIRE SSL by the connection that it sees, which is the proxy's own.
#[test]
fn require_ssl_is_judged_on_the_proxys_own_connection() {
    for flavour in Flavour::ALL {
        let upstream = Upstream::of(flavour);
        let mut client = Client::obtain(Kind::Mariadb).expect("the sandbox's own");
        for proxy in &upstream.proxies {
            let said = login_with(&mut client, proxy.port, "needs_tls", proxy.offers_tls);
            assert_eq!(
                said.ok,
                proxy.way == Way::Tls || proxy.way == Way::AsClient && proxy.offers_tls,
                "{flavour} {proxy:?}: {said:?}"
            );
        }
    }
}

/// The certificates that MySQL makes for itself name no host, and the one that MariaDB is given names another one.
#[test]
fn tls_toward_the_server_can_be_required_with_certificates_for_no_name() {
    for flavour in Flavour::ALL {
        let upstream = Upstream::of(flavour);
        let port = upstream.start_proxy_that_requires(&upstream.authority());
        let mut client = Client::obtain(Kind::Mariadb).expect("the sandbox's own");
        let said = login_with(&mut client, port.expect("it starts"), "needs_tls", false);
        assert!(said.ok && !said.upstream_cipher.is_empty(), "{said:?}");
    }
}

/// Unless the rules have it otherwise: MariaDB's here is for localhost, and MySQL's for nobody.
#[test]
fn the_host_that_the_certificate_names_can_be_verified() {
    for flavour in Flavour::ALL {
        let upstream = Upstream::of(flavour);
        let ca = upstream.authority();
        let rules = format!("mode: required, verify_host: true, ca: '{}'", ca.display());
        let error = upstream.start_proxy_with("127.0.0.1", &rules);
        let text = error.expect_err("it is for another host").to_string();
        assert!(text.starts_with("upstream_tls: "), "{flavour}: {text}");
        let named = upstream.start_proxy_with("localhost", &rules);
        assert_eq!(named.is_ok(), flavour == Flavour::MariaDb, "{named:?}");
    }
}

/// Nothing is bridged for a client without TLS, so the server's own key is the right one.
#[test]
fn as_the_client_a_key_of_the_servers_own_works() {
    let upstream = Upstream::of(Flavour::MySql);
    let key = upstream.server.data_folder().join("public_key.pem");
    let option = format!("--server-public-key-path={}", key.display());
    let _cache = cache_is_kept();
    let login = |way| {
        let port = upstream.proxy(way, true).port;
        let mut client = Client::with_option(&option);
        login_with(&mut client, port, &upstream.cold_account(), false)
    };
    assert!(login(Way::AsClient).ok);
    let said = login(Way::Tls);
    assert!(said.message.contains("server-public-key-path"), "{said:?}");
}

#[test]
fn tls_toward_the_server_is_refused_when_another_authority_is_required() {
    for (flavour, other) in [
        (Flavour::MySql, Flavour::MariaDb),
        (Flavour::MariaDb, Flavour::MySql),
    ] {
        let upstream = Upstream::of(flavour);
        let error = upstream.start_proxy_that_requires(&Upstream::of(other).authority());
        let text = error.expect_err("it does not start").to_string();
        assert!(text.starts_with("upstream_tls: "), "{flavour}: {text}");
    }
}

/// The logins of the matrix count on what the server has in its cache.
fn cache_is_kept() -> RwLockReadGuard<'static, ()> {
    CACHE.read().unwrap_or_else(PoisonError::into_inner)
}

fn cache_may_be_flushed() -> RwLockWriteGuard<'static, ()> {
    CACHE.write().unwrap_or_else(PoisonError::into_inner)
}

static CACHE: RwLock<()> = RwLock::new(());

fn login_with(client: &mut Client, port: u16, user: &str, tls: bool) -> Said {
    let login = Login {
        port,
        user,
        password: PASSWORD,
        tls,
        changes_user: false,
    };
    let said = client.login(&login);
    said.unwrap_or_else(|error| panic!("{login:?}: {error}"))
}

fn plain_ports(upstream: &Upstream) -> Vec<u16> {
    let proxies = upstream.proxies.iter().map(|proxy| proxy.port);
    std::iter::once(upstream.server.port)
        .chain(proxies)
        .collect()
}

/// Makes every login of this client, and compares.
fn compare(flavour: Flavour, kind: Kind) {
    if let Err(reason) = Client::obtain(kind) {
        return skip(kind, &reason);
    }
    let upstream = Upstream::of(flavour);
    let _cache = cache_is_kept();
    let found = thread::scope(|scope| {
        [false, true]
            .map(|tls| scope.spawn(move || Run::new(upstream, kind, tls).all()))
            .map(|run| run.join().expect("the comparison ends"))
    });
    let [plain, tls] = found;
    let (logins, differences) = (plain.logins + tls.logins, [plain.found, tls.found].concat());
    say(&format!("{flavour}: {kind:?} made {logins} logins"));
    assert!(
        differences.is_empty(),
        "{} findings in {logins} logins; the first:\n{}",
        differences.len(),
        differences[..differences.len().min(MOST_SHOWN)].join("\n")
    );
}

fn skip(kind: Kind, reason: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{kind:?} is not tested: {reason}"
    );
    say(&format!("SKIPPED: {kind:?} is not tested: {reason}"));
}

/// Past libtest, which hides what passing tests print.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr");
}

/// The logins of one client, all over TLS or all plain.
struct Run {
    upstream: &'static Upstream,
    kind: Kind,
    client: Client,
    tls: bool,
    logins: usize,
    found: Vec<String>,
}

impl Run {
    fn new(upstream: &'static Upstream, kind: Kind, tls: bool) -> Self {
        Self {
            upstream,
            kind,
            client: Client::obtain(kind).expect("it was there a moment ago"),
            tls,
            logins: 0,
            found: Vec::new(),
        }
    }

    fn all(mut self) -> Self {
        for case in Case::all(self.upstream.server.flavour) {
            let Some(direct) = self.direct(case) else {
                continue;
            };
            for proxy in &self.upstream.proxies {
                if self.uses(proxy) {
                    self.proxied(case, proxy, &direct);
                }
            }
        }
        self
    }

    /// What the client sees through a proxy, which must be what it sees directly.
    fn proxied(&mut self, case: &Case, proxy: &Proxy, direct: &Said) {
        let place = format!("{proxy:?}");
        let upstream_tls = match proxy.way {
            Way::Tls => true,
            Way::AsClient => self.tls,
            Way::Plain | Way::Socket => false,
        };
        let said = self.login(case, &place, proxy.port, upstream_tls);
        if let Some(said) = said
            && said != *direct
        {
            let what = format!("\n  direct  {direct:?}\n  proxied {said:?}");
            self.report(case, &place, &what);
        }
    }

    /// A client over TLS needs a proxy that offers it. A plain one meets that too, but on one way only: the others add
    /// nothing but time.
    fn uses(&self, proxy: &Proxy) -> bool {
        proxy.offers_tls == self.tls || proxy.offers_tls && proxy.way == Way::Tls
    }

    /// What the client sees without a proxy, which must be what the case says.
    fn direct(&mut self, case: &Case) -> Option<Said> {
        let said = self.login(case, "direct", self.upstream.server.port, self.tls)?;
        let answer = match (said.ok, said.code) {
            (true, _) => Answer::Welcome,
            (false, Some(1045)) => Answer::Denied,
            (false, _) => Answer::Unable,
        };
        let expected = case.answer_to(self.kind);
        if answer != expected {
            self.report(
                case,
                "direct",
                &format!("should be {expected:?}, is {said:?}"),
            );
        }
        Some(said)
    }

    /// Logs in; what can be compared of what was said.
    fn login(&mut self, case: &Case, place: &str, port: u16, upstream_tls: bool) -> Option<Said> {
        let user = case.user(self.upstream);
        let login = Login {
            port,
            user: &user,
            password: case.password,
            tls: self.tls,
            changes_user: self.changes_user(),
        };
        self.logins += 1;
        match self.client.login(&login) {
            Ok(said) => {
                for fault in said.faults(&login, upstream_tls) {
                    self.report(case, place, &format!("{fault}: {said:?}"));
                }
                Some(said.comparable(&user))
            }
            Err(error) => {
                self.report(case, place, &error);
                None
            }
        }
    }

    /// COM_CHANGE_USER is for drivers that have it; MariaDB's has it for MariaDB only.
    fn changes_user(&self) -> bool {
        match self.kind {
            Kind::Mysql2 => true,
            Kind::MariadbNode => self.upstream.server.flavour == Flavour::MariaDb,
            Kind::Mysql | Kind::Mariadb | Kind::PyMySql => false,
        }
    }

    fn report(&mut self, case: &Case, place: &str, what: &str) {
        let tls = if self.tls { "TLS" } else { "plain" };
        self.found
            .push(format!("{}, {tls}, {place}: {what}", case.name));
    }
}

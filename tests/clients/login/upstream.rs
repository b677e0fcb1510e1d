//! A server of each family that has TLS and an account for each way to log in, and the proxies in front of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersink::cli;
use countersink::config::Config;
use countersink::counter::control::Control;
use countersink::server;
use countersink_sandbox::{Flavour, Server};
use tokio::runtime::Runtime;

use crate::login::client::{Client, Kind, Login, OTHER, SCHEMA};
use crate::support::twin;

/// Accounts that nobody has logged in with yet. The matrix takes 110: two cases of five clients, each
/// 2 times directly and 9 through proxies.
const COLD_ACCOUNTS: usize = 140;
/// The password of each account, cold ones too, unless it has none.
pub const PASSWORD: &str = "secret one";
/// Of the account that MariaDB checks in either of two ways.
pub const SECOND_PASSWORD: &str = "secret two";

/// How the proxy reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    Tls,
    /// In TLS for clients that have it.
    AsClient,
    Socket,
}

/// A proxy.
#[derive(Debug)]
pub struct Proxy {
    pub way: Way,
    pub offers_tls: bool,
    pub port: u16,
}

/// A server and the proxies in front of it; they go with the process.
#[derive(Debug)]
pub struct Upstream {
    pub server: Server,
    pub proxies: Vec<Proxy>,
    next_cold: AtomicUsize,
    runtime: Runtime,
}

impl Upstream {
    /// The one of this family, started at first.
    pub fn of(flavour: Flavour) -> &'static Self {
        static MYSQL: OnceLock<Upstream> = OnceLock::new();
        static MARIADB: OnceLock<Upstream> = OnceLock::new();
        let upstream = match flavour {
            Flavour::MySql => &MYSQL,
            Flavour::MariaDb => &MARIADB,
        };
        upstream.get_or_init(|| Self::start(flavour))
    }

    fn start(flavour: Flavour) -> Self {
        let server = start_server(flavour);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("proxies")
            .enable_all()
            .build()
            .expect("a runtime");
        let mut upstream = Self {
            server,
            proxies: Vec::new(),
            next_cold: AtomicUsize::new(0),
            runtime,
        };
        upstream.make_accounts();
        upstream.start_proxies();
        upstream
    }

    fn start_proxies(&mut self) {
        for way in [Way::Plain, Way::Tls, Way::AsClient, Way::Socket] {
            for offers_tls in [false, true] {
                let rules = rules(&self.server, way, offers_tls);
                let port = self.runtime.block_on(start_proxy(&rules));
                let port = port.unwrap_or_else(|error| panic!("{error} with:\n{rules}"));
                self.proxies.push(Proxy {
                    way,
                    offers_tls,
                    port,
                });
            }
        }
    }

    /// One more proxy, which trusts only what this certificate has signed; its port.
    pub fn start_proxy_that_requires(&self, ca: &Path) -> Result<u16, cli::Error> {
        let tls = format!("mode: required, ca: '{}'", ca.display());
        self.start_proxy_with("127.0.0.1", &tls)
    }

    /// One more proxy, which reaches the server by this name, with this `upstream_tls`; its port.
    pub fn start_proxy_with(&self, host: &str, upstream_tls: &str) -> Result<u16, cli::Error> {
        let upstream_tls = format!("upstream_tls: {{{upstream_tls}}}\n");
        let rules = rules_of(&format!("{host}:{}", self.server.port), &upstream_tls);
        self.runtime.block_on(start_proxy(&rules))
    }

    /// The certificate that signed the server's.
    pub fn authority(&self) -> PathBuf {
        match self.server.flavour {
            Flavour::MySql => self.server.data_folder().join("ca.pem"),
            Flavour::MariaDb => certificate_file("cert.pem"),
        }
    }

    /// The proxy that goes this way.
    pub fn proxy(&self, way: Way, offers_tls: bool) -> &Proxy {
        self.proxies
            .iter()
            .find(|proxy| proxy.way == way && proxy.offers_tls == offers_tls)
            .expect("there is one of each")
    }

    /// An account whose password the server does not have in its cache.
    pub fn cold_account(&self) -> String {
        let number = self.next_cold.fetch_add(1, Ordering::Relaxed);
        assert!(number < COLD_ACCOUNTS, "COLD_ACCOUNTS is too small");
        cold_account(number)
    }

    /// Runs statements as root.
    pub fn administer(&self, statements: &str) {
        let mut client = twin::installation(self.server.flavour)
            .client()
            .expect("the sandbox fetches the client too")
            .args(self.server.client_options())
            .stdin(Stdio::piped())
            .spawn()
            .expect("the client runs");
        let mut input = client.stdin.take().expect("stdin is piped");
        input
            .write_all(statements.as_bytes())
            .expect("the client reads");
        drop(input);
        let status = client.wait().expect("the client ends");
        assert!(status.success(), "{status}: {statements}");
    }

    /// Logs in directly and over TLS, after which the server has the password in its cache.
    pub fn warm(&self, user: &str, password: &str) {
        let mut client = Client::obtain(Kind::Mysql).expect("the sandbox's own");
        let login = Login {
            port: self.server.port,
            user,
            password,
            tls: true,
            changes_user: false,
        };
        let said = client.login(&login);
        assert!(said.as_ref().is_ok_and(|said| said.ok), "{user}: {said:?}");
    }

    fn make_accounts(&self) {
        let (other, secret) = OTHER;
        match self.server.flavour {
            Flavour::MySql => {
                let cold: Vec<_> = (0..COLD_ACCOUNTS)
                    .map(|number| format!("{}@'%' IDENTIFIED BY '{PASSWORD}'", cold_account(number)))
                    .collect();
                self.administer(&format!(
                    "CREATE DATABASE {SCHEMA};
                     CREATE USER warm@'%' IDENTIFIED BY '{PASSWORD}', warm_two@'%' IDENTIFIED BY '{PASSWORD}',
                       {other}@'%' IDENTIFIED BY '{secret}', passwordless@'%' IDENTIFIED BY '', {};
                     CREATE USER sha256@'%' IDENTIFIED WITH sha256_password BY '{PASSWORD}',
                       empty_sha256@'%' IDENTIFIED WITH sha256_password BY '';
                     CREATE USER needs_tls@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL;",
                    cold.join(", ")
                ));
            }
            Flavour::MariaDb => self.administer(&format!(
                "CREATE DATABASE {SCHEMA};
                 CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{PASSWORD}'),
                   {other}@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{secret}'), passwordless@'%',
                   ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}'),
                   either@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')
                     OR mysql_native_password USING PASSWORD('{SECOND_PASSWORD}');
                 CREATE USER needs_tls@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL;"
            )),
        }
        self.administer(&format!(
            "CREATE TABLE {SCHEMA}.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)"
        ));
        let query = format!(
            "SELECT CONCAT('GRANT ALL ON {SCHEMA}.* TO ', User, '@''%'';') FROM mysql.user WHERE Host = '%'"
        );
        let grants = twin::installation(self.server.flavour)
            .client()
            .expect("the sandbox fetches the client too")
            .args(self.server.client_options())
            .args(["-N", "-B", "-e", &query])
            .output()
            .expect("the client runs");
        self.administer(&String::from_utf8(grants.stdout).expect("names are ASCII"));
        if self.server.flavour == Flavour::MySql {
            self.warm("warm", PASSWORD);
            self.warm(other, secret);
        }
    }
}

fn cold_account(number: usize) -> String {
    format!("cold_{number}")
}

/// MySQL makes itself a certificate; MariaDB 10.11 is given one.
fn start_server(flavour: Flavour) -> Server {
    let installation = twin::installation(flavour);
    let mut options = twin::options();
    if flavour == Flavour::MariaDb {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
            .expect("a certificate for MariaDB");
        let (certificate, key) = (certificate_file("cert.pem"), certificate_file("key.pem"));
        fs::write(&certificate, made.cert.pem()).expect("a file");
        fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
        options.extra.extend([
            format!("--ssl-cert={}", certificate.display()),
            format!("--ssl-key={}", key.display()),
            "--plugin-load-add=auth_ed25519".to_owned(),
        ]);
    }
    Server::start(&installation, &options).expect("a server")
}

fn certificate_file(name: &str) -> PathBuf {
    let folder = twin::folder().join("login");
    fs::create_dir_all(&folder).expect("a folder in target");
    folder.join(name)
}

fn rules(server: &Server, way: Way, offers_tls: bool) -> String {
    let upstream = match way {
        Way::Plain | Way::Tls | Way::AsClient => format!("127.0.0.1:{}", server.port),
        Way::Socket => format!("unix:{}", server.socket.display()),
    };
    let upstream_tls = match way {
        Way::Plain => match server.flavour {
            Flavour::MySql => {
                let key = server.data_folder().join("public_key.pem");
                format!(
                    "upstream_tls: {{mode: disabled, public_key: '{}'}}\n",
                    key.display()
                )
            }
            Flavour::MariaDb => "upstream_tls: {mode: disabled}\n".to_owned(),
        },
        Way::Tls => "upstream_tls: {mode: preferred}\n".to_owned(),
        // What a loopback address has unless told otherwise.
        Way::AsClient | Way::Socket => String::new(),
    };
    let client_tls = match offers_tls {
        true => "",
        false => "tls: {client: disabled}\n",
    };
    rules_of(&upstream, &format!("{upstream_tls}{client_tls}"))
}

pub fn rules_of(upstream: &str, more: &str) -> String {
    format!(
        "listen: 127.0.0.1:0\nupstream: {upstream}\ncontrol: {{user: root}}\n{more}\
         counters:\n  - {{table: {SCHEMA}.hot, columns: [n]}}\n"
    )
}

/// Starts a proxy that runs as long as its runtime; its port.
pub async fn start_proxy(rules: &str) -> Result<u16, cli::Error> {
    let config =
        Config::from_str(rules, &|_| None).unwrap_or_else(|error| panic!("{error} in:\n{rules}"));
    let control = Control::open(&config).await?;
    let catalog = cli::prepare_with(&control, &config).await?;
    let server = server::Server::bind(config, None, (catalog, control), false).await?;
    let address = server.address().expect("an address");
    tokio::spawn(server.run(std::future::pending()));
    Ok(address.port())
}

//! Accounts that log in as a user of the operating system, where the server is reached over a unix socket: there the
//! proxy's user would be everybody's.

use std::process::Command;

use countersink::check::{Code, check};
use countersink::config::Config;
use countersink::counter::control::Control;
use countersink::driver::{Driver, Error, Login, Reply};
use countersink_sandbox::{Flavour, Server};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::login::upstream::{rules_of, start_proxy};
use crate::support::twin;

const PASSWORD: &str = "secret one";

/// A server of which the proxy uses the unix socket.
struct Behind {
    server: Server,
    runtime: Runtime,
    rules: String,
}

impl Behind {
    fn start(flavour: Flavour) -> Self {
        let server = Server::start(&twin::installation(flavour), &twin::options());
        let server = server.expect("a server");
        let rules = rules_of(&format!("unix:{}", server.socket.display()), "");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let behind = Self {
            server,
            runtime: runtime.expect("a runtime"),
            rules: rules.replace("root", "control"),
        };
        behind.as_root(&[
            "CREATE DATABASE login",
            "CREATE TABLE login.hot (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
            "CREATE USER control@'%' IDENTIFIED BY ''",
            "GRANT ALL ON *.* TO control@'%' WITH GRANT OPTION",
            &format!("CREATE USER secret@'%' IDENTIFIED BY '{PASSWORD}'"),
            "CREATE USER passwordless@'%' IDENTIFIED BY ''",
        ]);
        behind
    }

    fn as_root(&self, statements: &[&str]) {
        self.run("root", statements);
    }

    /// Runs statements past the proxy.
    fn run(&self, user: &str, statements: &[&str]) {
        self.runtime.block_on(async {
            let mut driver = log_in(self.server.port, user, "").await.expect("a login");
            for statement in statements {
                let reply = driver.query(statement).await.expect("an answer");
                assert!(matches!(reply, Reply::Ok(_)), "{statement}: {reply:?}");
            }
        });
    }

    /// The proxy's port, or why it does not start.
    fn proxy(&self) -> Result<u16, String> {
        let started = self.runtime.block_on(start_proxy(&self.rules));
        started.map_err(|error| error.to_string())
    }

    /// What `countersink check` says about such accounts.
    fn finding(&self) -> Option<String> {
        let config = Config::from_str(&self.rules, &|_| None).expect("rules");
        self.runtime.block_on(async {
            let control = Control::open(&config).await.expect("a control account");
            let mut conn = control.connect().await.expect("a connection");
            let report = check(&mut conn, &config).await.expect("a report");
            let mut findings = report.findings.into_iter();
            let found = findings.find(|finding| finding.code == Code::SocketAccounts)?;
            Some(format!("{}; {}", found.reason, found.advice))
        })
    }

    /// What becomes of a login: CURRENT_USER(), or the error.
    fn login(&self, port: u16, user: &str, password: &str) -> Result<String, String> {
        self.runtime.block_on(async {
            let mut driver = match log_in(port, user, password).await {
                Ok(driver) => driver,
                Err(Error::Login(error)) => return Err(error.to_string()),
                Err(error) => panic!("{user}: {error}"),
            };
            match driver.query("SELECT CURRENT_USER(), ROW_COUNT()").await {
                Ok(Reply::Rows(rows)) => {
                    assert_eq!(
                        rows[0][1].as_deref(),
                        Some(&b"0"[..]),
                        "as in a new session"
                    );
                    Ok(String::from_utf8_lossy(rows[0][0].as_deref().unwrap_or_default()).into())
                }
                other => panic!("{user}: {other:?}"),
            }
        })
    }
}

async fn log_in(port: u16, user: &str, password: &str) -> Result<Driver, Error> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await;
    let stream = stream.expect("somebody listens");
    Driver::connect(Box::new(stream), &Login::new(user, password)).await
}

/// The user that runs this test, the server, and the proxy.
pub fn own_user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id runs");
    String::from_utf8(output.stdout)
        .expect("a name")
        .trim()
        .to_owned()
}

/// Statements that let the operating system's user in as itself, alone or if its password is wrong.
fn accounts_of(flavour: Flavour, user: &str) -> Vec<Vec<String>> {
    let each = |account: &str, how: &str| {
        vec![
            format!("DROP USER IF EXISTS {account}"),
            format!("CREATE USER {account} IDENTIFIED {how}"),
        ]
    };
    let account = format!("'{user}'@'localhost'");
    match flavour {
        Flavour::MySql => vec![
            each("door@'%'", &format!("WITH auth_socket AS '{user}'")),
            each("door@'%'", "WITH caching_sha2_password BY ''"),
            each(&account, "WITH auth_socket"),
        ],
        Flavour::MariaDb => vec![
            each(&account, "VIA unix_socket"),
            each(
                &account,
                "VIA mysql_native_password USING PASSWORD('other') OR unix_socket",
            ),
        ],
    }
}

#[test]
fn nobody_logs_in_as_the_proxys_own_user() {
    for flavour in Flavour::ALL {
        let behind = Behind::start(flavour);
        if flavour == Flavour::MySql {
            behind.as_root(&["INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"]);
        }
        let user = own_user();
        let port = behind.proxy().expect("there is no such account yet");
        for statements in accounts_of(flavour, &user) {
            let text: Vec<&str> = statements.iter().map(String::as_str).collect();
            behind.run("control", &text);
            let is_harmless = text[1].ends_with("BY ''");
            let name = match text[1].contains("door") {
                true => "door",
                false => &user,
            };
            for password in ["", "wrong"] {
                let outcome = behind.login(port, name, password);
                if is_harmless && password.is_empty() {
                    assert_eq!(outcome.as_deref(), Ok("door@%"));
                    continue;
                }
                let error = outcome.expect_err(text[1]);
                assert!(error.starts_with("ERROR 1045: "), "{flavour}: {error}");
                let names = error.contains("_socket' would let every client in as the proxy's own");
                assert_eq!(names, !is_harmless, "{flavour}: {}: {error}", text[1]);
            }
            assert_eq!(
                behind.login(port, "secret", PASSWORD).as_deref(),
                Ok("secret@%")
            );
            assert_eq!(
                behind.login(port, "passwordless", "").as_deref(),
                Ok("passwordless@%")
            );
            let again = behind.proxy();
            let finding = behind.finding();
            match is_harmless {
                true => assert!(again.is_ok() && finding.is_none(), "{flavour}: {again:?}"),
                false => {
                    let why = again.expect_err("it does not start");
                    let found = finding.map(|text| format!("upstream: {text}"));
                    assert_eq!(found.as_deref(), Some(why.as_str()));
                    let names =
                        why.starts_with("upstream: ") && why.contains(&format!("'{name}'@"));
                    assert!(
                        names && why.contains("over a unix socket"),
                        "{flavour}: {why}"
                    );
                }
            }
        }
    }
}

#[test]
fn accounts_of_other_users_keep_nobody_from_starting() {
    for flavour in Flavour::ALL {
        let behind = Behind::start(flavour);
        let how = match flavour {
            Flavour::MySql => {
                behind.as_root(&["INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"]);
                "WITH auth_socket AS 'somebody_else'"
            }
            Flavour::MariaDb => "VIA unix_socket",
        };
        behind.as_root(&[&format!("CREATE USER other@'%' IDENTIFIED {how}")]);
        let port = behind.proxy().expect("it starts");
        assert!(behind.login(port, "other", "").is_err());
    }
}

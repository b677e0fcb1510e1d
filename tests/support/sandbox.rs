//! A schema of a test's own on a real server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use countersink_sandbox::Flavour;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};

use super::twin::single;

/// The servers to test against, one of each family.
pub fn servers() -> Vec<Opts> {
    Flavour::ALL
        .into_iter()
        .map(|flavour| {
            let server = single(flavour);
            OptsBuilder::default()
                .ip_or_hostname(server.host.clone())
                .tcp_port(server.port)
                .user(Some(server.user.clone()))
                .pass(Some(server.password.clone()))
                .prefer_socket(false)
                .into()
        })
        .collect()
}

/// A schema of one test on one server, with a folder for its rules; both go when it is dropped.
pub struct Sandbox {
    pub server: Opts,
    pub schema: String,
    pub folder: tempfile::TempDir,
    users: Vec<String>,
}

impl Sandbox {
    /// A new schema; `tables` are CREATE statements, separated by semicolons, in which `~` stands for the schema.
    pub async fn new(server: &Opts, tables: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let sandbox = Self {
            server: server.clone(),
            schema: format!("rules_{}_{number}", std::process::id()),
            folder: tempfile::tempdir().expect("a folder"),
            users: Vec::new(),
        };
        sandbox.run("CREATE DATABASE ~ CHARACTER SET utf8mb4").await;
        for table in tables.split(';').filter(|table| !table.trim().is_empty()) {
            sandbox.run(table).await;
        }
        sandbox
    }

    pub async fn connect(&self) -> Conn {
        Conn::new(self.server.clone()).await.expect("a connection")
    }

    /// Runs a statement as root.
    pub async fn run(&self, statement: &str) {
        let statement = statement.replace('~', &self.schema);
        let mut conn = self.connect().await;
        let done = conn.query_drop(&statement).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
        conn.disconnect().await.expect("a goodbye");
    }

    /// The first column of a query's rows, as text.
    pub async fn ask(&self, query: &str) -> Vec<String> {
        let mut conn = self.connect().await;
        let query = query.replace('~', &self.schema);
        let rows = conn.query(&query).await;
        rows.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// Whether the server is MariaDB.
    pub async fn is_mariadb(&self) -> bool {
        self.ask("SELECT VERSION()").await[0].contains("MariaDB")
    }

    /// Makes a user for any host and remembers it; its name.
    pub async fn user(&mut self, identified: &str) -> String {
        let user = format!("{}_{}", self.schema, self.users.len());
        self.run(&format!("CREATE USER '{user}' IDENTIFIED {identified}"))
            .await;
        self.users.push(user.clone());
        user
    }

    /// Writes rules.yaml: this server, `account` as control, and `rest`, in which `~` stands for the schema.
    pub fn rules_as(&self, account: &str, rest: &str) -> PathBuf {
        let path = self.folder.path().join("rules.yaml");
        let text = format!(
            "upstream: {}:{}\ncontrol: {account}\n{}",
            self.server.ip_or_hostname(),
            self.server.tcp_port(),
            rest.replace('~', &self.schema)
        );
        std::fs::write(&path, text).expect("rules can be written");
        path
    }

    /// The server's owner, as rules.yaml names an account.
    pub fn owner(&self) -> String {
        let (user, password) = (self.server.user(), self.server.pass());
        format!(
            "{{user: '{}', password: '{}'}}",
            user.unwrap_or_default(),
            password.unwrap_or_default()
        )
    }

    /// As [`Sandbox::rules_as`], by the server's owner and with one rule for `~.posts`.
    pub fn rules(&self, rule: &str) -> PathBuf {
        self.rules_as(
            &self.owner(),
            &format!(
                "counters:\n- table: ~.posts\n  {}\n",
                rule.replace('\n', "\n  ")
            ),
        )
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let (server, schema, users) =
            (self.server.clone(), self.schema.clone(), self.users.clone());
        // The test's own runtime may be the one that drops this.
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(async {
                let mut conn = Conn::new(server).await.expect("a connection");
                let drop = format!("DROP DATABASE IF EXISTS {schema}");
                conn.query_drop(drop).await.expect("the schema goes");
                for user in users {
                    let drop = format!("DROP USER IF EXISTS '{user}'");
                    conn.query_drop(drop).await.expect("the user goes");
                }
            });
        });
        let cleaned = cleaning.join();
        assert!(cleaned.is_ok() || std::thread::panicking(), "cleaning up");
    }
}

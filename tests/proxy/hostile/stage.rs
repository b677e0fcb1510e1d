//! A server with a proxy process before it, and what the process holds.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use countersink::driver::Driver;
use countersink_sandbox::{Address, Flavour, Server};
use tempfile::TempDir;

use crate::support::binary::{Serving, rules_file};
use crate::support::client::{connect, number, rows, run, run_all};
use crate::support::proxy::rules_head;
use crate::support::twin::{installation, options};

/// The schema that clients use.
pub(super) const SCHEMA: &[u8] = b"cs_hostile";

/// The account of the hostile clients, without a password.
pub(super) const USER: &str = "hostile";

/// That of the others.
const INNOCENT: &str = "innocent";

/// Rows of `posts` that hostile clients do not write to.
pub(super) const INNOCENT_ROWS: [i64; 2] = [900_001, 900_002];

/// How long anything may take that is waited for: a server looks for its client only every few seconds, and this is a
/// debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const GLANCE: Duration = Duration::from_millis(20);

/// The tables and the accounts, on any server.
pub(super) async fn make_schema(on: &Address) -> Driver {
    let schema = schema_name();
    let mut root = connect(on, None).await;
    let script = format!(
        "SET NAMES utf8mb4;
        DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema} DEFAULT CHARACTER SET utf8mb4; USE {schema};
        CREATE TABLE posts (id BIGINT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, stock INT NOT NULL DEFAULT 100,
            title VARCHAR(20) NOT NULL DEFAULT '');
        CREATE TABLE daily (day VARCHAR(9) NOT NULL, id BIGINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
            PRIMARY KEY (day, id));
        CREATE TABLE notes (id BIGINT PRIMARY KEY, text VARCHAR(40));
        DROP USER IF EXISTS '{USER}'@'%', '{INNOCENT}'@'%';
        CREATE USER '{USER}'@'%', '{INNOCENT}'@'%';
        GRANT ALL ON {schema}.* TO '{USER}'@'%', '{INNOCENT}'@'%'"
    );
    run_all(&mut root, &script).await;
    root
}

/// The rows that a session finds.
pub(super) async fn fill(session: &mut Driver) {
    const ROWS: &str = "DELETE FROM posts WHERE id < 100; DELETE FROM daily; DELETE FROM notes;
        INSERT INTO posts (id, views) VALUES (1, 10), (2, 20), (3, 30);
        INSERT INTO daily VALUES ('a', 1, 5), ('a', 2, 6);
        INSERT INTO notes VALUES (1, 'one'), (2, 'two')";
    for statement in ROWS.split(';') {
        run(session, statement.trim()).await;
    }
}

pub(super) fn schema_name() -> &'static str {
    std::str::from_utf8(SCHEMA).expect("a name")
}

/// The rules for the tables: one goes to rest as usual, the other never does.
pub(super) fn counters() -> String {
    let schema = schema_name();
    format!(
        "counters:\n- {{table: {schema}.posts, columns: [views, stock], rest: never, rollup: 1s}}\n\
         - {{table: {schema}.daily, columns: [hits], rest: auto, rollup: 1s}}\n"
    )
}

pub(super) struct Stage {
    /// The server, with the account of its owner.
    pub(super) root: Address,
    /// The proxy, with the accounts of the clients.
    pub(super) hostile: Address,
    pub(super) innocent: Address,
    pub(super) proxy: Serving,
    server: Server,
    upstream_port: u16,
    _folder: TempDir,
}

impl Stage {
    /// `upstream` is where the proxy finds the server: the server itself, or what is between.
    pub(super) async fn new(
        flavour: Flavour,
        upstream: impl AsyncFnOnce(&Address) -> Address,
    ) -> Self {
        let mut with_waits = options();
        // Hostile clients hold locks for as long as they are there.
        for name in ["innodb-lock-wait-timeout", "lock-wait-timeout"] {
            with_waits.extra.push(format!("--{name}=1"));
        }
        // A session that is left must not end by itself while the test waits.
        for name in ["net-read-timeout", "net-write-timeout"] {
            with_waits.extra.push(format!("--{name}=100000"));
        }
        let server = Server::start(&installation(flavour), &with_waits).expect("a server");
        let root = server.address();
        let mut direct = make_schema(&root).await;
        fill(&mut direct).await;
        for row in INNOCENT_ROWS {
            run(
                &mut direct,
                &format!("INSERT INTO posts (id) VALUES ({row})"),
            )
            .await;
        }
        let before = upstream(&root).await;
        let text = format!(
            "{}handshake_timeout: 20s\n{}",
            rules_head(&before),
            counters()
        );
        let (folder, rules) = rules_file(&text);
        let proxy = Serving::start(&rules).unwrap_or_else(|ended| panic!("{}", ended.errors));
        let account = |user: &str| Address {
            user: user.to_owned(),
            password: String::new(),
            ..proxy.in_front_of(&root)
        };
        Self {
            hostile: account(USER),
            innocent: account(INNOCENT),
            proxy,
            root,
            server,
            upstream_port: before.port,
            _folder: folder,
        }
    }

    /// Waits until the server has no session of a client's any more.
    pub(super) async fn wait_until_alone(&self) {
        wait_until_gone(&self.root, &[USER, INNOCENT, "nobody"]).await;
    }

    /// Waits until the proxy holds no more descriptors than this.
    pub(super) async fn wait_for_descriptors(&self, most: usize) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let held = self.held();
            if held.len() <= most {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{} descriptors are held, and {most} were before: {held:?}",
                held.len()
            );
            tokio::time::sleep(GLANCE).await;
        }
    }

    pub(super) fn descriptors(&self) -> usize {
        self.held().len()
    }

    /// What the proxy holds, but for connections to the server: the control account has as many as it needs, and of
    /// the clients' the server tells.
    fn held(&self) -> Vec<String> {
        let process = self.proxy.binary.id();
        let table =
            fs::read_to_string(format!("/proc/{process}/net/tcp")).expect("the proxy lives");
        // Of each line the remote address and the inode (manual: proc_pid_net(5)).
        let remote = format!(":{:04X}", self.upstream_port);
        let upstream = table.lines().filter_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let is_upstream = fields.get(2)?.ends_with(&remote);
            is_upstream.then(|| format!("socket:[{}]", fields.get(9).unwrap_or(&"")))
        });
        let upstream: HashSet<_> = upstream.collect();
        let mut held = descriptors(process);
        held.retain(|target| !upstream.contains(target));
        held
    }

    /// Memory of the proxy's own, in KiB.
    pub(super) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.proxy.binary.id());
        let status = fs::read_to_string(path).expect("the proxy lives");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.expect("a number of KiB")
    }

    /// The values of the innocents' rows, through the proxy, and base and slots added up.
    pub(super) async fn values(&self) -> Vec<[i64; 2]> {
        let schema = Some(schema_name());
        let mut through = connect(&self.innocent, schema).await;
        let mut direct = connect(&self.root, schema).await;
        let mut values = Vec::new();
        for row in INNOCENT_ROWS {
            let read = format!("SELECT views FROM posts WHERE id = {row}");
            let sum = format!(
                "SELECT CAST(p.views + COALESCE((SELECT SUM(s.views) FROM posts_slots s WHERE s.id = p.id), 0) AS SIGNED) \
                 FROM posts p WHERE p.id = {row}"
            );
            values.push([
                number(&mut through, &read).await,
                number(&mut direct, &sum).await,
            ]);
        }
        values
    }

    /// Tells the proxy to stop. It must not have panicked, and must find nothing wrong with itself.
    pub(super) fn stop(self) {
        let ended = self.proxy.stop();
        let said = format!("{}{}", ended.output, ended.errors);
        for word in ["panicked", " bug", "RUST_BACKTRACE"] {
            let line = said.lines().find(|line| line.contains(word));
            assert_eq!(line, None, "the proxy has said so");
        }
        assert_eq!(ended.code, Some(0), "{:?}: {}", ended.signal, ended.errors);
        self.server.stop().expect("the server has not failed");
    }
}

/// Waits until the server has no session of these accounts, nor one that is still logging in.
pub(super) async fn wait_until_gone(server: &Address, users: &[&str]) {
    let mut root = connect(server, None).await;
    let quoted: Vec<_> = users.iter().map(|user| format!("'{user}'")).collect();
    let question = format!(
        "SELECT id, user, command, time, COALESCE(state, ''), COALESCE(info, '') FROM information_schema.processlist \
         WHERE user IN ('unauthenticated user', {})",
        quoted.join(", ")
    );
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = rows(&mut root, &question).await;
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "sessions are left on the server: {left:?}"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What each open descriptor of a process is.
fn descriptors(process: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("the proxy lives");
    let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    let targets = entries.filter_map(|entry| target(entry.ok()?));
    targets.map(|target| target.display().to_string()).collect()
}

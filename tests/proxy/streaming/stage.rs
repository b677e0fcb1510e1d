//! What the tests of streaming stand on: a schema with a proxy process in front of it, the sessions that it has at the
//! server, and the memory that it takes.

use std::fs;
use std::time::{Duration, Instant};

use countersink_sandbox::{Address, Flavour};

use super::raw::{PATIENCE, Raw};
use crate::support::binary::Serving;
use crate::support::client::{connect, rows, run, run_all};
use crate::support::proxy::rules_head;
use crate::support::thorough::say;
use crate::support::twin::single;

pub(super) const MIB: u64 = 1024 * 1024;
/// How much the process may grow, whatever passes through.
const MOST_GROWTH: u64 = 2 * MIB;

/// A schema with a proxy process in front of it.
pub(super) struct Stage {
    flavour: Flavour,
    pub(super) schema: String,
    /// The server behind the proxy, with the account of its owner.
    pub(super) root: Address,
    /// The same, with the account of the clients.
    pub(super) server: Address,
    proxy: Serving,
    _folder: tempfile::TempDir,
}

/// A row of the process list.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) info: String,
    /// How long the statement has run.
    pub(super) seconds: i64,
}

impl Stage {
    /// `settings` are lines of rules.yaml.
    pub(super) async fn new(flavour: Flavour, schema: &str, settings: &str) -> Self {
        let server = single(flavour).clone();
        let mut driver = connect(&server, None).await;
        let control = format!("{schema}_control");
        let user = format!("{schema}_user");
        let script = format!(
            "DROP DATABASE IF EXISTS {schema};
            CREATE DATABASE {schema};
            USE {schema};
            CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0);
            INSERT INTO posts VALUES (1, 5);
            CREATE TABLE numbers (n INT PRIMARY KEY);
            DROP USER IF EXISTS '{control}'@'%', '{user}'@'%';
            CREATE USER '{control}'@'%', '{user}'@'%';
            GRANT ALL ON *.* TO '{control}'@'%';
            GRANT ALL ON {schema}.* TO '{user}'@'%'"
        );
        run_all(&mut driver, &script).await;
        let numbers: Vec<_> = (0..1024).map(|n| format!("({n})")).collect();
        run(
            &mut driver,
            &format!("INSERT INTO numbers VALUES {}", numbers.join(",")),
        )
        .await;
        let folder = tempfile::tempdir().expect("a folder");
        let rules = folder.path().join("rules.yaml");
        let account = Address {
            user: control,
            password: String::new(),
            ..server.clone()
        };
        // The roll-up takes memory once, for its connection, a moment after the start; not in the middle of a
        // measurement.
        let text = format!(
            "{}{settings}counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n",
            rules_head(&account),
        );
        fs::write(&rules, text).expect("rules can be written");
        Self {
            flavour,
            schema: schema.to_owned(),
            proxy: Serving::start(&rules).unwrap_or_else(|ended| panic!("{}", ended.errors)),
            root: server.clone(),
            server: Address {
                user,
                password: String::new(),
                ..server
            },
            _folder: folder,
        }
    }

    /// The proxy's.
    pub(super) fn address(&self) -> Address {
        self.proxy.in_front_of(&self.server)
    }

    /// Sends little through each way that much is to go, so that what the process takes once and for all is taken.
    pub(super) async fn warm(&self, client: &mut Raw) -> Memory {
        client
            .query("SELECT REPEAT('x', 1048576) FROM numbers WHERE n < 4")
            .await;
        assert_eq!(client.read_result().await / MIB, 4);
        client.send_and_read(4 * MIB).await;
        Memory::of(self.proxy.binary.id())
    }

    pub(super) fn expect_no_growth(&self, what: &str, before: &Memory) {
        let after = Memory::of(self.proxy.binary.id());
        let mib = |bytes: u64| format!("{:.2} MiB", bytes as f64 / MIB as f64);
        let seconds = before.at.elapsed().as_secs_f64();
        say(&format!(
            "{}, {what}: proxy resident at {} before, {} after, {} at most ({seconds:.1} s)",
            self.flavour,
            mib(before.resident),
            mib(after.resident),
            mib(after.peak)
        ));
        let growth = after.peak.saturating_sub(before.peak);
        assert!(growth < MOST_GROWTH, "{what}: it grew by {}", mib(growth));
        let kept = after.own.saturating_sub(before.own);
        assert!(kept < MOST_GROWTH, "{what}: it keeps {}", mib(kept));
    }

    /// Sessions upstream that came through the proxy, or are about to.
    async fn sessions(&self) -> Vec<Session> {
        let mut direct = connect(&self.root, None).await;
        let query = format!(
            "SELECT COALESCE(info, ''), time FROM information_schema.processlist \
             WHERE user IN ('{}_user', 'unauthenticated user')",
            self.schema
        );
        let found = rows(&mut direct, &query).await;
        let session = |row: Vec<String>| Session {
            info: row[0].clone(),
            seconds: row[1].parse().expect("a number"),
        };
        found.into_iter().map(session).collect()
    }

    pub(super) async fn wait_for(&self, what: &str, is_there: impl Fn(&Session) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = self.sessions().await;
            if sessions.iter().any(&is_there) {
                return;
            }
            assert!(Instant::now() < deadline, "waited for {what}: {sessions:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn wait_until_alone(&self) {
        self.wait_until_left(0).await;
    }

    /// Waits until no more than so many sessions are left.
    pub(super) async fn wait_until_left(&self, most: usize) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = self.sessions().await;
            if sessions.len() <= most {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "sessions are left upstream: {sessions:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// Program text included.
    resident: u64,
    /// The most that was ever resident.
    peak: u64,
    /// Resident and not the text of a file: that comes and goes as the machine has room for it.
    own: u64,
    at: Instant,
}

impl Memory {
    /// Manual: proc_pid_status(5).
    fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
        let kib = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let number = line.expect(name).split_whitespace().nth(1);
            number
                .and_then(|text| text.parse::<u64>().ok())
                .expect("a number")
                * 1024
        };
        Self {
            resident: kib("VmRSS:"),
            peak: kib("VmHWM:"),
            own: kib("RssAnon:"),
            at: Instant::now(),
        }
    }
}

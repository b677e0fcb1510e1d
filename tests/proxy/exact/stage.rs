//! What the tests of exactness stand on: a schema with a proxy in front of it, what its clients do and see, and a watch
//! over the locks on the base table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Flavour;
use tokio::task::JoinSet;

use crate::support::client::{connect, number, rows, run, run_all};
use crate::support::proxy::Proxy;
use crate::support::twin::{Twin, twin};

/// Error codes and how often each came.
pub(super) type Errors = BTreeMap<u16, usize>;

/// A schema of one test with a proxy in front of it.
pub(super) struct Stage {
    pub(super) twin: &'static Twin,
    pub(super) schema: String,
    /// The rules of the proxy, for others beside it.
    pub(super) rules: String,
    pub(super) proxy: Proxy,
}

impl Stage {
    pub(super) async fn new(flavour: Flavour, schema: &str) -> Self {
        Self::with_slots(flavour, schema, 64).await
    }

    pub(super) async fn with_slots(flavour: Flavour, schema: &str, slots: u16) -> Self {
        let twin = twin(flavour);
        for server in [&twin.plain, &twin.proxied] {
            let mut driver = connect(server, None).await;
            let script = format!(
                "DROP DATABASE IF EXISTS {schema};
                CREATE DATABASE {schema};
                USE {schema};
                CREATE TABLE posts (
                  id INT PRIMARY KEY,
                  views BIGINT NOT NULL DEFAULT 0,
                  likes BIGINT NOT NULL DEFAULT 0,
                  title VARCHAR(20)
                );
                CREATE TABLE ledger (id INT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, amount BIGINT NOT NULL);
                INSERT INTO posts (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8)"
            );
            run_all(&mut driver, &script).await;
        }
        // Slots stay where they are, so that their sum is seen.
        let rules = format!(
            "counters:\n- {{table: {schema}.posts, columns: [views, likes], slots: {slots}, rollup: 1h}}\n"
        );
        Self {
            twin,
            schema: schema.to_owned(),
            proxy: Proxy::start(&twin.proxied, &rules),
            rules,
        }
    }

    /// Has clients of each proxy increment row 1, in autocommit and in transactions by turns. How much was
    /// acknowledged.
    pub(super) async fn work_through(&self, proxies: &[&Proxy]) -> i64 {
        const CLIENTS: usize = 8;
        const INCREMENTS: usize = 100;
        let mut tasks = JoinSet::new();
        for number in 0..proxies.len() * CLIENTS {
            let proxy = proxies[number % proxies.len()];
            let mut client = connect(&proxy.address, Some(&self.schema)).await;
            tasks.spawn(async move {
                for round in 0..INCREMENTS {
                    let in_transaction = (number + round) % 2 == 0;
                    if in_transaction {
                        run(&mut client, "BEGIN").await;
                    }
                    increment(&mut client, 1, 1).await.expect("an increment");
                    if in_transaction {
                        run(&mut client, "COMMIT").await;
                    }
                }
            });
        }
        let expected = to_number(tasks.len() * INCREMENTS);
        while let Some(done) = tasks.join_next().await {
            done.expect("a client that does not panic");
        }
        expected
    }

    /// Runs clients through the proxy and adds up what they saw.
    pub(super) async fn clients<F>(
        &self,
        count: usize,
        body: impl Fn(usize, Driver) -> F,
    ) -> (i64, Errors)
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for number in 0..count {
            let mut client = connect(&self.proxy.address, Some(&self.schema)).await;
            run(&mut client, "SET innodb_lock_wait_timeout = 5").await;
            tasks.spawn(body(number, client));
        }
        let mut sum = Outcome::default();
        while let Some(outcome) = tasks.join_next().await {
            let outcome = outcome.expect("a client that does not panic");
            sum.acknowledged += outcome.acknowledged;
            for (code, count) in outcome.errors {
                *sum.errors.entry(code).or_default() += count;
            }
        }
        (sum.acknowledged, sum.errors)
    }

    /// The first transaction with an increment of a shape increments base, until it has shown that it does nothing
    /// else.
    pub(super) async fn show_that_transactions_only_increment(&self) {
        self.show_to(&self.proxy).await;
    }

    pub(super) async fn show_to(&self, proxy: &Proxy) {
        let mut client = connect(&proxy.address, Some(&self.schema)).await;
        run(&mut client, "BEGIN").await;
        increment(&mut client, 2, 1).await.expect("an increment");
        run(&mut client, "COMMIT").await;
    }

    /// Holds a shared lock on the base row, directly: nobody can lock it exclusively until this is rolled back.
    pub(super) async fn share_the_base_row(&self) -> Driver {
        let mut driver = connect(&self.twin.proxied, Some(&self.schema)).await;
        run(&mut driver, "BEGIN").await;
        run(
            &mut driver,
            "SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
        )
        .await;
        driver
    }

    /// With the lock still held, base is as it was: all increments are in slots.
    pub(super) async fn expect_base_untouched(&self, mut guard: Driver) {
        let base = number(
            &mut guard,
            "SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
        )
        .await;
        assert_eq!(base, 0, "base under the shared lock");
        run(&mut guard, "ROLLBACK").await;
    }

    /// The value, as told through the proxy and as added up directly.
    pub(super) async fn value(&self, id: i64) -> i64 {
        let mut proxied = connect(&self.proxy.address, Some(&self.schema)).await;
        let told = number(
            &mut proxied,
            &format!("SELECT views FROM posts WHERE id = {id}"),
        )
        .await;
        let mut direct = connect(&self.twin.proxied, Some(&self.schema)).await;
        let sum = format!(
            "SELECT p.views + (SELECT COALESCE(SUM(s.views), 0) FROM posts_slots s WHERE s.id = p.id) \
             FROM posts p WHERE p.id = {id}"
        );
        assert_eq!(told, number(&mut direct, &sum).await, "base + SUM(slots)");
        told
    }

    pub(super) async fn expect_value(&self, id: i64, expected: i64) {
        assert_eq!(self.value(id).await, expected, "acknowledged increments");
    }

    pub(super) fn report(&self, what: &str, started: Instant, acknowledged: i64, errors: &Errors) {
        let (flavour, seconds) = (self.twin.flavour, started.elapsed().as_secs_f64());
        eprintln!(
            "{what} on {flavour}: {acknowledged} increments in {seconds:.1} s, errors {errors:?}"
        );
    }

    /// Waits until no session is left in the schema on the server behind the proxy.
    pub(super) async fn wait_until_alone(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut direct = connect(&self.twin.proxied, None).await;
        let others = format!(
            "SELECT id, command, time, state FROM information_schema.processlist WHERE db = '{}'",
            self.schema
        );
        loop {
            let left = rows(&mut direct, &others).await;
            if left.is_empty() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "sessions are left upstream: {left:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// What a client has seen.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) acknowledged: i64,
    errors: Errors,
}

impl Outcome {
    pub(super) fn error(&mut self, code: u16) {
        *self.errors.entry(code).or_default() += 1;
    }
}

pub(super) async fn increment(client: &mut Driver, id: i64, by: i64) -> Result<(), u16> {
    let text = format!("UPDATE posts SET views = views + {by} WHERE id = {id}");
    match client.query(&text).await.expect("an answer") {
        Reply::Ok(1) => Ok(()),
        Reply::Err(error) => Err(error.code),
        other => panic!("{text}: {other:?}"),
    }
}

pub(super) async fn outcome_of(client: &mut Driver, text: &str) -> Result<(), u16> {
    match client.query(text).await.expect("an answer") {
        Reply::Err(error) => Err(error.code),
        _ => Ok(()),
    }
}

pub(super) fn to_number(count: usize) -> i64 {
    i64::try_from(count).expect("a small number")
}

/// A number that looks random, the same in every run.
pub(super) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Looks at the locks on the base table, again and again, where the server shows them (MySQL).
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<usize>,
}

impl Watch {
    pub(super) fn start(stage: &Stage) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, address, schema) = (
            Arc::clone(&stop),
            stage.twin.proxied.clone(),
            stage.schema.clone(),
        );
        let flavour = stage.twin.flavour;
        let task = tokio::spawn(async move {
            let mut looks = 0;
            if flavour != Flavour::MySql {
                return looks;
            }
            let mut driver = connect(&address, None).await;
            let exclusive = format!(
                "SELECT lock_type, lock_mode, lock_status, lock_data FROM performance_schema.data_locks \
                 WHERE object_schema = '{schema}' AND object_name = 'posts' \
                 AND lock_type = 'RECORD' AND lock_mode LIKE 'X%'"
            );
            while !stopped.load(Ordering::Relaxed) {
                let found = rows(&mut driver, &exclusive).await;
                assert!(
                    found.is_empty(),
                    "exclusive locks on the base table: {found:?}"
                );
                looks += 1;
                // Looking takes the lock system's latches: leave some for the load.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            looks
        });
        Self { stop, task }
    }

    pub(super) async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let looks = self.task.await.expect("no exclusive locks");
        eprintln!("looked at the locks {looks} times");
    }
}

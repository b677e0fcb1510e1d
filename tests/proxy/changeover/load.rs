//! Clients that increment one row in every way there is, and readers that know what they may see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use countersink::driver::Driver;
use countersink_sandbox::Address;
use tokio::task::JoinSet;

use crate::changeover::stage::{GLANCE, execute};
use crate::support::client::{connect, latest_deadlock, number, prepare, run};

/// What the clients have done so far.
#[derive(Debug, Default)]
pub struct Sum {
    sent: AtomicI64,
    acknowledged: AtomicI64,
    /// How many clients have yet to prepare what they will execute. A rule waits for those that do so while it is off.
    unprepared: AtomicI64,
    ended: AtomicBool,
}

/// Clients at work.
pub struct Load {
    pub sum: Arc<Sum>,
    clients: JoinSet<()>,
}

impl Load {
    /// Starts so many of each kind on each of these proxies.
    pub fn start(proxies: &[Address], schema: &'static str, of_each: usize) -> Self {
        let mut load = Self {
            sum: Arc::default(),
            clients: JoinSet::new(),
        };
        for proxy in proxies {
            for _ in 0..of_each {
                let new = || (proxy.clone(), Arc::clone(&load.sum));
                let (address, sum) = new();
                load.clients.spawn(autocommit(address, schema, sum));
                let (address, sum) = new();
                load.clients.spawn(transactions(address, schema, sum));
                let (address, sum) = new();
                sum.unprepared.fetch_add(1, Ordering::SeqCst);
                load.clients.spawn(prepared(address, schema, sum));
                let (address, sum) = new();
                load.clients.spawn(reads(address, schema, sum));
                let (address, sum) = new();
                load.clients.spawn(short_sessions(address, schema, sum));
            }
        }
        load
    }

    /// Waits until so many more increments are acknowledged; `direct` says why, where a client has ended.
    pub async fn goes_on(&mut self, increments: i64, direct: &mut Driver) {
        let until = self.sum.acknowledged.load(Ordering::SeqCst) + increments;
        while self.sum.acknowledged.load(Ordering::SeqCst) < until
            || self.sum.unprepared.load(Ordering::SeqCst) > 0
        {
            if let Some(ended) = self.clients.try_join_next() {
                panic!("{ended:?}{}", latest_deadlock(direct).await);
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Ends it: what the row must hold.
    pub async fn end(mut self) -> i64 {
        self.sum.ended.store(true, Ordering::SeqCst);
        while let Some(client) = self.clients.join_next().await {
            client.expect("a client that saw neither an error nor a wrong value");
        }
        let acknowledged = self.sum.acknowledged.load(Ordering::SeqCst);
        assert_eq!(acknowledged, self.sum.sent.load(Ordering::SeqCst));
        acknowledged
    }
}

impl Sum {
    fn goes_on(&self) -> bool {
        !self.ended.load(Ordering::SeqCst)
    }

    fn send(&self, amount: i64) {
        self.sent.fetch_add(amount, Ordering::SeqCst);
    }

    fn acknowledge(&self, amount: i64) {
        self.acknowledged.fetch_add(amount, Ordering::SeqCst);
    }
}

async fn add(client: &mut Driver, sum: &Sum, amount: i64) {
    sum.send(amount);
    run(
        client,
        &format!("UPDATE posts SET views = views + {amount} WHERE id = 1"),
    )
    .await;
    sum.acknowledge(amount);
}

async fn autocommit(address: Address, schema: &'static str, sum: Arc<Sum>) {
    let mut client = connect(&address, Some(schema)).await;
    while sum.goes_on() {
        add(&mut client, &sum, 1).await;
    }
}

async fn transactions(address: Address, schema: &'static str, sum: Arc<Sum>) {
    let mut client = connect(&address, Some(schema)).await;
    while sum.goes_on() {
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 2 WHERE id = 1",
        )
        .await;
        sum.send(2);
        run(&mut client, "COMMIT").await;
        sum.acknowledge(2);
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1000000 WHERE id = 1",
        )
        .await;
        run(&mut client, "ROLLBACK").await;
    }
}

async fn prepared(address: Address, schema: &'static str, sum: Arc<Sum>) {
    let mut client = connect(&address, Some(schema)).await;
    let increment = prepare(
        &mut client,
        "UPDATE posts SET views = views + 3 WHERE id = 1",
    )
    .await;
    let read = prepare(&mut client, "SELECT views FROM posts WHERE id = 1").await;
    sum.unprepared.fetch_sub(1, Ordering::SeqCst);
    while sum.goes_on() {
        sum.send(3);
        execute(&mut client, increment).await;
        sum.acknowledge(3);
        let low = sum.acknowledged.load(Ordering::SeqCst);
        let value = execute(&mut client, read).await;
        let high = sum.sent.load(Ordering::SeqCst);
        assert!(
            (low..=high).contains(&value),
            "{value} is not in {low}..={high}"
        );
    }
}

async fn reads(address: Address, schema: &'static str, sum: Arc<Sum>) {
    let mut client = connect(&address, Some(schema)).await;
    while sum.goes_on() {
        let low = sum.acknowledged.load(Ordering::SeqCst);
        let value = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        let high = sum.sent.load(Ordering::SeqCst);
        assert!(
            (low..=high).contains(&value),
            "{value} is not in {low}..={high}"
        );
        // One snapshot has one value.
        run(&mut client, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
        let first = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        tokio::task::yield_now().await;
        let again = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        assert_eq!(first, again);
        run(&mut client, "COMMIT").await;
    }
}

async fn short_sessions(address: Address, schema: &'static str, sum: Arc<Sum>) {
    while sum.goes_on() {
        let mut client = connect(&address, Some(schema)).await;
        add(&mut client, &sum, 1).await;
        let low = sum.acknowledged.load(Ordering::SeqCst);
        run(&mut client, "BEGIN").await;
        let locking = "SELECT views FROM posts WHERE id = 1 FOR UPDATE";
        let value = number(&mut client, locking).await;
        let high = sum.sent.load(Ordering::SeqCst);
        assert!(
            (low..=high).contains(&value),
            "{value} is not in {low}..={high}"
        );
        run(&mut client, "COMMIT").await;
        client.quit().await.expect("closed");
    }
}

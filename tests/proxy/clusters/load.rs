//! Clients that change the same rows through proxies on several members, and what they were told.
//!
//! Whatever they do adds a known amount, in whichever order it is done: increments, which go to slots, and writes that
//! need the whole value in the row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use super::SCHEMA;
use crate::support::client::{connect, run};
use crate::support::proxy::Proxy;

/// The rows of `posts`: from 1.
pub const KEYS: i64 = 3;

const CLIENTS: usize = 6;

/// Errors of a transaction that another member was first to commit, or that waited for too long; the whole of it is
/// gone.
pub const LOST: [u16; 4] = [1213, 3101, 1180, 1205];

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// What was added to each row of `posts`.
    pub views: BTreeMap<i64, i64>,
    /// What was added to the other counter.
    pub stars: BTreeMap<i64, i64>,
    /// What was added to the row of `small`.
    pub small: i64,
    /// How many rows were inserted into `likes`.
    pub likes: i64,
    /// Increments in autocommit that were acknowledged, and those that were lost.
    pub increments: u64,
    pub lost_increments: u64,
    /// The same of transactions with increments.
    pub transactions: u64,
    pub lost_transactions: u64,
    /// Everything else.
    pub others: u64,
    pub lost_others: u64,
}

impl Ledger {
    fn add(&mut self, other: &Self) {
        for (key, added) in &other.views {
            *self.views.entry(*key).or_default() += added;
        }
        for (key, added) in &other.stars {
            *self.stars.entry(*key).or_default() += added;
        }
        self.small += other.small;
        self.likes += other.likes;
        self.increments += other.increments;
        self.lost_increments += other.lost_increments;
        self.transactions += other.transactions;
        self.lost_transactions += other.lost_transactions;
        self.others += other.others;
        self.lost_others += other.lost_others;
    }
}

/// Clients of each proxy, until they are told to stop.
pub struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    clients: JoinSet<Ledger>,
}

impl Load {
    pub fn start(proxies: &[Proxy]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let mut clients = JoinSet::new();
        let seed: u64 = rand::rng().random();
        eprintln!("seed {seed}");
        for (at, proxy) in proxies.iter().enumerate() {
            for number in 0..CLIENTS {
                let (address, stop) = (proxy.address.clone(), Arc::clone(&stop));
                let acknowledged = Arc::clone(&acknowledged);
                let seed = seed.wrapping_add((at * CLIENTS + number) as u64);
                clients.spawn(async move { work(&address, seed, &stop, &acknowledged).await });
            }
        }
        Self {
            stop,
            acknowledged,
            clients,
        }
    }

    /// How many increments in autocommit have been acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    pub async fn end(mut self) -> Ledger {
        self.stop.store(true, Ordering::Relaxed);
        let mut sum = Ledger::default();
        while let Some(ledger) = self.clients.join_next().await {
            sum.add(&ledger.expect("a client that does not panic"));
        }
        sum
    }
}

async fn work(address: &Address, seed: u64, stop: &AtomicBool, acknowledged: &AtomicU64) -> Ledger {
    let mut client = connect(address, Some(SCHEMA)).await;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut ledger = Ledger {
        views: (1..=KEYS).map(|key| (key, 0)).collect(),
        stars: (1..=KEYS).map(|key| (key, 0)).collect(),
        ..Ledger::default()
    };
    while !stop.load(Ordering::Relaxed) {
        let key = random.random_range(1..=KEYS);
        match random.random_range(0..100) {
            0..60 => {
                let text = format!("UPDATE posts SET views = views + 1 WHERE id = {key}");
                match affected(&mut client, &text).await {
                    Some(rows) => {
                        ledger.increments += 1;
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                        *ledger.views.entry(key).or_default() += rows;
                    }
                    None => ledger.lost_increments += 1,
                }
            }
            60..80 => match transaction(&mut client, key, &mut random).await {
                Some(added) => {
                    ledger.transactions += 1;
                    ledger.add(&added);
                }
                None => ledger.lost_transactions += 1,
            },
            choice => match other(&mut client, key, choice).await {
                Some(added) => {
                    ledger.others += 1;
                    ledger.add(&added);
                }
                None => ledger.lost_others += 1,
            },
        }
    }
    ledger
}

/// Increments of two rows, and of both counters of one, beside a row of another table; some transactions have met an
/// error before, and go on.
async fn transaction(client: &mut Driver, key: i64, random: &mut SmallRng) -> Option<Ledger> {
    let mut ledger = Ledger::default();
    let second = random.random_range(1..=KEYS);
    run(client, "START TRANSACTION").await;
    ledger.likes = affected(client, "INSERT INTO likes (post) VALUES (1)").await?;
    if random.random_bool(0.3) {
        const DUPLICATE: u16 = 1062;
        let text = "INSERT INTO likes VALUES (1, 1)";
        match client.query(text).await.expect("an answer") {
            Reply::Err(error) if error.code == DUPLICATE => {}
            Reply::Err(error) if LOST.contains(&error.code) => {
                roll_back(client).await;
                return None;
            }
            other => panic!("{other:?} to {text}"),
        }
    }
    for key in [key, second] {
        let text = format!("UPDATE posts SET views = views + 2 WHERE id = {key}");
        *ledger.views.entry(key).or_default() += 2 * affected(client, &text).await?;
    }
    let text = format!("UPDATE posts SET stars = stars + 1 WHERE id = {key}");
    ledger.stars.insert(key, affected(client, &text).await?);
    if random.random_bool(0.1) {
        let text = format!("UPDATE posts SET views = views * 1 + 4 WHERE id = {key}");
        *ledger.views.entry(key).or_default() += 4 * affected(client, &text).await?;
    }
    affected(client, "COMMIT").await?;
    Some(ledger)
}

/// Writes that need the whole value in the row.
async fn other(client: &mut Driver, key: i64, choice: u32) -> Option<Ledger> {
    let mut ledger = Ledger::default();
    match choice {
        80..84 => {
            let text = format!("UPDATE posts SET views = views * 1 + 5 WHERE id = {key}");
            let rows = affected(client, &text).await?;
            ledger.views.insert(key, 5 * rows);
        }
        84..86 => {
            let rows = affected(client, "UPDATE posts SET views = views * 1 + 1").await?;
            assert_eq!(rows, KEYS);
            ledger.views = (1..=KEYS).map(|key| (key, 1)).collect();
        }
        86..88 => {
            let text = format!("SELECT views FROM posts WHERE id = {key} FOR UPDATE");
            run(client, "START TRANSACTION").await;
            let value = number(client, &text).await?;
            let stars = text.replace("views", "stars");
            let stars = number(client, &stars).await?;
            affected(client, &format!("DELETE FROM posts WHERE id = {key}")).await?;
            let insert = format!("INSERT INTO posts VALUES ({key}, {value} + 7, {stars}, 'new')");
            affected(client, &insert).await?;
            affected(client, "COMMIT").await?;
            ledger.views.insert(key, 7);
        }
        88..90 => {
            let text = format!("SELECT views FROM posts WHERE id = {key} FOR UPDATE");
            run(client, "START TRANSACTION").await;
            let value = number(client, &text).await?;
            let null = format!("UPDATE posts SET views = NULL WHERE id = {key}");
            affected(client, &null).await?;
            let back = format!("UPDATE posts SET views = {value} + 3 WHERE id = {key}");
            affected(client, &back).await?;
            affected(client, "COMMIT").await?;
            ledger.views.insert(key, 3);
        }
        90..92 => {
            let text = format!("UPDATE posts SET title = UPPER(title) WHERE id = {key}");
            affected(client, &text).await?;
        }
        92..98 => {
            let text = "UPDATE small SET n = n + 60 WHERE id = 1";
            ledger.small = 60 * affected_or_out_of_range(client, text).await?;
        }
        _ => {
            let text = "UPDATE small SET n = n * 1 - 30000 WHERE id = 1 AND n > 25000";
            ledger.small = -30000 * affected(client, text).await?;
        }
    }
    Some(ledger)
}

/// The rows that a statement affects; `None` if it is lost, with its transaction.
async fn affected(client: &mut Driver, text: &str) -> Option<i64> {
    match client.query(text).await.expect("an answer") {
        Reply::Ok(rows) => Some(i64::try_from(rows).expect("a count")),
        Reply::Err(error) if LOST.contains(&error.code) => {
            roll_back(client).await;
            None
        }
        other => panic!("{other:?} to {text}"),
    }
}

/// After a lock wait that took too long there is a transaction, which may be lost before it is rolled back.
async fn roll_back(client: &mut Driver) {
    match client.query("ROLLBACK").await.expect("an answer") {
        Reply::Err(error) if LOST.contains(&error.code) => run(client, "ROLLBACK").await,
        done => done,
    };
}

/// The same for a column that has an end.
async fn affected_or_out_of_range(client: &mut Driver, text: &str) -> Option<i64> {
    const OUT_OF_RANGE: [u16; 2] = [1264, 1690];
    match client.query(text).await.expect("an answer") {
        Reply::Err(error) if OUT_OF_RANGE.contains(&error.code) => Some(0),
        Reply::Ok(rows) => Some(i64::try_from(rows).expect("a count")),
        Reply::Err(error) if LOST.contains(&error.code) => None,
        other => panic!("{other:?} to {text}"),
    }
}

/// The one value that a query returns.
async fn number(client: &mut Driver, text: &str) -> Option<i64> {
    match client.query(text).await.expect("an answer") {
        Reply::Rows(rows) => {
            let value = rows[0][0].as_deref().expect("no NULL");
            Some(std::str::from_utf8(value).ok()?.parse().expect("a number"))
        }
        Reply::Err(error) if LOST.contains(&error.code) => {
            roll_back(client).await;
            None
        }
        other => panic!("{other:?} to {text}"),
    }
}

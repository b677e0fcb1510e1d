//! Clients that work until they are told to stop, whatever happens, and tell the ledger.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use crate::ledger::{KEYS, Ledger, Outcome};
use crate::stage::SCHEMA;
use crate::support::binary::PATIENCE;
use crate::support::client::connect_as;

const CLIENTS: usize = 24;

/// How many increments show that the load goes on.
const ENOUGH: i64 = 100;

/// Errors that say that a statement was not done, and that the client may go on: lock waits and deadlocks, KILL QUERY,
/// a server that is read-only, a table that was altered.
const REFUSALS: [u16; 6] = [1205, 1213, 1317, 1290, 1836, 1412];

/// Errors that are the last that is heard of a session: the proxy has lost the server, or the server shuts down or was
/// told to end the session. What was begun may have been done.
const FAREWELLS: [u16; 3] = [1158, 1053, 1927];

/// Clients at work.
pub struct Load {
    stop: Arc<AtomicBool>,
    clients: JoinSet<()>,
    ledger: Arc<Ledger>,
}

impl Load {
    /// Of clients that connect to any of these, as they are at the time.
    pub fn start(seed: u64, proxies: &Arc<RwLock<Vec<Address>>>, ledger: &Arc<Ledger>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let mut client = Client {
                random: StdRng::seed_from_u64(seed.wrapping_add(number as u64)),
                proxies: Arc::clone(proxies),
                ledger: Arc::clone(ledger),
            };
            let stop = Arc::clone(&stop);
            clients.spawn(async move { client.work(&stop).await });
        }
        Self {
            stop,
            clients,
            ledger: Arc::clone(ledger),
        }
    }

    /// Waits until more has been done.
    pub async fn goes_on(&self) {
        let before = self.ledger.done();
        let more = async {
            while self.ledger.done() < before + ENOUGH {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, more).await;
        assert!(
            done.is_ok(),
            "the load stands still: {}",
            self.ledger.summary()
        );
    }

    /// Tells the clients to stop, and waits until they have.
    pub async fn end(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = async {
            while let Some(client) = self.clients.join_next().await {
                client.expect("a client that does not panic");
            }
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        assert!(ended.is_ok(), "a client waits for ever");
    }
}

struct Client {
    random: StdRng,
    proxies: Arc<RwLock<Vec<Address>>>,
    ledger: Arc<Ledger>,
}

/// The connection was lost.
struct Lost;

impl Client {
    async fn work(&mut self, stop: &AtomicBool) {
        let mut connection = None;
        while !stop.load(Ordering::SeqCst) {
            let Some(mut driver) = connection.take() else {
                connection = self.connect().await;
                continue;
            };
            if self.act(&mut driver).await.is_ok() {
                connection = Some(driver);
            }
        }
    }

    async fn connect(&mut self) -> Option<Driver> {
        let proxy = {
            let proxies = self.proxies.read().expect("nobody panics");
            proxies[self.random.random_range(0..proxies.len())].clone()
        };
        let connected = connect_as(&proxy, Some(SCHEMA), Driver::CAPABILITIES).await;
        if connected.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        connected.ok()
    }

    async fn act(&mut self, driver: &mut Driver) -> Result<(), Lost> {
        // One is hotter than the others, so that increments of it are combined.
        let row = self.random.random_range(0..2 * KEYS).saturating_sub(KEYS);
        match self.random.random_range(0..10) {
            0..4 => self.increment(driver, row).await,
            4 => self.read(driver, row).await,
            5 | 6 => self.sell(driver, row).await,
            7 => self.draw(driver, row).await,
            8 => self.reading_transaction(driver, row).await,
            _ => self.transaction(driver).await,
        }
    }

    /// How a statement ended, and its affected rows.
    async fn run(&self, driver: &mut Driver, text: &str) -> (Outcome, u64) {
        match driver.query(text).await {
            Ok(Reply::Ok(rows)) => (Outcome::Done, rows),
            Ok(Reply::Rows(_)) => (Outcome::Done, 0),
            Ok(Reply::Err(error)) if FAREWELLS.contains(&error.code) => (Outcome::Lost, 0),
            Ok(Reply::Err(error)) => {
                assert!(REFUSALS.contains(&error.code), "{error} in: {text}");
                self.ledger.refused.fetch_add(1, Ordering::SeqCst);
                (Outcome::Refused, 0)
            }
            Err(_) => {
                self.ledger.lost.fetch_add(1, Ordering::SeqCst);
                (Outcome::Lost, 0)
            }
        }
    }

    async fn increment(&mut self, driver: &mut Driver, row: usize) -> Result<(), Lost> {
        let amount = self.random.random_range(1..5);
        let account = &self.ledger.views[row];
        account.begin(amount);
        let text = format!("UPDATE posts SET views = views + {amount} WHERE id = {row}");
        let (outcome, _) = self.run(driver, &text).await;
        account.end(amount, outcome);
        unless_lost(outcome)
    }

    /// Two increments, which are done together or not at all.
    async fn transaction(&mut self, driver: &mut Driver) -> Result<(), Lost> {
        let row = self.random.random_range(0..KEYS - 1);
        let both = row..=row + 1;
        for account in &self.ledger.views[both.clone()] {
            account.begin(1);
        }
        let increment = |row| format!("UPDATE posts SET views = views + 1 WHERE id = {row}");
        let texts = ["BEGIN".to_owned(), increment(row), increment(row + 1)];
        let mut outcome = Outcome::Done;
        for text in &texts {
            if outcome == Outcome::Done {
                outcome = self.run(driver, text).await.0;
            }
        }
        // Without a COMMIT nothing is done, whoever was lost.
        let (told, outcome) = match outcome {
            Outcome::Done => self.commit(driver).await,
            Outcome::Refused => (Outcome::Refused, self.run(driver, "ROLLBACK").await.0),
            Outcome::Lost => (Outcome::Refused, Outcome::Lost),
        };
        for account in &self.ledger.views[both] {
            account.end(1, told);
        }
        unless_lost(outcome)
    }

    /// What the ledger is told of a transaction, and whether its session goes on.
    async fn commit(&self, driver: &mut Driver) -> (Outcome, Outcome) {
        match self.run(driver, "COMMIT").await.0 {
            // One that is interrupted may have been done.
            Outcome::Refused => (Outcome::Lost, Outcome::Lost),
            outcome => (outcome, outcome),
        }
    }

    /// Reads, increments, and reads what it has incremented.
    async fn reading_transaction(&mut self, driver: &mut Driver, row: usize) -> Result<(), Lost> {
        let account = &self.ledger.views[row];
        account.begin(1);
        let read = format!("SELECT views FROM posts WHERE id = {row}");
        let increment = format!("UPDATE posts SET views = views + 1 WHERE id = {row}");
        let done = async {
            unless_lost(self.run(driver, "BEGIN").await.0)?;
            let before = self.number(driver, &read).await?;
            let incremented = self.run(driver, &increment).await.0;
            unless_lost(incremented)?;
            let after = self.number(driver, &read).await?;
            if let (Some(before), Outcome::Done, Some(after)) = (before, incremented, after) {
                assert!(
                    before < after,
                    "row {row}: {before}, and its own, are {after}"
                );
                return Ok(true);
            }
            unless_lost(self.run(driver, "ROLLBACK").await.0).map(|()| false)
        };
        let (told, outcome) = match done.await {
            Ok(true) => self.commit(driver).await,
            Ok(false) => (Outcome::Refused, Outcome::Refused),
            Err(Lost) => (Outcome::Refused, Outcome::Lost),
        };
        account.end(1, told);
        unless_lost(outcome)
    }

    /// Takes one of the guarded counter.
    async fn sell(&mut self, driver: &mut Driver, row: usize) -> Result<(), Lost> {
        let account = &self.ledger.sold[row];
        account.begin(1);
        let text = format!("UPDATE posts SET stock = stock - 1 WHERE id = {row} AND stock >= 1");
        let (outcome, rows) = self.run(driver, &text).await;
        match (outcome, rows) {
            (Outcome::Done, 0) => account.end(1, Outcome::Refused),
            _ => account.end(1, outcome),
        }
        unless_lost(outcome)
    }

    /// Draws a number.
    async fn draw(&mut self, driver: &mut Driver, row: usize) -> Result<(), Lost> {
        let text = format!("UPDATE posts SET seq = LAST_INSERT_ID(seq + 1) WHERE id = {row}");
        let (outcome, rows) = self.run(driver, &text).await;
        unless_lost(outcome)?;
        if (outcome, rows) != (Outcome::Done, 1) {
            return Ok(());
        }
        if let Some(number) = self.number(driver, "SELECT LAST_INSERT_ID()").await? {
            self.ledger.draw(row, number);
        }
        Ok(())
    }

    async fn read(&mut self, driver: &mut Driver, row: usize) -> Result<(), Lost> {
        let account = &self.ledger.views[row];
        let least = account.least();
        let text = format!("SELECT views FROM posts WHERE id = {row}");
        let Some(read) = self.number(driver, &text).await? else {
            return Ok(());
        };
        let most = account.most();
        assert!(
            (least..=most).contains(&read),
            "row {row}: {read} was read, where {least} was acknowledged before and {most} begun"
        );
        self.ledger.reads.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The number that a query returns; `None` if it was refused.
    async fn number(&self, driver: &mut Driver, text: &str) -> Result<Option<i64>, Lost> {
        match driver.query(text).await {
            Ok(Reply::Rows(rows)) => {
                let value = rows[0][0].as_deref().expect("no NULL");
                let number = String::from_utf8_lossy(value).parse();
                Ok(Some(number.expect("a number")))
            }
            Ok(Reply::Err(error)) if FAREWELLS.contains(&error.code) => Err(Lost),
            Ok(Reply::Err(error)) => {
                assert!(REFUSALS.contains(&error.code), "{error} in: {text}");
                Ok(None)
            }
            Ok(other) => panic!("{other:?} in: {text}"),
            Err(_) => Err(Lost),
        }
    }
}

fn unless_lost(outcome: Outcome) -> Result<(), Lost> {
    match outcome {
        Outcome::Lost => Err(Lost),
        Outcome::Done | Outcome::Refused => Ok(()),
    }
}

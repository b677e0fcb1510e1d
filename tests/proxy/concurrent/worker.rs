//! Sessions at work: they increment, read and hold locks, and say in the ledger what they were told.

use std::sync::Arc;
use std::time::Duration;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;

use crate::concurrent::chance::Chance;
use crate::concurrent::ledger::{Increment, Outcome, Read};
use crate::concurrent::stage::{PATIENCE, Plan, Shared};
use crate::support::client::connect;

/// A session at work, on one connection after the other.
pub struct Worker {
    pub chance: Chance,
    pub address: Address,
    pub schema: &'static str,
    pub plan: Plan,
    pub shared: Arc<Shared>,
}

/// What became of a statement.
enum Told {
    Reply(Reply),
    /// An error: nothing has changed.
    Refused,
    /// The connection was lost before the end of the answer.
    Lost,
}

impl Worker {
    async fn connect(&self) -> Driver {
        let client = connect(&self.address, Some(self.schema)).await;
        self.shared.begins(client.thread_id());
        client
    }

    pub async fn work(mut self) {
        let mut client = self.connect().await;
        while !self.shared.stops() {
            if self.plan.cuts && self.chance.once_in(32) {
                client = self.cut_off(client).await;
                continue;
            }
            let goes_on = match self.chance.below(8) {
                0..=3 => self.increment(&mut client).await,
                4 | 5 => self.transaction(&mut client).await,
                _ => self.read(&mut client).await,
            };
            client = match goes_on {
                Some(()) => client,
                None => self.connect().await,
            };
        }
    }

    /// Holds metadata locks, for which DDL waits.
    pub async fn hold(mut self) {
        let mut client = self.connect().await;
        while !self.shared.stops() {
            let row = 1 + self.chance.below(3);
            let what = *self.chance.pick(&["title", "views", "id, title"]);
            let text = format!("SELECT {what} FROM posts WHERE id = {row}");
            let mut is_lost = false;
            for text in ["BEGIN", &text] {
                is_lost |= matches!(self.ask(&mut client, text).await, Told::Lost);
            }
            let more = self.chance.below(30);
            self.shared
                .wait_for_more(more, Duration::from_millis(50))
                .await;
            is_lost |= matches!(self.ask(&mut client, "COMMIT").await, Told::Lost);
            if is_lost {
                client = self.connect().await;
            }
        }
    }

    async fn ask(&self, client: &mut Driver, text: &str) -> Told {
        /// No such table or column while they are away; deadlocks; a table that has changed since the snapshot.
        const EXPECTED: [u16; 5] = [1146, 1054, 1205, 1213, 1412];
        /// A statement that was killed.
        const INTERRUPTED: u16 = 1317;
        /// The connection was killed (MariaDB), or the server closes it.
        const CLOSING: [u16; 3] = [1927, 1053, 4031];
        let reply = tokio::time::timeout(PATIENCE, client.query(text)).await;
        let reply = reply.unwrap_or_else(|_| panic!("no answer: {text}"));
        let error = match reply {
            Ok(Reply::Err(error)) => error,
            Ok(reply) => return Told::Reply(reply),
            Err(error) => {
                assert!(self.plan.kills, "{error} in: {text}");
                return Told::Lost;
            }
        };
        self.shared.error(error.code);
        if self.plan.kills && CLOSING.contains(&error.code) {
            return Told::Lost;
        }
        let is_expected =
            EXPECTED.contains(&error.code) || (self.plan.kills && error.code == INTERRUPTED);
        assert!(is_expected, "{error} in: {text}");
        Told::Refused
    }

    fn an_increment(&mut self) -> (Increment, String) {
        let row = 1 + i64::try_from(self.chance.below(3)).expect("few");
        let amount = 1 + i64::try_from(self.chance.below(3)).expect("few");
        let increment = Increment {
            row,
            amount,
            sent: self.shared.clock.tick(),
            found: u64::MAX,
            answered: u64::MAX,
            outcome: Outcome::Ambiguous,
        };
        let text = format!("UPDATE posts SET views = views + {amount} WHERE id = {row}");
        (increment, text)
    }

    async fn increment(&mut self, client: &mut Driver) -> Option<()> {
        let (mut increment, text) = self.an_increment();
        match self.ask(client, &text).await {
            Told::Reply(Reply::Ok(1)) => {
                increment.answered = self.shared.clock.tick();
                increment.found = increment.answered;
                increment.outcome = Outcome::Acknowledged;
                self.shared.takes_down(vec![increment]);
                Some(())
            }
            Told::Reply(_) | Told::Refused => Some(()),
            Told::Lost => {
                self.shared.takes_down(vec![increment]);
                None
            }
        }
    }

    /// Sends an increment and does not wait for its answer, or not for long.
    async fn cut_off(&mut self, mut client: Driver) -> Driver {
        let (increment, text) = self.an_increment();
        let payload = client.query_payload(&text);
        if client.send(&payload).await.is_ok() {
            self.shared
                .wait_for_more(self.chance.below(2), Duration::from_millis(5))
                .await;
        }
        drop(client);
        self.shared.takes_down(vec![increment]);
        self.connect().await
    }

    async fn transaction(&mut self, client: &mut Driver) -> Option<()> {
        let mut increments = Vec::new();
        match self.ask(client, "BEGIN").await {
            Told::Reply(_) => {}
            Told::Refused => return Some(()),
            Told::Lost => return None,
        }
        for _ in 0..1 + self.chance.below(2) {
            let (mut increment, text) = self.an_increment();
            match self.ask(client, &text).await {
                Told::Reply(Reply::Ok(1)) => {
                    increment.found = self.shared.clock.tick();
                    increments.push(increment);
                }
                Told::Reply(_) => {}
                Told::Refused => return self.roll_back(client).await,
                // What was not committed has not been.
                Told::Lost => return None,
            }
        }
        if self.chance.once_in(4) {
            return self.roll_back(client).await;
        }
        let told = self.ask(client, "COMMIT").await;
        if let Told::Reply(_) = told {
            let answered = self.shared.clock.tick();
            for increment in &mut increments {
                increment.answered = answered;
                increment.outcome = Outcome::Acknowledged;
            }
        }
        // A COMMIT that was killed may have come to pass.
        self.shared.takes_down(increments);
        match told {
            Told::Reply(_) => Some(()),
            Told::Refused => self.roll_back(client).await,
            Told::Lost => None,
        }
    }

    /// Until it has been done: what is open otherwise would take in what comes next.
    async fn roll_back(&mut self, client: &mut Driver) -> Option<()> {
        loop {
            match self.ask(client, "ROLLBACK").await {
                Told::Reply(_) => return Some(()),
                Told::Refused => {}
                Told::Lost => return None,
            }
        }
    }

    async fn read(&mut self, client: &mut Driver) -> Option<()> {
        let row = 1 + i64::try_from(self.chance.below(3)).expect("few");
        let sent = self.shared.clock.tick();
        let text = format!("SELECT views FROM posts WHERE id = {row}");
        let rows = match self.ask(client, &text).await {
            Told::Reply(Reply::Rows(rows)) => rows,
            Told::Reply(_) | Told::Refused => return Some(()),
            Told::Lost => return None,
        };
        let answered = self.shared.clock.tick();
        // Of a subquery that is killed MySQL gives NULL now and then.
        if let Some(value) = rows.first().and_then(|row| row[0].clone()) {
            let value = String::from_utf8(value).expect("digits");
            let value = value.parse().expect("a number");
            self.shared.ledger.lock().unwrap().reads.push(Read {
                row,
                value,
                sent,
                answered,
            });
        }
        Some(())
    }
}

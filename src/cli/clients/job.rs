//! What a client of a load does, statement after statement.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::measured::Measured;
use super::{Account, Error, Keys, Statement};
use crate::driver::{Driver, ServerError, query_packet};
use crate::wire::answer::Form;

/// What statements are refused with that may be sent again: a deadlock, and too long a wait for a lock.
const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// A load's statements.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Job {
    pub increment: Statement,
    pub reads: Option<Reads>,
    /// Increments are each in a transaction of its own, rather than in autocommit.
    pub transaction: Option<Transaction>,
    pub keys: Keys,
    /// How many slots the increments name.
    pub slots: u16,
}

/// Reads among the increments.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Reads {
    pub statement: Statement,
    /// Their share of all statements, up to 1.
    pub share: f64,
}

/// BEGIN, the increment, the client's own work, COMMIT.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Transaction {
    /// How long the client's own work takes, while the transaction is open.
    pub think: Duration,
    begin: Vec<u8>,
    commit: Vec<u8>,
    rollback: Vec<u8>,
}

impl Transaction {
    pub fn new(think: Duration) -> Self {
        Self {
            think,
            begin: query_packet("BEGIN"),
            commit: query_packet("COMMIT"),
            rollback: query_packet("ROLLBACK"),
        }
    }
}

impl Job {
    /// Nothing but this statement.
    pub fn only(increment: &str) -> Self {
        Self {
            increment: Statement::new(increment),
            reads: None,
            transaction: None,
            keys: Keys::One(1),
            slots: 1,
        }
    }
}

/// One client of a load.
pub(super) struct Worker<'a> {
    pub driver: Driver,
    pub account: &'a Account,
    pub job: &'a Job,
    /// From 1.
    pub number: u64,
    /// Where it writes down what it did, with others.
    pub tally: &'a Mutex<Measured>,
}

impl Worker<'_> {
    /// Works until `end`, and then waits for the last answer.
    pub async fn run(mut self, end: Instant) -> Result<(), Error> {
        // Any other numbers would do; these are the same ones in each turn.
        let mut random = SmallRng::seed_from_u64(self.number);
        let mut packet = Vec::with_capacity(256);
        let mut sent = Instant::now();
        while sent < end {
            let key = self.job.keys.draw(self.number, &mut random);
            let read = match &self.job.reads {
                Some(reads) if random.random_bool(reads.share) => Some(&reads.statement),
                _ => None,
            };
            let statement = read.unwrap_or(&self.job.increment);
            let slot = match statement.has_slot() {
                true => random.random_range(0..self.job.slots),
                false => 0,
            };
            statement.write_packet(key, slot, &mut packet);
            let open = match read {
                Some(_) => None,
                None => self.job.transaction.as_ref(),
            };
            while let Some(error) = self.attempt(&packet, open).await? {
                self.again(error, || statement.text(key, slot))?;
                if Instant::now() >= end {
                    return self.leave().await;
                }
            }
            let answered = Instant::now();
            self.acknowledged(read.is_some(), answered - sent);
            sent = answered;
        }
        self.leave().await
    }

    async fn leave(self) -> Result<(), Error> {
        // It is the last word, whether it is heard or not.
        self.driver.quit().await.ok();
        Ok(())
    }

    /// Sends the statement once, in a transaction or by itself.
    async fn attempt(
        &mut self,
        packet: &[u8],
        transaction: Option<&Transaction>,
    ) -> Result<Option<ServerError>, Error> {
        match transaction {
            Some(transaction) => self.transact(transaction, packet).await,
            None => self.refusal(packet).await,
        }
    }

    /// One transaction; rolled back when one of its statements is refused.
    async fn transact(
        &mut self,
        transaction: &Transaction,
        increment: &[u8],
    ) -> Result<Option<ServerError>, Error> {
        let mut refused = self.refusal(&transaction.begin).await?;
        if refused.is_none() {
            refused = self.refusal(increment).await?;
        }
        if refused.is_none() {
            if !transaction.think.is_zero() {
                tokio::time::sleep(transaction.think).await;
            }
            refused = self.refusal(&transaction.commit).await?;
        }
        if refused.is_some() {
            self.refusal(&transaction.rollback).await?;
        }
        Ok(refused)
    }

    async fn refusal(&mut self, packet: &[u8]) -> Result<Option<ServerError>, Error> {
        let answered = self.driver.refusal(packet, Form::Results).await;
        answered.map_err(|source| self.account.lost(source))
    }

    fn acknowledged(&self, is_read: bool, latency: Duration) {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        match is_read {
            true => tally.reads.record(latency),
            false => tally.increments.record(latency),
        }
    }

    /// Counts a failure that may come again; any other ends the load.
    fn again(&self, error: ServerError, statement: impl Fn() -> String) -> Result<(), Error> {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        match error.code {
            DEADLOCK => tally.deadlocks += 1,
            LOCK_WAIT_TIMEOUT => tally.timeouts += 1,
            _ => {
                return Err(Error::Refused {
                    address: self.account.address.to_string(),
                    statement: statement(),
                    source: error,
                });
            }
        }
        Ok(())
    }
}

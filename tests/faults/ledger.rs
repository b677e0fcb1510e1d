//! What the clients were told, of each key.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// How many rows there are.
pub const KEYS: usize = 3;

/// What is in the guarded counter of each row at first.
pub const STOCK: i64 = 100_000;

/// What was done to one counter.
#[derive(Debug, Default)]
pub struct Account {
    /// How much was begun.
    begun: AtomicI64,
    /// How much the server, or the proxy, has said is done.
    acknowledged: AtomicI64,
    /// How much was lost before its answer.
    ambiguous: AtomicI64,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It was refused, and must not have been done.
    Refused,
    /// Its answer was lost.
    Lost,
}

impl Account {
    pub fn begin(&self, amount: i64) {
        self.begun.fetch_add(amount, Ordering::SeqCst);
    }

    pub fn end(&self, amount: i64, outcome: Outcome) {
        match outcome {
            Outcome::Done => self.acknowledged.fetch_add(amount, Ordering::SeqCst),
            Outcome::Lost => self.ambiguous.fetch_add(amount, Ordering::SeqCst),
            Outcome::Refused => self.begun.fetch_sub(amount, Ordering::SeqCst),
        };
    }

    /// The least that a read may find which begins now.
    pub fn least(&self) -> i64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// The most that a read may have found which ends now.
    pub fn most(&self) -> i64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Takes in what it is while nobody does anything: what was ambiguous is known now.
    pub fn settle(&self, value: i64) {
        self.begun.store(value, Ordering::SeqCst);
        self.acknowledged.store(value, Ordering::SeqCst);
        self.ambiguous.store(0, Ordering::SeqCst);
    }

    /// What it must be between while nobody does anything.
    pub fn bounds(&self) -> (i64, i64) {
        let least = self.least();
        (least, least + self.ambiguous.load(Ordering::SeqCst))
    }
}

/// All accounts, by the row.
#[derive(Debug, Default)]
pub struct Ledger {
    pub views: [Account; KEYS],
    /// How much was taken of the guarded counter.
    pub sold: [Account; KEYS],
    /// The numbers that were drawn of each row's sequence.
    drawn: [Mutex<HashSet<i64>>; KEYS],
    /// Statements whose answers were lost.
    pub lost: AtomicU64,
    /// Statements that were refused.
    pub refused: AtomicU64,
    /// Reads that were in bounds.
    pub reads: AtomicU64,
}

impl Ledger {
    /// Takes in a number that was drawn.
    pub fn draw(&self, row: usize, number: i64) {
        let is_new = self.drawn[row]
            .lock()
            .expect("nobody panics")
            .insert(number);
        assert!(is_new, "{number} of row {row} was drawn twice");
    }

    /// The highest number that was drawn, and how many were.
    pub fn drawn(&self, row: usize) -> (i64, i64) {
        let drawn = self.drawn[row].lock().expect("nobody panics");
        let highest = drawn.iter().copied().max().unwrap_or_default();
        (highest, drawn.len() as i64)
    }

    /// How much has been done so far, by all clients.
    pub fn done(&self) -> i64 {
        self.views.iter().map(Account::least).sum()
    }

    pub fn summary(&self) -> String {
        let sum = |accounts: &[Account; KEYS]| accounts.iter().map(Account::least).sum::<i64>();
        let drawn: i64 = (0..KEYS).map(|row| self.drawn(row).1).sum();
        format!(
            "{} added, {} sold, {drawn} numbers drawn, {} answers lost, {} statements refused, {} reads",
            sum(&self.views),
            sum(&self.sold),
            self.lost.load(Ordering::SeqCst),
            self.refused.load(Ordering::SeqCst),
            self.reads.load(Ordering::SeqCst),
        )
    }
}

//! What was done to each hot table.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counters of one hot table.
#[derive(Debug, Default)]
pub struct TableCounts {
    increments: AtomicU64,
    reads: AtomicU64,
    folds: AtomicU64,
    batches: AtomicU64,
    combined: AtomicU64,
    batched: AtomicU64,
    changeovers: AtomicU64,
    writes_past: AtomicU64,
}

/// A snapshot of the counters of one hot table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounted {
    /// Increments that went to slots, or to the base row where the table has no slots.
    pub increments: u64,
    /// Reads of its counters as base + SUM(slots).
    pub reads: u64,
    /// Statements before which its slots were folded into base.
    pub folds: u64,
    /// Batches with increments of this table, each of several clients.
    pub batches: u64,
    /// Increments of this table in those batches.
    pub combined: u64,
    /// Other writes of one row that shared a transaction, or of which one answered several.
    pub batched: u64,
    /// How often the table came from rest to slots.
    pub changeovers: u64,
    /// Changes of its counters, and deleted rows, that the sentinel has seen past the proxy.
    pub writes_past: u64,
}

impl TableCounts {
    /// Counts an increment that went to a slot, or to the base row where the table has no slots.
    pub fn count_increment(&self) {
        self.increments.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a read of base + SUM(slots).
    pub fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a statement before which slots are folded into base.
    pub fn count_fold(&self) {
        self.folds.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a batch with this many increments of this table.
    pub fn count_batch(&self, increments: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        let increments = u64::try_from(increments).unwrap_or(u64::MAX);
        self.combined.fetch_add(increments, Ordering::Relaxed);
    }

    /// Counts writes of one row, other than increments, that were written together.
    pub fn count_batched(&self, statements: usize) {
        let statements = u64::try_from(statements).unwrap_or(u64::MAX);
        self.batched.fetch_add(statements, Ordering::Relaxed);
    }

    /// Counts that the table has come from rest to slots.
    pub fn count_changeover(&self) {
        self.changeovers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a change past the proxy.
    pub fn count_write_past(&self) {
        self.writes_past.fetch_add(1, Ordering::Relaxed);
    }

    /// A snapshot of what has been counted so far.
    pub fn counted(&self) -> TableCounted {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TableCounted {
            increments: read(&self.increments),
            reads: read(&self.reads),
            folds: read(&self.folds),
            batches: read(&self.batches),
            combined: read(&self.combined),
            batched: read(&self.batched),
            changeovers: read(&self.changeovers),
            writes_past: read(&self.writes_past),
        }
    }
}

/// Counters by the table's name. They outlive catalogs: rules.yaml and DDL may change what a table is, and its counters
/// continue.
#[derive(Debug, Default)]
pub(super) struct Tables(Mutex<BTreeMap<(String, String), Arc<TableCounts>>>);

impl Tables {
    /// The counters of `schema.name`.
    pub(super) fn get(&self, schema: &str, name: &str) -> Arc<TableCounts> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (schema.to_owned(), name.to_owned());
        Arc::clone(tables.entry(key).or_default())
    }
}

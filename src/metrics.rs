//! All metrics of the process.

mod fault;
mod histogram;
mod latency;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reason::Reason;

pub use fault::Fault;
pub use histogram::{Histogram, Observed, Times};
pub use latency::{Latency, LatencyOf, Spent};
use tables::Tables;
pub use tables::{TableCounted, TableCounts};

/// Upper bounds of the buckets for the number of increments in a batch.
const BATCHES: [u64; 9] = [2, 5, 10, 20, 50, 100, 200, 500, 1_000];

type Batches = Histogram<{ BATCHES.len() }>;

type ByFault = [AtomicU64; Fault::ALL.len()];

/// The counters of the process.
#[derive(Debug)]
pub struct Metrics {
    statements: [AtomicU64; Reason::ALL.len()],
    /// Statements on observed tables, by what would have happened to them in enforce mode.
    observed: [AtomicU64; Reason::ALL.len()],
    /// How long statements take, and where.
    pub latency: Latency,
    /// Statements and transactions that wrote the increments of several clients, by the number of increments.
    batches: Batches,
    /// What was done to each hot table.
    tables: Tables,
    /// Increments that are waiting now, for another increment to complete or for a lane.
    waiting: AtomicU64,
    /// Transactions that rolled up slot rows, or found none.
    roll_ups: AtomicU64,
    /// Clients that are connected now.
    sessions: AtomicU64,
    /// Clients that have connected so far.
    connections: AtomicU64,
    /// Those among them that were not logged in, by the side at fault.
    refused: ByFault,
    /// Sessions that ended in the middle of a command, by the side at fault.
    lost: ByFault,
    /// Slot rows that were rolled up.
    rolled_up: AtomicU64,
    /// Slot rows that an application has written by hand, and that were rolled up.
    adopted: AtomicU64,
    /// Slot rows that were deleted because they had no base row.
    orphans: AtomicU64,
    /// Roll-ups that failed.
    failed_roll_ups: AtomicU64,
    /// Failed roll-ups that would have changed a value.
    drifted: AtomicU64,
    /// Transactions that were run again because another member of the cluster had been first.
    retried: AtomicU64,
    /// Changes of hot tables of which it could not be told whether they went past the proxy.
    undecided: AtomicU64,
    /// Statements whose spans a collector has taken.
    traced: AtomicU64,
    /// Statements whose spans were dropped.
    untraced: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            statements: std::array::from_fn(|_| AtomicU64::new(0)),
            observed: std::array::from_fn(|_| AtomicU64::new(0)),
            latency: Latency::default(),
            batches: Batches::new(&BATCHES),
            tables: Tables::default(),
            waiting: AtomicU64::new(0),
            roll_ups: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            refused: ByFault::default(),
            lost: ByFault::default(),
            rolled_up: AtomicU64::new(0),
            adopted: AtomicU64::new(0),
            orphans: AtomicU64::new(0),
            failed_roll_ups: AtomicU64::new(0),
            drifted: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            undecided: AtomicU64::new(0),
            traced: AtomicU64::new(0),
            untraced: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// Counts a statement by the reason for its plan.
    pub fn count(&self, reason: Reason) {
        self.statements[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a statement on an observed table by the reason for the plan that it would have had.
    pub fn count_observed(&self, reason: Reason) {
        self.observed[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a batch of this many increments and other writes.
    pub fn count_batch(&self, writes: usize) {
        self.batches
            .observe(u64::try_from(writes).unwrap_or(u64::MAX));
    }

    /// Counts a transaction that rolled up `moved` slot rows and deleted `orphans` slot rows without a base row.
    pub fn count_roll_up(&self, moved: u64, orphans: u64) {
        self.roll_ups.fetch_add(1, Ordering::Relaxed);
        self.rolled_up.fetch_add(moved, Ordering::Relaxed);
        self.orphans.fetch_add(orphans, Ordering::Relaxed);
    }

    /// Counts hand-written slot rows that were rolled up.
    pub fn count_adopted(&self, rows: u64) {
        self.adopted.fetch_add(rows, Ordering::Relaxed);
    }

    /// Hand-written slot rows that were rolled up.
    pub fn adopted(&self) -> u64 {
        self.adopted.load(Ordering::Relaxed)
    }

    /// Counts statements whose spans a collector has taken.
    pub fn count_traced(&self, statements: u64) {
        self.traced.fetch_add(statements, Ordering::Relaxed);
    }

    /// Counts changes of which it could not be told whether they went past the proxy.
    pub fn count_undecided(&self, changes: usize) {
        let changes = u64::try_from(changes).unwrap_or(u64::MAX);
        self.undecided.fetch_add(changes, Ordering::Relaxed);
    }

    /// Changes of which it could not be told whether they went past the proxy.
    pub fn undecided(&self) -> u64 {
        self.undecided.load(Ordering::Relaxed)
    }

    /// Statements whose spans a collector has taken.
    pub fn traced(&self) -> u64 {
        self.traced.load(Ordering::Relaxed)
    }

    /// Counts statements whose spans were dropped.
    pub fn count_untraced(&self, statements: u64) {
        self.untraced.fetch_add(statements, Ordering::Relaxed);
    }

    /// Statements whose spans were dropped, because the collector did not take them in time.
    pub fn untraced(&self) -> u64 {
        self.untraced.load(Ordering::Relaxed)
    }

    /// Adds the successful roll-ups that `other` has counted, and their slot rows.
    pub fn add_roll_ups(&self, other: &Self) {
        for (here, there) in [
            (&self.roll_ups, &other.roll_ups),
            (&self.rolled_up, &other.rolled_up),
            (&self.orphans, &other.orphans),
        ] {
            here.fetch_add(there.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Counts a roll-up that failed. `has_drifted` says that it would have changed a value and was rolled back for that
    /// reason.
    pub fn count_failed_roll_up(&self, has_drifted: bool) {
        self.failed_roll_ups.fetch_add(1, Ordering::Relaxed);
        self.drifted
            .fetch_add(u64::from(has_drifted), Ordering::Relaxed);
    }

    /// Transactions that rolled up slot rows, or found none.
    pub fn roll_ups(&self) -> u64 {
        self.roll_ups.load(Ordering::Relaxed)
    }

    /// Roll-ups that failed and will be tried again.
    pub fn failed_roll_ups(&self) -> u64 {
        self.failed_roll_ups.load(Ordering::Relaxed)
    }

    /// Slot rows that were deleted because their base row was gone.
    pub fn orphans(&self) -> u64 {
        self.orphans.load(Ordering::Relaxed)
    }

    /// Slot rows that were rolled up.
    pub fn rolled_up(&self) -> u64 {
        self.rolled_up.load(Ordering::Relaxed)
    }

    /// Roll-ups that would have changed a value. There are none unless there is a bug.
    pub fn drifted(&self) -> u64 {
        self.drifted.load(Ordering::Relaxed)
    }

    /// Counts a transaction that is run again because another member of the cluster was first.
    pub fn count_retried(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }

    /// Transactions that were run again because another member of the cluster had been first.
    pub fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }

    /// The number of batches, and of the increments and other writes in them.
    pub fn combined(&self) -> (u64, u64) {
        let batches = self.batches();
        (batches.count(), batches.sum)
    }

    /// Batches by the number of their increments and other writes.
    pub fn batches(&self) -> Observed {
        self.batches.observed()
    }

    /// The counters of the hot table `schema.name`.
    pub fn table(&self, schema: &str, name: &str) -> Arc<TableCounts> {
        self.tables.get(schema, name)
    }

    /// Counts an increment as waiting until the returned value is dropped.
    pub fn count_waiting(&self) -> impl Drop + use<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Present(&self.waiting)
    }

    /// Counts a client as connected until the returned value is dropped.
    pub fn count_session(&self) -> impl Drop + use<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Present(&self.sessions)
    }

    /// Clients that are connected now.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Clients that have connected so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts a client that was not logged in.
    pub fn count_refused(&self, fault: Fault) {
        self.refused[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Clients that were not logged in through the fault of this side.
    pub fn refused(&self, fault: Fault) -> u64 {
        self.refused[fault as usize].load(Ordering::Relaxed)
    }

    /// Clients that were not logged in, whichever side was at fault.
    pub fn all_refused(&self) -> u64 {
        Fault::ALL.map(|fault| self.refused(fault)).iter().sum()
    }

    /// Counts a session that ended in the middle of a command.
    pub fn count_lost(&self, fault: Fault) {
        self.lost[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Sessions that ended in the middle of a command through the fault of this side.
    pub fn lost(&self, fault: Fault) -> u64 {
        self.lost[fault as usize].load(Ordering::Relaxed)
    }

    /// Increments that are waiting now to be combined.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Statements by reason, without reasons that did not occur.
    pub fn statements(&self) -> BTreeMap<Reason, u64> {
        counted(&self.statements)
    }

    /// Statements on observed tables by the reason for the plan that they would have had, without reasons that did not
    /// occur.
    pub fn observed(&self) -> BTreeMap<Reason, u64> {
        counted(&self.observed)
    }
}

fn counted(statements: &[AtomicU64; Reason::ALL.len()]) -> BTreeMap<Reason, u64> {
    let counted = Reason::ALL.into_iter().map(|reason| {
        let count = &statements[reason as usize];
        (reason, count.load(Ordering::Relaxed))
    });
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Decrements a gauge when dropped.
struct Present<'a>(&'a AtomicU64);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

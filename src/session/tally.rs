//! What was done to each hot table, and counting it.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::hot::Hot;
use super::registry::Entry;
use crate::catalog::HotTable;
use crate::metrics::Metrics;
use crate::reason::Reason;

/// What sessions have done to one hot table since the proxy has started.
#[derive(Debug, Default)]
pub struct Tally {
    increments: AtomicU64,
    reads: AtomicU64,
    folds: AtomicU64,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A statement that adds constants, whatever became of it.
    Increment,
    /// A statement that read counters as base + SUM(slots).
    Read,
    /// A statement before which slots were moved into base.
    Fold,
}

impl Tally {
    /// Statements that add constants.
    pub fn increments(&self) -> u64 {
        self.increments.load(Ordering::Relaxed)
    }

    /// Statements that read counters.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Statements before which slots were moved into base.
    pub fn folds(&self) -> u64 {
        self.folds.load(Ordering::Relaxed)
    }

    fn count(&self, deed: Deed) {
        let counter = match deed {
            Deed::Increment => &self.increments,
            Deed::Read => &self.reads,
            Deed::Fold => &self.folds,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The tallies of the hot tables, in the order of the catalog: those with slots, then those without.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<(Arc<HotTable>, Arc<Tally>)>);

impl Tallies {
    /// Of these tables; those that were counted before go on.
    pub(super) fn of<'a>(
        tables: impl Iterator<Item = &'a Arc<HotTable>>,
        before: Option<&Self>,
    ) -> Self {
        let tallies = tables.map(|table| {
            let known = before.and_then(|before| before.by_name(table));
            (Arc::clone(table), known.unwrap_or_default())
        });
        Self(tallies.collect())
    }

    /// All of them.
    pub(super) fn all(&self) -> &[(Arc<HotTable>, Arc<Tally>)] {
        &self.0
    }

    fn by_name(&self, table: &HotTable) -> Option<Arc<Tally>> {
        let same = |other: &HotTable| other.schema == table.schema && other.name == table.name;
        let (_, tally) = self.0.iter().find(|(other, _)| same(other))?;
        Some(Arc::clone(tally))
    }

    /// Few tables are hot, and plans name them by the catalog's own entries.
    fn count(&self, table: &Arc<HotTable>, deed: Deed) {
        let exact = self.0.iter().find(|(other, _)| Arc::ptr_eq(other, table));
        match exact {
            Some((_, tally)) => tally.count(deed),
            None => {
                if let Some(tally) = self.by_name(table) {
                    tally.count(deed);
                }
            }
        }
    }
}

/// A session's way to the metrics: what it counts is seen of it as well.
pub(super) struct Counting<'a> {
    pub(super) metrics: &'a Metrics,
    pub(super) hot: &'a Hot,
    pub(super) entry: &'a Entry,
}

impl Counting<'_> {
    /// Counts a statement by the reason for its plan.
    pub(super) fn count(&self, reason: Reason) {
        self.metrics.count(reason);
        self.entry.reasons(reason);
    }

    /// Counts what was done to a table.
    pub(super) fn count_deed(&self, table: &Arc<HotTable>, deed: Deed) {
        self.hot.tallies.count(table, deed);
    }
}

impl Deref for Counting<'_> {
    type Target = Metrics;

    fn deref(&self) -> &Metrics {
        self.metrics
    }
}

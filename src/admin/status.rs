//! Everything that the dashboard shows, as JSON. Counts grow from the start of the process, so two requests give the
//! rates.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::catalog::HotTable;
use crate::metrics::{Fault, Observed, TableCounts};
use crate::reason::{PlanKind, Reason};
use crate::session::{Hot, Shared};

/// In a second.
pub(super) const NANOSECONDS: f64 = 1e9;

/// The proxy at one time.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    version: &'static str,
    /// `serving` or `stopping`.
    state: &'static str,
    /// When the process started, in seconds since 1970: another process has another.
    started_at: f64,
    /// Since the start of the process, by a clock that is never set. Rates are over differences of it.
    seconds: f64,
    sessions: Sessions,
    /// Increments that wait now to be written together with others.
    waiting_increments: u64,
    statements: Vec<Statements>,
    /// Those on tables with `mode: observe`, by what `enforce` would have made of them.
    observed: Vec<Statements>,
    latency: Latency,
    batches: Distribution,
    rollup: RollUp,
    tables: Vec<Table>,
}

#[derive(Debug, Serialize)]
struct Sessions {
    now: u64,
    connections: u64,
    refused: u64,
    lost_by_client: u64,
    lost_by_upstream: u64,
    lost_by_proxy: u64,
}

/// Statements of one reason.
#[derive(Debug, Serialize)]
struct Statements {
    reason: &'static str,
    /// One of the plans under `latency`; null where nothing was run.
    plan: Option<&'static str>,
    why: &'static str,
    count: u64,
}

/// Distributions of times, in seconds.
#[derive(Debug, Serialize)]
struct Latency {
    plans: Vec<PlanLatency>,
    planning: Distribution,
    combining: Distribution,
}

#[derive(Debug, Serialize)]
struct PlanLatency {
    plan: &'static str,
    whole: Distribution,
    upstream: Distribution,
    added: Distribution,
}

/// Observations by size.
#[derive(Debug, Serialize)]
struct Distribution {
    /// The most that a bucket counts. The last bucket, which has none, is for all that is larger.
    bounds: Vec<f64>,
    counts: Vec<u64>,
    sum: f64,
}

#[derive(Debug, Serialize)]
struct RollUp {
    transactions: u64,
    slot_rows: u64,
    orphans: u64,
    failures: u64,
    drift: u64,
}

/// A hot table.
#[derive(Debug, Serialize)]
struct Table {
    table: String,
    columns: Vec<String>,
    increments: u64,
    reads: u64,
    folds: u64,
    batches: u64,
    combined_increments: u64,
    batched_statements: u64,
    changeovers: u64,
    is_at_rest: bool,
    rollup_interval_seconds: f64,
    rollup_lag_seconds: f64,
    /// The lowest of this proxy's slots.
    first_slot: u16,
    /// Slots that sessions hold now.
    held_slots: usize,
    /// For how long sessions have held each slot, the lowest first. Empty where increments go to the row itself.
    slots_busy_seconds: Vec<f64>,
}

impl Status {
    pub(super) fn now(
        shared: &Shared,
        (started, started_at): (Instant, f64),
        is_stopping: bool,
    ) -> Self {
        let metrics = &shared.metrics;
        let hot = shared.hot();
        let now = Instant::now();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            state: match is_stopping {
                true => "stopping",
                false => "serving",
            },
            started_at,
            seconds: now.saturating_duration_since(started).as_secs_f64(),
            sessions: Sessions {
                now: metrics.sessions(),
                connections: metrics.connections(),
                refused: metrics.all_refused(),
                lost_by_client: metrics.lost(Fault::Client),
                lost_by_upstream: metrics.lost(Fault::Upstream),
                lost_by_proxy: metrics.lost(Fault::Proxy),
            },
            waiting_increments: metrics.waiting(),
            statements: statements(&metrics.statements()),
            observed: statements(&metrics.observed()),
            latency: latency(shared),
            batches: Distribution::new(&metrics.batches(), 1.0),
            rollup: RollUp {
                transactions: metrics.roll_ups(),
                slot_rows: metrics.rolled_up(),
                orphans: metrics.orphans(),
                failures: metrics.failed_roll_ups(),
                drift: metrics.drifted(),
            },
            tables: tables(shared, &hot, now),
        }
    }
}

fn statements(counted: &BTreeMap<Reason, u64>) -> Vec<Statements> {
    let statements = Reason::ALL.into_iter().map(|reason| Statements {
        reason: reason.code(),
        plan: reason.plan().map(PlanKind::name),
        why: reason.why(),
        count: counted.get(&reason).copied().unwrap_or_default(),
    });
    statements.collect()
}

fn latency(shared: &Shared) -> Latency {
    let latency = &shared.metrics.latency;
    let seconds = |observed: &Observed| Distribution::new(observed, NANOSECONDS);
    let plans = PlanKind::ALL.into_iter().map(|plan| {
        let of = latency.of(plan);
        PlanLatency {
            plan: plan.name(),
            whole: seconds(&of.whole),
            upstream: seconds(&of.upstream),
            added: seconds(&of.added),
        }
    });
    Latency {
        plans: plans.collect(),
        planning: seconds(&latency.planning()),
        combining: seconds(&latency.combining()),
    }
}

fn tables(shared: &Shared, hot: &Hot, now: Instant) -> Vec<Table> {
    let lags = Lags::new(shared, now);
    let table = |(table, counts): (&HotTable, &TableCounts)| {
        let counted = counts.counted();
        let slots = shared.slots.in_use(table);
        Table {
            table: full_name(table),
            columns: table
                .counters
                .iter()
                .filter_map(|counter| Some(table.columns.get(counter.column)?.name.clone()))
                .collect(),
            increments: counted.increments,
            reads: counted.reads,
            folds: counted.folds,
            batches: counted.batches,
            combined_increments: counted.combined,
            batched_statements: counted.batched,
            changeovers: counted.changeovers,
            is_at_rest: table.is_at_rest(),
            rollup_interval_seconds: table.rollup.as_secs_f64(),
            rollup_lag_seconds: lags.of(table),
            first_slot: slots.first().map_or(0, |used| used.slot),
            held_slots: slots.iter().filter(|used| used.is_held).count(),
            slots_busy_seconds: slots.iter().map(|used| seconds(used.busy)).collect(),
        }
    };
    hot.tables()
        .map(|(of, counts)| table((of, counts)))
        .collect()
}

/// As a short number: to the millisecond.
fn seconds(time: Duration) -> f64 {
    time.as_millis() as f64 / 1e3
}

/// `schema.name`.
pub(super) fn full_name(table: &HotTable) -> String {
    format!("{}.{}", table.schema, table.name)
}

/// How long increments have waited for their roll-up.
pub(super) struct Lags {
    oldest: Vec<(String, f64)>,
}

impl Lags {
    pub(super) fn new(shared: &Shared, now: Instant) -> Self {
        let oldest = shared.slots.dirty().oldest().into_iter();
        let oldest = oldest.map(|(table, since)| {
            let waited = now.saturating_duration_since(since);
            (full_name(&table), waited.as_secs_f64())
        });
        Self {
            oldest: oldest.collect(),
        }
    }

    /// The longest of a table's, in seconds.
    pub(super) fn of(&self, table: &HotTable) -> f64 {
        let name = full_name(table);
        let of_table = self.oldest.iter().filter(|(other, _)| *other == name);
        of_table.map(|(_, lag)| *lag).fold(0.0, f64::max)
    }
}

impl Distribution {
    /// Scaled to units that are `in_one` of the observed units each.
    fn new(observed: &Observed, in_one: f64) -> Self {
        let scaled = |size: u64| size as f64 / in_one;
        Self {
            bounds: observed.bounds.iter().copied().map(scaled).collect(),
            counts: observed.counts.clone(),
            sum: scaled(observed.sum),
        }
    }
}

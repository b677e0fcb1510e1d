//! Metrics as Prometheus reads them (specification: OpenMetrics 1.0).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::status::{Lags, NANOSECONDS, full_name};
use crate::metrics::{Fault, LatencyOf, Observed, TableCounted};
use crate::reason::{PlanKind, Reason};
use crate::session::Shared;

/// The prefix of every name.
const PREFIX: &str = "countersink";

/// The content type of [`text`].
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics as they are now.
pub(super) fn text(shared: &Arc<Shared>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Now(Arc::clone(shared))));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Reads what is counted at the time that it is asked for.
#[derive(Debug)]
struct Now(Arc<Shared>);

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.statements(&mut encoder)?;
        self.latency(&mut encoder)?;
        self.combining(&mut encoder)?;
        self.tables(&mut encoder)?;
        self.roll_up(&mut encoder)?;
        self.sessions(&mut encoder)?;
        let mut build =
            encoder.encode_descriptor("build", "The version that runs", None, MetricType::Info)?;
        build.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
    }
}

impl Now {
    fn statements(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let help = "Statements by what became of them and why";
        by_reason(encoder, ("statements", help), &self.0.metrics.statements())?;
        let help = "Statements on observed tables by what enforce would have made of them";
        by_reason(
            encoder,
            ("observed_statements", help),
            &self.0.metrics.observed(),
        )
    }

    fn latency(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let latency = &self.0.metrics.latency;
        let plans = PlanKind::ALL.map(|plan| (plan, latency.of(plan)));
        for (name, help, which) in [
            (
                "statement",
                "How long statements took, by the kind of their plan",
                (|of| &of.whole) as fn(&LatencyOf) -> &Observed,
            ),
            (
                "upstream",
                "How long statements waited for the server behind, by the kind of their plan",
                |of| &of.upstream,
            ),
            (
                "added",
                "What the proxy itself added to statements, by the kind of their plan",
                |of| &of.added,
            ),
        ] {
            let mut family = encoder.encode_descriptor(
                name,
                help,
                Some(&Unit::Seconds),
                MetricType::Histogram,
            )?;
            for (plan, of) in &plans {
                let label = [("plan", plan.name())];
                histogram(family.encode_family(&label)?, which(of), NANOSECONDS)?;
            }
        }
        for (name, help, observed) in [
            (
                "planning",
                "How long it took to make a plan, where none was kept",
                latency.planning(),
            ),
            (
                "combine_wait",
                "How long increments waited for their turn, or for others to write them",
                latency.combining(),
            ),
        ] {
            let encoder = encoder.encode_descriptor(
                name,
                help,
                Some(&Unit::Seconds),
                MetricType::Histogram,
            )?;
            histogram(encoder, &observed, NANOSECONDS)?;
        }
        Ok(())
    }

    fn combining(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let metrics = &self.0.metrics;
        let help =
            "Increments in each statement or transaction that wrote those of several clients";
        let batches =
            encoder.encode_descriptor("batch_increments", help, None, MetricType::Histogram)?;
        histogram(batches, &metrics.batches(), 1.0)?;
        gauge(
            encoder,
            "waiting_increments",
            "Increments that wait to be written together with others",
            metrics.waiting(),
        )
    }

    fn tables(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let hot = self.0.hot();
        for (name, help, which) in [
            (
                "increments",
                "Increments that went to slots, or to the row of a table without slots",
                (|counted| counted.increments) as fn(&TableCounted) -> u64,
            ),
            (
                "reads",
                "Statements that read counters as the row's own plus its slots",
                |counted| counted.reads,
            ),
            (
                "folds",
                "Statements for which slots were moved into rows first",
                |counted| counted.folds,
            ),
            (
                "batches",
                "Statements and transactions that wrote increments of several clients",
                |counted| counted.batches,
            ),
            (
                "combined_increments",
                "Increments that were written together with others",
                |counted| counted.combined,
            ),
            (
                "batched_statements",
                "Other writes of one row that were written together",
                |counted| counted.batched,
            ),
            ("changeovers", "Changes from rest to slots", |counted| {
                counted.changeovers
            }),
            (
                "writes_past_proxy",
                "Changes of counters, and deleted rows, that the sentinel has seen past the proxy",
                |counted| counted.writes_past,
            ),
        ] {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (table, counts) in hot.tables() {
                let label = [("table", full_name(table))];
                let count = ConstCounter::new(which(&counts.counted()));
                count.encode(family.encode_family(&label)?)?;
            }
        }
        let help = "1 while the table does without slots until they are needed, else 0";
        let mut rest = encoder.encode_descriptor("at_rest", help, None, MetricType::Gauge)?;
        for (table, _) in hot.tables() {
            let label = [("table", full_name(table))];
            ConstGauge::new(i64::from(table.is_at_rest())).encode(rest.encode_family(&label)?)?;
        }
        self.slots(encoder)
    }

    fn slots(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let hot = self.0.hot();
        let tables = hot.catalog.with_slot_tables();
        let used: Vec<_> = tables
            .map(|table| ([("table", full_name(table))], self.0.slots.in_use(table)))
            .collect();
        let help = "Slots that sessions hold now";
        let mut held = encoder.encode_descriptor("held_slots", help, None, MetricType::Gauge)?;
        for (label, slots) in &used {
            let count = slots.iter().filter(|used| used.is_held).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            ConstGauge::new(count).encode(held.encode_family(label)?)?;
        }
        let help = "For how long sessions have held slots; its rate is the number held at a time";
        let mut busy = encoder.encode_descriptor(
            "slots_busy",
            help,
            Some(&Unit::Seconds),
            MetricType::Counter,
        )?;
        for (label, slots) in &used {
            let seconds = slots
                .iter()
                .map(|used| used.busy.as_secs_f64())
                .sum::<f64>();
            ConstCounter::new(seconds).encode(busy.encode_family(label)?)?;
        }
        Ok(())
    }

    fn roll_up(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let metrics = &self.0.metrics;
        for (name, help, count) in [
            (
                "rollup_transactions",
                "Transactions that have rolled up, or found nothing to",
                metrics.roll_ups(),
            ),
            (
                "rollup_slot_rows",
                "Slot rows that were moved into their base rows in the background",
                metrics.rolled_up(),
            ),
            (
                "rollup_orphans",
                "Slot rows that were deleted because their base rows were no more",
                metrics.orphans(),
            ),
            (
                "rollup_adopted_rows",
                "Slot rows written by the application itself that were moved into the rows of a rule that adopts them",
                metrics.adopted(),
            ),
            (
                "rollup_failures",
                "Roll-ups that failed, and were tried again",
                metrics.failed_roll_ups(),
            ),
            (
                "rollup_drift",
                "Roll-ups that were rolled back because they would have changed a value: none, unless there is a bug",
                metrics.drifted(),
            ),
            (
                "sentinel_undecided",
                "Changes of hot tables of which the sentinel could not tell whether they went past the proxy",
                metrics.undecided(),
            ),
            (
                "traced_statements",
                "Statements whose spans a collector has taken",
                metrics.traced(),
            ),
            (
                "untraced_statements",
                "Statements whose spans were dropped, because no collector took them in time",
                metrics.untraced(),
            ),
            (
                "retried_transactions",
                "Transactions that were run again because another member of the cluster had been first",
                metrics.retried(),
            ),
        ] {
            counter(encoder, name, help, count)?;
        }
        let mut lag = encoder.encode_descriptor(
            "rollup_lag",
            "For how long the oldest increment of a table has waited for its roll-up",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        let lags = Lags::new(&self.0, Instant::now());
        for table in self.0.hot().catalog.with_slot_tables() {
            let label = [("table", full_name(table))];
            ConstGauge::new(lags.of(table)).encode(lag.encode_family(&label)?)?;
        }
        let mut interval = encoder.encode_descriptor(
            "rollup_interval",
            "How often a table is rolled up, as its rule says",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for table in self.0.hot().catalog.with_slot_tables() {
            let label = [("table", full_name(table))];
            let seconds = table.rollup.as_secs_f64();
            ConstGauge::new(seconds).encode(interval.encode_family(&label)?)?;
        }
        Ok(())
    }

    fn sessions(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let metrics = &self.0.metrics;
        gauge(
            encoder,
            "sessions",
            "Clients that are connected",
            metrics.sessions(),
        )?;
        counter(
            encoder,
            "connections",
            "Clients that have connected",
            metrics.connections(),
        )?;
        by_fault(
            encoder,
            "refused_connections",
            "Clients that did not come to be logged in, by the side at fault",
            |fault| metrics.refused(fault),
        )?;
        by_fault(
            encoder,
            "lost_sessions",
            "Sessions that ended in the middle of a command, by the side at fault",
            |fault| metrics.lost(fault),
        )
    }
}

fn by_reason(
    encoder: &mut DescriptorEncoder,
    (name, help): (&str, &str),
    counted: &BTreeMap<Reason, u64>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for reason in Reason::ALL {
        let count = counted.get(&reason).copied().unwrap_or_default();
        let label = [("reason", reason.code())];
        ConstCounter::new(count).encode(family.encode_family(&label)?)?;
    }
    Ok(())
}

fn by_fault(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    count: impl Fn(Fault) -> u64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for fault in Fault::ALL {
        let label = [("side", fault.name())];
        ConstCounter::new(count(fault)).encode(family.encode_family(&label)?)?;
    }
    Ok(())
}

fn counter(encoder: &mut DescriptorEncoder, name: &str, help: &str, count: u64) -> fmt::Result {
    let one: MetricEncoder<'_> =
        encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    ConstCounter::new(count).encode(one)
}

fn gauge(encoder: &mut DescriptorEncoder, name: &str, help: &str, value: u64) -> fmt::Result {
    let one: MetricEncoder<'_> = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(one)
}

/// `in_one`: how many of the observed are one of the metric's unit.
fn histogram(mut encoder: MetricEncoder<'_>, observed: &Observed, in_one: f64) -> fmt::Result {
    let bounds = observed.bounds.iter().map(|bound| *bound as f64 / in_one);
    let bounds = bounds.chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(observed.counts.iter().copied()).collect();
    let sum = observed.sum as f64 / in_one;
    encoder.encode_histogram::<NoLabelSet>(sum, observed.count(), &buckets, None)
}

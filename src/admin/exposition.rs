//! Metrics as Prometheus reads them (specification: OpenMetrics 1.0).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::metrics::Side;
use crate::reason::Reason;
use crate::session::Shared;

/// What stands before every name.
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
        self.combining(&mut encoder)?;
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

    fn combining(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let metrics = &self.0.metrics;
        let (batches, combined) = metrics.combined();
        counter(
            encoder,
            "batches",
            "Statements and transactions that wrote the increments of several clients",
            batches,
        )?;
        counter(
            encoder,
            "combined_increments",
            "Increments that were written together with others",
            combined,
        )?;
        gauge(
            encoder,
            "waiting_increments",
            "Increments that wait to be written together with others",
            metrics.waiting(),
        )
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
                "rollup_failures",
                "Roll-ups that failed, and were tried again",
                metrics.failed_roll_ups(),
            ),
            (
                "rollup_drift",
                "Roll-ups that were rolled back because they would have changed a value: none, unless there is a bug",
                metrics.drifted(),
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
        let (now, oldest) = (Instant::now(), self.0.slots.dirty().oldest());
        for table in &self.0.hot().catalog.tables {
            let since = oldest
                .iter()
                .find(|(other, _)| other.schema == table.schema && other.name == table.name);
            let seconds = since.map_or(0.0, |(_, since)| {
                now.saturating_duration_since(*since).as_secs_f64()
            });
            let label = [("table", format!("{}.{}", table.schema, table.name))];
            ConstGauge::new(seconds).encode(lag.encode_family(&label)?)?;
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
        counter(
            encoder,
            "refused_connections",
            "Clients that did not come to be logged in",
            metrics.refused(),
        )?;
        let mut lost = encoder.encode_descriptor(
            "lost_sessions",
            "Sessions that ended in the middle of a command, by the side at fault",
            None,
            MetricType::Counter,
        )?;
        for side in [Side::Client, Side::Upstream] {
            let label = [("side", side.name())];
            ConstCounter::new(metrics.lost(side)).encode(lost.encode_family(&label)?)?;
        }
        Ok(())
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

fn counter(encoder: &mut DescriptorEncoder, name: &str, help: &str, count: u64) -> fmt::Result {
    let one: MetricEncoder<'_> =
        encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    ConstCounter::new(count).encode(one)
}

fn gauge(encoder: &mut DescriptorEncoder, name: &str, help: &str, value: u64) -> fmt::Result {
    let one: MetricEncoder<'_> = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(one)
}

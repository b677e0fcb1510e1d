//! Spans of OpenTelemetry: what became of a statement whose application traces it, and where its time went.
//!
//! ```text
//! the application's span
//! └─ increment                   the statement, from its arrival to its response
//!    ├─ wait                     for the statements of others
//!    └─ batch                    for 37 statements, linked with theirs
//!       └─ server                until it was committed
//! ```
//!
//! A statement says to which trace it belongs: in a comment, or in a query attribute ([`SpanContext`]). Statements
//! that do not, or whose application does not record the trace, cost one search for a word. Where no collector is
//! named in the environment, the way of OpenTelemetry, they do not cost even that.
//!
//! Sessions hand in what they know when the response is sent, and go on: if the collector is slow, spans are dropped
//! and counted, and no client waits.

#[cfg(not(feature = "opentelemetry"))]
mod absent;
mod context;
#[cfg(feature = "opentelemetry")]
mod export;
mod traced_batch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metrics::Metrics;

#[cfg(not(feature = "opentelemetry"))]
use absent::Exporter;
#[cfg(feature = "opentelemetry")]
use export::Exporter;

pub use context::{SpanContext, TRACEPARENT};
pub use traced_batch::{MOST_LINKS, TracedBatch};

/// How long the last spans may take when the proxy stops.
const LAST: Duration = Duration::from_secs(2);

/// A statement of which spans are made.
#[derive(Debug)]
pub struct Statement {
    /// The application's span.
    pub parent: SpanContext,
    /// The statement's own span.
    pub own: SpanContext,
    /// What became of it: the name of its kind of plan, or nothing if it was none.
    pub plan: Option<&'static str>,
    /// Why.
    pub reason: Option<&'static str>,
    /// When it came.
    pub began: Instant,
    /// When its response was sent.
    pub ended: Instant,
    /// How long it was with the server.
    pub upstream: Duration,
    /// How long the proxy itself had it.
    pub added: Duration,
    /// Since when it waited for others, if it did.
    pub waited_since: Option<Instant>,
    /// The batch that it was written in.
    pub traced: Option<Arc<TracedBatch>>,
    /// The number of the error that it was answered with.
    pub error: Option<u16>,
}

/// Where statements are handed in.
#[derive(Debug, Default)]
pub struct Spans {
    exporter: Option<Exporter>,
}

impl Spans {
    /// Exports to the collector that the environment names (`OTEL_EXPORTER_OTLP_ENDPOINT`), or to none.
    pub fn start(metrics: &Arc<Metrics>) -> Self {
        Self {
            exporter: Exporter::start(metrics),
        }
    }

    /// Whether anybody wants them.
    pub fn are_wanted(&self) -> bool {
        self.exporter.is_some()
    }

    /// Hands in a statement.
    pub fn end(&self, statement: Statement, metrics: &Metrics) {
        if let Some(exporter) = &self.exporter
            && !exporter.takes(statement)
        {
            metrics.count_untraced(1);
        }
    }

    /// Exports what is left, for as long as that may take.
    pub async fn flush(&self) {
        if let Some(exporter) = &self.exporter
            && tokio::time::timeout(LAST, exporter.flush()).await.is_err()
        {
            tracing::warn!("the last spans were not exported in time");
        }
    }
}

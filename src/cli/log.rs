//! The log: written to standard error, as text or JSON. The latest records are also kept for the console.

use std::io::IsTerminal;
use std::sync::Arc;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use super::Error;
use crate::admin::{Keeper, RecentLog};

/// The environment variable with the filter, such as `debug` or `countersink=debug,mysql_async=trace`.
const VARIABLE: &str = "COUNTERSINK_LOG";

/// The environment variable with the format: `human`, or `json` for one object a line.
const FORMAT: &str = "COUNTERSINK_LOG_FORMAT";

/// Starts the log at `level` unless the environment specifies another. A second start in the same process changes
/// nothing. Returns the log's latest records.
pub(super) fn start(level: &str) -> Result<Arc<RecentLog>, Error> {
    let filter = std::env::var(VARIABLE).unwrap_or_default();
    let filter = match filter.as_str() {
        "" => EnvFilter::new(level),
        filter => EnvFilter::try_new(filter).map_err(|source| Error::LogFilter {
            variable: VARIABLE,
            why: source.to_string(),
        })?,
    };
    let recent = Arc::<RecentLog>::default();
    let printed = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let printed = match std::env::var(FORMAT).unwrap_or_default().as_str() {
        "" | "human" => printed.with_ansi(std::io::stderr().is_terminal()).boxed(),
        "json" => printed.json().flatten_event(true).boxed(),
        other => return Err(Error::LogFormat(other.to_owned())),
    };
    let started = registry()
        .with(filter)
        .with(printed)
        .with(Keeper(Arc::clone(&recent)))
        .try_init();
    drop(started);
    Ok(recent)
}

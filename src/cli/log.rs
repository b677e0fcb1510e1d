//! The log: to standard error, for people; its last records are kept for the console.

use std::io::IsTerminal;
use std::sync::Arc;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

use super::Error;
use crate::admin::{Keeper, RecentLog};

/// The environment variable with the filter, such as `debug` or `countersink=debug,mysql_async=trace`.
const VARIABLE: &str = "COUNTERSINK_LOG";

/// Starts the log at `level` unless the environment names another; a second start in the same process changes nothing.
/// What is returned has its last records.
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
    let printed = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    let started = registry()
        .with(filter)
        .with(printed)
        .with(Keeper(Arc::clone(&recent)))
        .try_init();
    drop(started);
    Ok(recent)
}

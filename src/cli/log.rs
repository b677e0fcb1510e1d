//! The log: to standard error, for people.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::Error;

/// The environment variable with the filter, such as `debug` or `countersink=debug,mysql_async=trace`.
const VARIABLE: &str = "COUNTERSINK_LOG";

/// Starts the log at `level` unless the environment names another; a second start in the same process changes nothing.
pub(super) fn start(level: &str) -> Result<(), Error> {
    let filter = std::env::var(VARIABLE).unwrap_or_default();
    let filter = match filter.as_str() {
        "" => EnvFilter::new(level),
        filter => EnvFilter::try_new(filter).map_err(|source| Error::LogFilter {
            variable: VARIABLE,
            why: source.to_string(),
        })?,
    };
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init();
    drop(started);
    Ok(())
}

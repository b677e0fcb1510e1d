//! Clients that were not connected: counted by the side at fault, and logged at its level.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tracing::Level;

use crate::metrics::{Fault, Metrics};
use crate::net::Origin;
use crate::session::connect::ConnectError;

/// The least time between two warnings about one side. While the server is down, every client that connects is refused.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// What is done about each of them.
pub(super) struct Refusals {
    /// Asks for a login that goes through.
    pardon: Arc<Notify>,
    warnings: Warnings,
    /// Of those that could not even be accepted.
    of_accepts: Warnings,
}

impl Refusals {
    pub(super) fn new(pardon: Arc<Notify>) -> Self {
        Self {
            pardon,
            warnings: Warnings::default(),
            of_accepts: Warnings::default(),
        }
    }

    /// Takes in that this client was not connected.
    pub(super) fn note(&self, peer: Origin, error: &ConnectError, metrics: &Metrics) {
        let fault = error.fault();
        metrics.count_refused(fault);
        if fault != Fault::Upstream {
            self.pardon.notify_one();
        }
        match self.warnings.level(fault, Instant::now()) {
            Level::WARN => tracing::warn!(%peer, "not connected: {error}"),
            _ => tracing::debug!(%peer, "not connected: {error}"),
        }
    }

    /// Takes in that a client could not be accepted, which is tried again many times a second.
    pub(super) fn note_failed_accept(&self, error: &io::Error) {
        match self.of_accepts.level(Fault::Proxy, Instant::now()) {
            Level::WARN => tracing::warn!("cannot accept: {error}"),
            _ => tracing::debug!("cannot accept: {error}"),
        }
    }
}

/// When the log last had a warning, by the side at fault.
#[derive(Debug, Default)]
struct Warnings(Mutex<[Option<Instant>; Fault::ALL.len()]>);

impl Warnings {
    /// The level for a refusal at `now`: the fault's own, or DEBUG so soon after a warning about the same side.
    fn level(&self, fault: Fault, now: Instant) -> Level {
        let level = fault.level();
        if level != Level::WARN {
            return level;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &mut last[fault as usize];
        if last.is_some_and(|last| now.duration_since(last) < BETWEEN_WARNINGS) {
            return Level::DEBUG;
        }
        *last = Some(now);
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_warned_of_at_most_once_in_a_while() {
        let warnings = Warnings::default();
        let start = Instant::now();
        let level = |fault, after: Duration| warnings.level(fault, start + after);
        let moment = Duration::from_millis(1);
        assert_eq!(level(Fault::Upstream, Duration::ZERO), Level::WARN);
        assert_eq!(level(Fault::Upstream, moment), Level::DEBUG);
        assert_eq!(level(Fault::Proxy, moment), Level::WARN);
        assert_eq!(
            level(Fault::Upstream, BETWEEN_WARNINGS - moment),
            Level::DEBUG
        );
        assert_eq!(level(Fault::Upstream, BETWEEN_WARNINGS), Level::WARN);
        assert_eq!(
            level(Fault::Upstream, BETWEEN_WARNINGS + moment),
            Level::DEBUG
        );
    }

    #[test]
    fn of_a_client_nobody_is_warned() {
        let warnings = Warnings::default();
        let now = Instant::now();
        assert_eq!(warnings.level(Fault::Client, now), Level::DEBUG);
    }
}

//! Where the time of a command goes: to the upstream, to other increments, and the rest is the proxy's own. It is asked
//! for where the session waits anyway; a statement that is passed on costs four glances at the clock.

use std::time::{Duration, Instant};

use super::Session;
use crate::metrics::Spent;
use crate::reason::Reason;

/// The command at hand.
#[derive(Debug)]
pub(super) struct Timing {
    started: Instant,
    /// For how long the upstream's answers were waited for.
    upstream: Duration,
    /// For how long an increment has waited for others.
    combining: Duration,
    /// Why its statement got its plan; the last one's, where it has several.
    reason: Option<Reason>,
}

impl Timing {
    /// Of a command that comes now.
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            upstream: Duration::ZERO,
            combining: Duration::ZERO,
            reason: None,
        }
    }
}

impl Session {
    /// A command has come.
    pub(super) fn start_timing(&mut self) {
        self.client.take_waited();
        self.upstream.take_waited();
        self.timing = Timing::start();
    }

    /// Its answer has gone.
    pub(super) fn end_timing(&mut self) {
        let waited = (self.client.take_waited(), self.upstream.take_waited());
        // PREPARE, PING and the like are no statements that run.
        let Some(plan) = self.timing.reason.and_then(Reason::plan) else {
            return;
        };
        let upstream = self.timing.upstream + waited.1;
        let combining = self.timing.combining;
        let others = waited.0 + upstream + combining;
        let spent = Spent {
            upstream,
            combining,
            added: self.timing.started.elapsed().saturating_sub(others),
        };
        self.metrics().latency.statement(plan, &spent);
    }

    /// Counts a statement by the reason for its plan.
    pub(super) fn count(&mut self, reason: Reason) {
        self.timing.reason = Some(reason);
        self.entry.reasons(reason);
        self.metrics().count(reason);
    }

    /// The upstream has been waited for since then, and heard now.
    pub(super) fn heard_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.upstream += now.saturating_duration_since(since);
        self.state.heard = now;
        self.state.served = now;
    }

    /// The server has been waited for since then, over another connection than the session's own.
    pub(super) fn asked_elsewhere_since(&mut self, since: Instant) {
        self.timing.upstream += since.elapsed();
    }

    /// Others have been waited for since then.
    pub(super) fn combining_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.combining += now.saturating_duration_since(since);
        self.state.served = now;
    }
}

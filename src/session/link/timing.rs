//! Where the time of a command goes: to the upstream, to other increments, and the rest is the proxy's own. It is asked
//! for where the session waits anyway; a statement that is passed on costs four glances at the clock.

use std::time::{Duration, Instant};

use super::Link;
use super::close::Answered;
use crate::metrics::Spent;
use crate::reason::{PlanKind, Reason};

/// The command at hand.
#[derive(Debug)]
pub struct Timing {
    started: Instant,
    /// For how long the upstream's answers were waited for.
    upstream: Duration,
    /// For how long an increment has waited for others.
    combining: Duration,
    /// Why its statement got its plan; the last one's, where it has several.
    pub reason: Option<Reason>,
}

impl Timing {
    /// Of a command that comes now.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            upstream: Duration::ZERO,
            combining: Duration::ZERO,
            reason: None,
        }
    }
}

impl Link {
    /// A command has come.
    pub fn start(&mut self) {
        self.answered = Answered::default();
        self.client.take_waited();
        self.upstream.take_waited();
        self.timing = Timing::start();
    }

    /// The response to it has been sent. `None` for what is no statement that runs, such as COM_STMT_PREPARE.
    pub fn end_timing(&mut self) -> Option<(PlanKind, Spent)> {
        let waited = (self.client.take_waited(), self.upstream.take_waited());
        let plan = self.timing.reason.and_then(Reason::plan)?;
        let upstream = self.timing.upstream + waited.1;
        let combining = self.timing.combining;
        let others = waited.0 + upstream + combining;
        let spent = Spent {
            upstream,
            combining,
            added: self.timing.started.elapsed().saturating_sub(others),
        };
        Some((plan, spent))
    }

    /// The upstream has been waited for since then, and heard now.
    pub fn heard_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.upstream += now.saturating_duration_since(since);
        self.heard = now;
        self.served = now;
    }

    /// The server has been waited for since then, over another connection than the session's own.
    pub fn asked_elsewhere_since(&mut self, since: Instant) {
        self.timing.upstream += since.elapsed();
    }

    /// Other sessions have been waited for since then.
    pub fn combining_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.combining += now.saturating_duration_since(since);
        self.served = now;
    }
}

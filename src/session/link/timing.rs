//! Where the time of a command goes: to the upstream, to other increments, and the rest to the proxy. The clock is
//! read where the session waits anyway; a forwarded statement costs four readings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Link;
use super::close::Answered;
use crate::metrics::Spent;
use crate::reason::{PlanKind, Reason};
use crate::spans::{SpanContext, Statement, TracedBatch};

/// The current command.
#[derive(Debug)]
pub struct Timing {
    started: Instant,
    /// How long the session has waited for the upstream's responses.
    upstream: Duration,
    /// How long an increment has waited for others.
    combining: Duration,
    /// Why its statement got its plan. With several statements, the last one's reason.
    pub reason: Option<Reason>,
    /// The number of the error that the client has been told, if the last thing that it was told is one.
    pub error: Option<u16>,
    /// Its span, if its application traces it.
    pub span: Option<Span>,
    /// The last batch that its statement was in, if batches are traced.
    pub traced: Option<Arc<TracedBatch>>,
    /// Since when it has waited for others, the first time.
    waited_since: Option<Instant>,
}

/// The span of a command, and the application's.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The application's.
    pub parent: SpanContext,
    /// The command's.
    pub own: SpanContext,
}

impl Timing {
    /// The timing of a command that arrives now.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            upstream: Duration::ZERO,
            combining: Duration::ZERO,
            reason: None,
            error: None,
            span: None,
            traced: None,
            waited_since: None,
        }
    }
}

impl Link {
    /// Starts the timing of a command.
    pub fn start(&mut self) {
        self.answered = Answered::default();
        self.command_at = self.client.consumed();
        self.client.take_waited();
        self.upstream.take_waited();
        self.timing = Timing::start();
    }

    /// Whether the current command is in the client's stream still, whole.
    pub fn is_command_unread(&self) -> bool {
        self.client.consumed() == self.command_at
    }

    /// Ends the timing of a command, whose response has been sent. `None` if the command runs no statement, such as
    /// COM_STMT_PREPARE.
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

    /// What spans show of the command, which has just ended. `None` if it is not traced.
    pub fn end_span(&mut self, spent: Option<&(PlanKind, Spent)>) -> Option<Statement> {
        let timing = &mut self.timing;
        let span = timing.span.take()?;
        Some(Statement {
            parent: span.parent,
            own: span.own,
            plan: spent.map(|(plan, _)| plan.name()),
            reason: timing.reason.map(Reason::code),
            began: timing.started,
            ended: Instant::now(),
            upstream: spent.map_or(timing.upstream, |(_, spent)| spent.upstream),
            added: spent.map_or(Duration::ZERO, |(_, spent)| spent.added),
            waited_since: timing.waited_since,
            traced: timing.traced.take(),
            error: timing.error,
        })
    }

    /// Since when the session has done nothing: when its last command came, or was served. Some commands get no
    /// response.
    pub fn rests_since(&self) -> Instant {
        self.served.max(self.timing.started)
    }

    /// Counts a wait for the upstream since then, which has just been heard from.
    pub fn heard_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.upstream += now.saturating_duration_since(since);
        self.heard = now;
        self.served = now;
    }

    /// Counts a wait for the server since then, over another connection than the session's own.
    pub fn asked_elsewhere_since(&mut self, since: Instant) {
        self.timing.upstream += since.elapsed();
    }

    /// Counts a wait for other sessions since then.
    pub fn combining_since(&mut self, since: Instant) {
        let now = Instant::now();
        self.timing.combining += now.saturating_duration_since(since);
        self.timing.waited_since.get_or_insert(since);
        self.served = now;
    }
}

//! What is remembered of a batch, for the spans of the statements in it.

use std::sync::OnceLock;
use std::time::Instant;

use super::SpanContext;

/// The most statements that a batch's span is linked with.
pub const MOST_LINKS: usize = 128;

/// A batch on its way.
#[derive(Debug)]
pub struct TracedBatch {
    /// For how many statements.
    pub statements: usize,
    /// Its span, in the trace of the statement whose session leads, if that is traced.
    pub leader: Option<SpanContext>,
    /// The other statements in it that are traced, [`MOST_LINKS`] of them at most.
    pub others: Vec<SpanContext>,
    /// When it was put together.
    pub began: Instant,
    sent: OnceLock<Instant>,
    ended: OnceLock<Instant>,
}

impl TracedBatch {
    /// Begins now.
    pub fn begin(
        statements: usize,
        leader: Option<SpanContext>,
        mut others: Vec<SpanContext>,
    ) -> Self {
        others.truncate(MOST_LINKS);
        Self {
            statements,
            leader: leader.map(|leader| leader.child()),
            others,
            began: Instant::now(),
            sent: OnceLock::new(),
            ended: OnceLock::new(),
        }
    }

    /// It goes to the server now.
    pub fn send(&self) {
        self.sent.get_or_init(Instant::now);
    }

    /// The server has answered it.
    pub fn end(&self) {
        self.ended.get_or_init(Instant::now);
    }

    /// From when to when the server had it, if it did.
    pub fn at_server(&self) -> Option<(Instant, Instant)> {
        let sent = *self.sent.get()?;
        Some((sent, self.ended.get().copied().unwrap_or_else(Instant::now)))
    }
}

//! Finds the trace that a command belongs to.

use crate::session::Session;
use crate::session::link::timing::Span;
use crate::session::text::statement_text;
use crate::spans::{SpanContext, TRACEPARENT};
use crate::wire::execute::text_attribute;
use crate::wire::{capability, command};

impl Session {
    /// Gives the command at the front a span, if its application says that it belongs to a trace. What cannot be read
    /// is not traced: whoever handles the command will say what is wrong with it.
    pub(crate) async fn find_span(&mut self) {
        let parent = match self.buffer_command().await {
            Ok(true) => self.traceparent(),
            _ => None,
        };
        self.link.timing.span = parent.map(|parent| Span {
            parent,
            own: parent.child(),
        });
    }

    fn traceparent(&self) -> Option<SpanContext> {
        let capabilities = self.link.capabilities;
        let payload = self.command_payload();
        if capabilities & capability::QUERY_ATTRIBUTES != 0
            && let Ok(Some(text)) = text_attribute(payload, TRACEPARENT)
        {
            return SpanContext::of_traceparent(text);
        }
        // The comment of a prepared statement is as old as the statement.
        if *payload.first()? != command::QUERY {
            return None;
        }
        let text = statement_text(payload, capabilities).ok()?;
        SpanContext::in_comment(text)
    }
}

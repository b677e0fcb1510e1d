//! Several statements in one packet: each runs by its own plan, and the responses go out in their order.

use std::sync::Arc;

use crate::reason::Reason;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::text::kind_of;
use crate::sql::{self, Following, Kind, Part};
use crate::wire::error_code::ER_PARSE_ERROR;
use crate::wire::reader::{Reader, put_lenenc_bytes};
use crate::wire::reply;
use crate::wire::response::{PacketKind, ResponseKind};

impl Session {
    /// Runs the parts of a packet, of which there is at least one. `prefix` is what precedes the text in the command.
    pub(crate) async fn several(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        parts: Vec<Part>,
    ) -> Result<(), Error> {
        let mut context = ReplyContext::single(ResponseKind::Results);
        let end = parts.last().map_or(0, |part| part.range.end);
        for Part { range, is_empty } in parts {
            context.more = range.end < end;
            if is_empty {
                // This is a syntax error, which quotes all that follows; or comments at the end.
                let kind = match context.more {
                    true => Kind::Other,
                    false => Kind::Do,
                };
                context.more = false;
                let original = Original::Payload([prefix, &text[range.start..end]].concat());
                self.state.diagnostics = None;
                self.count(Reason::NotHot);
                self.before(kind);
                let done = self.run_original(&original, context).await?;
                self.after(kind, done.failed);
                break;
            }
            self.following = context.more.then(|| {
                Arc::new(Following {
                    statement: text[range.clone()].to_vec(),
                    rest: text[range.end..end].to_vec(),
                    runs_others: may_run_others(&text[range.clone()]),
                    mariadb: self.hot.catalog.mariadb,
                })
            });
            let statement = text[range].to_vec();
            let original = Original::Payload([prefix, &statement].concat());
            // The statement before it may have changed a session variable.
            self.keep_what_it_may_ask_for(&statement).await?;
            let done = self
                .statement_or_explanation(&statement, &original, context, None)
                .await?;
            let following = self.following.take();
            if done.failed {
                if let Some(following) = following {
                    self.quote_in_messages(&following).await?;
                }
                break;
            }
            context.sequence_id = done.sequence_id;
        }
        Ok(())
    }

    /// A syntax error has quoted what follows in the packet. Makes the messages of SHOW WARNINGS quote it too.
    async fn quote_in_messages(&mut self, following: &Following) -> Result<(), Error> {
        let kept = self.state.diagnostics.as_ref();
        let messages = match kept.and_then(|kept| kept.messages.clone()) {
            None => self.take_messages().await?,
            messages => messages,
        };
        let Some(mut messages) = messages else {
            return Ok(());
        };
        let mut is_quoted = false;
        for (_, row) in messages
            .iter_mut()
            .filter(|(packet_kind, _)| *packet_kind == PacketKind::Row)
        {
            if let Some(quoted) = quoted(row, following) {
                *row = quoted;
                is_quoted = true;
            }
        }
        if is_quoted {
            self.state.diagnostics = Some(Diagnostics::of(&[reply::ERR], Some(messages)));
        }
        Ok(())
    }
}

/// A row of SHOW WARNINGS (level, code and message), with a message that quotes what follows.
fn quoted(row: &[u8], following: &Following) -> Option<Vec<u8>> {
    let mut fields = Reader::new(row);
    let level = fields.lenenc_bytes().ok()?;
    let code = fields.lenenc_bytes().ok()?;
    let is_syntax_error = code == ER_PARSE_ERROR.to_string().as_bytes();
    let message = fields.lenenc_bytes().ok()?;
    let message = is_syntax_error
        .then(|| sql::quoting(message, following))
        .flatten()?;
    let mut row = Vec::new();
    for field in [level, code, &message] {
        put_lenenc_bytes(&mut row, field);
    }
    Some(row)
}

/// Whether a statement may run texts that are not its own.
fn may_run_others(statement: &[u8]) -> bool {
    matches!(
        kind_of(statement),
        Kind::Prepare | Kind::Execute | Kind::Call
    ) || sql::prepare::may_execute(statement)
}

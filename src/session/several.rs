//! Several statements in one packet: each is done by its own plan, and each answer stands in its place.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::kind::kind_of;
use super::turn::{Original, Turn};
use crate::reason::Reason;
use crate::sql::{self, Following, Kind, Part};
use crate::wire::answer::Form;

impl Session {
    /// Runs the parts of a packet, of which there is at least one. `prefix` is what stands in front of the text in the
    /// command.
    pub(super) async fn several(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        parts: Vec<Part>,
    ) -> Result<(), Error> {
        let mut turn = Turn::single(Form::Results);
        let end = parts.last().map_or(0, |part| part.range.end);
        for Part { range, is_empty } in parts {
            turn.more = range.end < end;
            if is_empty && turn.more {
                // A syntax error, which quotes all that follows.
                turn.more = false;
                let original = Original::Payload([prefix, &text[range.start..end]].concat());
                self.state.diagnostics = None;
                self.count(Reason::NotHot);
                self.before(Kind::Other);
                let done = self.run_original(&original, turn).await?;
                self.after(Kind::Other, done.failed);
                break;
            }
            self.following = turn.more.then(|| {
                Arc::new(Following {
                    statement: text[range.clone()].to_vec(),
                    rest: text[range.end..end].to_vec(),
                    runs_others: may_run_others(&text[range.clone()]),
                    mariadb: self.hot.catalog.mariadb,
                })
            });
            let statement = text[range].to_vec();
            let original = Original::Payload([prefix, &statement].concat());
            let done = self
                .statement_or_explanation(&statement, &original, turn, None)
                .await?;
            self.following = None;
            if done.failed {
                break;
            }
            turn.sequence_id = done.sequence_id;
        }
        Ok(())
    }
}

/// Whether a statement may run texts that are not its own.
fn may_run_others(statement: &[u8]) -> bool {
    matches!(
        kind_of(statement),
        Kind::Prepare | Kind::Execute | Kind::Call
    ) || sql::prepare::may_execute(statement)
}

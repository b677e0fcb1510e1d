//! Reads by executions of the binary protocol: the rewritten text is prepared once, and executed with the client's own
//! parameters.

use tokio::time::Instant;

use crate::session::Session;
use crate::session::act::invocation::Execution;
use crate::session::act::read::Prepared;
use crate::session::act::read_error::Sent;
use crate::session::definitions::RUNS;
use crate::session::error::Error;
use crate::session::error_kind::{is_of_the_text, is_unknown_column, is_without_slots};
use crate::session::link::definitions::Agreement;
use crate::session::link::internal::{Failure, failure};
use crate::session::link::rewrite::{Promised, Rewrite, Rewritten, prepare_again};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::prepared::Statement;
use crate::sql::plan::{Read, Reason};
use crate::wire::command::encode_prepare;
use crate::wire::response::ResponseKind;

impl Session {
    /// The payload of an execution without a cursor.
    pub(crate) fn without_cursor(&self, execution: &Execution<'_>) -> Vec<u8> {
        let execute = execution.execute.without_cursor();
        execute.encode(execution.id, &execution.statement.types)
    }

    /// Executes the rewritten text of a read. `literals` spell its values; there are none if only the server has them.
    pub(crate) async fn execute_read(
        &mut self,
        read: &Read,
        execution: Execution<'_>,
        literals: &[Vec<u8>],
        original: &Original,
    ) -> Result<Replied, Error> {
        let Execution {
            statement, execute, ..
        } = execution;
        let context = ReplyContext::single(original.response_kind());
        let reason = match self.prepare_to_read(read, literals).await? {
            Prepared::Summed(reason) => reason,
            Prepared::Folded(mark) => {
                // A cursor must then fetch from the original.
                self.close_rewritten(statement).await?;
                return self.run_over_folds(mark, original, context).await;
            }
            Prepared::Refused(error) => {
                return self.reply_err(context, &error).await;
            }
        };
        let text = self.render_read(read, &[]).await;
        let id = match self.rewritten(statement, text).await? {
            Ok(id) => id,
            Err(error) if is_unknown_column(&error) => {
                return self
                    .execute_as_altered(read, statement, original, context)
                    .await;
            }
            Err(error) => {
                let done = self.read_refused(read, reason, &error, original, context);
                return Box::pin(done).await;
            }
        };
        self.count_read(read, reason);
        let packet = execute.encode(id, &statement.types);
        let (held, sent_at) = (self.held_errors(), Instant::now());
        let Some(ended) = self.execute_rewritten(&packet, statement, held).await? else {
            if statement.long_data {
                // The execution has used up the long data, and the original has never had it.
                return self.reply_err(context, &prepare_again()).await;
            }
            self.close_rewritten(statement).await?;
            // The original has other columns than the rewritten text was made for.
            self.look_again(&read.tables).await?;
            return self.read_folded(read, original, context).await;
        };
        // No packet has been sent to the client before the error.
        let is_first = ended.sequence_id == context.sequence_id;
        if is_first && ended.held.as_deref().is_some_and(is_unknown_column) {
            if statement.long_data {
                return self.reply_err(context, &prepare_again()).await;
            }
            self.close_rewritten(statement).await?;
            return self
                .execute_as_altered(read, statement, original, context)
                .await;
        }
        let held = ended.held.as_ref().filter(|_| is_first);
        if let Some(error) = held.filter(|error| is_without_slots(error)) {
            if statement.long_data {
                return self.reply_err(context, &prepare_again()).await;
            }
            self.close_rewritten(statement).await?;
            let done = self.read_without_slots(read, error, original, context);
            return Box::pin(done).await;
        }
        let sequence_id = match &ended.held {
            Some(error) => {
                let text = &statement.text;
                let sent = Sent { text, at: sent_at };
                let error = self.error_of_read(read, sent, original, error).await?;
                self.send_packet(ended.sequence_id, &error).await?
            }
            None => ended.sequence_id,
        };
        Ok(Replied {
            sequence_id,
            failed: ended.tracker.error().is_some(),
        })
    }

    /// Executes the rewritten statement by this packet, under the column definitions of the client's own. Returns
    /// `None` if the columns of the two do not agree; nothing has been sent to the client then.
    pub(crate) async fn execute_rewritten(
        &mut self,
        packet: &[u8],
        statement: &mut Statement,
        hold_errors: &'static [u16],
    ) -> Result<Option<Rewritten>, Error> {
        if statement.columns.is_doubted() {
            self.ask_for_columns(statement).await?;
        }
        let response_kind = ResponseKind::of(packet);
        for _ in 0..RUNS {
            self.send_payload(packet).await?;
            let rewrite = Rewrite {
                columns: Some(Promised {
                    definitions: &statement.columns,
                    are_needed: true,
                }),
                binary: true,
                hold_errors,
                ..ReplyContext::single(response_kind).rewrite()
            };
            let mut ended = self.pass_rewritten(response_kind, rewrite).await?;
            let agreement = match ended.is_refused {
                true => Some(Agreement::Not),
                false => ended.agreement.take(),
            };
            if let Some(agreement) = agreement {
                statement.columns.note(agreement);
            }
            if ended.is_refused || !statement.columns.is_doubted() {
                statement.rows = ended.rows.take();
                return Ok(Some(ended));
            }
            self.may_run_again()?;
            self.ask_for_columns(statement).await?;
            if statement.long_data {
                break;
            }
        }
        Ok(None)
    }

    /// Runs an execution whose rewritten text names a column that does not exist.
    async fn execute_as_altered(
        &mut self,
        read: &Read,
        statement: &Statement,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let refusal = self.refusal_of(&statement.text).await?;
        if refusal.is_some_and(|error| is_of_the_text(&error)) {
            self.count_read(read, read.reason);
            return self.run_original(original, context).await;
        }
        let done = self.read_as_altered(read, true, original, context);
        Box::pin(done).await
    }

    /// Asks for the column definitions of the client's statement again: its tables may have changed since it was
    /// prepared.
    pub(crate) async fn ask_for_columns(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let mut out = Vec::new();
        let text = match &statement.asks {
            Some(asks) => &asks.text,
            None => &statement.text,
        };
        encode_prepare(&mut out, text);
        self.write_upstream(&out).await?;
        if let Ok(prepared) = self.link.read_prepared().await? {
            statement.columns.renew(prepared.columns);
            self.close_asked(Some(prepared.id)).await?;
        }
        Ok(())
    }

    /// Runs a read whose rewritten text the upstream does not prepare.
    async fn read_refused(
        &mut self,
        read: &Read,
        reason: Reason,
        error: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        if failure(error) == Failure::TheClients {
            self.count_read(read, reason);
            return self.reply_err(context, error).await;
        }
        if is_without_slots(error) {
            self.count_read(read, reason);
            return self
                .read_without_slots(read, error, original, context)
                .await;
        }
        match &read.or_fold {
            Some(fold) => self.fold_then_original(fold, None, original, context).await,
            None => self.read_folded(read, original, context).await,
        }
    }

    /// The id of the rewritten text, which is prepared now if it is not yet. The inner error is the ERR payload if the
    /// upstream does not prepare it.
    pub(crate) async fn rewritten(
        &mut self,
        statement: &mut Statement,
        text: Vec<u8>,
    ) -> Result<Result<u32, Vec<u8>>, Error> {
        if let Some((id, prepared)) = &statement.rewritten
            && *prepared == text
        {
            return Ok(Ok(*id));
        }
        self.close_rewritten(statement).await?;
        let mut out = Vec::new();
        encode_prepare(&mut out, &text);
        self.write_upstream(&out).await?;
        let prepared = match self.link.read_prepared().await? {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        statement.rewritten = Some((prepared.id, text));
        Ok(Ok(prepared.id))
    }

    /// Closes the rewritten statement, if there is one.
    pub(crate) async fn close_rewritten(&mut self, statement: &mut Statement) -> Result<(), Error> {
        match statement.rewritten.take() {
            Some((id, _)) => self.close_statement(id).await,
            None => Ok(()),
        }
    }
}

//! Executions of the binary protocol's prepared statements, by their plans.

use std::sync::Arc;

use crate::session::Session;
use crate::session::act::read::Prepared;
use crate::session::definitions::{RUNS, may_run_twice};
use crate::session::error::Error;
use crate::session::error_kind::{is_of_the_text, is_unknown_column, is_without_slots};
use crate::session::link::definitions::Agreement;
use crate::session::link::internal::{Failure, failure};
use crate::session::link::rewrite::{Rewrite, Rewritten, prepare_again};
use crate::session::parameters::{exact_amounts, whole_tables};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::Planned;
use crate::session::state::prepared::Statement;
use crate::sql::plan::{Plan, Read, Reason};
use crate::wire::command::{self, encode_prepare, encode_statement_command};
use crate::wire::error_code::{ER_BAD_FIELD_ERROR, ER_DATA_OUT_OF_RANGE, ER_NO_SUCH_TABLE};
use crate::wire::execute::Execute;
use crate::wire::reader::Malformed;
use crate::wire::response::ResponseKind;

/// Errors of a rewritten text that the client must not see: the session does or reports something else.
const HELD: [u16; 3] = [ER_DATA_OUT_OF_RANGE, ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR];

impl Session {
    /// Plans a statement again if the hot tables have changed.
    pub(crate) async fn keep_up(&mut self, statement: &mut Statement) -> Result<(), Error> {
        // It names no hot table, and an internal query would clear the messages that it may ask for.
        if statement.text.is_empty() {
            return Ok(());
        }
        self.see_shadows().await?;
        let is_new =
            statement.planned_by != self.hot.number || statement.shadowed != self.state.shadowed;
        match is_new {
            true => Box::pin(self.plan_again(statement)).await,
            false => Ok(()),
        }
    }

    /// Plans a statement again after a temporary table has come to hide a hot one, or has gone, or the hot tables have
    /// changed. If the plan differs, the rewritten statement is prepared again as well.
    async fn plan_again(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let plan = match statement.variables.clone() {
            Some(variables) => self.plan_as_prepared(&statement.text, &variables).await?,
            None => self.plan_without_locks(&statement.text).await?,
        };
        statement.shadowed.clone_from(&self.state.shadowed);
        statement.planned_by = self.hot.number;
        if plan == statement.plan {
            return Ok(());
        }
        self.close_rewritten(statement).await?;
        statement.plan = plan;
        if let Plan::Read(_) = *statement.plan {
            self.ask_for_columns(statement).await?;
        }
        Ok(())
    }

    pub(crate) async fn execute_as_planned(
        &mut self,
        id: u32,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        match *statement.plan {
            Plan::Forward(reason) => {
                self.learn_from_forwarded(reason, statement.kind);
                self.pass_execution(id, statement, reason).await
            }
            Plan::Write(ref write) if !self.state.in_transaction() => {
                let reason = write.reason;
                self.learn_from_forwarded(reason, statement.kind);
                self.pass_execution(id, statement, reason).await
            }
            Plan::Observe(ref plan) => {
                self.metrics().count_observed(plan.reason());
                self.pass_execution(id, statement, Reason::Observed).await
            }
            _ => Box::pin(self.execute(id, statement)).await,
        }
    }

    /// Forwards the execution at the front of the client's stream.
    async fn pass_execution(
        &mut self,
        id: u32,
        statement: &Statement,
        reason: Reason,
    ) -> Result<(), Error> {
        self.before(statement.kind);
        self.watch_execution(id, statement).await?;
        self.pass_watched(statement.kind, reason).await
    }

    pub(crate) async fn execute(
        &mut self,
        id: u32,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        let context = ReplyContext::single(self.command_response_kind());
        self.before(statement.kind);
        self.watch_execution(id, statement).await?;
        if !self.buffer_command().await? {
            return self.fold_then_stream(statement, Reason::TooLong).await;
        }
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        self.state.planned = Planned::Once;
        let mut done = self.execute_payload(id, statement, &payload, context).await;
        while let Err(Error::Stale) = done {
            self.keep_up(statement).await?;
            done = self.execute_payload(id, statement, &payload, context).await;
        }
        self.state.planned = Planned::ForGood;
        done?;
        self.after(statement.kind, self.state.status_uncertain);
        Ok(())
    }

    async fn execute_payload(
        &mut self,
        id: u32,
        statement: &mut Statement,
        payload: &[u8],
        context: ReplyContext,
    ) -> Result<(), Error> {
        let capabilities = self.link.capabilities;
        let execute = Execute::decode(payload, statement.parameters, capabilities);
        let Ok(execute) = execute else {
            // Let the upstream report what is wrong with it.
            let original = Original::Payload(payload.to_vec());
            return self.run_original(&original, context).await.map(drop);
        };
        let values = execute.values(statement.parameters, &statement.types, capabilities);
        let literals = match (statement.long_data, &values) {
            (false, Ok(values)) => self.literals(values).await?,
            _ => None,
        };
        // Types that only the server knows, from a bulk execution, cannot be sent again.
        let are_types_known = !statement.types.is_empty() || !execute.has_parameters();
        let original = match are_types_known {
            true => execute.encode(id, &statement.types, capabilities),
            false => renamed(payload, id)?,
        };
        let original = Original::Payload(original);
        let may_read = !statement.long_data && are_types_known;
        let mut plan = self.plan_now(Arc::clone(&statement.plan), &statement.text);
        statement.typing.see(values.as_deref().unwrap_or_default());
        if let (true, Plan::Increment(_) | Plan::Fold(_)) = (statement.typing.is_fixed(), &*plan) {
            let fold = whole_tables(&plan, Reason::RetypedParameter);
            plan = Arc::new(Plan::Fold(Box::new(fold)));
        }
        if matches!(*statement.plan, Plan::Read(_)) && !matches!(*plan, Plan::Read(_)) {
            // A cursor must then fetch from the original.
            self.close_rewritten(statement).await?;
        }
        let in_snapshot = match &*plan {
            // A statement that asks about the one before it has another text at each execution.
            Plan::Fold(fold) if may_read && statement.asks.is_none() => {
                self.read_in_snapshot(fold, &statement.text)
            }
            _ => None,
        };
        let in_snapshot = match in_snapshot {
            Some(read) if may_run_twice(&statement.text) => {
                let execute = execute.without_cursor();
                let execute = execute.encode(id, &statement.types, capabilities);
                match self
                    .columns_as_executed(&Original::Payload(execute))
                    .await?
                {
                    Ok(columns) => {
                        statement.columns.renew(columns);
                        Some(read)
                    }
                    Err(error) if failure(&error) == Failure::TheClients => {
                        return self.answer_err(context, &error).await.map(drop);
                    }
                    Err(_) => None,
                }
            }
            in_snapshot => in_snapshot,
        };
        if let (Some(read), Some(literals)) = (in_snapshot, &literals) {
            return self
                .execute_read(read, &execute, statement, literals, &original)
                .await;
        }
        match (&*plan, &literals) {
            (Plan::Combine(increment), literals) => {
                let amounts = exact_amounts(increment, values.as_deref().unwrap_or_default());
                let parameters = literals.as_deref().unwrap_or_default();
                let amounts =
                    amounts.filter(|_| literals.is_some() && !statement.typing.is_fixed());
                self.increment_base(
                    increment,
                    (parameters, amounts.as_deref()),
                    &original,
                    context,
                )
                .await?;
            }
            (Plan::Increment(increment), Some(literals)) if !self.state.checks_disabled => {
                let values = values.unwrap_or_default();
                self.increment_by(increment, &values, literals, &original, context)
                    .await?;
            }
            (Plan::Read(read), literals)
                if may_read && (literals.is_some() || read.locks.is_empty()) =>
            {
                let literals = literals.as_deref().unwrap_or_default();
                self.execute_read(read, &execute, statement, literals, &original)
                    .await?;
            }
            (Plan::Write(write), literals) => {
                self.write(write, literals.as_deref(), &original, context)
                    .await?;
            }
            (Plan::Fold(fold), literals) => {
                if fold.in_snapshot.is_some() && statement.asks.is_none() {
                    // A cursor must then fetch from the original.
                    self.close_rewritten(statement).await?;
                }
                self.fold_then_original(fold, literals.as_deref(), &original, context)
                    .await?;
            }
            (Plan::Increment(_) | Plan::Read(_), _) => {
                let fold = whole_tables(&plan, Reason::Fallback);
                // A cursor must then fetch from the original.
                self.close_rewritten(statement).await?;
                self.fold_then_original(&fold, None, &original, context)
                    .await?;
            }
            (plan, _) => {
                self.act(plan, &[], &original, context).await?;
            }
        }
        Ok(())
    }

    /// Folds all that an execution may read or write, and forwards it unread.
    async fn fold_then_stream(
        &mut self,
        statement: &mut Statement,
        reason: Reason,
    ) -> Result<(), Error> {
        let fold = whole_tables(&statement.plan, reason);
        let context = ReplyContext::single(self.command_response_kind());
        self.close_rewritten(statement).await?;
        self.fold_then_original(&fold, None, &Original::Stream, context)
            .await?;
        self.after(statement.kind, self.state.status_uncertain);
        Ok(())
    }

    async fn execute_read(
        &mut self,
        read: &Read,
        execute: &Execute<'_>,
        statement: &mut Statement,
        literals: &[Vec<u8>],
        original: &Original,
    ) -> Result<(), Error> {
        let context = ReplyContext::single(original.response_kind());
        let reason = match self.prepare_to_read(read, literals).await? {
            Prepared::Summed(reason) => reason,
            Prepared::Folded(mark) => {
                // A cursor must then fetch from the original.
                self.close_rewritten(statement).await?;
                return self.run_over_folds(mark, original, context).await.map(drop);
            }
            Prepared::Refused(error) => {
                return self.answer_err(context, &error).await.map(drop);
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
                return Box::pin(done).await.map(drop);
            }
        };
        self.count_read(read, reason);
        let packet = execute.encode(id, &statement.types, self.link.capabilities);
        let Some(ended) = self.execute_rewritten(&packet, statement, &HELD).await? else {
            if statement.long_data {
                // The execution has used up the long data, and the original has never had it.
                return self.answer_err(context, &prepare_again()).await.map(drop);
            }
            self.close_rewritten(statement).await?;
            // The original has other columns than the rewritten text was made for.
            self.look_again(&read.tables).await?;
            return self.read_folded(read, original, context).await.map(drop);
        };
        // No packet has been sent to the client before the error.
        let is_first = ended.sequence_id == context.sequence_id;
        if is_first && ended.held.as_deref().is_some_and(is_unknown_column) {
            if statement.long_data {
                return self.answer_err(context, &prepare_again()).await.map(drop);
            }
            self.close_rewritten(statement).await?;
            return self
                .execute_as_altered(read, statement, original, context)
                .await;
        }
        if let Some(error) = ended.held.as_ref().filter(|error| is_without_slots(error)) {
            if statement.long_data {
                return self.answer_err(context, &prepare_again()).await.map(drop);
            }
            self.close_rewritten(statement).await?;
            let done = self.read_without_slots(read, error, original, context);
            return Box::pin(done).await.map(drop);
        }
        if let Some(error) = &ended.held {
            let error = self.originals_error(read, original, error).await?;
            self.answer(ended.sequence_id, &error).await?;
        }
        Ok(())
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
                columns: Some(&statement.columns),
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
    ) -> Result<(), Error> {
        let refusal = self.refusal_of(&statement.text).await?;
        if refusal.is_some_and(|error| is_of_the_text(&error)) {
            self.count_read(read, read.reason);
            return self.run_original(original, context).await.map(drop);
        }
        let done = self.read_as_altered(read, true, original, context);
        Box::pin(done).await.map(drop)
    }

    /// Asks for the column definitions of the client's statement again: its tables may have changed since it was
    /// prepared.
    async fn ask_for_columns(&mut self, statement: &mut Statement) -> Result<(), Error> {
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
            return self.answer_err(context, error).await;
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

    pub(crate) async fn close_rewritten(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let Some((id, _)) = statement.rewritten.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        encode_statement_command(&mut out, command::STMT_CLOSE, id);
        self.write_upstream(&out).await
    }

    /// Runs MariaDB's bulk execution. Its many rows of parameters are not read, so whole tables are folded.
    pub(crate) async fn execute_in_bulk(&mut self, statement: &mut Statement) -> Result<(), Error> {
        self.keep_up(statement).await?;
        // Types that it sends hold for later executions as well, and are not known here.
        statement.types.clear();
        self.state.diagnostics = None;
        self.before(statement.kind);
        self.fold_then_stream(statement, Reason::Fallback).await?;
        statement.long_data = false;
        Ok(())
    }
}

/// The payload of a command that names a statement, with the id of another one.
pub(crate) fn renamed(payload: &[u8], id: u32) -> Result<Vec<u8>, Malformed> {
    let mut payload = payload.to_vec();
    let place = payload.get_mut(1..5).ok_or(Malformed)?;
    place.copy_from_slice(&id.to_le_bytes());
    Ok(payload)
}

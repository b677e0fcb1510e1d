//! Executions of the binary protocol's prepared statements, by their plans.

use std::sync::Arc;

use crate::session::Session;
use crate::session::act::invocation::{Arguments, Execution, Form, Invocation};
use crate::session::error::Error;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::prepared::Statement;
use crate::session::state::running::Planned;
use crate::sql::Values;
use crate::sql::plan::{Fold, Reason};
use crate::wire::execute::Execute;
use crate::wire::reader::Malformed;

impl Session {
    /// Plans a statement again if the hot tables have changed.
    pub(crate) async fn keep_up(&mut self, statement: &mut Statement) -> Result<(), Error> {
        // It names no hot table, and an internal query would clear the messages that it may ask for.
        if statement.text.is_empty() {
            return Ok(());
        }
        let mut is_new = false;
        if self.hot.has_names_beyond_ascii {
            is_new = Box::pin(self.keep_up_names(statement)).await?;
        }
        self.see_shadows().await?;
        is_new |= statement.planned_by != self.hot.number
            || statement.shadowed != self.state.temporary.hide;
        match is_new {
            true => Box::pin(self.plan_again(statement)).await,
            false => Ok(()),
        }
    }

    /// Whether names beyond ASCII have other bytes now than when a statement was planned.
    async fn keep_up_names(&mut self, statement: &mut Statement) -> Result<bool, Error> {
        let is_counted = self.state.variables.is_some() || self.state.diagnostics.is_some();
        if statement.asks.is_some() && !is_counted {
            self.keep_numbers().await?;
        }
        let now = self.variables().await?;
        let other_names = now.is_some_and(|now| now.other_characters.is_some());
        let is_new = statement.other_names != other_names;
        statement.other_names = other_names;
        Ok(is_new)
    }

    /// Plans a statement again after a temporary table has come to hide a hot one, or has gone, or the hot tables have
    /// changed. If the plan differs, the rewritten statement is prepared again as well.
    async fn plan_again(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let plan = match statement.variables.clone() {
            Some(variables) => self.plan_as_prepared(&statement.text, &variables).await?,
            None => self.plan(&statement.text).await?,
        };
        statement.shadowed.clone_from(&self.state.temporary.hide);
        statement.planned_by = self.hot.number;
        if plan == statement.plan {
            return Ok(());
        }
        self.close_rewritten(statement).await?;
        statement.plan = plan;
        if statement.plan.is_read() {
            self.ask_for_columns(statement).await?;
        }
        Ok(())
    }

    pub(crate) async fn execute_as_planned(
        &mut self,
        id: u32,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        match statement.plan.forwards(self.state.in_transaction()) {
            Some(reason) => {
                self.count_observed(&statement.plan);
                self.learn_from_forwarded(reason, statement.kind);
                self.pass_execution(id, statement, reason).await
            }
            None => Box::pin(self.execute(id, statement)).await,
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
        self.state.running.planned = Planned::Once;
        let mut done = self.execute_payload(id, statement, &payload, context).await;
        while let Err(Error::Stale) = done {
            self.keep_up(statement).await?;
            done = self.execute_payload(id, statement, &payload, context).await;
        }
        self.state.running.planned = Planned::ForGood;
        done?;
        self.after(statement.kind, self.state.last.leaves_doubt);
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
            true => execute.encode(id, &statement.types),
            false => renamed(payload, id)?,
        };
        let original = Original::Payload(original);
        statement.typing.see(values.as_deref().unwrap_or_default());
        let arguments = match (&values, &literals) {
            (Ok(values), Some(literals)) if are_types_known => {
                let arguments = Arguments::known(values, literals);
                match statement.typing.is_fixed() {
                    true => arguments.retyped(),
                    false => arguments,
                }
            }
            // The original needs the long data that has been sent to it, or types that only the server has.
            _ if statement.long_data || !are_types_known => {
                Arguments::of_the_server(Values::Unknown)
            }
            _ => Arguments::of_the_server(Values::Transferable),
        };
        let plan = Arc::clone(&statement.plan);
        let invocation = Invocation {
            form: Form::Execution(Execution {
                statement,
                execute: &execute,
                id,
            }),
            arguments,
            original: &original,
            context,
        };
        self.act(&plan, invocation).await.map(drop)
    }

    /// Folds all that an execution may read or write, and forwards it unread.
    async fn fold_then_stream(
        &mut self,
        statement: &mut Statement,
        reason: Reason,
    ) -> Result<(), Error> {
        // The fold goes by them.
        self.variables().await?;
        let fold = Fold::of_whole_tables(&statement.plan, reason);
        let context = ReplyContext::single(self.command_response_kind());
        self.close_rewritten(statement).await?;
        self.fold_then_original(&fold, None, &Original::Stream, context)
            .await?;
        self.after(statement.kind, self.state.last.leaves_doubt);
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

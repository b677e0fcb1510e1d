//! COM_STMT_EXECUTE of a statement that the session knows, including one that asks about the statement before it.

use std::sync::Arc;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::rewrite::prepare_again;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::diagnostics::Asks;
use crate::session::state::prepared::Statement;
use crate::sql::diagnostics::Question;
use crate::sql::plan::Reason;
use crate::wire::execute::Execute;
use crate::wire::response::ResponseKind;

impl Session {
    /// Executes a statement that asks about the one before it. If the upstream would report on an internal statement,
    /// the numbers are put into its text.
    pub(crate) async fn execute_asking(
        &mut self,
        id: u32,
        statement: &mut Statement,
        asks: &Asks,
    ) -> Result<(), Error> {
        let is_forwarded = statement.plan.forwards(false).is_some();
        if self.state.diagnostics.is_none() && !is_forwarded {
            self.keep_numbers().await?;
        }
        let Some(mut diagnostics) = self.state.diagnostics.take() else {
            // Before the question nothing else may be sent.
            let outdated = statement.rewritten.take();
            self.execute_as_planned(id, statement).await?;
            return self.close_asked(outdated.map(|(id, _)| id)).await;
        };
        self.count_messages(&mut diagnostics, &asks.question, &asks.text)
            .await?;
        let edited = match &asks.question {
            Question::Numbers(places) => diagnostics.edited(&asks.text, places),
            Question::Into(items) if self.buffer_command().await? => {
                let Some(assignment) = diagnostics.assigned(items) else {
                    return self.execute_as_planned(id, statement).await;
                };
                self.link.drop_command();
                let context = ReplyContext::single(ResponseKind::Results);
                return self
                    .assign(diagnostics, assignment, context)
                    .await
                    .map(drop);
            }
            _ => return self.execute_as_planned(id, statement).await,
        };
        let plan = match is_forwarded {
            true => Arc::clone(&statement.plan),
            false => self.plan(&edited).await?,
        };
        let is_read = plan.is_read();
        let is_query = !statement.columns.columns.is_empty();
        let own = std::mem::replace(&mut statement.plan, plan);
        let done = match is_read || (is_query && !is_forwarded) {
            true => self.execute(id, statement).await,
            false => match self.rewritten(statement, edited).await? {
                Ok(ours) if is_query => self.execute_renamed(ours, statement).await,
                Ok(ours) => self.execute(ours, statement).await,
                Err(_) => self.execute_as_planned(id, statement).await,
            },
        };
        statement.plan = own;
        done
    }

    /// Executes the edited statement as it is, under the column definitions of the client's own.
    async fn execute_renamed(&mut self, id: u32, statement: &mut Statement) -> Result<(), Error> {
        if !self.buffer_command().await? {
            return self.pass_statement(statement.kind, Reason::TooLong).await;
        }
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        let capabilities = self.link.capabilities;
        let context = ReplyContext::single(ResponseKind::of(&payload));
        let Ok(execute) = Execute::decode(&payload, statement.parameters, capabilities) else {
            let original = Original::Payload(payload);
            return self.run_original(&original, context).await.map(drop);
        };
        if let Some(types) = execute.types {
            statement.types = types.to_vec();
        }
        let packet = execute.encode(id, &statement.types);
        if self
            .execute_rewritten(&packet, statement, &[])
            .await?
            .is_none()
        {
            self.reply_err(context, &prepare_again()).await?;
        }
        self.after(statement.kind, self.state.last.leaves_doubt);
        Ok(())
    }

    pub(crate) async fn execute_known(
        &mut self,
        id: u32,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        self.keep_up(statement).await?;
        self.state.running.control.clone_from(&statement.control);
        self.state.running.access = statement.access;
        let _turn = self.turn_of(&statement.text).await;
        if let Some(asks) = statement.asks.clone() {
            Box::pin(self.execute_asking(id, statement, &asks)).await?;
        } else {
            self.forget_diagnostics(statement.kind);
            self.execute_as_planned(id, statement).await?;
        }
        let failed = self.state.last.leaves_doubt;
        self.after_one_shot(&statement.one_shot, failed);
        // The execution has used up the long data.
        statement.long_data = false;
        if statement.may_change_the_catalog && !failed {
            self.catalog_may_have_changed(statement.kind).await;
        }
        self.after_ddl(statement.kind);
        Ok(())
    }
}

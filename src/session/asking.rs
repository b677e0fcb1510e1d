//! Statements that ask about the one before them, in every way in which they come: as text, prepared, with hot tables.

use std::sync::Arc;

use super::Session;
use super::diagnostics::Told;
use super::error::Error;
use super::kind::kind_of;
use super::link::rewrite::prepare_again;
use super::prepared::Statement;
use super::read::Parameters;
use super::turn::{Done, Original, Turn};
use crate::sql::diagnostics::{Question, may_ask, may_be_question};
use crate::sql::plan::{Plan, Reason};
use crate::sql::{self, Kind};
use crate::wire::execute::Execute;
use crate::wire::response::ResponseKind;

/// What a statement asks about the one before it.
#[derive(Clone, Debug)]
pub(super) struct Asks {
    pub text: Vec<u8>,
    pub question: Question,
}

impl Session {
    /// Answers what a statement asks about the one before it, where the upstream would tell of a statement of ours.
    pub(super) async fn ask_of_last(
        &mut self,
        text: &[u8],
        kind: Kind,
        turn: Turn,
    ) -> Result<Told, Error> {
        if !may_be_question(text, kind) {
            self.state.diagnostics = None;
            return Ok(Told::Not);
        }
        // Statements of ours come before the client's.
        if self.state.diagnostics.is_none() && may_ask(text) && self.is_hot(text, kind) {
            self.keep_numbers().await?;
        }
        let Some(diagnostics) = self.state.diagnostics.take() else {
            return Ok(Told::Not);
        };
        let facts = self.state.facts.clone().unwrap_or_default();
        // Bodies of routines ask when they run, and nobody knows the columns that a WITH has.
        let may_have_body = matches!(kind, Kind::Ddl | Kind::Other | Kind::With);
        match sql::diagnostics::question(text, &facts) {
            Some(question) if !may_have_body && !sql::is_several(text, &facts) => {
                self.tell(diagnostics, &question, text, kind, turn).await
            }
            _ => Ok(Told::Not),
        }
    }

    /// Runs a statement with an edited text, whose columns are those of the client's own.
    pub(super) async fn act_with(
        &mut self,
        edited: &[u8],
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let plan = self.plan(edited).await?;
        if let Plan::Read(read) = &*plan {
            return self
                .read(read, text, Parameters::default(), original, turn)
                .await;
        }
        match original {
            Original::Payload(payload) if kind_of(text) != Kind::Select => {
                let prefix = payload.len() - text.len();
                let edited_original = Original::Payload([&payload[..prefix], edited].concat());
                self.act(&plan, edited, &edited_original, turn).await
            }
            _ => self.act(&plan, text, original, turn).await,
        }
    }

    /// Executes a statement that asks about the one before it: with the numbers in place, where the upstream would tell
    /// of a statement of ours.
    pub(super) async fn execute_asking(
        &mut self,
        id: u32,
        statement: &mut Statement,
        asks: &Asks,
    ) -> Result<(), Error> {
        let is_forwarded = matches!(
            *statement.plan,
            Plan::Forward(_) | Plan::Write(_) | Plan::Observe(_)
        );
        if self.state.diagnostics.is_none() && !is_forwarded {
            self.keep_numbers().await?;
        }
        let Some(told) = self.state.diagnostics.take() else {
            self.close_rewritten(statement).await?;
            return self.execute_as_planned(id, statement).await;
        };
        let edited = match &asks.question {
            Question::Numbers(places) => told.edited(&asks.text, places),
            Question::Into(items) if self.buffer_command().await? => {
                let Some(assignment) = told.assigned(items) else {
                    return self.execute_as_planned(id, statement).await;
                };
                self.link.drop_command();
                let turn = Turn::single(ResponseKind::Results);
                return self.assign(told, assignment, turn).await.map(drop);
            }
            _ => return self.execute_as_planned(id, statement).await,
        };
        let plan = match is_forwarded {
            true => Arc::clone(&statement.plan),
            false => self.plan_without_locks(&edited).await?,
        };
        let is_read = matches!(*plan, Plan::Read(_));
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

    /// Executes the rewritten statement as it is, under the column definitions of the client's own.
    async fn execute_renamed(&mut self, id: u32, statement: &mut Statement) -> Result<(), Error> {
        if !self.buffer_command().await? {
            return self.pass_statement(statement.kind, Reason::TooLong).await;
        }
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        let capabilities = self.link.capabilities;
        let turn = Turn::single(ResponseKind::of(&payload));
        let Ok(execute) = Execute::decode(&payload, statement.parameters, capabilities) else {
            let original = Original::Payload(payload);
            return self.run_original(&original, turn).await.map(drop);
        };
        if let Some(types) = execute.types {
            statement.types = types.to_vec();
        }
        let packet = execute.encode(id, &statement.types, capabilities);
        if self
            .execute_rewritten(&packet, statement, &[])
            .await?
            .is_none()
        {
            self.answer_err(turn, &prepare_again()).await?;
        }
        self.after(statement.kind, self.state.status_uncertain);
        Ok(())
    }
}

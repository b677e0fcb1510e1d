//! One statement in the text protocol, alone in its packet or one of several: answers what it asks about the statement
//! before, or has its plan acted on, and takes in its effects.

use crate::session::Session;
use crate::session::act::invocation::Invocation;
use crate::session::command::diagnostics_statements::QuestionOutcome;
use crate::session::error::Error;
use crate::session::plan::Found;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::one_shot::Effect;
use crate::session::state::running::Access;
use crate::session::text::{kind_of, may_change_the_catalog};
use crate::sql::{self, Kind};

impl Session {
    /// Runs one statement, whose plan may have been found already.
    pub(crate) async fn statement(
        &mut self,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
        found: Option<Found>,
    ) -> Result<Replied, Error> {
        // Of several in a packet, the one before has been answered.
        self.link.answered.is_whole = false;
        let _turn = self.turn_of(text).await;
        let kind = kind_of(text);
        if kind.is_sql_prepared() {
            let variables = self.variables().await?.unwrap_or_default();
            if let Some(command) = sql::prepare::command(text, &variables) {
                let is_execute = kind == Kind::Execute || kind == Kind::Other;
                let done = Box::pin(self.sql_prepared(command, original, context)).await?;
                if is_execute || done.failed {
                    self.after_one_shot(&Effect::Ends, done.failed);
                }
                return Ok(done);
            }
        }
        let edited = match self.ask_of_last(text, kind, context).await? {
            QuestionOutcome::Replied(done) => return Ok(done),
            QuestionOutcome::Rewritten(edited) => Some(edited),
            QuestionOutcome::Not => None,
        };
        self.state.running.control = self.control_in(text, kind);
        // A write by itself leaves no transaction to report about.
        self.state.running.access = match kind.is_write() && !self.state.in_transaction() {
            true => Access::default(),
            false => self.access_in(Some(text), kind),
        };
        self.before(kind);
        self.watch(Some(text), kind).await?;
        let done = match edited {
            Some(edited) => Box::pin(self.act_with(&edited, text, original, context)).await?,
            None => {
                let found = match found {
                    None => self.find_or_plan(text).await?,
                    found => found,
                };
                match found {
                    Some(found) => self.act_on_found(found, text, original, context).await?,
                    None => {
                        let plan = self.plan(text).await?;
                        self.act(&plan, Invocation::of_text(text, original, context))
                            .await?
                    }
                }
            }
        };
        self.after(kind, done.failed);
        let variables = self.state.of_texts().cloned().unwrap_or_default();
        let effect = self.state.one_shot.effect(text, kind, &variables);
        self.after_one_shot(&effect, done.failed);
        if !done.failed && may_change_the_catalog(text, kind, &self.hot.catalog) {
            self.catalog_may_have_changed(kind).await;
        }
        self.after_ddl(kind);
        Ok(done)
    }
}

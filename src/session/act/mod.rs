//! Acts on decisions: the one place where the session does what a plan says.

use std::borrow::Cow;

use crate::session::Session;
use crate::session::act::invocation::{Form, Invocation};
use crate::session::act::read::Parameters;
use crate::session::definitions::may_run_twice;
use crate::session::error::Error;
use crate::session::link::internal::{Failure, failure};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::text::kind_of;
use crate::sql::plan::{Fold, Plan, Read, Reason};
use crate::sql::{Decision, Values, decide};

mod as_in_snapshot;
mod batch_leader;
mod batch_outcome;
mod batch_repeats;
mod batch_steps;
pub(crate) mod bulk;
mod candidate;
mod combine;
mod ddl;
pub(crate) mod fold;
mod fold_in_transaction;
pub(crate) mod fold_slots;
mod fold_then;
mod gated;
pub(crate) mod increment;
pub(crate) mod invocation;
pub(crate) mod key_text;
mod lost;
pub(crate) mod one_row;
mod out_of_sight;
pub(crate) mod own_rows;
pub(crate) mod prepared_read;
pub(crate) mod read;
mod read_error;
mod second_run;
pub(crate) mod slot;
mod write;

impl Session {
    /// Does with a statement what its plan comes to in this session.
    pub(crate) async fn act(
        &mut self,
        plan: &Plan,
        mut invocation: Invocation<'_>,
    ) -> Result<Replied, Error> {
        let known = invocation.arguments.known;
        let decision = decide(plan, self.circumstances(invocation.text(), known));
        let Invocation {
            arguments,
            original,
            context,
            ..
        } = invocation;
        if !matches!(decision, Decision::Read(_) | Decision::Fold(_)) {
            self.leave_rewritten(&mut invocation.form).await?;
        }
        match decision {
            Decision::Forward(reason) => {
                self.learn_from_forwarded(reason, kind_of(invocation.text()));
                self.count(reason);
                self.run_original(original, context).await
            }
            Decision::Write(write) => {
                Box::pin(self.write(write, arguments.literals(), original, context)).await
            }
            Decision::Observe(observed) => {
                self.metrics().count_observed(observed.reason());
                self.count(Reason::Observed);
                self.run_original(original, context).await
            }
            Decision::Combine(increment) => {
                let amounts = arguments.amounts(increment);
                let literals = arguments.literals().unwrap_or_default();
                self.increment_base(increment, (literals, amounts.as_deref()), original, context)
                    .await
            }
            Decision::Batch(row) => self.write_one_row(row, invocation).await,
            Decision::Increment(increment) => {
                let literals = arguments.literals().unwrap_or_default();
                self.increment_by(increment, arguments.values(), literals, original, context)
                    .await
            }
            Decision::Read(read) => Box::pin(self.read_in_form(read, invocation)).await,
            Decision::Fold(fold) => Box::pin(self.fold_or_read(fold, invocation)).await,
            Decision::Ddl(ddl) => Box::pin(self.ddl(ddl, original, context)).await,
            Decision::Shadow(tables) => Box::pin(self.shadow(tables, original, context)).await,
            // PREPARE is possible only in the text protocol, and `command::statement` has handled it there.
            Decision::Prepare => self.run_original(original, context).await,
            Decision::LockTables(lock) => Box::pin(self.lock_tables(lock, original, context)).await,
        }
    }

    /// What this session would do by the plan now, with whatever values.
    pub(crate) fn decision_in_force<'a>(&self, plan: &'a Plan, text: &[u8]) -> Decision<'a> {
        match decide(plan, self.circumstances(text, Values::Known)) {
            Decision::Increment(increment) => match self.goes_to_base(increment, None) {
                Some(reason) => Decision::Fold(Cow::Owned(Fold {
                    reason,
                    ..increment.exact.clone()
                })),
                None => Decision::Increment(increment),
            },
            decision => decision,
        }
    }

    /// Closes the rewritten statement of an execution that does not use it: a cursor must then fetch from the original.
    async fn leave_rewritten(&mut self, form: &mut Form<'_>) -> Result<(), Error> {
        let Form::Execution(execution) = form else {
            return Ok(());
        };
        let rewritten = execution.statement.rewritten.as_ref();
        // An edited text is the original of its execution.
        match rewritten.is_some_and(|(id, _)| *id != execution.id) {
            true => self.close_rewritten(execution.statement).await,
            false => Ok(()),
        }
    }

    /// Runs a rewritten read in the form in which the statement came.
    async fn read_in_form(
        &mut self,
        read: &Read,
        invocation: Invocation<'_>,
    ) -> Result<Replied, Error> {
        let Invocation {
            form,
            arguments,
            original,
            context,
        } = invocation;
        let literals = arguments.literals().unwrap_or_default();
        match form {
            Form::Text(text) | Form::Using(text, _) => {
                self.read(read, text, literals.into(), original, context)
                    .await
            }
            Form::Shape(text, shape) => {
                match self
                    .read_as(read, shape.text(), literals.into(), original, context)
                    .await?
                {
                    Ok(done) => Ok(done),
                    Err(_) => self.read_by_text(text, original, context).await,
                }
            }
            Form::Execution(execution) => {
                self.execute_read(read, execution, literals, original).await
            }
        }
    }

    /// Runs a read whose shape MySQL does not prepare, by the plan of its text: that may show more.
    async fn read_by_text(
        &mut self,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let plan = self.plan(text).await?;
        Box::pin(self.act(&plan, Invocation::of_text(text, original, context))).await
    }

    /// Folds and runs the original; or reads, where the snapshot of the open transaction would not show the fold.
    async fn fold_or_read(
        &mut self,
        fold: Cow<'_, Fold>,
        mut invocation: Invocation<'_>,
    ) -> Result<Replied, Error> {
        let Invocation {
            arguments,
            original,
            context,
            ..
        } = invocation;
        if let Some(read) = self.read_in_snapshot(&fold, invocation.text()) {
            match self.define_as_it_runs(&mut invocation).await? {
                Ok(true) => return self.read_as_it_runs(read, invocation).await,
                Ok(false) => {}
                Err(error) if failure(&error) == Failure::TheClients => {
                    return self.reply_err(context, &error).await;
                }
                Err(_) => {}
            }
        }
        self.leave_rewritten(&mut invocation.form).await?;
        self.fold_then_original(&fold, arguments.literals(), original, context)
            .await
    }

    /// Takes the column definitions of a query from an execution of it, since only that shows them. Returns false if
    /// its form does not allow for that. The inner error is the ERR payload of the execution.
    async fn define_as_it_runs(
        &mut self,
        invocation: &mut Invocation<'_>,
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        let has_literals = invocation.arguments.literals().is_some();
        match &mut invocation.form {
            Form::Using(text, _) => {
                let defined = self.define_as_executed(text, invocation.original).await?;
                Ok(defined.map(|()| true))
            }
            // A statement that asks about the one before it has another text at each execution.
            Form::Execution(execution) if has_literals && execution.statement.asks.is_none() => {
                if may_run_twice(&execution.statement.text) {
                    let once = Original::Payload(self.without_cursor(execution));
                    match self.columns_as_executed(&once).await? {
                        Ok(columns) => execution.statement.columns.renew(columns),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                Ok(Ok(true))
            }
            Form::Text(_) | Form::Shape(..) | Form::Execution(_) => Ok(Ok(false)),
        }
    }

    /// Reads with the values of this very run: the type of a column may go by them.
    async fn read_as_it_runs(
        &mut self,
        read: &Read,
        invocation: Invocation<'_>,
    ) -> Result<Replied, Error> {
        let Form::Using(text, names) = invocation.form else {
            return self.read_in_form(read, invocation).await;
        };
        let parameters = Parameters {
            literals: &[],
            user_variables: Some(names),
        };
        let Invocation {
            original, context, ..
        } = invocation;
        self.read(read, text, parameters, original, context).await
    }
}

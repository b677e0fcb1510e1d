//! Does what a plan says.

use crate::session::Session;
use crate::session::act::read::Parameters;
use crate::session::error::Error;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::text::kind_of;
use crate::sql::plan::{Plan, Reason};

mod as_in_snapshot;
mod batch_leader;
mod combine;
mod ddl;
pub(crate) mod fold;
mod fold_in_transaction;
pub(crate) mod fold_slots;
mod fold_then;
pub(crate) mod increment;
pub(crate) mod out_of_sight;
pub(crate) mod own_rows;
pub(crate) mod read;
mod second_run;
pub(crate) mod slot;
mod write;

impl Session {
    /// Does what the plan says.
    pub(crate) async fn act(
        &mut self,
        plan: &Plan,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        match plan {
            Plan::Forward(reason) => {
                self.learn_from_forwarded(*reason, kind_of(text));
                self.count(*reason);
                self.run_original(original, context).await
            }
            Plan::Write(write) => self.write(write, Some(&[]), original, context).await,
            Plan::Observe(plan) => {
                self.metrics().count_observed(plan.reason());
                self.count(Reason::Observed);
                self.run_original(original, context).await
            }
            Plan::Combine(increment) => {
                let amounts: Option<Vec<_>> = increment.amounts.iter().copied().collect();
                self.increment_base(increment, (&[], amounts.as_deref()), original, context)
                    .await
            }
            Plan::Increment(increment) if self.state.checks_disabled => {
                self.fold_then_original(&increment.exact, Some(&[]), original, context)
                    .await
            }
            Plan::Increment(increment) => {
                let amounts: Option<Vec<_>> = increment.amounts.iter().copied().collect();
                self.increment(increment, (&[], amounts.as_deref()), original, context)
                    .await
            }
            Plan::Read(read) => {
                self.read(read, text, Parameters::default(), original, context)
                    .await
            }
            Plan::Fold(fold) => {
                self.fold_then_original(fold, Some(&[]), original, context)
                    .await
            }
            Plan::Ddl(ddl) => self.ddl(ddl, original, context).await,
            Plan::Shadow(tables) => self.shadow(tables, original, context).await,
            // PREPARE is possible only in the text protocol, and `command::statement` has handled it there.
            Plan::Prepare(_) => self.run_original(original, context).await,
            Plan::LockTables(lock) => self.lock_tables(lock, original, context).await,
        }
    }
}

//! The exact path inside the client's transaction: folds, then the original, then as much of the folds undone as the
//! transaction must not see.

use crate::session::Session;
use crate::session::act::fold::needs_no_fold;
use crate::session::act::fold_slots::{AsOwn, Bound, Moved};
use crate::session::act::own_rows::Mark;
use crate::session::act::second_run::SecondRun;
use crate::session::error::Error;
use crate::session::error_kind::is_unknown_column;
use crate::session::reply::{HeldResponse, Original, Replied, ReplyContext, changes_nothing};
use crate::session::state::info_text::InfoText;
use crate::session::state::transaction::Keys;
use crate::sql::plan::Reason;
use crate::sql::template::Template;
use crate::wire::response::ResponseKind;

impl Session {
    /// Folds in the client's transaction, then runs the original.
    pub(crate) async fn fold_in_transaction(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        confined: Option<(&Template, &[Vec<u8>])>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let rows = self.state.transaction.rows();
        let are_settled = folds
            .iter()
            .all(|bound| rows.has_settled(&bound.clone().into_keys()));
        let first = folds.first().map(|bound| bound.clone().into_keys().table);
        let mark = match first {
            Some(table) if !(are_settled && self.locks_gaps()) => self.mark(&table).await?,
            _ => None,
        };
        let as_own = match mark {
            Some(_) => AsOwn::Several,
            None => AsOwn::No,
        };
        let mut moved = Vec::new();
        for bound in folds {
            match self.fold(bound, as_own).await? {
                Ok(keys) => moved.push(keys),
                Err(error) if needs_no_fold(reason, &error) => {}
                Err(error) => {
                    if let Some(mark) = mark {
                        self.undo_folds(mark, &error, ResponseKind::Results).await?;
                    }
                    return self.discard_and_fail(original, context, &error).await;
                }
            }
        }
        if !self.may_have_old_snapshot() {
            return match self.state.info {
                InfoText::Unknown => Ok(self.run_original_and_see(original, context).await?.0),
                _ => self.run_original(original, context).await,
            };
        }
        let mut suspects = Vec::new();
        for moved in moved
            .iter()
            .filter(|moved| moved.rows.is_none_or(|rows| rows > 1))
        {
            let Keys { table, predicate } = &moved.keys;
            match self.suspects(table, predicate.as_deref(), None).await? {
                Ok(Some(some)) => suspects.push(some),
                // There are too many rows, or their keys cannot be named.
                Ok(None) => {}
                Err(error) if is_unknown_column(&error) => {}
                Err(error) => return self.discard_and_fail(original, context, &error).await,
            }
        }
        let mark = mark.filter(|_| moved.iter().any(Moved::were_open));
        let before = self.writes_before(mark.as_ref()).await?;
        let mut held = self.run_original_and_hold(original, context, false).await?;
        match (changes_nothing(&held.last, self.state.kind), mark) {
            (true, Some(mark)) => {
                self.undo_folds_unless_written(mark, before, &held, context.response_kind)
                    .await?;
            }
            (true, _) => {}
            (false, mark) => {
                let second = match (&moved[..], &suspects[..], mark, confined) {
                    ([moved], [of_table], Some(mark), Some(confined)) => {
                        self.keep_answer(&held.last, context.response_kind).await?;
                        self.confine(mark, (moved, of_table), confined).await?
                    }
                    _ => SecondRun::NotRun,
                };
                match second {
                    SecondRun::NotRun => self.remember_changes(moved, suspects),
                    SecondRun::Replied => {}
                    SecondRun::Refused(error) => {
                        self.state.diagnostics = None;
                        held.last = error;
                        held.failed = true;
                    }
                }
            }
        }
        self.release(&held).await
    }

    /// Runs the original of a read over rows that were folded for it. The folds are undone afterwards if a mark was
    /// set.
    pub(crate) async fn run_over_folds(
        &mut self,
        mark: Option<Mark>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let Some(mark) = mark else {
            return self.run_original(original, context).await;
        };
        let before = self.writes_before(Some(&mark)).await?;
        let held: HeldResponse = self.run_original_and_hold(original, context, false).await?;
        self.undo_folds_unless_written(mark, before, &held, context.response_kind)
            .await?;
        self.release(&held).await
    }
}

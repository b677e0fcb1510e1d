//! The exact path inside the client's transaction: folds, then the original, then as much of the folds undone as the
//! transaction must not see.

use crate::session::Session;
use crate::session::act::fold::needs_no_fold;
use crate::session::act::fold_slots::{AsOwn, Bound, Moved};
use crate::session::act::own_rows::Mark;
use crate::session::act::second_run::SecondRun;
use crate::session::error::Error;
use crate::session::error_kind::is_unknown_column;
use crate::session::link::internal::is_deadlock;
use crate::session::link::rewrite::Rewrite;
use crate::session::refusal::DEFINITION_CHANGED;
use crate::session::reply::{
    HeldResponse, Original, Replied, ReplyContext, changes_nothing, error_payload,
};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::info_text::InfoText;
use crate::session::state::transaction::{Keys, Suspects};
use crate::sql::Kind;
use crate::sql::plan::{ConsistentRead, Fold, Reason};
use crate::wire::error_code::ER_UNKNOWN_STMT_HANDLER;
use crate::wire::reply;
use crate::wire::response::ResponseKind;

impl Session {
    /// Folds in the client's transaction, then runs the original. `folds` are those of `fold`, bound to their
    /// parameters.
    pub(crate) async fn fold_in_transaction(
        &mut self,
        fold: &Fold,
        folds: &[Bound],
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let reason = fold.reason;
        let confined = fold.confined.as_ref().zip(parameters);
        let may_be_query =
            fold.consistent_read == ConsistentRead::Possibly && self.queries_see_a_snapshot();
        let shows_slots = match may_be_query {
            true => self.snapshot_shows_slots(folds).await?,
            false => Ok(false),
        };
        let shows_slots = match shows_slots {
            Ok(shows_slots) => shows_slots,
            Err(error) => return self.discard_and_fail(original, context, &error).await,
        };
        let rows = self.state.transaction.rows();
        let are_settled = folds
            .iter()
            .all(|bound| rows.has_settled(&bound.clone().into_keys()));
        let first = folds.first().map(|bound| bound.clone().into_keys().table);
        let mark = match first {
            Some(table) if !(are_settled && self.locks_gaps()) => self.mark(&table).await?,
            _ => None,
        };
        let is_bulk = self.state.running.is_bulk;
        let as_own = match mark {
            Some(_) if is_bulk => AsOwn::Yes,
            Some(_) => AsOwn::Several,
            None => AsOwn::No,
        };
        let is_begun = self.state.last.is_in_transaction();
        let mut moved = Vec::new();
        for bound in folds {
            match self.fold(bound, as_own).await? {
                Ok(keys) => moved.push(keys),
                Err(error)
                    if needs_no_fold(reason, &error)
                        || self.slots_are_gone(bound, &error).await? => {}
                Err(error) => {
                    // An EXECUTE of an unknown name must not have begun one.
                    let may_begin = is_begun || self.state.running.kind != Kind::Execute;
                    if may_begin && is_deadlock(&error) && self.begins_again().await? {
                        let again =
                            self.fold_in_transaction(fold, folds, parameters, original, context);
                        return Box::pin(again).await;
                    }
                    if let Some(mark) = mark {
                        self.undo_folds(mark, &error, ResponseKind::Results).await?;
                    }
                    return self.discard_and_fail(original, context, &error).await;
                }
            }
        }
        if !is_begun && self.state.running.kind == Kind::Execute {
            return self.execute_if_known(reason, original, context).await;
        }
        if !self.may_have_old_snapshot() {
            return match self.state.info() {
                InfoText::Unknown => Ok(self.run_original_and_see(original, context).await?.0),
                _ => self.run_original(original, context).await,
            };
        }
        let mut suspects = Vec::new();
        for moved in moved
            .iter()
            .filter(|moved| is_bulk || moved.rows.is_none_or(|rows| rows > 1))
        {
            let Keys { table, predicate } = &moved.keys;
            match self.suspects(table, predicate.as_deref(), None).await? {
                Ok(Some(some)) => suspects.push(some),
                // There are too many rows, or their keys cannot be named.
                Ok(None) => {}
                Err(error) if is_unknown_column(&error) => {}
                Err(error) => {
                    if let Some(mark) = mark {
                        self.undo_folds(mark, &error, ResponseKind::Results).await?;
                    }
                    return self.discard_and_fail(original, context, &error).await;
                }
            }
        }
        let mark = mark.filter(|_| moved.iter().any(Moved::were_open));
        if may_be_query && (shows_slots || mark.is_some()) {
            return self
                .run_if_no_query(mark, (moved, suspects), original, context)
                .await;
        }
        let before = self.writes_before(mark.as_ref()).await?;
        let mut held = self.run_original_and_hold(original, context, false).await?;
        let is_unchanged = match is_bulk && mark.is_some() {
            true => {
                let of_rows = (&moved[..], &suspects[..]);
                self.bulk_changes_nothing(&held, of_rows, context.response_kind)
                    .await?
            }
            false => !is_bulk && changes_nothing(&held.last, self.state.running.kind),
        };
        match (is_unchanged, mark) {
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

    /// Runs an EXECUTE in the transaction that folds for it have begun, under `autocommit = 0`. If there is no
    /// statement of the name, MySQL would have begun none, so it is ended.
    async fn execute_if_known(
        &mut self,
        reason: Reason,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let held = self.run_original_and_hold(original, context, false).await?;
        let error = reply::Err::decode(&held.last);
        if error.is_ok_and(|error| error.code == ER_UNKNOWN_STMT_HANDLER) {
            self.state.diagnostics = Some(Diagnostics::of_an_error());
            self.commit_own().await?;
            self.restore_one_shot(&held.last, reason).await?;
            self.raise_again(&held.last).await?;
        }
        self.release(&held).await
    }

    /// Runs a statement that may be a query over folds that a query of this transaction must not see. A statement that
    /// has written nothing is taken for one: the folds are undone, and the client gets the server's error for a
    /// snapshot that a table has outgrown (1412), rather than a wrong value.
    pub(crate) async fn run_if_no_query(
        &mut self,
        mark: Option<Mark>,
        (moved, suspects): (Vec<Moved>, Vec<Suspects>),
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let before = self.count_writes().await?;
        let context = self.send_original(original, context).await?;
        let rewrite = Rewrite {
            hold_last: true,
            spools: true,
            ..context.rewrite()
        };
        let ended = self.pass_rewritten(context.response_kind, rewrite).await?;
        let last = ended.held.unwrap_or_default();
        self.learn_language(&last);
        let failed = ended.tracker.error().is_some();
        self.keep_answer(&last, context.response_kind).await?;
        let after = self.count_writes().await?;
        // Where that is not known, what it may have written is undone with the folds.
        let has_written = after.differ(before) == Some(true);
        let is_query = !has_written && !failed && self.state.in_transaction();
        if is_query {
            let error = error_payload(DEFINITION_CHANGED);
            self.state.diagnostics = Some(Diagnostics::of_an_error());
            match mark {
                Some(mark) => self.undo(mark, &error).await?,
                None => self.raise_again(&error).await?,
            }
            // Without a spool, rows have been sent already.
            let sequence_id = match ended.spool {
                Some(_) => context.sequence_id,
                None => ended.sequence_id,
            };
            let context = ReplyContext {
                sequence_id,
                ..context
            };
            return self.reply_err(context, &error).await;
        }
        match mark {
            Some(mark) if failed && !has_written => self.undo(mark, &last).await?,
            _ => self.remember_changes(moved, suspects),
        }
        self.link.send_spooled(ended.spool).await?;
        Ok(Replied {
            sequence_id: self.send_packet(ended.sequence_id, &last).await?,
            failed,
        })
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

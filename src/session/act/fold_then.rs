//! The exact path: fold, then the client's statement, in the open transaction or in one around the statement.

use crate::counter::fold::{BEGIN, BEGIN_TO_WRITE};
use crate::metrics::TableCounts;
use crate::reason::PlanKind;
use crate::session::Session;
use crate::session::act::fold::{COMMIT, may_only_read, needs_no_fold};
use crate::session::act::fold_slots::Bound;
use crate::session::act::lost::MOST_LOST;
use crate::session::error::Error;
use crate::session::error_kind::is_unknown_column;
use crate::session::link::internal::{InternalResponse, is_deadlock};
use crate::session::link::rewrite::Rewrite;
use crate::session::link::tracked::{CommitReport, add_commit, has_written};
use crate::session::refusal::Foreseen;
use crate::session::reply::{Original, Replied, ReplyContext, has_messages};
use crate::session::state::diagnostics::Diagnostics;
use crate::sql::Kind;
use crate::sql::plan::{Fold, FoldTable, Reason, Scope};
use crate::wire::{capability, reply, status};

impl Session {
    /// Folds, then runs the original: inside the client's transaction, or in a transaction of the proxy's own around
    /// the statement.
    pub(crate) async fn fold_then_original(
        &mut self,
        fold: &Fold,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.settle_doubt().await?;
        // Boxed, like all that is rare or takes round trips of its own: every statement makes the future that this is
        // in.
        if let Some(done) =
            Box::pin(self.write_with_sums(fold, parameters, original, context)).await?
        {
            return Ok(done);
        }
        let folds = fold.folds.iter();
        let folds = folds.map(|fold| Bound::of(fold, parameters)).collect();
        self.fold_bound_then_original(fold, (folds, parameters), original, context)
            .await
    }

    /// Does the same with folds that are bound to their parameters.
    pub(crate) async fn fold_bound_then_original(
        &mut self,
        fold: &Fold,
        (folds, parameters): (Vec<Bound>, Option<&[Vec<u8>]>),
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        if fold.commits_first && self.state.in_transaction() && self.state.last.is_read_only() {
            // A fold is a write, so a READ ONLY transaction must end first, as the statement would end it.
            match self.is_understood(original).await? {
                Ok(true) => {
                    if let Err(error) = self.run_internal(COMMIT).await?.into_result() {
                        return self.reply_err(context, &error).await;
                    }
                }
                Ok(false) => return self.run_original(original, context).await,
                Err(error) => return self.reply_err(context, &error).await,
            }
        }
        let is_table = |fold: &FoldTable| fold.scope == Scope::Table;
        if fold.reason == Reason::CascadingDelete
            && self.state.in_transaction()
            && self.may_have_old_snapshot()
            && fold.folds.iter().any(is_table)
        {
            // A fold covers more than the rows that the statement deletes, and the transaction would read the others
            // as they are now. Slots of deleted rows are of no use.
            self.count(Reason::NotHot);
            return self.run_original(original, context).await;
        }
        self.count(fold.reason);
        if fold.reason.plan() == Some(PlanKind::Fold) {
            for fold in &fold.folds {
                self.hot.count(&fold.table, TableCounts::count_fold);
            }
        }
        if folds.is_empty() {
            return self.run_original(original, context).await;
        }
        if self.is_query_in_snapshot(fold) {
            return Box::pin(self.query_in_snapshot(&folds, original, context)).await;
        }
        if !self.state.in_transaction() {
            let done = self.fold_in_own_transaction(fold.reason, &folds, original, context);
            return Box::pin(done).await;
        }
        // The server accepts the text of an increment, unless its table has been altered since. An increment that is
        // refused then leaves locks behind, but begins no transaction.
        let is_increment = matches!(
            fold.reason,
            Reason::OwnIncrement | Reason::AddsToBase | Reason::ChangingOver | Reason::Fallback
        );
        if !is_increment || !self.state.last.is_in_transaction() {
            match self.foresee(original).await? {
                Foreseen::Nothing => {}
                Foreseen::Refused => return self.run_original(original, context).await,
                Foreseen::Ended(error) => return self.reply_err(context, &error).await,
            }
        }
        if !is_increment {
            self.learn_mixed();
        }
        // A statement that can be confined writes the table that is folded for it.
        let writes_alone = fold.confined.is_some() || fold.inserts_alone;
        if let (true, [only]) = (writes_alone, &fold.folds[..]) {
            self.note_locking_write(&only.table);
        }
        Box::pin(self.fold_in_transaction(fold, &folds, parameters, original, context)).await
    }

    /// Folds and runs the original in a transaction of the proxy's own. Each statement of the fold keeps base +
    /// SUM(slots) as it is, so COMMIT is right even if the original fails.
    async fn fold_in_own_transaction(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let is_gated = folds.iter().any(|bound| bound.table().is_gated);
        let mut lost = 0;
        loop {
            let may_be_lost =
                is_gated && lost < MOST_LOST && matches!(original, Original::Payload(_));
            let once = self.fold_once(reason, folds, (original, may_be_lost), context);
            match once.await {
                Ok(Some(replied)) => return Ok(replied),
                Ok(None) => {}
                Err(Error::Lost) if may_be_lost => {
                    self.roll_back_own().await?;
                    self.set_one_shot().await?;
                }
                Err(error) => return Err(error),
            }
            lost += 1;
            self.pause_after_loss(lost).await;
        }
    }

    /// Does that once. Returns `None` if it was lost to another member of the cluster, and nothing has been sent to the
    /// client, which is so only where it may be lost.
    async fn fold_once(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        (original, may_be_lost): (&Original, bool),
        context: ReplyContext,
    ) -> Result<Option<Replied>, Error> {
        if self.state.running.kind == Kind::Call {
            // The statements of its procedure commit one by one, and what it rolls back is up to it. It reads the hot
            // tables that it names, and does not write them.
            let done = self.run_after_folds(reason, folds, original, context);
            return done.await.map(Some);
        }
        // A fold for a read may run in a READ ONLY session; a write must be refused there.
        let begin = match self.state.running.kind {
            Kind::Select | Kind::Do | Kind::Set { .. }
                if !self.state.running.access.locks_for_update =>
            {
                BEGIN_TO_WRITE
            }
            _ => BEGIN,
        };
        if begin == BEGIN_TO_WRITE
            && self.state.running.may_call_routines
            && self.is_read_only().await?
        {
            let done = self.run_after_folds(reason, folds, original, context);
            return done.await.map(Some);
        }
        if let Err(error) = self.begin_and_fold(begin, folds).await? {
            self.commit_own().await?;
            if needs_no_fold(reason, &error) || self.is_refused(original).await? {
                self.set_one_shot().await?;
                return self.run_original(original, context).await.map(Some);
            }
            if is_deadlock(&error) && may_be_lost {
                self.set_one_shot().await?;
                return Ok(None);
            }
            if is_unknown_column(&error) {
                // The key or the counters have changed since the table was read.
                let tables = folds.iter().map(|bound| bound.clone().into_keys().table);
                let tables: Vec<_> = tables.collect();
                if let Err(again) = self.look_again(&tables).await {
                    self.set_one_shot_again().await?;
                    return Err(again);
                }
            }
            self.restore_one_shot(&error, reason).await?;
            let failed = self.fail_as_fold(original, context, &error);
            return failed.await.map(Some);
        }
        let context = self.send_original(original, context).await?;
        let rewrite = Rewrite {
            clear_status: status::IN_TRANS | status::IN_TRANS_READONLY,
            hold_last: true,
            spools: true,
            hide_transaction: true,
            ..context.rewrite()
        };
        let ended = self.pass_rewritten(context.response_kind, rewrite).await?;
        let held = ended.held.unwrap_or_default();
        self.learn_language(&held);
        // MySQL's COMMIT clears the diagnostics. MariaDB's keeps the warnings, but neither keeps that there was an
        // error.
        let is_err = held.first() == Some(&reply::ERR);
        let are_cleared = !self.hot.catalog.mariadb || is_err;
        let messages = match are_cleared && has_messages(&held, context.response_kind) {
            true => self.take_messages().await?,
            false => None,
        };
        self.state.diagnostics = Some(Diagnostics::of(&held, messages));
        let was_set = self.state.one_shot.is_set();
        let committed = self.commit_own().await?;
        let mut last = held;
        match &committed {
            InternalResponse::Err(error) => {
                self.state.diagnostics = None;
                last.clone_from(error);
            }
            InternalResponse::Ok(ok) if self.link.capabilities & capability::SESSION_TRACK != 0 => {
                let report = CommitReport {
                    written: has_written(&last, self.state.running.kind == Kind::Update),
                    used_up: was_set,
                };
                add_commit(&mut last, ok, report);
            }
            _ => {}
        }
        if may_be_lost && ended.spool.is_some() && is_deadlock(&last) {
            self.state.diagnostics = None;
            self.set_one_shot().await?;
            return Ok(None);
        }
        let failed = last.first() == Some(&reply::ERR);
        self.report_transaction(&mut last)?;
        self.restore_one_shot(&last, reason).await?;
        if failed {
            self.raise_again(&last).await?;
            // Boxed, so that the future of every statement does not stay as large as a rare one needs to be.
            Box::pin(self.raise_syntax_error_again(original, &last)).await?;
        }
        self.link.send_spooled(ended.spool).await?;
        Ok(Some(Replied {
            sequence_id: self.send_packet(ended.sequence_id, &last).await?,
            failed,
        }))
    }

    /// Whether the next transaction is READ ONLY. What SET TRANSACTION has set for it alone is set again afterwards.
    async fn is_read_only(&mut self) -> Result<bool, Error> {
        let begun = self.insist(BEGIN).await?;
        let is_read_only = may_only_read(&begun);
        if is_read_only {
            self.recall_one_shot().await?;
        }
        self.commit_own().await?;
        self.set_one_shot().await?;
        Ok(is_read_only)
    }

    /// Folds in a transaction of its own, then runs the original where MySQL would run it: so that the server refuses
    /// what a routine writes in a READ ONLY session, and commits the statements of a procedure one by one. What others
    /// add between the two counts as added after the statement.
    async fn run_after_folds(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let folded = self.fold_and_commit(folds).await?;
        self.set_one_shot().await?;
        match folded {
            Err(error) if !needs_no_fold(reason, &error) => {
                self.fail_as_fold(original, context, &error).await
            }
            _ => self.run_original(original, context).await,
        }
    }

    /// Sends the client the error of a fold in a transaction of the proxy's own, which has ended.
    async fn fail_as_fold(
        &mut self,
        original: &Original,
        context: ReplyContext,
        error: &[u8],
    ) -> Result<Replied, Error> {
        self.state.diagnostics = Some(Diagnostics::of_an_error());
        self.raise_again(error).await?;
        self.discard_and_fail(original, context, error).await
    }
}

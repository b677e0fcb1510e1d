//! The parts of the exact path: when a fold is needed, folds in the client's transaction, and transactions of the
//! proxy's own around one.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::fold::{BEGIN_TO_WRITE, no_rows};
use crate::session::Session;
use crate::session::act::fold_slots::{AsOwn, Bound, Moved};
use crate::session::definitions::may_run_twice;
use crate::session::error::Error;
use crate::session::error_kind::{
    is_access_denied, is_syntax_error, is_unknown_column, is_without_slots,
};
use crate::session::link::internal::{InternalResponse, MOST_DEADLOCKS, is_deadlock};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::sql::plan::{Fold, Read, Reason};
use crate::wire::reply::Ok as OkPacket;
use crate::wire::status;

pub(crate) use crate::counter::fold::COMMIT;

/// Whether the original is right although the fold failed. A slot table that does not exist holds nothing. An
/// increment needs no fold to be counted; the fold only asks for privileges that this account may not have, and for
/// columns that may have been altered. Slots of rows that are deleted are of no use: the next roll-up deletes them,
/// and MySQL asks for no privilege on such rows.
pub(crate) fn needs_no_fold(reason: Reason, error: &[u8]) -> bool {
    is_without_slots(error)
        || is_syntax_error(error)
        || (matches!(
            reason,
            Reason::Fallback
                | Reason::OwnIncrement
                | Reason::ChangingOver
                | Reason::SnapshotIsolation
        ) && (is_access_denied(error) || is_unknown_column(error)))
        || (reason == Reason::CascadingDelete && is_access_denied(error))
}

impl Session {
    /// Whether a fold failed for a column that no longer exists, and the slot table no longer exists either: DDL has
    /// made the table anew, and its rule is being taken out of force, which a transaction of any other session may hold
    /// up for long. There is nothing to fold then.
    pub(crate) async fn slots_are_gone(
        &mut self,
        bound: &Bound,
        error: &[u8],
    ) -> Result<bool, Error> {
        let table = bound.table();
        if !is_unknown_column(error) || !self.shared.hot().is_changing_by_name(table) {
            return Ok(false);
        }
        let [of_slots, _] = no_rows(table);
        match self.insist_on(&of_slots).await? {
            InternalResponse::Err(error) if is_deadlock(&error) => {
                // The transaction is lost, which is told.
                self.state.lost.get_or_insert(error);
                Err(Error::Lost)
            }
            InternalResponse::Err(error) => Ok(is_without_slots(&error)),
            _ => Ok(false),
        }
    }

    /// The rewritten read to use in place of a fold where the open transaction may have a snapshot: the snapshot shows
    /// base as it was, however much is folded.
    pub(crate) fn read_in_snapshot<'a>(&self, fold: &'a Fold, text: &[u8]) -> Option<&'a Read> {
        let has_snapshot = self.state.in_transaction() && self.may_have_old_snapshot();
        // MariaDB reports a column that contains a parameter as DOUBLE until the query is executed.
        let is_told = !self.hot.catalog.mariadb || may_run_twice(text);
        let read = fold.in_snapshot.as_deref();
        read.filter(|_| has_snapshot && is_told)
    }

    /// Folds in the open transaction, unless that has folded these keys already. The inner error is an ERR payload:
    /// the fold did not happen.
    pub(crate) async fn fold(
        &mut self,
        bound: &Bound,
        as_own: AsOwn,
    ) -> Result<Result<Moved, Vec<u8>>, Error> {
        let known = bound.clone().into_keys();
        // Without gap locks, another session may since have inserted a row, which could not be locked before.
        let settled = self.state.transaction.rows().rows_settled(&known);
        if let Some(rows) = settled.filter(|_| self.locks_gaps()) {
            return Ok(Ok(Moved {
                keys: known,
                rows,
                open: Some(HashSet::new()),
                changed: None,
            }));
        }
        let moved = match self.move_slots(bound, as_own).await? {
            Err(error) => return Ok(Err(error)),
            Ok(moved) => moved,
        };
        let rows = self.state.transaction.rows_mut();
        rows.remember_settled(moved.keys.clone(), moved.rows);
        if rows.has_doubted(&moved.keys) {
            rows.remember_fold(moved.keys.clone());
        } else if let Some(changed) = &moved.changed {
            rows.remember_fold(changed.clone());
        }
        Ok(Ok(moved))
    }

    /// Commits a transaction of the proxy's own. If that fails (MariaDB kills a COMMIT before it has begun; the
    /// account has reached its limit of statements), the transaction may still be open, and would take in what the
    /// client does next; so it is rolled back.
    pub(crate) async fn commit_own(&mut self) -> Result<InternalResponse, Error> {
        if let Some(error) = self.state.lost.take() {
            self.roll_back_own().await?;
            return Ok(InternalResponse::Err(error));
        }
        let committed = self.run_internal(COMMIT).await?;
        if let InternalResponse::Err(_) = &committed {
            self.roll_back_own().await?;
        }
        Ok(committed)
    }

    /// Opens a transaction and folds in it. The inner error is the first ERR payload.
    ///
    /// A fold locks rows that the client's statement need not lock, so a deadlock that ends it must not reach the
    /// client. The transaction holds nothing of the client's yet, so it begins again.
    pub(crate) async fn begin_and_fold(
        &mut self,
        begin: &str,
        folds: &[Bound],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let mut deadlocks = 0;
        loop {
            let begun = self.run_internal(begin).await?;
            if may_only_read(&begun) {
                self.recall_one_shot().await?;
            }
            let mut result = begun.into_result();
            for bound in folds {
                if result.is_err() {
                    break;
                }
                result = self.move_slots(bound, AsOwn::No).await?.map(drop);
                if let Err(error) = &result
                    && self.slots_are_gone(bound, error).await?
                {
                    result = Ok(());
                }
            }
            match result {
                Err(error) if is_deadlock(&error) && deadlocks < MOST_DEADLOCKS => {
                    deadlocks += 1;
                    self.state.lost = None;
                    self.set_one_shot().await?;
                }
                result => return Ok(result),
            }
        }
    }

    /// Folds in a transaction of its own and commits it: for statements that MySQL runs in READ ONLY sessions too.
    pub(crate) async fn fold_and_commit(
        &mut self,
        folds: &[Bound],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let folded = self.begin_and_fold(BEGIN_TO_WRITE, folds).await?;
        let committed = self.commit_own().await?.into_result();
        Ok(folded.and(committed))
    }

    /// Sends an ERR in place of running the original. A long original that was not read is skipped in the client's
    /// stream.
    pub(crate) async fn discard_and_fail(
        &mut self,
        original: &Original,
        context: ReplyContext,
        error: &[u8],
    ) -> Result<Replied, Error> {
        let mut context = context;
        if matches!(original, Original::Stream) {
            context.sequence_id = self.link.skip_command().await?.wrapping_add(1);
        }
        let error = self.refusal_in_its_words(original, error).await?;
        self.reply_err(context, &error).await
    }

    /// Folds the rows of these tables that the transaction has changed itself, so that base alone has their values.
    /// Returns whether there were any. The inner error is an ERR payload.
    pub(crate) async fn fold_own(
        &mut self,
        tables: &[Arc<HotTable>],
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        // Only queries need that, and they lock nothing.
        self.state.locks_newer = true;
        let folded = self.fold_own_rows(tables).await;
        self.state.locks_newer = false;
        folded
    }

    async fn fold_own_rows(
        &mut self,
        tables: &[Arc<HotTable>],
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        if self.state.transaction.rows().concern(tables) {
            self.learn_mixed();
        }
        if let Err(error) = self.find_written(tables).await? {
            return Ok(Err(error));
        }
        let own = self.state.transaction.rows().unfolded(tables);
        let has_some = !own.is_empty();
        for (keys, is_incremented) in own {
            let as_own = match is_incremented {
                true => AsOwn::Yes,
                false => AsOwn::No,
            };
            match self.fold(&keys.clone().into(), as_own).await? {
                Ok(_) => self.state.transaction.rows_mut().remember_fold(keys),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(has_some))
    }
}

/// Whether a transaction that began with this response is READ ONLY.
pub(crate) fn may_only_read(begun: &InternalResponse) -> bool {
    matches!(begun, InternalResponse::Ok(ok)
        if OkPacket::decode(ok).is_ok_and(|ok| ok.status & status::IN_TRANS_READONLY != 0))
}

//! Fold, then the original: slower than slots, and right for every statement.

use std::collections::HashSet;

use super::Session;
use super::definitions::may_run_twice;
use super::error::Error;
use super::link::internal::{InternalResponse, MOST_DEADLOCKS, is_deadlock};
use super::link::rewrite::Rewrite;
use super::link::tracked::{News, add_commit, has_written};
use super::moving::{AsOwn, Bound, Moved};
use super::read::is_without_slots;
use super::refusal::{Foreseen, is_unknown_column};
use super::rights::is_access_denied;
use super::state::diagnostics::Diagnostics;
use super::turn::{Done, Original, Turn};
pub(super) use crate::counter::fold::COMMIT;
use crate::counter::fold::{BEGIN, BEGIN_TO_WRITE, ROLLBACK};
use crate::metrics::TableCounts;
use crate::reason::PlanKind;
use crate::sql::Kind;
use crate::sql::plan::{Fold, FoldTable, Read, Reason, Scope};
use crate::wire::capability;
use crate::wire::error_code::ER_PARSE_ERROR;
use crate::wire::reply::{self, Ok as OkPacket, row_counts};
use crate::wire::response::ResponseKind;
use crate::wire::status;

/// Whether the original is right although the fold failed: a slot table that is not there holds nothing, and an
/// increment needs no fold to be counted, only rights that this account may not have, and columns as they were. Slots of
/// rows that are deleted are of no use; the next roll-up takes them away, and MySQL asks for no right to such rows.
pub(super) fn needs_no_fold(reason: Reason, error: &[u8]) -> bool {
    is_without_slots(error)
        || is_syntax_error(error)
        || (matches!(
            reason,
            Reason::Fallback | Reason::OwnIncrement | Reason::ChangingOver
        ) && (is_access_denied(error) || is_unknown_column(error)))
        || (reason == Reason::CascadingDelete && is_access_denied(error))
}

/// Whether an ERR payload tells of a syntax error. A text of ours is right but for what it takes from the client's
/// statement, which then is wrong as well.
pub(super) fn is_syntax_error(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_PARSE_ERROR)
}

/// Whether a transaction that has begun so may only read.
fn may_only_read(begun: &InternalResponse) -> bool {
    matches!(begun, InternalResponse::Ok(ok)
        if OkPacket::decode(ok).is_ok_and(|ok| ok.status & status::IN_TRANS_READONLY != 0))
}

/// Whether an answer's last packet tells of warnings, or is an error.
pub(super) fn has_messages(last: &[u8], response_kind: ResponseKind) -> bool {
    match (last.first(), OkPacket::decode(last)) {
        (Some(&reply::ERR), _) => true,
        // EOF of old: the count stands first. MySQL opens a cursor with one that counts nothing.
        (Some(&reply::EOF), _) if last.len() == 5 => {
            last[1..3] != [0, 0] || response_kind == ResponseKind::Cursor
        }
        (Some(_), Ok(ok)) => {
            matches!(response_kind, ResponseKind::Results | ResponseKind::Cursor) && ok.warnings > 0
        }
        _ => false,
    }
}

/// Whether a statement of this kind whose answer ends with this packet has changed nothing.
pub(super) fn changes_nothing(last: &[u8], kind: Kind) -> bool {
    if last.first() == Some(&reply::ERR) {
        return true;
    }
    let Some(ok) = OkPacket::decode(last)
        .ok()
        .filter(|ok| ok.header == reply::OK)
    else {
        // Rows: of a query, or of RETURNING.
        return !kind.is_write();
    };
    // With CLIENT_FOUND_ROWS an UPDATE counts the rows that matched; the text after the count tells both. An INSERT has
    // three numbers as well. What the kind does not tell, English does.
    let says_so = || memchr::memmem::find(ok.tail, b"Rows matched: ").is_some();
    match row_counts(ok.tail) {
        Some((_, changed)) if matches!(kind, Kind::Update | Kind::With) || says_so() => {
            changed == 0
        }
        _ => ok.affected_rows == 0,
    }
}

impl Session {
    /// Folds, then runs the original: inside the client's transaction, or in one of our own around the statement.
    pub(super) async fn fold_then_original(
        &mut self,
        fold: &Fold,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        if self.state.status_uncertain {
            self.run_internal("DO 0").await?;
        }
        if let Some(done) = self
            .write_with_sums(fold, parameters, original, turn)
            .await?
        {
            return Ok(done);
        }
        if fold.commits_first
            && self.state.in_transaction()
            && self.state.status & status::IN_TRANS_READONLY != 0
        {
            // A fold is a write.
            match self.is_understood(original).await? {
                Ok(true) => {
                    if let Err(error) = self.run_internal(COMMIT).await?.into_result() {
                        return self.answer_err(turn, &error).await;
                    }
                }
                Ok(false) => return self.run_original(original, turn).await,
                Err(error) => return self.answer_err(turn, &error).await,
            }
        }
        let is_table = |fold: &FoldTable| fold.scope == Scope::Table;
        if fold.reason == Reason::CascadingDelete
            && self.state.in_transaction()
            && self.may_have_old_snapshot()
            && fold.folds.iter().any(is_table)
        {
            // What is folded beside the rows that go would be read as it is now. Slots of these are of no use.
            self.count(Reason::NotHot);
            return self.run_original(original, turn).await;
        }
        self.count(fold.reason);
        if fold.reason.plan() == Some(PlanKind::Fold) {
            for fold in &fold.folds {
                self.hot.count(&fold.table, TableCounts::count_fold);
            }
        }
        let folds = fold.folds.iter();
        let folds: Vec<_> = folds.map(|fold| Bound::of(fold, parameters)).collect();
        if folds.is_empty() {
            return self.run_original(original, turn).await;
        }
        if self.is_query_in_snapshot(fold) {
            return self.query_in_snapshot(&folds, original, turn).await;
        }
        if !self.state.in_transaction() {
            return self
                .fold_in_own_transaction(fold.reason, &folds, original, turn)
                .await;
        }
        // An increment has been understood, unless its table has been altered since. It then leaves locks, but begins no
        // transaction.
        let is_increment = matches!(
            fold.reason,
            Reason::OwnIncrement | Reason::AddsToBase | Reason::ChangingOver | Reason::Fallback
        );
        if !is_increment || self.state.status & status::IN_TRANS == 0 {
            match self.foresee(original).await? {
                Foreseen::Nothing => {}
                Foreseen::Refused => return self.run_original(original, turn).await,
                Foreseen::Ended(error) => return self.answer_err(turn, &error).await,
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
        let confined = fold.confined.as_ref().zip(parameters);
        self.fold_in_transaction(fold.reason, &folds, confined, original, turn)
            .await
    }

    /// How a query is read that is otherwise folded for, where the open transaction may have a snapshot: that shows base
    /// as it was, however much is folded.
    pub(super) fn read_in_snapshot<'a>(&self, fold: &'a Fold, text: &[u8]) -> Option<&'a Read> {
        let has_snapshot = self.state.in_transaction() && self.may_have_old_snapshot();
        // MariaDB takes a column with a parameter for a DOUBLE until the query is executed.
        let is_told = !self.hot.catalog.mariadb || may_run_twice(text);
        let read = fold.in_snapshot.as_deref();
        read.filter(|_| has_snapshot && is_told)
    }

    /// The open transaction locks base rows for another reason than increments. Two that do so, and hold slots, may
    /// wait for each other; so the next ones with increments of these shapes lock base from the start.
    pub(super) fn learn_mixed(&mut self) {
        let transaction = &mut self.state.transaction;
        transaction.proves_nothing = true;
        let mut is_new = false;
        for shape in &transaction.shapes {
            is_new |= self.shared.learn_mixed(*shape);
        }
        if !is_new {
            return;
        }
        // A sequence, or a counter that is shown where it is counted, gains nothing from slots.
        let rows = transaction.rows();
        let settled = rows.settled.iter().map(|(keys, _)| keys);
        let mut tables: Vec<_> = rows
            .incremented
            .iter()
            .chain(settled)
            .map(|keys| &keys.table)
            .collect();
        tables.dedup();
        for table in tables {
            tracing::info!(
                "{}.{}: a transaction reads or writes rows that it increments; from now on such increments queue on the \
                 row ({})",
                table.schema,
                table.name,
                Reason::OwnIncrement
            );
        }
    }

    /// Folds in the open transaction, unless it has. The inner error is an ERR payload: the fold did not happen.
    pub(super) async fn fold(
        &mut self,
        bound: &Bound,
        as_own: AsOwn,
    ) -> Result<Result<Moved, Vec<u8>>, Error> {
        let known = bound.clone().into_keys();
        // Without gap locks a row may have come since that was not there to be locked.
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

    /// Each of our statements keeps base + SUM(slots) as it is, so they may all be sent at once, and COMMIT is
    /// right even where the original fails.
    async fn fold_in_own_transaction(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        // A read may be folded for in a READ ONLY session; a write is to be refused.
        let begin = match self.state.kind {
            Kind::Select | Kind::Do | Kind::Set { .. } if !self.state.access.locks_for_update => {
                BEGIN_TO_WRITE
            }
            _ => BEGIN,
        };
        if begin == BEGIN_TO_WRITE && self.state.may_call_routines && self.is_read_only().await? {
            return self
                .run_read_only_over_folds(reason, folds, original, turn)
                .await;
        }
        if let Err(error) = self.begin_and_fold(begin, folds).await? {
            self.commit_own().await?;
            if needs_no_fold(reason, &error) || self.is_refused(original).await? {
                self.set_one_shot().await?;
                return self.run_original(original, turn).await;
            }
            if is_unknown_column(&error) {
                // The key or the counters are others than when the table was read.
                let tables = folds.iter().map(|bound| bound.clone().into_keys().table);
                let tables: Vec<_> = tables.collect();
                if let Err(again) = self.look_again(&tables).await {
                    self.set_one_shot_again().await?;
                    return Err(again);
                }
            }
            self.restore_one_shot(&error, reason).await?;
            return self.fail_as_fold(original, turn, &error).await;
        }
        let turn = self.send_original(original, turn).await?;
        let rewrite = Rewrite {
            clear_status: status::IN_TRANS | status::IN_TRANS_READONLY,
            hold_last: true,
            spools: true,
            hide_transaction: true,
            ..turn.rewrite()
        };
        let ended = self.pass_rewritten(turn.response_kind, rewrite).await?;
        let held = ended.held.unwrap_or_default();
        self.learn_language(&held);
        // MySQL's COMMIT clears the messages, MariaDB's keeps them, but neither keeps that there was an error.
        let is_err = held.first() == Some(&reply::ERR);
        let are_cleared = !self.hot.catalog.mariadb || is_err;
        let messages = match are_cleared && has_messages(&held, turn.response_kind) {
            true => {
                // They will be shown when our transaction has ended.
                let ours = status::IN_TRANS | status::IN_TRANS_READONLY;
                self.take_messages(ours).await?
            }
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
                let news = News {
                    written: has_written(&last, self.state.kind == Kind::Update),
                    used_up: was_set,
                };
                add_commit(&mut last, ok, news);
            }
            _ => {}
        }
        let failed = last.first() == Some(&reply::ERR);
        self.tell_of_transaction(&mut last)?;
        self.restore_one_shot(&last, reason).await?;
        self.raise_again(&last).await?;
        self.link.send_spooled(ended.spool).await?;
        Ok(Done {
            sequence_id: self.answer(ended.sequence_id, &last).await?,
            failed,
        })
    }

    /// Whether the next transaction is READ ONLY. What is set for it alone is still set afterwards.
    async fn is_read_only(&mut self) -> Result<bool, Error> {
        let begun = self.run_internal(BEGIN).await?;
        let is_read_only = may_only_read(&begun);
        if is_read_only {
            self.recall_one_shot().await?;
        }
        self.commit_own().await?;
        self.set_one_shot().await?;
        Ok(is_read_only)
    }

    /// Folds in a transaction of its own, then runs the original where MySQL would, so that it refuses what a routine
    /// writes. What others add between the two is as if they had added it behind the statement.
    async fn run_read_only_over_folds(
        &mut self,
        reason: Reason,
        folds: &[Bound],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let folded = self.fold_and_commit(folds).await?;
        self.set_one_shot().await?;
        match folded {
            Err(error) if !needs_no_fold(reason, &error) => {
                self.fail_as_fold(original, turn, &error).await
            }
            _ => self.run_original(original, turn).await,
        }
    }

    /// Commits a transaction of ours. Where that fails (MariaDB kills a COMMIT before it has begun; an account has no
    /// more statements) it may be open still, and would take in what the client does next.
    pub(super) async fn commit_own(&mut self) -> Result<InternalResponse, Error> {
        let committed = self.run_internal(COMMIT).await?;
        if let InternalResponse::Err(_) = &committed {
            self.roll_back_own().await?;
        }
        Ok(committed)
    }

    /// Rolls back a transaction of ours. If that is refused, it ends with the connection.
    pub(super) async fn roll_back_own(&mut self) -> Result<(), Error> {
        match self.insist(ROLLBACK).await? {
            InternalResponse::Err(_) => Err(Error::Open),
            _ => Ok(()),
        }
    }

    /// Opens a transaction and folds. The inner error is the first ERR payload.
    ///
    /// A fold locks rows that the client's statement need not, so a deadlock that ends it is not the client's. Nothing
    /// of the client's is in the transaction yet, and it begins anew.
    pub(super) async fn begin_and_fold(
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
                if result.is_ok() {
                    result = self.move_slots(bound, AsOwn::No).await?.map(drop);
                }
            }
            match result {
                Err(error) if is_deadlock(&error) && deadlocks < MOST_DEADLOCKS => {
                    deadlocks += 1;
                    self.set_one_shot().await?;
                }
                result => return Ok(result),
            }
        }
    }

    /// Folds in a transaction of its own and commits it, for what MySQL does in READ ONLY sessions too.
    pub(super) async fn fold_and_commit(
        &mut self,
        folds: &[Bound],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let folded = self.begin_and_fold(BEGIN_TO_WRITE, folds).await?;
        let committed = self.commit_own().await?.into_result();
        Ok(folded.and(committed))
    }

    /// Answers with the error of a fold in a transaction of ours, which has ended.
    async fn fail_as_fold(
        &mut self,
        original: &Original,
        turn: Turn,
        error: &[u8],
    ) -> Result<Done, Error> {
        self.state.diagnostics = Some(Diagnostics::of_an_error());
        self.raise_again(error).await?;
        self.discard_and_fail(original, turn, error).await
    }

    /// Answers with an ERR in place of the original, which is taken from the client's stream unread.
    pub(super) async fn discard_and_fail(
        &mut self,
        original: &Original,
        turn: Turn,
        error: &[u8],
    ) -> Result<Done, Error> {
        let mut turn = turn;
        if matches!(original, Original::Stream) {
            turn.sequence_id = self.link.skip_command().await?.wrapping_add(1);
        }
        let error = self.refusal_in_its_words(original, error).await?;
        self.answer_err(turn, &error).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_update_has_changed_is_told_in_every_language() {
        let nothing = |info: &[u8], kind| {
            let mut payload = Vec::new();
            let length = u8::try_from(info.len()).expect("short");
            OkPacket {
                header: 0,
                affected_rows: 1,
                last_insert_id: 0,
                status: 2,
                warnings: 0,
                tail: &[&[length], info].concat(),
            }
            .encode(&mut payload);
            changes_nothing(&payload, kind)
        };
        let english = b"Rows matched: 1  Changed: 0  Warnings: 0";
        assert!(nothing(english, Kind::Update));
        assert!(nothing(english, Kind::Other));
        assert!(nothing(
            b"gefunden: 1  ge\xC3\xA4ndert: 0  Warnungen: 0",
            Kind::Update
        ));
        let records = b"Records: 1  Duplicates: 0  Warnings: 0";
        assert!(!nothing(records, Kind::Insert));
        assert!(!nothing(records, Kind::Other));
    }
}

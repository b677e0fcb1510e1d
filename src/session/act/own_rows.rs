//! Undoing folds in the client's transaction, and finding the rows that the transaction has changed itself.
//!
//! A fold changes base rows. Under REPEATABLE READ the transaction's reads then see these rows as they are now, where
//! MySQL shows rows that the transaction has left alone as its snapshot has them. So a rollback to a savepoint undoes
//! the fold again, unless the client's statement has changed the rows too. The locks stay, as the statement's own
//! would.

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::fold::{self, Look};
use crate::counter::{Key, KeyForm};
use crate::session::Session;
use crate::session::act::fold_slots::Moved;
use crate::session::error::Error;
use crate::session::error_kind::is_unknown_column;
use crate::session::exchange::MOST_TRIES;
use crate::session::link::internal::{InternalResponse, Row, is_interrupted, is_savepoint_lost};
use crate::session::reply::{HeldResponse, has_messages};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::{Kept, Keys, Suspects};
use crate::session::state::variables::Isolation;
use crate::sql::Kind;
use crate::wire::error_code::ER_QUERY_INTERRUPTED;
use crate::wire::reply;
use crate::wire::response::ResponseKind;

const SAVEPOINT: &str = "SAVEPOINT countersink_fold";
pub(crate) const UNDO: &str = "ROLLBACK TO SAVEPOINT countersink_fold";

/// How a predicate names rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// In the client's words, which the session's sql_mode may give their meaning.
    ByTheClient,
    /// By keys that were read before.
    ByKeys,
}

/// What the transaction had done to rows when the savepoint was set.
pub(crate) type Mark = Kept;

/// How many writing statements the session has run, those in routines included. `None` if the server does not report
/// it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes(Option<u64>);

/// Has the server show how often the session has run each kind of writing statement.
const SHOW_COUNTERS: &[u8] = b"SHOW SESSION STATUS WHERE Variable_name IN ('Com_insert', 'Com_insert_select', \
                               'Com_replace', 'Com_replace_select', 'Com_update', 'Com_update_multi', 'Com_delete', \
                               'Com_delete_multi', 'Com_load')";

/// How many they are.
const COUNTERS: usize = 9;

const SELECT_LIMIT: &str = "SELECT @@SESSION.sql_select_limit LIMIT 1";

fn set_select_limit(limit: &str) -> String {
    format!("SET SESSION sql_select_limit = {limit}")
}

impl Writes {
    /// Adds the counters up.
    fn of(counters: Option<Vec<Row>>) -> Self {
        Self(counters.and_then(|rows| {
            let counts = rows.iter().map(|row| {
                let count = row.get(1)?.as_deref()?;
                std::str::from_utf8(count).ok()?.parse::<u64>().ok()
            });
            counts.sum()
        }))
    }

    /// Whether statements have written between the two; `None` where that is not known.
    pub(crate) fn differ(self, others: Self) -> Option<bool> {
        Some(self.0? != others.0?)
    }
}

impl Session {
    /// Whether the transaction may have a snapshot that is older than what it locks now.
    pub(crate) fn may_have_old_snapshot(&self) -> bool {
        let may_repeat = self.state.isolation().is_none_or(Isolation::locks_gaps);
        self.state.transaction.may_have_snapshot && may_repeat
    }

    /// Whether the server refuses to lock rows that others have changed since the transaction's snapshot, under
    /// MariaDB's `innodb_snapshot_isolation`. It sees what they have added to slots where it locks slot rows: when it
    /// folds, before the client's statement.
    pub(crate) fn is_snapshot_isolated(&self) -> bool {
        self.state.isolates_snapshots()
            && self.state.in_transaction()
            && self.may_have_old_snapshot()
    }

    /// Sets a savepoint before a fold, if the transaction must not see the fold afterwards.
    ///
    /// The savepoint comes after a statement that has the storage engine take part in the transaction. ROLLBACK TO
    /// SAVEPOINT would end the transaction in an engine that took no part in it when the savepoint was set (after
    /// `BEGIN; SELECT 1`, say), and the locks of the client's statement would go with it.
    pub(crate) async fn mark(&mut self, table: &HotTable) -> Result<Option<Mark>, Error> {
        if !self.may_have_old_snapshot() {
            return Ok(None);
        }
        let is_set = self.set_savepoint(table).await?;
        Ok(is_set.then(|| self.state.transaction.kept_rows()))
    }

    /// Sets the savepoint, if the server does not refuse it. If the transaction was lost to another member of the
    /// cluster before, and the savepoint has the server forget that, the client is told.
    pub(crate) async fn set_savepoint(&mut self, table: &HotTable) -> Result<bool, Error> {
        let may_be_forgotten =
            self.shared.control.forgets_losses() && self.holds_locks().await != Some(false);
        // A loss until now is told here.
        for question in fold::no_rows(table) {
            if self.insist_on(&question).await?.into_result().is_ok() {
                break;
            }
        }
        let is_set = self.savepoint(SAVEPOINT).await?;
        if is_set && may_be_forgotten && self.holds_locks().await != Some(true) {
            return Err(self.lose().await?);
        }
        Ok(is_set)
    }

    /// Sets the savepoint, or rolls back to it. False if that is refused. If the storage engine has lost it, it has
    /// lost the transaction.
    pub(crate) async fn savepoint(&mut self, text: &str) -> Result<bool, Error> {
        match self.insist(text).await? {
            InternalResponse::Err(error) if is_savepoint_lost(&error) => Err(self.lose().await?),
            answer => Ok(answer.into_result().is_ok()),
        }
    }

    /// Undoes the folds since the mark. The upstream's diagnostics for the client's statement, which ended with this
    /// packet, are kept.
    pub(crate) async fn undo_folds(
        &mut self,
        mark: Mark,
        last: &[u8],
        response_kind: ResponseKind,
    ) -> Result<(), Error> {
        self.keep_answer(last, response_kind).await?;
        self.undo(mark, last).await
    }

    pub(crate) async fn keep_answer(
        &mut self,
        last: &[u8],
        response_kind: ResponseKind,
    ) -> Result<(), Error> {
        let diagnostics = match has_messages(last, response_kind) {
            true => Diagnostics::of(last, self.take_messages().await?),
            false => {
                let mut quiet = Diagnostics::of(last, None);
                quiet.clear_messages();
                quiet
            }
        };
        self.state.diagnostics = Some(diagnostics);
        Ok(())
    }

    pub(crate) async fn undo(&mut self, mark: Mark, last: &[u8]) -> Result<(), Error> {
        // The rollback is refused if the statement's error has ended the transaction, and the savepoint with it.
        if self.savepoint(UNDO).await? {
            self.state.transaction.restore(mark);
        }
        self.raise_again(last).await
    }

    /// Remembers that the client's statement has changed rows that were folded: all of them, or some of the suspects.
    pub(crate) fn remember_changes(&mut self, moved: Vec<Moved>, suspects: Vec<Suspects>) {
        if !self.state.in_transaction() {
            return;
        }
        let rows = self.state.transaction.rows_mut();
        for moved in moved {
            let is_suspected = suspects
                .iter()
                .any(|suspects| suspects.table == moved.keys.table);
            if !is_suspected {
                rows.remember_fold(moved.keys);
            }
        }
        for suspects in suspects {
            rows.remember_suspects(suspects);
        }
    }

    /// Undoes the folds since the mark after a statement that has changed nothing by its response, unless a routine
    /// has: its writes would be undone as well. `before` is the count of writes when the statement began.
    pub(crate) async fn undo_folds_unless_written(
        &mut self,
        mark: Mark,
        before: Option<Writes>,
        held: &HeldResponse,
        response_kind: ResponseKind,
    ) -> Result<(), Error> {
        self.keep_answer(&held.last, response_kind).await?;
        // The server undoes a statement that fails, with all that its functions and triggers have done. What the
        // statements of a procedure, or of a bulk execution, did before the one that failed stays.
        let kind = self.state.running.kind;
        let is_undone = held.failed && !kind.may_run_several() && !self.state.running.is_bulk;
        if let Some(before) = before.filter(|_| !is_undone) {
            let now = self.count_writes().await?;
            let own = u64::from(kind.is_write());
            let expected = before.0.map(|before| before + own);
            if expected.is_none() || now.0 != expected {
                return Ok(());
            }
        }
        self.undo(mark, &held.last).await
    }

    /// Whether a bulk execution has left the rows that were folded for it as they were. An error leaves what the rows
    /// of parameters before it have done, and with CLIENT_FOUND_ROWS both numbers of the info text are those of the
    /// rows that were matched. So the rows themselves are looked at.
    pub(crate) async fn bulk_changes_nothing(
        &mut self,
        held: &HeldResponse,
        (moved, suspects): (&[Moved], &[Suspects]),
        response_kind: ResponseKind,
    ) -> Result<bool, Error> {
        self.keep_answer(&held.last, response_kind).await?;
        let is_known = self.state.in_transaction() && moved.len() == suspects.len();
        let mut is_same = is_known;
        for (moved, suspects) in moved.iter().zip(suspects) {
            if is_same {
                let Keys { table, predicate } = &moved.keys;
                let now = self.digests_in_any_case(table, predicate.as_deref(), suspects.look);
                is_same = matches!(now.await?, Ok(Some(now)) if now == suspects.before);
            }
        }
        self.raise_again(&held.last).await?;
        Ok(is_same)
    }

    /// The count of writes before a statement that may write more than its response reports, if the count is needed.
    pub(crate) async fn writes_before(
        &mut self,
        mark: Option<&Mark>,
    ) -> Result<Option<Writes>, Error> {
        let state = &self.state;
        let is_unread = state.running.kind.may_run_several() || state.running.kind == Kind::With;
        match mark.is_some() && (state.running.may_call_routines || is_unread) {
            true => self.count_writes().await.map(Some),
            false => Ok(None),
        }
    }

    pub(crate) async fn count_writes(&mut self) -> Result<Writes, Error> {
        let rows = self.write_counters().await?;
        if rows.as_ref().is_none_or(|rows| rows.len() == COUNTERS) {
            return Ok(Writes::of(rows));
        }
        // `sql_select_limit` has cut the answer off. SHOW has no limit of its own, and MySQL shows these counters
        // nowhere else.
        let InternalResponse::Row(row) = self.insist(SELECT_LIMIT).await? else {
            return Ok(Writes(None));
        };
        let Some(own) = row.into_iter().next().flatten() else {
            return Ok(Writes(None));
        };
        let lifted = set_select_limit(&u64::MAX.to_string());
        if self.insist(lifted).await?.into_result().is_err() {
            return Ok(Writes(None));
        }
        let rows = self.write_counters().await?;
        let own = set_select_limit(&String::from_utf8_lossy(&own));
        self.set_back(&own).await?;
        let rows = rows.filter(|rows| rows.len() == COUNTERS);
        Ok(Writes::of(rows))
    }

    /// The server's counters of writing statements in this session, as many as it shows.
    async fn write_counters(&mut self) -> Result<Option<Vec<Row>>, Error> {
        for _ in 0..MOST_TRIES {
            self.write_query(SHOW_COUNTERS).await?;
            match self.read_internal_rows(COUNTERS).await? {
                Ok(rows) => return Ok(Some(rows)),
                Err(error) if is_interrupted(&error) => {}
                Err(_) => break,
            }
        }
        Ok(None)
    }

    /// The rows under `predicate` as they are now, locked. Returns `None` if there are too many, or if their keys
    /// cannot be named. The inner error is an ERR payload.
    pub(crate) async fn suspects(
        &mut self,
        table: &Arc<HotTable>,
        predicate: Option<&[u8]>,
        inserted: Option<Vec<u8>>,
    ) -> Result<Result<Option<Suspects>, Vec<u8>>, Error> {
        let rows = (predicate, Named::ByTheClient);
        let before = match self.digests(table, rows, Look::Locked).await? {
            Err(error) => return Ok(Err(error)),
            Ok(before) => before,
        };
        Ok(Ok(before.map(|before| Suspects {
            table: Arc::clone(table),
            before,
            look: Look::Locked,
            inserted,
        })))
    }

    /// The keys of base rows, each with a digest of the row.
    pub(crate) async fn digests(
        &mut self,
        table: &Arc<HotTable>,
        (predicate, named): (Option<&[u8]>, Named),
        look: Look,
    ) -> Result<Result<Option<Vec<Digested>>, Vec<u8>>, Error> {
        let Some(form) = KeyForm::of(table) else {
            return Ok(Ok(None));
        };
        let text = fold::digests(table, predicate, &form, look);
        let text = match named {
            Named::ByTheClient => self.reading(&text).into_owned(),
            Named::ByKeys => self.reading_by_keys(&text).into_owned(),
        };
        let rows = match self.rows_of(&text, fold::MOST_LOCKED + 1).await? {
            Err(error) => return Ok(Err(error)),
            Ok(rows) => rows,
        };
        if rows.len() > fold::MOST_LOCKED {
            return Ok(Ok(None));
        }
        let digested = rows.into_iter().map(|row| digested(&form, row));
        Ok(Ok(digested.collect()))
    }

    /// Runs a query of the proxy's that names hot tables, and returns at most this many of its rows. The inner error is
    /// an ERR payload.
    pub(crate) async fn rows_of(
        &mut self,
        text: &[u8],
        most: usize,
    ) -> Result<Result<Vec<Row>, Vec<u8>>, Error> {
        if self.hot.has_names_beyond_ascii {
            self.variables().await?;
        }
        let own = self.begin_names(text).await?;
        // A transaction that was lost before is told only now.
        let rows = match self.write_query(text).await {
            Ok(()) => self.read_internal_rows(most).await,
            Err(error) => Err(error),
        };
        self.end_names(own).await?;
        rows
    }

    /// Does the same as [`Session::digests`] for rows that the transaction has locked, behind a statement that has run:
    /// nobody can be told of a KILL then, so it looks again.
    pub(crate) async fn digests_in_any_case(
        &mut self,
        table: &Arc<HotTable>,
        predicate: Option<&[u8]>,
        look: Look,
    ) -> Result<Result<Option<Vec<Digested>>, Vec<u8>>, Error> {
        let rows = (predicate, Named::ByTheClient);
        let mut found = self.digests(table, rows, look).await?;
        for _ in 1..MOST_TRIES {
            let is_killed = |error: &[u8]| {
                reply::Err::decode(error).is_ok_and(|error| error.code == ER_QUERY_INTERRUPTED)
            };
            if !matches!(&found, Err(error) if is_killed(error)) {
                break;
            }
            found = self.digests(table, rows, look).await?;
        }
        Ok(found)
    }

    /// Finds out which of the suspect rows the statements of this transaction have really changed. The inner error is
    /// an ERR payload.
    pub(crate) async fn find_written(
        &mut self,
        tables: &[Arc<HotTable>],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let is_of = |suspects: &Suspects| tables.contains(&suspects.table);
        if !self.state.transaction.rows().suspects.iter().any(is_of) {
            return Ok(Ok(()));
        }
        let of_tables: Vec<_> = {
            let all = &mut self.state.transaction.rows_mut().suspects;
            all.extract_if(.., |suspects| is_of(suspects)).collect()
        };
        let mut of_tables = of_tables.into_iter();
        while let Some(suspects) = of_tables.next() {
            let Some(form) = KeyForm::of(&suspects.table) else {
                continue;
            };
            let keys: Vec<Key> = suspects.before.iter().map(|(key, _)| key.clone()).collect();
            let mut predicates = Vec::new();
            if !keys.is_empty() {
                predicates.push(form.any_of(&keys).into_bytes());
            }
            predicates.extend(suspects.inserted.clone());
            if predicates.is_empty() {
                continue;
            }
            let predicate = predicates.join(&b" OR "[..]);
            let (table, look) = (&suspects.table, suspects.look);
            let rows = (Some(&predicate[..]), Named::ByKeys);
            let after = match self.digests(table, rows, look).await? {
                // The table has been altered since the catalog was read, so it cannot be determined which rows have
                // changed.
                Err(error) if is_unknown_column(&error) => None,
                Err(error) => {
                    // They are looked at again before the next read.
                    let all = &mut self.state.transaction.rows_mut().suspects;
                    all.push(suspects);
                    all.extend(of_tables);
                    return Ok(Err(error));
                }
                Ok(after) => after,
            };
            let changed = match after {
                None => Some(predicate),
                Some(after) => {
                    let is_as_it_was =
                        |row: &Digested| row.1.is_some() && suspects.before.contains(row);
                    let changed = after.into_iter().filter(|row| !is_as_it_was(row));
                    let changed: Vec<Key> = changed.map(|(key, _)| key).collect();
                    (!changed.is_empty()).then(|| form.any_of(&changed).into_bytes())
                }
            };
            if changed.is_some() {
                self.state.transaction.rows_mut().remember_written(Keys {
                    table: suspects.table,
                    predicate: changed,
                });
            }
        }
        Ok(Ok(()))
    }
}

/// A key, and a digest of its row.
pub(crate) type Digested = (Key, Option<Vec<u8>>);

fn digested(form: &KeyForm, mut row: Row) -> Option<Digested> {
    let digest = row.pop()?;
    Some((form.read(&row)?, digest))
}

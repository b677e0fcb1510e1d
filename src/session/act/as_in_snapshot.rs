//! Queries that cannot be rewritten, in a transaction that has a snapshot.
//!
//! The snapshot shows base and slots apart. A fold does not help: it would not change what the snapshot shows of rows
//! that others have rolled up since, and it would let the query see what others have added since. So where the
//! snapshot shows slots that hold something, the transaction writes those rows with the sums of that time, the query
//! runs, and a savepoint takes the writes back (see [`crate::counter::snapshot`]). Where that cannot be done, the
//! client gets the server's own error for a snapshot that a table has outgrown (1412), rather than a wrong value.

use std::sync::Arc;

use tokio::time::Instant;

use crate::catalog::HotTable;
use crate::counter::KeyForm;
use crate::counter::snapshot::{self, SnapshotRow};
use crate::session::Session;
use crate::session::act::fold_slots::Bound;
use crate::session::act::own_rows::UNDO;
use crate::session::error::Error;
use crate::session::error_kind::is_without_slots;
use crate::session::interrupted::{INTERRUPTED, TimeLimit, is_interrupted_sum};
use crate::session::link::internal::{Failure, InternalResponse, failure, is_savepoint_lost};
use crate::session::refusal::{DEFINITION_CHANGED, Foreseen};
use crate::session::reply::{Original, Replied, ReplyContext, error_payload};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::Keys;
use crate::session::state::variables::Isolation;
use crate::sql::plan::{ConsistentRead, Fold};
use crate::wire::error_code::ER_SP_DOES_NOT_EXIST;
use crate::wire::reply;

/// The rows of one table whose slots hold something in the snapshot.
struct OfTable {
    table: Arc<HotTable>,
    form: KeyForm,
    rows: Vec<SnapshotRow>,
}

/// Why a query cannot be answered as of its snapshot.
enum Refusal {
    /// MySQL would have given the query the same response: this ERR payload.
    Its(Vec<u8>),
    /// The sums of the snapshot cannot be shown.
    Outgrown,
}

impl Refusal {
    /// The refusal after an internal statement that ended with this ERR payload.
    fn of(error: Vec<u8>) -> Self {
        match failure(&error) {
            Failure::TheClients => Self::Its(error),
            Failure::Ours => {
                let error = String::from_utf8_lossy(&error);
                tracing::debug!("1412: rows cannot be shown as in the snapshot: {error}");
                Self::Outgrown
            }
        }
    }

    fn into_payload(self) -> Vec<u8> {
        match self {
            Self::Its(error) => error,
            Self::Outgrown => error_payload(DEFINITION_CHANGED),
        }
    }
}

impl Session {
    /// Whether a fold is for a query that may see an older snapshot.
    pub(crate) fn is_query_in_snapshot(&self, fold: &Fold) -> bool {
        fold.consistent_read == ConsistentRead::Yes && self.queries_see_a_snapshot()
    }

    /// Whether a query without a locking clause may see a snapshot that a fold would not change, or that is not to be
    /// written to.
    pub(crate) fn queries_see_a_snapshot(&self) -> bool {
        // At SERIALIZABLE, a query reads what is committed, and locks it.
        let is_consistent = self.state.isolation() != Some(Isolation::Serializable);
        // A READ ONLY transaction could not fold.
        let only_reads = self.state.last.is_read_only();
        is_consistent && self.state.in_transaction() && (self.may_have_old_snapshot() || only_reads)
    }

    /// Runs a query over rows that hold the sums of its transaction's snapshot.
    pub(crate) async fn query_in_snapshot(
        &mut self,
        bounds: &[Bound],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        // A statement that the server refuses makes no snapshot, but looking for its rows would.
        match self.foresee(original).await? {
            Foreseen::Nothing => {}
            Foreseen::Refused => return self.run_original(original, context).await,
            Foreseen::Ended(error) => {
                return self.discard_and_fail(original, context, &error).await;
            }
        }
        let tables = tables_of(bounds);
        if let Err(error) = self.fold_own(&tables).await? {
            return self.discard_and_fail(original, context, &error).await;
        }
        let mut found = Vec::new();
        for bound in bounds {
            match self.rows_in_snapshot(bound).await? {
                Ok(Some(of_table)) => found.push(of_table),
                Ok(None) => {}
                Err(refusal) => {
                    let error = refusal.into_payload();
                    return self.discard_and_fail(original, context, &error).await;
                }
            }
        }
        if found.is_empty() {
            return self.run_original(original, context).await;
        }
        // A READ ONLY transaction writes nothing. What a routine would do to the rows that the proxy writes is not
        // known.
        let only_reads = self.state.last.is_read_only();
        let is_changed = |table: &Arc<HotTable>| !table.changed_by.is_empty();
        let may_change = self.state.running.may_call_routines && tables.iter().any(is_changed);
        let may_write = !only_reads && !may_change;
        if only_reads && self.state.running.may_call_routines {
            // A routine that writes has the query refused by the server.
            return self
                .run_if_no_query(None, Default::default(), original, context)
                .await;
        }
        // Outside a transaction the writes would stay.
        let is_open = self.state.last.is_in_transaction();
        if !may_write || !is_open || !self.set_savepoint(&tables[0]).await? {
            let error = Refusal::Outgrown.into_payload();
            return self.discard_and_fail(original, context, &error).await;
        }
        let mut written = Vec::new();
        for of_table in &found {
            self.state.locks_newer = true;
            let wrote = self.write_as_in_snapshot(of_table).await;
            self.state.locks_newer = false;
            match wrote? {
                Ok(before) => written.push((of_table, before)),
                Err(refusal) => {
                    let error = refusal.into_payload();
                    self.take_back(&error).await?;
                    return self.discard_and_fail(original, context, &error).await;
                }
            }
        }
        let before = match self.state.running.may_call_routines {
            true => Some(self.count_writes().await?),
            false => None,
        };
        let mut held = self.run_original_and_hold(original, context, false).await?;
        self.keep_answer(&held.last, context.response_kind).await?;
        let has_written = match before.filter(|_| !held.failed) {
            Some(before) => match self.count_writes().await?.differ(before) {
                Some(has_written) => has_written,
                None => {
                    // Each of the questions was killed: so is the query then, with all that it may have written.
                    held.last = error_payload(INTERRUPTED);
                    held.failed = true;
                    self.state.diagnostics = Some(Diagnostics::of_an_error());
                    false
                }
            },
            None => false,
        };
        match has_written {
            true => self.write_back(&written).await?,
            false => self.take_back(&held.last).await?,
        }
        self.release(&held).await
    }

    /// Whether the transaction's snapshot shows slots of these rows that hold something, once the transaction's own
    /// increments are folded. True as well where that cannot be determined. The inner error is the ERR payload of a
    /// KILL, say, that has met the question.
    pub(crate) async fn snapshot_shows_slots(
        &mut self,
        bounds: &[Bound],
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        match self.fold_own(&tables_of(bounds)).await? {
            Ok(_) => {}
            Err(error) if failure(&error) == Failure::TheClients => return Ok(Err(error)),
            Err(_) => return Ok(Ok(true)),
        }
        for bound in bounds {
            match self.rows_in_snapshot(bound).await? {
                Ok(None) => {}
                Ok(Some(_)) | Err(Refusal::Outgrown) => return Ok(Ok(true)),
                Err(Refusal::Its(error)) => return Ok(Err(error)),
            }
        }
        Ok(Ok(false))
    }

    /// Finds the rows whose slots hold something in the snapshot.
    async fn rows_in_snapshot(
        &mut self,
        bound: &Bound,
    ) -> Result<Result<Option<OfTable>, Refusal>, Error> {
        let table = Arc::clone(bound.table());
        let Some(form) = self.key_form(&table) else {
            return Ok(Err(Refusal::Outgrown));
        };
        let keys = bound.clone().into_keys();
        let folded = self.state.transaction.rows().predicates_of_folded(&table);
        let text = snapshot::rows(&table, &form, keys.predicate.as_deref(), &folded);
        let sent = Instant::now();
        let text = self.reading(&text).into_owned();
        let rows = match self.rows_of(&text, snapshot::MOST_ROWS + 1).await? {
            Ok(rows) => rows,
            Err(error) if is_interrupted_sum(&error) => {
                let error = self.interruption(TimeLimit::OfSession, sent).await?;
                return Ok(Err(Refusal::of(error)));
            }
            Err(error) if is_without_slots(&error) => {
                let is_known = self.state.transaction.without_slots.contains(&table);
                return Ok(match is_known {
                    true => Ok(None),
                    false => Err(Refusal::Outgrown),
                });
            }
            Err(error) => {
                if failure(&error) == Failure::TheClients {
                    self.report_without_sums(&error).await?;
                }
                return Ok(Err(Refusal::of(error)));
            }
        };
        if rows.is_empty() {
            return Ok(Ok(None));
        }
        let rows = rows.iter().map(|row| SnapshotRow::read(&table, &form, row));
        let rows: Option<Vec<_>> = rows.collect();
        Ok(match rows {
            Some(rows) if rows.len() <= snapshot::MOST_ROWS => {
                Ok(Some(OfTable { table, form, rows }))
            }
            _ => Err(Refusal::Outgrown),
        })
    }

    /// Writes rows with the sums of the snapshot. Returns what they held before, in the same order.
    async fn write_as_in_snapshot(
        &mut self,
        of_table: &OfTable,
    ) -> Result<Result<Vec<SnapshotRow>, Refusal>, Error> {
        let OfTable { table, form, rows } = of_table;
        let lock = snapshot::lock(table, form, rows);
        let lock = self.locking(&lock).into_owned();
        let locked = match self.rows_of(&lock, snapshot::MOST_ROWS + 1).await? {
            Ok(locked) => locked,
            Err(error) => return Ok(Err(Refusal::of(error))),
        };
        let locked: Vec<_> = locked
            .iter()
            .filter_map(|row| SnapshotRow::read(table, form, row))
            .collect();
        let before = rows.iter().map(|row| {
            let mut locked = locked.iter();
            locked.find(|locked| row.is_still(locked)).cloned()
        });
        let Some(before) = before.collect::<Option<Vec<_>>>() else {
            return Ok(Err(Refusal::Outgrown));
        };
        let texts: Vec<_> = rows
            .iter()
            .flat_map(|row| row.writes(table, form))
            .collect();
        Ok(match self.run_all(&texts).await? {
            Ok(_) => Ok(before),
            Err(error) => Err(Refusal::of(error)),
        })
    }

    /// Takes the writes back like [`Session::take_back`], but without the savepoint: a routine has written something,
    /// which a rollback to it would undo too. The rows become rows that the transaction has changed itself.
    async fn write_back(&mut self, written: &[(&OfTable, Vec<SnapshotRow>)]) -> Result<(), Error> {
        for (OfTable { table, form, rows }, before) in written {
            let pairs = rows.iter().zip(before);
            let texts: Vec<_> = pairs
                .map(|(row, before)| row.restores(before, table, form))
                .collect();
            if self.run_all(&texts).await?.is_err() {
                return Err(Error::Open);
            }
            let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
            let keys = Keys {
                table: Arc::clone(table),
                predicate: Some(form.any_of(&keys).into_bytes()),
            };
            self.state.transaction.rows_mut().remember_written(keys);
        }
        Ok(())
    }

    /// Takes back what was written for a query that ended with this packet. If it were committed, counters would be
    /// lost.
    async fn take_back(&mut self, last: &[u8]) -> Result<(), Error> {
        // The savepoint is missing only if the transaction has ended, by a deadlock, and all writes with it.
        if let InternalResponse::Err(error) = self.insist(UNDO).await? {
            if is_savepoint_lost(&error) {
                return Err(self.lose().await?);
            }
            if !reply::Err::decode(&error).is_ok_and(|error| error.code == ER_SP_DOES_NOT_EXIST) {
                return Err(Error::Open);
            }
        }
        self.raise_again(last).await
    }
}

fn tables_of(bounds: &[Bound]) -> Vec<Arc<HotTable>> {
    let mut tables: Vec<_> = bounds.iter().map(|bound| bound.table().clone()).collect();
    tables.dedup();
    tables
}

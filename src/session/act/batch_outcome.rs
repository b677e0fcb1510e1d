//! What becomes of the statements of a batch, and what all ways to write one need.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::HotTable;
use crate::counter::combine::{Addition, Outcome, Step, Told, Work};
use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::affected_rows;
use crate::session::link::rewrite::patch_status;
use crate::session::reply::Replied;
use crate::session::state::info_text::{InfoText, as_update};
use crate::wire::error_code::{
    ER_BINLOG_LOGGING_IMPOSSIBLE, ER_ERROR_DURING_COMMIT, ER_ERROR_DURING_ROLLBACK,
    ER_LOCK_WAIT_TIMEOUT, ER_RUN_HOOK_ERROR, is_check_violated, is_killed, is_rolled_back,
};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// The outcome of the leader's own increment.
pub(crate) enum BatchOutcome {
    /// It was alone in its batch, and the client has its response.
    Answered(Replied),
    /// It was written together with others.
    Written(Outcome),
}

/// How long a batch may take before its lane is given back: it may be waiting for a lock, and others need not wait for
/// the lane.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether the transaction that ends with this error is certainly not committed, so that its increments may be written
/// again. The other errors come from the commit itself, and leave the outcome unknown.
fn is_surely_not_committed(error: &[u8]) -> bool {
    const DOUBTFUL: [u16; 4] = [
        ER_ERROR_DURING_COMMIT,
        ER_ERROR_DURING_ROLLBACK,
        ER_BINLOG_LOGGING_IMPOSSIBLE,
        ER_RUN_HOOK_ERROR,
    ];
    reply::Err::decode(error)
        .is_ok_and(|err| !DOUBTFUL.contains(&err.code) || is_rolled_back(err.code, err.message))
}

/// Whether an error is about the session that ran the statement: it was killed, or the server is shutting down.
pub(crate) fn is_the_leaders(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_killed(err.code))
}

/// Whether each of the increments has waited for a lock as long as it would have by itself.
fn has_waited(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_LOCK_WAIT_TIMEOUT)
}

/// The outcome of the increments in a statement that failed.
pub(crate) fn failed(error: Vec<u8>) -> Outcome {
    match is_surely_not_committed(&error) && !has_waited(&error) {
        true => Outcome::NotWritten,
        false => Outcome::Failed(error.into()),
    }
}

/// Whether a statement of one row has left it as it was, so that it would do so again.
pub(crate) fn changes_nothing(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Committed(answer) => affected_rows(&answer.payload).is_ok_and(|rows| rows == 0),
        Outcome::Failed(answer) => is_of_the_statement(&answer.payload),
        Outcome::NotWritten | Outcome::Lost => false,
    }
}

/// Whether an error is about the values of the statement, which its transaction survives: out of range, a duplicate
/// key, a constraint.
pub(crate) fn is_of_the_statement(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| {
        let class = err.sql_state.get(..2);
        matches!(class, Some(b"22" | b"23")) || is_check_violated(err.code)
    })
}

impl Session {
    /// Counts the statements of a batch that were written, in all and for each table.
    pub(crate) fn count_batch<'a>(
        &self,
        steps: impl Iterator<Item = ((&'a Arc<HotTable>, &'a Step), &'a Told)>,
    ) {
        // Of each table: increments, and other writes.
        let mut by_table: Vec<(&HotTable, [usize; 2])> = Vec::new();
        let mut all = 0;
        for ((table, step), told) in steps {
            let table: &HotTable = table;
            let sessions = told.committed(step.count());
            if sessions == 0 {
                continue;
            }
            all += sessions;
            let known = by_table.iter().position(|(other, _)| is_same(other, table));
            let at = known.unwrap_or(by_table.len());
            if known.is_none() {
                by_table.push((table, [0; 2]));
            }
            let kind = usize::from(!matches!(step.work(), Work::Sum(_)));
            by_table[at].1[kind] += sessions;
        }
        if all > 0 {
            self.metrics().count_batch(all);
        }
        for (table, [increments, others]) in by_table {
            self.hot.count(table, |counts| {
                if increments > 0 {
                    counts.count_batch(increments);
                }
                counts.count_batched(others);
            });
        }
    }
}

/// Whether two are the same table, whichever catalogs they come from.
fn is_same(table: &HotTable, other: &HotTable) -> bool {
    table.name == other.name && table.schema == other.schema
}

/// The statements that add the sums of one key.
pub(crate) struct Texts {
    pub slot: u16,
    /// The UPDATE of a slot row that is known. In a table without slots, the UPDATE of the base row, unless the sums
    /// may exceed the column's limits.
    pub update: Option<Vec<u8>>,
    /// Opens the slot row.
    pub upsert: Upsert,
    /// All sums are zero, so the UPDATE changes nothing.
    pub adds_nothing: bool,
}

/// How a slot row is opened.
pub(crate) enum Upsert {
    /// The table has no slots.
    NoSlots,
    /// By this statement.
    May(Vec<u8>),
    /// By the control account alone: see [`opener`].
    ///
    /// [`opener`]: crate::counter::opener
    NotAllowed,
}

impl Texts {
    /// Whether a slot row is written, rather than a base row.
    pub(crate) fn is_of_slot(&self) -> bool {
        !matches!(self.upsert, Upsert::NoSlots)
    }

    /// Whether other members of a cluster may be first.
    pub(crate) fn is_gated(&self) -> bool {
        matches!(self.upsert, Upsert::NotAllowed)
    }

    /// The UPDATE of the row of a table without slots.
    pub(crate) fn of_base(table: &HotTable, sum: &Addition) -> Self {
        let update = sum.increment.update.as_ref();
        Self {
            slot: 0,
            update: update
                .filter(|_| !sum.may_meet_limits(table))
                .map(|update| sum.render(update, 0)),
            upsert: Upsert::NoSlots,
            adds_nothing: sum.amounts.iter().all(|sum| sum.is_zero()),
        }
    }

    /// Whether the UPDATE with this response has found the row.
    pub(crate) fn has_written(&self, ok: &[u8]) -> Result<bool, Error> {
        Ok(match self.adds_nothing {
            true => as_update(ok, 0, &InfoText::English)?.is_some(),
            false => affected_rows(ok)? > 0,
        })
    }

    /// The response for each of the increments, made from the one to the UPDATE.
    pub(crate) fn answer(
        &self,
        mut ok: Vec<u8>,
        capabilities: u64,
        language: &InfoText,
    ) -> Result<Vec<u8>, Error> {
        patch_status(&mut ok, status::IN_TRANS | status::IN_TRANS_READONLY, 0);
        match self.adds_nothing {
            true => Ok(as_update(&ok, capabilities, language)?.unwrap_or(ok)),
            false => Ok(ok),
        }
    }
}

pub(crate) fn is_in_transaction(ok: &[u8]) -> bool {
    OkPacket::decode(ok).is_ok_and(|ok| ok.status & status::IN_TRANS != 0)
}

/// Runs what the sessions of a batch wait for. Calls `late` if it takes longer than [`PATIENCE`].
pub(crate) async fn patiently<T>(running: impl Future<Output = T>, late: impl FnOnce()) -> T {
    let mut running = pin!(running);
    tokio::select! {
        biased;
        done = &mut running => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    late();
    running.await
}

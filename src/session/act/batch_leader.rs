//! The leader of a batch writes the increments of all sessions that wait in it.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::catalog::HotTable;
use crate::counter::combine::{Batch, Outcome};
use crate::counter::fold::{BEGIN, COMMIT};
use crate::counter::unpoisoned;
use crate::session::Session;
use crate::session::act::slot::Slotting;
use crate::session::error::Error;
use crate::session::error_kind::is_check_violation;
use crate::session::exchange::Alone;
use crate::session::link::internal::{InternalResponse, affected_rows};
use crate::session::link::rewrite::patch_status;
use crate::session::reply::Replied;
use crate::session::state::info_text::{InfoText, as_update};
use crate::sql::template::{Filling, Template};
use crate::wire::command::encode_query;
use crate::wire::error_code::{
    ER_BINLOG_LOGGING_IMPOSSIBLE, ER_ERROR_DURING_COMMIT, ER_ERROR_DURING_ROLLBACK,
    ER_LOCK_WAIT_TIMEOUT, ER_QUERY_INTERRUPTED, ER_RUN_HOOK_ERROR, ER_STATEMENT_TIMEOUT,
    is_check_violated, is_killed,
};
use crate::wire::reader::Malformed;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// The outcome of the leader's own increment.
pub(crate) enum BatchOutcome {
    /// It was alone in its batch, and the client has its response.
    Answered(Replied),
    /// It was written together with others.
    Written(Outcome),
}

/// Whether the transaction that ends with this error is certainly not committed, so that its increments may be written
/// again. The other errors come from the commit itself, and leave the outcome unknown.
fn is_surely_not_committed(error: &[u8]) -> bool {
    const DOUBTFUL: [u16; 4] = [
        ER_ERROR_DURING_COMMIT,
        ER_ERROR_DURING_ROLLBACK,
        ER_BINLOG_LOGGING_IMPOSSIBLE,
        ER_RUN_HOOK_ERROR,
    ];
    reply::Err::decode(error).is_ok_and(|err| !DOUBTFUL.contains(&err.code))
}

/// Whether an error is about the session that ran the statement: it was killed, or the server is shutting down.
fn is_the_leaders(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_killed(err.code))
}

/// Whether each of the increments has waited for a lock as long as it would have by itself.
fn has_waited(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_LOCK_WAIT_TIMEOUT)
}

/// Whether an error has certainly ended the statement only: it was killed, exceeded its time limit (MariaDB), or
/// violated a CHECK (MySQL, MariaDB). A deadlock rolls back the whole transaction, and so may other errors.
fn leaves_transaction(error: &[u8]) -> bool {
    const LEAVES: [u16; 2] = [ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT];
    reply::Err::decode(error)
        .is_ok_and(|err| LEAVES.contains(&err.code) || is_check_violated(err.code))
}

/// The outcome of the increments in a statement that failed.
fn failed(error: Vec<u8>) -> Outcome {
    match is_surely_not_committed(&error) && !has_waited(&error) {
        true => Outcome::NotWritten,
        false => Outcome::Failed(error.into()),
    }
}

/// The outcome of one statement of a transaction, before the transaction's own is known.
enum Step {
    /// The rows are written.
    Written {
        ok: Vec<u8>,
        in_transaction: bool,
    },
    /// There is no slot row.
    Missing,
    Failed(Vec<u8>),
}

/// How long a batch may take before its lane is given back: it may be waiting for a lock, and others need not wait for
/// the lane.
const PATIENCE: Duration = Duration::from_millis(50);

impl Session {
    /// Writes a batch that contains this session's increment.
    pub(crate) async fn lead(
        &mut self,
        mut batch: Batch,
        slotting: &Slotting<'_>,
    ) -> Result<BatchOutcome, Error> {
        self.share_out(&mut batch);
        if batch.is_single() {
            return self.lead_alone(batch, slotting).await;
        }
        batch.send();
        let texts = self.texts(&batch);
        let outcomes = match &texts[..] {
            [text] => vec![patiently(self.write_one(text), || batch.give_lane_back()).await?],
            _ => {
                let shared = Arc::clone(&self.shared);
                let late = || {
                    batch.give_lane_back();
                    // Another session may hold a lock on one of the keys. Next time, none of them shares a transaction
                    // with others until it has been written by itself.
                    for (part, text) in batch.parts().iter().zip(&texts) {
                        shared
                            .slots
                            .forget(part.table(), part.slot_row(), text.slot);
                    }
                };
                patiently(self.write_all(&texts), late).await?
            }
        };
        let mut own = Outcome::NotWritten;
        self.count_batch(&batch, &outcomes);
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let (part, text) = (&batch.parts()[index], &texts[index]);
            if matches!(&outcome, Outcome::Committed(_)) && text.upsert.is_some() {
                let predicate = &part.slot_row().predicate;
                self.slot_incremented(part.table(), Some(predicate), text.slot);
            }
            let slots = &self.shared.slots;
            match &outcome {
                // The table has no slots.
                _ if text.upsert.is_none() => {}
                Outcome::Committed(_) => slots.learn(part.table(), part.slot_row(), text.slot),
                // A row that is locked would hold up the other keys of the next batch as well.
                Outcome::NotWritten | Outcome::Failed(_) => {
                    slots.forget(part.table(), part.slot_row(), text.slot);
                }
                Outcome::Lost => {}
            }
            // Only the leader was killed. The others write their own increments.
            let told = match &outcome {
                Outcome::Failed(error) if is_the_leaders(error) => Outcome::NotWritten,
                other => other.clone(),
            };
            if part.is_leaders() {
                own = outcome;
            }
            batch.settle(index, told);
        }
        self.give_slots_back();
        drop(batch);
        match (&texts[..], own) {
            // The upstream has raised this error itself, so the client can ask it about the error.
            ([_], Outcome::Failed(error)) => {
                self.count_combined(slotting);
                let done = self.reply_err(slotting.context, &error).await?;
                Ok(BatchOutcome::Answered(done))
            }
            (_, own) => Ok(BatchOutcome::Written(own)),
        }
    }

    /// Writes the leader's own increment only. Others wait until the server has responded.
    async fn lead_alone(
        &mut self,
        batch: Batch,
        slotting: &Slotting<'_>,
    ) -> Result<BatchOutcome, Error> {
        let alone: Alone = Arc::new(Mutex::new(Some(batch)));
        self.alone = Some(Arc::clone(&alone));
        let late = || {
            if let Some(batch) = &mut *unpoisoned(&alone) {
                batch.give_lane_back();
            }
        };
        let done = match slotting.increment.table.slots {
            0 => {
                let running = self.run_original_and_see(slotting.original, slotting.context);
                patiently(running, late).await.map(|(done, _)| done)
            }
            _ => patiently(self.slot_alone(slotting), late).await,
        };
        self.land_alone();
        done.map(BatchOutcome::Answered)
    }

    /// Counts the increments of a batch that were written, in all and for each table.
    fn count_batch(&self, batch: &Batch, outcomes: &[Outcome]) {
        let mut by_table: Vec<(&HotTable, usize)> = Vec::new();
        let parts = batch.parts().iter().zip(outcomes);
        let written = parts.filter(|(_, outcome)| matches!(outcome, Outcome::Committed(_)));
        for (part, _) in written {
            let table: &HotTable = part.table();
            match by_table.iter_mut().find(|(other, _)| is_same(other, table)) {
                Some((_, count)) => *count += part.count(),
                None => by_table.push((table, part.count())),
            }
        }
        if by_table.is_empty() {
            return;
        }
        self.metrics()
            .count_batch(by_table.iter().map(|(_, count)| count).sum());
        for (table, count) in by_table {
            self.hot.count(table, |counts| counts.count_batch(count));
        }
    }

    /// Keeps in the batch what may be written in one transaction: increments whose slot rows exist and belong to no
    /// other session. Base rows are not locked then, so no part waits for a lock that another part's row holds.
    fn share_out(&mut self, batch: &mut Batch) {
        let tables: Vec<_> = batch
            .parts()
            .iter()
            .map(|part| part.table().clone())
            .collect();
        for table in tables.iter().filter(|table| table.slots > 0) {
            self.slot(table);
        }
        batch.split(|part| {
            let lease = self.lease(part.table());
            lease.is_some_and(|lease| {
                !lease.is_shared()
                    && self
                        .shared
                        .slots
                        .knows(part.table(), part.slot_row(), lease.slot())
            })
        });
    }

    /// The statements of each part of the batch.
    fn texts(&mut self, batch: &Batch) -> Vec<Texts> {
        let texts = batch.parts().iter().map(|part| {
            let increment = part.increment();
            let has_slots = part.table().slots > 0;
            let slot = match has_slots {
                true => self.slot(part.table()),
                false => 0,
            };
            let rendered = |template: &Template| {
                let filling = Filling {
                    slot,
                    parameters: part.parameters(),
                    sums: part.sums(),
                    ..Filling::default()
                };
                let mut text = Vec::new();
                template.render(&filling, &mut text);
                text
            };
            let slots = &self.shared.slots;
            let is_known = has_slots && slots.knows(part.table(), part.slot_row(), slot);
            if !is_known {
                let row = part.slot_row();
                slots.open(part.table(), Some(row), &row.guarded, slot);
            }
            let update = increment.update.as_ref();
            Texts {
                slot,
                update: match has_slots {
                    true => update.filter(|_| is_known).map(rendered),
                    false => update.filter(|_| !part.may_meet_limits()).map(rendered),
                },
                upsert: has_slots.then(|| rendered(&increment.upsert)),
                adds_nothing: part.sums().iter().all(|sum| sum.is_zero()),
            }
        });
        texts.collect()
    }

    /// Writes the sums of one key, by a statement that is a transaction of its own.
    async fn write_one(&mut self, texts: &Texts) -> Result<Outcome, Error> {
        if let Some(update) = &texts.update {
            match self.run_internal(update).await? {
                InternalResponse::Ok(ok) if texts.has_written(&ok)? => {
                    let ok = texts.answer(ok, self.link.capabilities, self.state.info())?;
                    return Ok(Outcome::Committed(ok.into()));
                }
                InternalResponse::Ok(_) => {}
                // A fold has closed the slot row, or it is full: the upsert must check base.
                InternalResponse::Err(error) if is_check_violation(&error) => {}
                InternalResponse::Err(error) if is_the_leaders(&error) => {
                    return Ok(Outcome::Failed(error.into()));
                }
                InternalResponse::Err(error) => return Ok(failed(error)),
                InternalResponse::Row(_) => return Err(Malformed.into()),
            }
        }
        let Some(upsert) = &texts.upsert else {
            return Ok(Outcome::NotWritten);
        };
        Ok(match self.run_internal(upsert).await? {
            InternalResponse::Ok(ok) => {
                match as_update(&ok, self.link.capabilities, self.state.info())? {
                    Some(ok) => Outcome::Committed(ok.into()),
                    // There is no such row. Each session runs its own statement, so that MySQL reports that in its own
                    // words.
                    None => Outcome::NotWritten,
                }
            }
            InternalResponse::Err(error) if is_the_leaders(&error) => Outcome::Failed(error.into()),
            InternalResponse::Err(error) => failed(error),
            InternalResponse::Row(_) => return Err(Malformed.into()),
        })
    }

    /// Writes the sums of several keys in one transaction. All statements are sent at once.
    async fn write_all(&mut self, texts: &[Texts]) -> Result<Vec<Outcome>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, BEGIN.as_bytes(), self.link.capabilities);
        for update in texts.iter().filter_map(|text| text.update.as_ref()) {
            encode_query(&mut out, update, self.link.capabilities);
        }
        // The status flags of this response show whether the transaction is still open.
        encode_query(&mut out, b"DO 0", self.link.capabilities);
        encode_query(&mut out, COMMIT.as_bytes(), self.link.capabilities);
        self.write_upstream(&out).await?;
        let begun = self.read_internal().await?;
        let mut steps = Vec::with_capacity(texts.len());
        // Whether the transaction is open after the last response. An ERR does not say.
        let mut is_open = match &begun {
            InternalResponse::Ok(ok) => Some(is_in_transaction(ok)),
            _ => None,
        };
        for text in texts {
            if text.update.is_none() {
                steps.push(Step::Missing);
                continue;
            }
            let answer = self.read_internal().await?;
            is_open = match &answer {
                InternalResponse::Ok(ok) => Some(is_in_transaction(ok)),
                InternalResponse::Err(error) if leaves_transaction(error) => is_open,
                _ => None,
            };
            steps.push(match answer {
                InternalResponse::Ok(ok) if text.has_written(&ok)? => Step::Written {
                    in_transaction: is_in_transaction(&ok),
                    ok: text.answer(ok, self.link.capabilities, self.state.info())?,
                },
                InternalResponse::Ok(_) => Step::Missing,
                InternalResponse::Err(error) => Step::Failed(error),
                InternalResponse::Row(_) => return Err(Malformed.into()),
            });
        }
        // If a KILL hits this statement, it says nothing of the transaction; the responses before it do.
        if let InternalResponse::Ok(ok) = self.read_internal().await? {
            is_open = Some(is_in_transaction(&ok));
        }
        let end = match self.read_internal().await? {
            InternalResponse::Err(error) => {
                self.roll_back_own().await?;
                Some(error)
            }
            _ => None,
        };
        let outcomes = steps.into_iter().map(|step| match (step, &end) {
            // The transaction had been rolled back before, so this statement ran, and was committed, by itself.
            (
                Step::Written {
                    ok,
                    in_transaction: false,
                },
                _,
            ) => Outcome::Committed(ok.into()),
            (Step::Written { ok, .. }, None) if is_open == Some(true) => {
                Outcome::Committed(ok.into())
            }
            (Step::Written { .. }, None) if is_open.is_none() => Outcome::Lost,
            (Step::Written { .. }, Some(error)) if is_open != Some(false) => failed(error.clone()),
            (Step::Failed(error), _) if is_the_leaders(&error) => Outcome::Failed(error.into()),
            (Step::Failed(error), _) => failed(error),
            (Step::Written { .. } | Step::Missing, _) => Outcome::NotWritten,
        });
        Ok(outcomes.collect())
    }
}

/// Whether two are the same table, whichever catalogs they come from.
fn is_same(table: &HotTable, other: &HotTable) -> bool {
    table.name == other.name && table.schema == other.schema
}

/// The statements that add the sums of one key.
struct Texts {
    slot: u16,
    /// The UPDATE of a slot row that is known. In a table without slots, the UPDATE of the base row, unless the sums
    /// may exceed the column's limits.
    update: Option<Vec<u8>>,
    /// `None` for a table without slots.
    upsert: Option<Vec<u8>>,
    /// All sums are zero, so the UPDATE changes nothing.
    adds_nothing: bool,
}

impl Texts {
    /// Whether the UPDATE with this response has found the row.
    fn has_written(&self, ok: &[u8]) -> Result<bool, Error> {
        Ok(match self.adds_nothing {
            true => as_update(ok, 0, &InfoText::English)?.is_some(),
            false => affected_rows(ok)? > 0,
        })
    }

    /// The response for each of the increments, made from the one to the UPDATE.
    fn answer(
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

fn is_in_transaction(ok: &[u8]) -> bool {
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

//! One session writes the increments of all that wait.

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

/// What became of the leader's own increment.
pub(crate) enum BatchOutcome {
    /// It was alone, and is answered.
    Answered(Replied),
    /// It was written with others.
    Written(Outcome),
}

/// Whether the transaction that ends with this error is surely not committed, so that what was in it may be written
/// again. The others come of the commit itself, and nobody knows.
fn is_surely_not_committed(error: &[u8]) -> bool {
    const DOUBTFUL: [u16; 4] = [
        ER_ERROR_DURING_COMMIT,
        ER_ERROR_DURING_ROLLBACK,
        ER_BINLOG_LOGGING_IMPOSSIBLE,
        ER_RUN_HOOK_ERROR,
    ];
    reply::Err::decode(error).is_ok_and(|err| !DOUBTFUL.contains(&err.code))
}

/// Whether an error is about the session that ran the statement: it was killed, or the server goes down.
fn is_the_leaders(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_killed(err.code))
}

/// Whether each of the increments has waited for a lock for as long as it would have by itself.
fn has_waited(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_LOCK_WAIT_TIMEOUT)
}

/// Whether an error has surely ended the statement alone: killed, over its time (MariaDB), or against a CHECK (MySQL,
/// MariaDB). A deadlock rolls all of the transaction back, and so may others.
fn leaves_transaction(error: &[u8]) -> bool {
    const LEAVES: [u16; 2] = [ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT];
    reply::Err::decode(error)
        .is_ok_and(|err| LEAVES.contains(&err.code) || is_check_violated(err.code))
}

/// What a failed statement means for the increments in it.
fn failed(error: Vec<u8>) -> Outcome {
    match is_surely_not_committed(&error) && !has_waited(&error) {
        true => Outcome::NotWritten,
        false => Outcome::Failed(error.into()),
    }
}

/// What one statement of a transaction has come to, before its end is known.
enum Step {
    /// Its rows are written.
    Written {
        ok: Vec<u8>,
        in_transaction: bool,
    },
    /// There is no slot row.
    Missing,
    Failed(Vec<u8>),
}

/// A batch that is away for longer waits for a lock, perhaps, and others need not wait for its lane.
const PATIENCE: Duration = Duration::from_millis(50);

impl Session {
    /// Writes a batch, of which this session's increment is a part.
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
                    // One of the keys is locked by somebody: let none be with others next time, until it has been
                    // written by itself.
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
                // There are no slots to know.
                _ if text.upsert.is_none() => {}
                Outcome::Committed(_) => slots.learn(part.table(), part.slot_row(), text.slot),
                // One that is locked would hold up the other keys of the next batch as well.
                Outcome::NotWritten | Outcome::Failed(_) => {
                    slots.forget(part.table(), part.slot_row(), text.slot);
                }
                Outcome::Lost => {}
            }
            // Whoever was not killed writes its own.
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
            // The upstream has the error itself, and can be asked about it.
            ([_], Outcome::Failed(error)) => {
                self.count_combined(slotting);
                let done = self.answer_err(slotting.context, &error).await?;
                Ok(BatchOutcome::Answered(done))
            }
            (_, own) => Ok(BatchOutcome::Written(own)),
        }
    }

    /// Writes its own increment, for which others wait until the server has answered.
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

    /// Counts what is written of a batch, and for each of its tables the increments of that.
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

    /// Keeps what may be written in one transaction: increments whose slot rows are there and nobody else's. Base rows
    /// are not locked then, so that no part waits for a lock that another's row has.
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

    /// The statements of each part.
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

    /// Writes the sums of one key by a statement that is its own transaction.
    async fn write_one(&mut self, texts: &Texts) -> Result<Outcome, Error> {
        if let Some(update) = &texts.update {
            match self.run_internal(update).await? {
                InternalResponse::Ok(ok) if texts.has_written(&ok)? => {
                    let ok = texts.answer(ok, self.link.capabilities, &self.state.info)?;
                    return Ok(Outcome::Committed(ok.into()));
                }
                InternalResponse::Ok(_) => {}
                // Closed by a fold, or full: base must be asked.
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
                match as_update(&ok, self.link.capabilities, &self.state.info)? {
                    Some(ok) => Outcome::Committed(ok.into()),
                    // No such row: MySQL tells each of them in its own words.
                    None => Outcome::NotWritten,
                }
            }
            InternalResponse::Err(error) if is_the_leaders(&error) => Outcome::Failed(error.into()),
            InternalResponse::Err(error) => failed(error),
            InternalResponse::Row(_) => return Err(Malformed.into()),
        })
    }

    /// Writes the sums of several keys in one transaction, sent at once.
    async fn write_all(&mut self, texts: &[Texts]) -> Result<Vec<Outcome>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, BEGIN.as_bytes(), self.link.capabilities);
        for update in texts.iter().filter_map(|text| text.update.as_ref()) {
            encode_query(&mut out, update, self.link.capabilities);
        }
        // Its flags tell whether the transaction has come so far.
        encode_query(&mut out, b"DO 0", self.link.capabilities);
        encode_query(&mut out, COMMIT.as_bytes(), self.link.capabilities);
        self.write_upstream(&out).await?;
        let begun = self.read_internal().await?;
        let mut steps = Vec::with_capacity(texts.len());
        // Whether the transaction is open behind the last answer; an ERR does not say.
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
                    ok: text.answer(ok, self.link.capabilities, &self.state.info)?,
                },
                InternalResponse::Ok(_) => Step::Missing,
                InternalResponse::Err(error) => Step::Failed(error),
                InternalResponse::Row(_) => return Err(Malformed.into()),
            });
        }
        // A KILL that meets it tells nothing of the transaction, which the answers before do then.
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
            // The transaction was rolled back before, and this one was written by itself.
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

/// Whether two are the same table, of whichever catalog.
fn is_same(table: &HotTable, other: &HotTable) -> bool {
    table.name == other.name && table.schema == other.schema
}

/// The statements that add the sums of one key.
struct Texts {
    slot: u16,
    /// For a slot row that is known.
    update: Option<Vec<u8>>,
    /// `None` for a table without slots.
    upsert: Option<Vec<u8>>,
    /// The sums are zero, so that nothing changes.
    adds_nothing: bool,
}

impl Texts {
    /// Whether the UPDATE with this answer has found the slot row.
    fn has_written(&self, ok: &[u8]) -> Result<bool, Error> {
        Ok(match self.adds_nothing {
            true => as_update(ok, 0, &InfoText::English)?.is_some(),
            false => affected_rows(ok)? > 0,
        })
    }

    /// The answer for each of the increments, from that of the UPDATE.
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

/// Runs what a batch waits for. `late` is called when that takes long.
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

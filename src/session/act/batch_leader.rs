//! The leader of a batch writes the statements of all sessions that wait in it.

use std::sync::{Arc, Mutex};

use crate::counter::combine::{Addition, Batch, Outcome, Part, Told, Work};
use crate::counter::fold::{BEGIN, COMMIT};
use crate::counter::unpoisoned;
use crate::session::Session;
use crate::session::act::batch_outcome::{
    BatchOutcome, Texts, Upsert, changes_nothing, failed, is_in_transaction, is_the_leaders,
    patiently,
};
use crate::session::act::batch_steps::Led;
use crate::session::act::candidate::Candidate;
use crate::session::act::lost::MOST_LOST;
use crate::session::error::Error;
use crate::session::error_kind::is_check_violation;
use crate::session::exchange::Alone;
use crate::session::link::internal::{InternalResponse, is_deadlock};
use crate::session::reply::Replied;
use crate::session::state::info_text::as_update;
use crate::wire::command::encode_query;
use crate::wire::error_code::{ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT, is_check_violated};
use crate::wire::reader::Malformed;
use crate::wire::reply;

/// Whether an error has certainly ended the statement only: it was killed, exceeded its time limit (MariaDB), or
/// violated a CHECK (MySQL, MariaDB). A deadlock rolls back the whole transaction, and so may other errors.
fn leaves_transaction(error: &[u8]) -> bool {
    const LEAVES: [u16; 2] = [ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT];
    reply::Err::decode(error)
        .is_ok_and(|err| LEAVES.contains(&err.code) || is_check_violated(err.code))
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

/// What became of a transaction.
enum Written {
    /// It was rolled back as a whole, because another transaction was first, and may be run again.
    Lost(Vec<Outcome>),
    /// Anything else.
    Ended(Vec<Outcome>),
}

impl Session {
    /// Writes a batch that contains this session's statement.
    pub(crate) async fn lead(
        &mut self,
        mut batch: Batch,
        candidate: &Candidate<'_>,
    ) -> Result<BatchOutcome, Error> {
        self.share_out(&mut batch);
        if batch.is_single() {
            return self.lead_alone(batch, candidate).await;
        }
        if self.shared.spans.are_wanted() {
            let own = self.link.timing.span.map(|span| span.own);
            self.link.timing.traced = Some(batch.trace(own));
        }
        if let [part] = batch.parts()
            && (part.table().is_keyless()
                || !matches!(part.steps(), [step] if matches!(step.work(), Work::Sum(_))))
        {
            return match self.lead_steps(batch).await? {
                Led::Done(outcome) => Ok(BatchOutcome::Written(outcome)),
                Led::NoRow(batch) => self.lead_alone(batch, candidate).await,
            };
        }
        self.open_slot_of(&batch).await;
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
        let told: Vec<_> = outcomes.iter().cloned().map(Told::All).collect();
        let steps = batch.parts().iter().flat_map(Part::steps_of_table);
        self.count_batch(steps.zip(&told));
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let (part, text) = (&batch.parts()[index], &texts[index]);
            if matches!(&outcome, Outcome::Committed(_)) && text.is_of_slot() {
                let predicate = &part.slot_row().predicate;
                self.slot_incremented(part.table(), Some(predicate), text.slot);
            }
            let slots = &self.shared.slots;
            match &outcome {
                // The table has no slots.
                _ if !text.is_of_slot() => {}
                Outcome::Committed(_) => slots.learn(part.table(), part.slot_row(), text.slot),
                // A row that is locked would hold up the other keys of the next batch as well.
                Outcome::NotWritten | Outcome::Failed(_) => {
                    slots.forget(part.table(), part.slot_row(), text.slot);
                }
                Outcome::Lost => {}
            }
            // Only the leader was killed. The others write their own increments.
            let told = match &outcome {
                Outcome::Failed(answer) if is_the_leaders(&answer.payload) => Outcome::NotWritten,
                other => other.clone(),
            };
            if part.is_leaders() {
                own = outcome;
            }
            batch.settle((index, 0), Told::All(told), false);
        }
        self.give_slots_back();
        drop(batch);
        match (&texts[..], own) {
            // The upstream has raised this error itself, so the client can ask it about the error.
            ([_], Outcome::Failed(answer)) => {
                self.count_combined(candidate);
                let done = self.reply_err(candidate.context, &answer.payload).await?;
                Ok(BatchOutcome::Answered(done))
            }
            (_, own) => Ok(BatchOutcome::Written(own)),
        }
    }

    /// Writes the leader's own statement only. Others wait until the server has responded; those in the batch then wait
    /// for another one.
    async fn lead_alone(
        &mut self,
        batch: Batch,
        candidate: &Candidate<'_>,
    ) -> Result<BatchOutcome, Error> {
        let alone: Alone = Arc::new(Mutex::new(Some(batch)));
        self.alone = Some(Arc::clone(&alone));
        let late = || {
            if let Some(batch) = &mut *unpoisoned(&alone) {
                batch.give_lane_back();
            }
        };
        let done = match candidate.slotting {
            None => patiently(self.run_alone(&alone, candidate), late).await,
            Some(slotting) => patiently(self.slot_alone(slotting), late).await,
        };
        self.land_alone();
        done.map(BatchOutcome::Answered)
    }

    /// Runs a statement of a row without slots as it came.
    async fn run_alone(
        &mut self,
        alone: &Alone,
        candidate: &Candidate<'_>,
    ) -> Result<Replied, Error> {
        let held = self
            .run_original_and_hold(candidate.original, candidate.context, false)
            .await?;
        let outcome = match held.failed {
            true => Outcome::Failed(held.last.clone().into()),
            false => Outcome::Committed(held.last.clone().into()),
        };
        if let Some(batch) = &mut *unpoisoned(alone)
            && batch.is_single()
        {
            let is_idle = changes_nothing(&outcome);
            batch.settle((0, 0), Told::All(outcome), is_idle);
        }
        self.release(&held).await
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

    /// Where the batch has one part, whose slot is not known to be open, and which no session may open, has it opened.
    async fn open_slot_of(&mut self, batch: &Batch) {
        let [part] = batch.parts() else {
            return;
        };
        let table = part.table();
        if let [step] = part.steps()
            && let Work::Sum(sum) = step.work()
            && table.is_gated
            && table.slots > 0
        {
            let slot = self.slot(table);
            self.has_open_slot(&sum.increment, part.slot_row(), slot)
                .await;
        }
    }

    /// The statements of each part of the batch, which are sums.
    fn texts(&mut self, batch: &Batch) -> Vec<Texts> {
        let sums = batch.parts().iter().filter_map(|part| match part.steps() {
            [step] => match step.work() {
                Work::Sum(sum) => Some((part, sum)),
                Work::Itself { .. } => None,
            },
            _ => None,
        });
        let texts = sums.map(|(part, sum)| match part.table().slots {
            0 => Texts::of_base(part.table(), sum),
            _ => self.texts_of_slots(part, sum),
        });
        texts.collect()
    }

    /// The statements that add to the slot that the session holds.
    fn texts_of_slots(&mut self, part: &Part, sum: &Addition) -> Texts {
        let slot = self.slot(part.table());
        let slots = &self.shared.slots;
        let row = part.slot_row();
        let is_known = slots.knows(part.table(), row, slot);
        let is_gated = part.table().is_gated;
        if !is_known && !is_gated {
            slots.open(part.table(), Some(row), &row.guarded, slot);
        }
        let update = sum.increment.update.as_ref().filter(|_| is_known);
        Texts {
            slot,
            update: update.map(|update| sum.render(update, slot)),
            upsert: match is_gated {
                true => Upsert::NotAllowed,
                false => Upsert::May(sum.render(&sum.increment.upsert, slot)),
            },
            adds_nothing: sum.amounts.iter().all(|sum| sum.is_zero()),
        }
    }

    /// Writes the sums of one key, by a statement that is a transaction of its own.
    async fn write_one(&mut self, texts: &Texts) -> Result<Outcome, Error> {
        if let Some(update) = &texts.update {
            match self.run_unless_lost(update, texts.is_gated()).await? {
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
        let Upsert::May(upsert) = &texts.upsert else {
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

    /// Writes the sums of several keys in one transaction, again and again while another member of the cluster is
    /// first.
    async fn write_all(&mut self, texts: &[Texts]) -> Result<Vec<Outcome>, Error> {
        let is_gated = texts.iter().any(Texts::is_gated);
        let mut lost = 0;
        loop {
            match self.write_all_once(texts).await? {
                Written::Lost(_) if is_gated && lost < MOST_LOST => {
                    lost += 1;
                    self.pause_after_loss(lost).await;
                }
                Written::Lost(outcomes) | Written::Ended(outcomes) => return Ok(outcomes),
            }
        }
    }

    /// All statements are sent at once.
    async fn write_all_once(&mut self, texts: &[Texts]) -> Result<Written, Error> {
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
        // If a KILL hits this statement, it says nothing of the transaction; the responses before it do. In a cluster
        // it may be the one that is told that the transaction is gone; COMMIT then ends nothing, and is told OK.
        let mut is_gone = false;
        match self.read_internal().await? {
            InternalResponse::Ok(ok) => is_open = Some(is_in_transaction(&ok)),
            InternalResponse::Err(error) if is_deadlock(&error) => {
                is_gone = true;
                is_open = Some(false);
            }
            _ => {}
        }
        let end = match self.read_internal().await? {
            InternalResponse::Err(error) => {
                self.roll_back_own().await?;
                Some(error)
            }
            _ => None,
        };
        // The outcomes say it.
        self.state.lost = None;
        let is_by_itself = |step: &Step| {
            matches!(
                step,
                Step::Written {
                    in_transaction: false,
                    ..
                }
            )
        };
        let has_lost = |step: &Step| matches!(step, Step::Failed(error) if is_deadlock(error));
        let end_has_lost = end.as_ref().is_some_and(|error| is_deadlock(error));
        let is_lost = !steps.iter().any(is_by_itself)
            && (is_gone || end_has_lost || steps.iter().any(has_lost));
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
        let outcomes = outcomes.collect();
        Ok(match is_lost {
            true => Written::Lost(outcomes),
            false => Written::Ended(outcomes),
        })
    }
}

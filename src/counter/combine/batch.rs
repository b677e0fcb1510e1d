//! Increments on their way together.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Addition, Call, CombineKey, Group, Outcome};
use crate::catalog::HotTable;
use crate::counter::SlotRow;
use crate::sql::Amount;
use crate::sql::plan::Increment;

/// A session that waits.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) call: oneshot::Sender<Call>,
}

/// The increments of one key.
#[derive(Debug)]
pub struct Part {
    pub(super) addition: Addition,
    /// How many increments the sums are of.
    pub(super) count: usize,
    pub(super) seats: VecDeque<Seat>,
    /// The leader's own increment is among them.
    is_leaders: bool,
    /// Their outcome.
    outcome: Option<Outcome>,
}

impl Part {
    /// Of the leader alone.
    pub(super) fn alone(addition: Addition) -> Self {
        Self {
            addition,
            count: 1,
            seats: VecDeque::new(),
            is_leaders: true,
            outcome: None,
        }
    }

    pub(super) fn waiting(addition: Addition, call: oneshot::Sender<Call>) -> Self {
        Self {
            addition,
            count: 1,
            seats: VecDeque::from([Seat { call }]),
            is_leaders: false,
            outcome: None,
        }
    }

    /// Adds another increment; false if the sum would not be exact.
    pub(super) fn add(&mut self, amounts: &[Amount]) -> bool {
        let sums = self.addition.amounts.iter().zip(amounts);
        let sums: Option<Vec<_>> = sums.map(|(sum, amount)| sum.plus(*amount)).collect();
        match sums {
            Some(sums) => {
                self.addition.amounts = sums;
                self.count += 1;
                true
            }
            None => false,
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<HotTable> {
        self.addition.table()
    }

    /// The plan of each of them.
    pub fn increment(&self) -> &Arc<Increment> {
        &self.addition.increment
    }

    /// The key's parameters, as literals.
    pub fn parameters(&self) -> &[Vec<u8>] {
        &self.addition.parameters
    }

    /// What the slot row is known by.
    pub fn slot_row(&self) -> &SlotRow {
        &self.addition.key.slot_row
    }

    /// What they add together, by counter.
    pub fn sums(&self) -> &[Amount] {
        &self.addition.amounts
    }

    /// Whether the sums are zero, or so large that a row with room for one slot may not have room for them.
    pub fn may_meet_limits(&self) -> bool {
        let counters = self.increment().counters.iter();
        let mut sums = counters.zip(self.sums());
        sums.any(|(column, sum)| {
            let bounds = self
                .table()
                .counter(*column)
                .and_then(|counter| counter.bounds.as_ref());
            let limit = bounds.and_then(|bounds| Amount::parse(&bounds.slot));
            sum.is_zero() || !limit.is_some_and(|limit| sum.is_within(limit))
        })
    }

    /// How many increments they are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the leader's own increment is among them.
    pub fn is_leaders(&self) -> bool {
        self.is_leaders
    }

    /// Reports the outcome to all waiting sessions.
    fn tell(&mut self, unsettled: &Outcome) {
        let outcome = self.outcome.take();
        let outcome = outcome.as_ref().unwrap_or(unsettled);
        for seat in self.seats.drain(..) {
            seat.call.send(Call::Done(outcome.clone())).ok();
        }
    }
}

/// Increments that one session writes: all of one transaction.
///
/// When it is dropped, all sessions in it learn the outcome of their increments. Increments of parts that are not
/// settled are not written; once [`Batch::send`] was called, their outcome is unknown.
#[derive(Debug)]
pub struct Batch {
    group: Arc<Group>,
    parts: Vec<Part>,
    has_lane: bool,
    is_sent: bool,
}

impl Batch {
    pub(super) fn new(group: Arc<Group>, parts: Vec<Part>, has_lane: bool) -> Self {
        Self {
            group,
            parts,
            has_lane,
            is_sent: false,
        }
    }

    /// Its increments, by key.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether it is the leader's own increment and nothing else.
    pub fn is_single(&self) -> bool {
        matches!(&self.parts[..], [part] if part.count == 1 && part.is_leaders)
    }

    /// From here on bytes may have been sent: what is not settled has an unknown outcome if the connection is lost.
    pub fn send(&mut self) {
        self.is_sent = true;
    }

    /// Sets the outcome of a key's increments; their sessions learn it when the batch is dropped.
    pub fn settle(&mut self, part: usize, outcome: Outcome) {
        self.parts[part].outcome = Some(outcome);
    }

    /// It takes long, perhaps because it waits for a lock: others need not wait for its lane.
    pub fn give_lane_back(&mut self) {
        if std::mem::take(&mut self.has_lane) {
            self.group.land(&[], true);
        }
    }

    /// Keeps the parts for which `stays` holds, if there are several parts; each of the others goes by itself, led by
    /// one of its own sessions. If the leader's own part is among those, it stays instead, alone.
    pub fn split(&mut self, stays: impl Fn(&Part) -> bool) {
        let is_alone = self.parts.len() < 2;
        let leaders_stays = self.parts.iter().any(|part| part.is_leaders && stays(part));
        if is_alone {
            return;
        }
        let (staying, leaving): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|part| match leaders_stays {
                true => stays(part),
                false => part.is_leaders,
            });
        self.parts = staying;
        let (together, apart): (Vec<_>, Vec<_>) = leaving.into_iter().partition(stays);
        let mut batches: Vec<_> = apart.into_iter().map(|part| vec![part]).collect();
        if !together.is_empty() {
            batches.push(together);
        }
        for parts in batches {
            Self::new(Arc::clone(&self.group), parts, false).call_leader();
        }
    }

    /// Makes one of the waiting sessions lead. If none is left, there is nothing to write.
    pub(super) fn call_leader(mut self) {
        while let Some(call) = self.take_leader() {
            match call.send(Call::Lead(self)) {
                Ok(()) => return,
                Err(Call::Lead(batch)) => self = batch,
                Err(Call::Done(_)) => return,
            }
        }
    }

    /// The session that has waited longest at the first key.
    fn take_leader(&mut self) -> Option<oneshot::Sender<Call>> {
        for part in &mut self.parts {
            part.is_leaders = false;
        }
        let part = self.parts.iter_mut().find(|part| !part.seats.is_empty())?;
        part.is_leaders = true;
        part.seats.pop_front().map(|seat| seat.call)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let outcome = match self.is_sent {
            true => Outcome::Lost,
            false => Outcome::NotWritten,
        };
        let mut parts = std::mem::take(&mut self.parts);
        let keys = parts.iter().map(|part| Arc::clone(&part.addition.key));
        let keys: Vec<Arc<CombineKey>> = keys.collect();
        // The next batch first: the server is idle until it comes.
        if !keys.is_empty() || self.has_lane {
            self.group.land(&keys, self.has_lane);
        }
        for part in &mut parts {
            part.tell(&outcome);
        }
    }
}

//! Which keys are in flight, and which statements wait for them.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Call, CombineKey, Member, Outcome, Part};
use crate::counter::SlotRow;

/// How many batches of known slot rows may be on their way at a time. While that many are, the server has enough to do,
/// and further statements are gathered.
const LANES: usize = 2;

/// The most keys that share a transaction.
const MOST_KEYS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Queue {
    keys: HashMap<Arc<CombineKey>, Waiting>,
    /// Keys with statements that wait for nothing but a lane.
    ready: VecDeque<Arc<CombineKey>>,
    /// Batches on their way that hold a lane.
    lanes: usize,
}

/// A key in flight, or ready to go.
#[derive(Debug)]
struct Waiting {
    in_flight: bool,
    part: Option<Part>,
    /// Statements that changed nothing when they ran last.
    idle: Vec<Arc<[u8]>>,
}

pub(super) enum Entry {
    Goes(Part),
    Waits(oneshot::Receiver<Call>),
}

impl Queue {
    pub(super) fn enter(&mut self, member: Member, is_known: bool) -> Entry {
        let may_go = !is_known || self.lanes < LANES;
        match self.keys.entry(Arc::clone(&member.key)) {
            MapEntry::Vacant(vacant) if may_go => {
                vacant.insert(Waiting {
                    in_flight: true,
                    part: None,
                    idle: Vec::new(),
                });
                self.lanes += usize::from(is_known);
                Entry::Goes(Part::alone(member))
            }
            MapEntry::Vacant(vacant) => {
                let (call, called) = oneshot::channel();
                self.ready.push_back(Arc::clone(&member.key));
                vacant.insert(Waiting {
                    in_flight: false,
                    part: Some(Part::waiting(member, call)),
                    idle: Vec::new(),
                });
                Entry::Waits(called)
            }
            MapEntry::Occupied(mut occupied) => {
                let (call, called) = oneshot::channel();
                match &mut occupied.get_mut().part {
                    Some(part) => {
                        if let Err(call) = part.join(member.work, member.span, call) {
                            call.send(Call::Done(Outcome::NotWritten, None)).ok();
                        }
                    }
                    none => *none = Some(Part::waiting(member, call)),
                }
                Entry::Waits(called)
            }
        }
    }

    /// A key is no longer in flight. `idle`: the statements that have changed nothing.
    pub(super) fn land(&mut self, key: &Arc<CombineKey>, idle: Vec<Arc<[u8]>>) {
        let Some(waiting) = self.keys.get_mut(key) else {
            return;
        };
        waiting.in_flight = false;
        waiting.idle = idle;
        match waiting.part {
            Some(_) => self.ready.push_back(Arc::clone(key)),
            None => {
                self.keys.remove(key);
            }
        }
    }

    pub(super) fn free_lane(&mut self) {
        self.lanes = self.lanes.saturating_sub(1);
    }

    /// What goes next, in one transaction, and takes a lane; `None` when nothing waits or no lane is free.
    pub(super) fn next_parts(&mut self) -> Option<Vec<Part>> {
        if self.lanes >= LANES {
            return None;
        }
        let mut parts = Vec::new();
        while parts.len() < MOST_KEYS
            && let Some(key) = self.ready.pop_front()
        {
            let waiting = self.keys.get_mut(&key);
            if let Some(waiting) = waiting.filter(|waiting| !waiting.in_flight)
                && let Some(mut part) = waiting.part.take()
            {
                waiting.in_flight = true;
                part.gather(&waiting.idle);
                parts.push(part);
            }
        }
        if parts.is_empty() {
            return None;
        }
        // In one order, which for integers is that of the keys: folds lock slot rows in the order of keys as well.
        parts.sort_by(|left, right| {
            let (left, right) = (left.slot_row(), right.slot_row());
            let length = |row: &SlotRow| row.predicate.len();
            length(left)
                .cmp(&length(right))
                .then_with(|| left.cmp(right))
        });
        self.lanes += 1;
        Some(parts)
    }
}

//! Statements of different clients, written in one transaction: increments added up, others as they came.
//!
//! While a statement of a key is on its way to the server, others of that key wait. When it is done, one of the
//! waiting sessions leads: it writes what waits for all keys, and each session gets its own response when that is
//! committed. There is no timer: a statement that finds its key idle and a lane free goes at once.
//!
//! This room keeps the queues and knows no socket. A [`Batch`] that is dropped, for whatever reason, reports its
//! outcome to every session in it, and calls the next leader.

mod batch;
mod queue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::oneshot;

use super::server::Server;
use super::slots::SlotRow;
use crate::catalog::HotTable;
use crate::spans::{SpanContext, TracedBatch};
use crate::sql::Amount;
use crate::sql::plan::{Increment, OneRow};
use crate::wire::response::PacketKind;

pub use batch::{Batch, Part, Step};
use queue::Queue;

/// What is sent for several sessions must mean the same in each of them: they share a group by all that decides it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// The server that they are on.
    pub server: Option<Server>,
    /// Account, schema and variables, as the server tells them.
    pub variables: Vec<Option<Vec<u8>>>,
    /// How answers are encoded.
    pub capabilities: u64,
}

/// All groups.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Mutex<HashMap<GroupName, Weak<Group>>>,
}

impl Groups {
    /// The group of this name, which exists as long as a session holds it.
    pub fn group(&self, name: GroupName) -> Arc<Group> {
        let mut groups = super::unpoisoned(&self.groups);
        if let Some(group) = groups.get(&name).and_then(Weak::upgrade) {
            return group;
        }
        groups.retain(|_, group| group.strong_count() > 0);
        let group = Arc::new(Group::default());
        groups.insert(name, Arc::downgrade(&group));
        group
    }
}

/// Sessions whose statements may be written by any of them.
#[derive(Debug, Default)]
pub struct Group {
    queue: Mutex<Queue>,
}

/// What statements must have in common to wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombineKey {
    /// For increments of slots, the shape of the statement: a slot row takes one kind at a time. `None` for a row of a
    /// table without slots, whose statements all wait in one queue.
    pub shape: Option<u64>,
    /// For increments of slots, the times that they set, as SQL.
    pub times: Vec<u8>,
    /// The key, and which counters: what its slot row is known by.
    pub slot_row: SlotRow,
}

impl CombineKey {
    /// For the statements of a row of a table without slots.
    pub fn of_base(row: SlotRow) -> Self {
        Self {
            shape: None,
            times: Vec::new(),
            slot_row: row,
        }
    }
}

/// A statement that may be written together with others.
#[derive(Clone, Debug)]
pub struct Member {
    /// What it has in common with those that it waits for.
    pub key: Arc<CombineKey>,
    /// The table.
    pub table: Arc<HotTable>,
    /// What it does.
    pub work: Work,
    /// Its span, if its application traces it.
    pub span: Option<SpanContext>,
}

/// What a statement does in a batch.
#[derive(Clone, Debug)]
pub enum Work {
    /// It adds constants to counters, so it may be added to others of its kind.
    Sum(Addition),
    /// It runs as it came.
    Itself {
        /// Its text, with its parameters filled in.
        text: Arc<[u8]>,
        /// The same for all texts that differ in their constants only.
        shape: u64,
        /// It may set what LAST_INSERT_ID() returns.
        sets_last_insert_id: bool,
        /// How several of the same are written as one.
        repeated: Option<Repeated>,
    },
}

/// A statement of which one does what several do, one after another.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// Its plan.
    pub row: Arc<OneRow>,
    /// Its parameters, as literals.
    pub parameters: Vec<Vec<u8>>,
    /// What it adds to each counter.
    pub amounts: Vec<Amount>,
}

/// An increment that may be added to others.
#[derive(Clone, Debug)]
pub struct Addition {
    /// Its plan.
    pub increment: Arc<Increment>,
    /// Its parameters as literals; those of the key are all that counts.
    pub parameters: Vec<Vec<u8>>,
    /// What it adds to each counter.
    pub amounts: Vec<Amount>,
}

/// Why a waiting session is called.
#[derive(Debug)]
pub enum Call {
    /// Its statement, and those of others, are to be written by it.
    Lead(Batch),
    /// The outcome of its statement, and the batch that it was in, if batches are traced.
    Done(Outcome, Option<Arc<TracedBatch>>),
}

/// The outcome of a statement that another session has written.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is committed, and answered as the statement by itself would be.
    Committed(Answer),
    /// It is not written, for a reason that concerns each of them, and answered with an ERR.
    Failed(Answer),
    /// It is certainly not written: it has to run by itself.
    NotWritten,
    /// The connection was lost, and whether it was committed is not known.
    Lost,
}

/// What the sessions of a step are told.
#[derive(Clone, Debug)]
pub enum Told {
    /// All of them the same.
    All(Outcome),
    /// One outcome each, the leader first, then those that have waited longest. What the others want is not written.
    InTurn(Vec<Outcome>),
}

impl Told {
    /// What a session is told before which so many have been.
    pub fn to(&self, position: usize) -> Outcome {
        match self {
            Self::All(outcome) => outcome.clone(),
            Self::InTurn(outcomes) => outcomes
                .get(position)
                .cloned()
                .unwrap_or(Outcome::NotWritten),
        }
    }

    /// How many of so many sessions have their statements committed.
    pub fn committed(&self, sessions: usize) -> usize {
        let is_committed = |outcome: &Outcome| matches!(outcome, Outcome::Committed(_));
        match self {
            Self::All(outcome) if is_committed(outcome) => sessions,
            Self::All(_) => 0,
            Self::InTurn(outcomes) => outcomes
                .iter()
                .filter(|outcome| is_committed(outcome))
                .count(),
        }
    }
}

/// How a statement is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The payload: an OK, or an ERR.
    pub payload: Arc<[u8]>,
    /// The response to SHOW WARNINGS, packet by packet, if the statement has left messages; besides its error, if it
    /// has failed.
    pub messages: Option<Arc<[Message]>>,
}

/// A packet of the response to SHOW WARNINGS.
pub type Message = (PacketKind, Vec<u8>);

impl From<Vec<u8>> for Answer {
    /// Without messages.
    fn from(payload: Vec<u8>) -> Self {
        Self {
            payload: payload.into(),
            messages: None,
        }
    }
}

/// Whether a statement goes at once.
#[derive(Debug)]
pub enum Entered {
    /// At once, by itself.
    Lead(Batch),
    /// It waits to be called.
    Wait(oneshot::Receiver<Call>),
}

impl Group {
    /// Takes a statement in. `is_known`: its slot row exists, so it can share a transaction with those of other keys.
    pub fn enter(self: &Arc<Self>, member: Member, is_known: bool) -> Entered {
        let mut queue = super::unpoisoned(&self.queue);
        match queue.enter(member, is_known) {
            queue::Entry::Waits(called) => Entered::Wait(called),
            queue::Entry::Goes(part) => {
                Entered::Lead(Batch::new(Arc::clone(self), vec![part], is_known))
            }
        }
    }

    /// Takes keys out of flight, each with the statements that have changed nothing, and calls the sessions that may
    /// now go.
    fn land(self: &Arc<Self>, keys: Vec<Landing>, had_lane: bool) {
        let mut calls = Vec::new();
        {
            let mut queue = super::unpoisoned(&self.queue);
            for (key, idle) in keys {
                queue.land(&key, idle);
            }
            if had_lane {
                queue.free_lane();
            }
            while let Some(parts) = queue.next_parts() {
                calls.push(parts);
            }
        }
        for parts in calls {
            Batch::new(Arc::clone(self), parts, true).call_leader();
        }
    }
}

/// A key that is no longer in flight, with the statements that have changed nothing.
type Landing = (Arc<CombineKey>, Vec<Arc<[u8]>>);

#[cfg(test)]
mod tests;

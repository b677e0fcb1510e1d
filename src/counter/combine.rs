//! Increments of different clients, added up and written as one.
//!
//! While an increment of a key is on its way to the server, others of that key wait. When it is done, one of the
//! waiting sessions leads: it writes the sums of all waiting keys, and each session gets its own response when they are
//! committed. There is no timer: an increment that finds its key idle and a lane free goes at once.
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
use crate::sql::Amount;
use crate::sql::plan::Increment;

pub use batch::{Batch, Part};
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

/// Sessions whose increments may be written by any of them.
#[derive(Debug, Default)]
pub struct Group {
    queue: Mutex<Queue>,
}

/// What increments must have in common to be added up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombineKey {
    /// The shape of the statement.
    pub shape: u64,
    /// The times that it sets, as SQL.
    pub times: Vec<u8>,
    /// The key, and which counters: what its slot row is known by.
    pub slot_row: SlotRow,
}

/// An increment that may be added to others.
#[derive(Clone, Debug)]
pub struct Addition {
    /// What it has in common with others.
    pub key: Arc<CombineKey>,
    /// Its plan.
    pub increment: Arc<Increment>,
    /// Its parameters as literals; those of the key are all that counts.
    pub parameters: Vec<Vec<u8>>,
    /// What it adds to each counter.
    pub amounts: Vec<Amount>,
}

impl Addition {
    fn table(&self) -> &Arc<HotTable> {
        &self.increment.table
    }
}

/// Why a waiting session is called.
#[derive(Debug)]
pub enum Call {
    /// Its increment, and those of others, are to be written by it.
    Lead(Batch),
    /// The outcome of its increment.
    Done(Outcome),
}

/// The outcome of an increment that another session has written.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is committed. The OK payload is that of a single such increment.
    Committed(Arc<[u8]>),
    /// It is not written, for a reason that concerns each of them: the ERR payload.
    Failed(Arc<[u8]>),
    /// It is certainly not written: it has to run by itself.
    NotWritten,
    /// The connection was lost, and whether it was committed is not known.
    Lost,
}

/// Whether an increment goes at once.
#[derive(Debug)]
pub enum Entered {
    /// At once, by itself.
    Lead(Batch),
    /// It waits to be called.
    Wait(oneshot::Receiver<Call>),
}

impl Group {
    /// Takes an increment in. `is_known`: its slot row exists, so it can share a transaction with others.
    pub fn enter(self: &Arc<Self>, addition: Addition, is_known: bool) -> Entered {
        let mut queue = super::unpoisoned(&self.queue);
        match queue.enter(addition, is_known) {
            queue::Entry::Waits(called) => Entered::Wait(called),
            queue::Entry::Goes(part) => {
                Entered::Lead(Batch::new(Arc::clone(self), vec![part], is_known))
            }
        }
    }

    /// Takes keys out of flight, and calls the sessions that may now go.
    fn land(self: &Arc<Self>, keys: &[Arc<CombineKey>], had_lane: bool) {
        let mut calls = Vec::new();
        {
            let mut queue = super::unpoisoned(&self.queue);
            for key in keys {
                queue.land(key);
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

#[cfg(test)]
mod tests;

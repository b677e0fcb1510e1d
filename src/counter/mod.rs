//! Where increments go and how they come back: the control account, slot tables, slots, folds.

pub mod agreement;
pub mod cluster;
pub mod combine;
pub mod control;
pub mod drain;
pub mod fold;
pub mod gates;
pub mod grants;
pub(crate) mod held_locks;
mod key;
pub mod locks;
mod looks;
pub mod motion;
pub mod node;
pub mod opener;
pub(crate) mod primary;
pub mod provision;
pub(crate) mod quote;
pub mod registry;
pub mod rights;
pub mod rollup;
mod row_digest;
pub mod server;
mod slots;
pub mod snapshot;
pub mod threads;
pub mod turns;
pub mod unfit;
pub mod withdrawal;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use key::{Key, KeyForm};
pub use slots::{SlotLease, SlotRow, SlotUse, Slots};

/// What a panic elsewhere may have left half done is still right here: each change under these locks is one step.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

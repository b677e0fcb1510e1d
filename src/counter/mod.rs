//! Where increments go and how they come back: slots, folds, slot tables.

pub mod fold;
mod slots;

pub use slots::{SlotLease, Slots};

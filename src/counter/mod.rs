//! Where increments go and how they come back: the control account, slot tables, slots, folds.

pub mod control;
pub mod fold;
pub mod grants;
mod key;
pub mod provision;
mod quote;
mod slots;

pub use key::{Key, KeyForm};
pub use slots::{SlotLease, Slots};

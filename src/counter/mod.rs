//! Slots, folds and slot tables.

pub mod control;
pub mod grants;
pub mod provision;
mod quote;

//! Slots, folds and slot tables.

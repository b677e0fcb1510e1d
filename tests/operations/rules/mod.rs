//! Rules against real servers: what `countersink provision` and `serve` refuse, make and leave alone.
//!
//! In statements, rules and expected texts, `~` stands for the test's schema.

mod columns;
mod command_line;
mod control_account;
mod serving;
mod slot_tables;
mod stage;
mod tables;
mod waiting;

//! Clients on our own wire code, for the demo and the benchmark: one that asks, and many that load.

mod account;
mod asking;
mod error;

mod keys;
mod statement;

mod job;
mod measured;

mod apart;
mod window;

mod crowd;
mod turn;

pub(super) use account::Account;
pub(super) use asking::{Client, Row, number};
pub use error::Error;
pub(super) use job::{Job, Reads, Transaction};
pub(super) use keys::Keys;
pub(super) use measured::{Latencies, Measured};
pub(super) use statement::Statement;
pub(super) use turn::Turn;

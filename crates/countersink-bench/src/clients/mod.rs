//! Clients for the demo and the benchmark: one that runs single statements, and many that load.

mod error;

mod connecting;

mod asking;

mod keys;
mod statement;

mod job;
mod measured;

mod apart;
mod window;

mod crowd;
mod turn;

pub(crate) use asking::{Client, number};
pub use error::Error;
pub(crate) use job::{Job, Reads, Transaction};
pub(crate) use keys::Keys;
pub(crate) use measured::{Latencies, Measured};
pub(crate) use statement::Statement;
pub(crate) use turn::Turn;

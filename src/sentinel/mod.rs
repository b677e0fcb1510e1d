//! The sentinel: who changes counters past the proxy, as the server's binary log has it.
//!
//! A proxy cannot see what does not go through it: a script on the server's own port, an event of the server, an
//! application that somebody forgot. While slots are in use, such a writer sets the base of a value and not the value,
//! or deletes a row without what was added to it. So the sentinel reads the binary log as a replica does, and reports
//! whoever changes a counter, or takes a row away, on a thread that is not this proxy's. It changes nothing, and nobody
//! waits for it.
//!
//! `events` are read into a `transaction`, for the tables that are `watched`; the `judge` knows whose it is.

mod events;
mod follow;
mod image;
mod judge;
mod others;
mod position;
mod report;
mod transaction;
mod watched;

pub use follow::keep;
pub use report::{Finding, Kind, Reports};
pub use watched::Watched;

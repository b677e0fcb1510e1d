//! What a session gets that goes through the proxy: counts that are exact, answers that are MySQL's, and nothing lost
//! whatever happens meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod altered;
mod another_server;
mod changeover;
mod clusters;
mod columns;
mod combining;
mod compression;
mod concurrent;
mod emptying;
mod exact;
mod failover;
mod golden;
mod hostile;
mod killed;
mod limits;
mod lock_waits;
mod members;
mod packet_size;
mod replica;
mod rollup;
mod sentinel;
mod snapshot_isolation;
mod sql_prepared;
mod stalled;
mod stopping;
mod streaming;

// `golden` shares files with the tests of the response tracker, which name it as that crate does.
use countersink::wire;

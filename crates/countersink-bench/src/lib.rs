//! Load clients, and the two commands that use them to measure: the demo, on a server of its own, and the benchmark, on
//! the user's server.
//!
//! The binary contains both commands, so the proxy's package depends on this crate, and this crate cannot use the
//! proxy. It gets what it needs through the traits in [`lent`].
//!
//! # Layout
//!
//! | module | content |
//! |---|---|
//! | [`lent`] | what the binary provides: a cheap MySQL client, and the proxy |
//! | [`clients`] | a client for single statements, many clients for load, and their results |
//! | [`mod@bench`] | the modes in turns, in a schema that is created and removed again; the report |
//! | [`demo`] | a throwaway server, one hot row, directly and through the proxy |

pub mod lent;

pub mod clients;

pub mod bench;
pub mod demo;

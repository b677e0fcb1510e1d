//! Load clients, and the two commands that measure with them: the demo, on a server of its own, and the benchmark, on
//! the user's.
//!
//! The binary has both commands in it, so the proxy's package depends on this crate, and this crate cannot use the
//! proxy: what it needs of it is lent, as [`lent`] says.
//!
//! # Layout
//!
//! | module | what it has |
//! |---|---|
//! | [`lent`] | what the binary lends: a MySQL client that costs little, and the proxy |
//! | [`clients`] | one client that asks, and many that load; what they write down |
//! | [`mod@bench`] | the modes in turns, in a schema that comes and goes; the report |
//! | [`demo`] | a throwaway server, one hot row, directly and through the proxy |

pub mod lent;

pub mod clients;

pub mod bench;
pub mod demo;

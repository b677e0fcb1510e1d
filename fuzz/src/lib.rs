//! What is fuzzed: for each target a function that takes any bytes and panics if they show a bug. libFuzzer calls them
//! (`fuzz_targets`), and so does a bounded run without it (`tests/bounded.rs`). See README.md.

mod fixture;
mod input;
mod targets;
mod transport;

pub mod compressed;
pub mod corpus;
pub mod lexer;
pub mod login;
pub mod mutation;
pub mod packets;
pub mod planner;
pub mod proxy_header;
pub mod response_tracker;
pub mod rules;
pub mod shapes;

pub use targets::{TARGETS, Target};

// Files of the proxy's own tests are compiled here as well, and call them by these names.
use countersink::{catalog, sql, wire};

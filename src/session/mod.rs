//! One client and its upstream connection, from login to close.
//!
//! From the top down; a floor uses those below it, and `tests/house/floors.rs` enforces that:
//!
//! - `run` is the loop: it waits for a command, and hands it on by its first byte. `connect` relays the login before
//!   it.
//! - `command` has the client's commands: text, prepared statements of both kinds, several statements in one packet,
//!   EXPLAIN, and statements that ask about the one before. Each finds its plan and has it acted on.
//! - `act` does what a plan says: increment, read, fold, write, DDL.
//! - Beside them are the questions that a session asks its upstream: its variables (`session_variables`,
//!   `user_variables`), which tables it sees (`tables_in_sight`), what the server would refuse (`refusal`), what the
//!   account may do (`rights`), which columns a text has (`definitions`), which diagnostics to keep (`diagnostics`),
//!   what has interrupted a statement of the proxy's (`interrupted`), and what is set for one transaction
//!   (`one_shot`). `plan` finds the plan of a statement; `effects` takes in what its kind does to the session.
//! - `reply` is what the client is sent. `exchange` is what is sent to the upstream, and what is learnt from each
//!   response.
//! - `link` holds the two sockets; it passes, rewrites and reads responses.
//! - `state` is what one session knows of itself, `shared` what all sessions share.

mod act;
mod command;
pub mod connect;
mod definitions;
mod diagnostics;
mod effects;
mod error;
mod error_kind;
mod exchange;
mod interrupted;
mod link;
mod literal;
mod one_shot;
mod parameters;
mod plan;
mod refusal;
mod reply;
mod rights;
mod run;
mod session_variables;
mod shared;
mod state;
mod tables_in_sight;
mod text;
mod user_variables;

pub use error::Error;
pub use run::Session;
pub use shared::hot_tables::{Hot, Known};
pub use shared::plans::KeptPlan;
pub use shared::registry::{Glimpse, Sessions};
pub use shared::{Replaced, Shared};

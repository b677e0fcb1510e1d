//! One client and its upstream connection, from login to close.
//!
//! - `connect` relays the handshake. `link` holds the two sockets, and passes, rewrites and reads responses. `exchange` is
//!   what the session does over its link, and what it learns from each response.
//! - `shared` is what all sessions share: hot tables, plans, the registry. `state` is what one session knows of itself.
//! - `query`, `prepared` and its `execution` find statements on hot tables and act on their plan; `by_shape` fills a
//!   shared plan with its literals.
//! - `increment`, `read` and `fold` are the ways to act. `moving` moves a fold's slots, `folded` does so in the
//!   client's transaction, and `second_run` confines what it has run to the rows that it has changed.
//! - They run internal statements on the client's own upstream connection, and pass rewritten responses on.

mod as_in_snapshot;
mod as_update;
mod asking;
mod by_shape;
mod combine;
mod command;
pub mod connect;
mod ddl;
mod definitions;
mod diagnostics;
mod error;
mod exchange;
mod execution;
mod explain;
mod facts;
mod fold;
mod folded;
mod increment;
mod kind;
mod leading;
mod link;
mod literal;
mod moving;
mod one_shot;
mod out_of_sight;
mod parameters;
mod prepared;
mod query;
mod read;
mod refusal;
mod rights;
mod second_run;
mod several;
mod shared;
mod sighted;
mod sql_prepared;
mod stale;
mod state;
mod turn;
mod user_variables;
mod write;

pub use command::Session;
pub use error::Error;
pub use shared::hot::{Hot, Known};
pub use shared::plans::KeptPlan;
pub use shared::registry::{Glimpse, Sessions};
pub use shared::{Replaced, Shared};

//! One client and its upstream connection, from login to close.
//!
//! `connect` relays the handshake; `relay` passes bytes, `farewell` the reason why there are no more; `query`, `prepared` and its `execution` find statements on hot
//! tables and act on their plan by `increment`, `read` and `fold` (whose slots `moving` moves; `by_shape` fills a shared plan with its literals), which run `hidden`
//! statements on the client's own upstream connection and pass `patched` answers on.

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
mod execution;
mod explain;
mod facts;
mod farewell;
mod fold;
mod folded;
mod hidden;
mod hot;
mod increment;
mod kind;
mod leading;
mod literal;
mod moving;
mod one_shot;
mod out_of_sight;
mod parameters;
mod patched;
mod planning;
mod plans;
mod prepared;
mod query;
mod read;
mod refusal;
mod registry;
mod relay;
mod rights;
mod savepoints;
mod several;
mod shared;
mod sighted;
mod spool;
mod sql_prepared;
mod stale;
mod state;
mod timing;
mod tracked;
mod transaction;
mod turn;
mod user_variables;
mod write;

pub use command::Session;
pub use error::Error;
pub use hot::{Hot, Known};
pub use plans::KeptPlan;
pub use registry::{Glimpse, Sessions};
pub use shared::{Replaced, Shared};

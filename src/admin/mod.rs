//! What an operator looks at: metrics, the dashboard and health over HTTP, and a console that speaks SQL.

mod console;
mod dashboard;
mod exposition;
mod http;
mod port;
mod recent_log;
mod status;

pub use console::{Desk, serve as serve_console};
pub use http::{State, serve as serve_http};
pub use port::{Error, Port};
pub use recent_log::{Keeper, RecentLog, Record};

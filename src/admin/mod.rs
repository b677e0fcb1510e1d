//! What an operator looks at: metrics, the dashboard and health over HTTP, and a console that speaks SQL.

mod console;
mod dashboard;
mod exposition;
mod http;
mod recent_log;
mod status;

pub use console::{Console, Desk, Error as ConsoleError};
pub use http::{Error, Http, State};
pub use recent_log::{Keeper, RecentLog, Record};

//! What an operator looks at: metrics, the dashboard and health over HTTP.

mod dashboard;
mod exposition;
mod http;
mod status;

pub use http::{Error, Http, State};

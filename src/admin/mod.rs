//! What an operator looks at: metrics and health over HTTP.

mod exposition;
mod http;

pub use http::{Error, Http, State};

//! Countersink: a MySQL proxy that makes hot counter rows fast without changing the application.

pub mod catalog;
pub mod cli;
pub mod config;
pub mod counter;
pub mod driver;
pub mod metrics;
pub mod net;
pub mod reason;
pub mod sandbox;
pub mod server;
pub mod session;
pub mod sql;
pub mod wire;

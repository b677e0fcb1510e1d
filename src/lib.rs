//! Countersink: a MySQL proxy that makes hot counter rows fast without changing the application.

pub mod catalog;
pub mod cli;
pub mod config;
pub mod counter;
pub mod net;
pub mod sql;
pub mod wire;

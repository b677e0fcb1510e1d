//! Packets to bytes and back, without I/O: this module has no sockets, clocks or locks.
//!
//! The modules follow the chapters of the MySQL manual's "Client/Server Protocol".

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

pub mod bulk_execute;
pub mod capability;
pub mod column;
pub mod command;
pub mod execute;
pub mod handshake;
pub mod materialized;
pub mod packet;
pub mod reader;
pub mod reply;
pub mod response;
pub mod result_set;
pub mod session_state;
pub mod status;

/// Error numbers by the servers' names. They are in a crate of their own because the load clients need them too.
pub use countersink_server_errors as error_code;

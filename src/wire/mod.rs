//! Bytes to packets and back, pure: this room never sees a socket, a clock or a lock.
//!
//! The rooms follow the chapters of the MySQL manual's "Client/Server Protocol".

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

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

/// Error numbers by the servers' names: a crate, for the load clients know them as well.
pub use countersink_server_errors as error_code;

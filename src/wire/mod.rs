//! Bytes to packets and back, pure: this room never sees a socket, a clock or a lock.
//!
//! The rooms follow the chapters of the MySQL manual's "Client/Server Protocol".

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

pub mod capability;
pub mod command;
pub mod handshake;
pub mod packet;
pub mod reader;
pub mod reply;
pub mod status;

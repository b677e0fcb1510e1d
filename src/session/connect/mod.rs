//! The connection phase: the handshake is relayed, and MySQL itself authenticates every client.
//!
//! - [`connect`]: dial, relay the handshake, hand both sides over
//! - `handshake`: pass the initial handshake, take the client's answer, secure both sides, log in
//! - `exchange`: packets of the authentication plugins, both ways, until OK or ERR
//! - `leave`: how a login that does not go through is ended upstream
//! - `bridge`: what must be changed on the way when only one side is secure; decides, touches no socket
//! - `socket_account`: accounts that a unix socket lets in without a proof, and so must be refused
//! - `password`: RSA for the bridge
//! - [`change_user`]: the same exchange for COM_CHANGE_USER
//!
//! A *secure* side is one on which a plugin lets a password travel in the clear: TLS, for some a unix socket.
//!
//! Memory: packets of this phase are at most [`PACKET_LIMIT`] bytes, one is held at a time.

mod bridge;
mod change_user;
mod connected;
mod error;
mod exchange;
mod handshake;
mod leave;
mod password;
mod peer;
mod setup;
mod socket_account;

#[cfg(test)]
mod tests;

pub use change_user::{ChangeUserOutcome, Reauthentication, change_user};
pub use connected::{Connected, Login, connect};
pub use error::ConnectError;
pub use password::{PasswordError, PasswordKey};
pub use setup::{ConnectSetup, UpstreamTls};

/// Largest packet of the connection phase, in bytes.
pub const PACKET_LIMIT: usize = 64 * 1024;

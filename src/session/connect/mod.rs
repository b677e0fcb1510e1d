//! The connection phase: the proxy relays the handshake, and MySQL itself authenticates every client.
//!
//! - [`connect`]: dials the upstream, relays the handshake, and returns both sides
//! - `admission`: how many clients are let in
//! - `handshake`: relays the initial handshake and the client's response, sets up TLS on both sides, and logs in
//! - `exchange`: relays packets of authentication plugins in both directions until OK or ERR
//! - `leave`: ends an unfinished login on the upstream
//! - `bridge`: decides what must be converted when only one side is secure; it touches no socket
//! - `socket_account`: refuses accounts that a unix socket would let in without a password
//! - `password`: RSA for the bridge
//! - [`change_user`]: the same exchange for COM_CHANGE_USER
//!
//! A *secure* side is one on which a plugin permits a password in the clear: TLS, and for some plugins a unix socket.
//!
//! Memory: a packet of this phase has at most [`PACKET_LIMIT`] bytes, and one is held at a time.

mod admission;
mod bridge;
mod change_user;
mod connected;
mod error;
mod exchange;
mod handshake;
mod leave;
mod login;
mod password;
mod peer;
mod setup;
mod socket_account;

#[cfg(test)]
mod tests;

pub use admission::{Admission, Full, Place};
pub use change_user::{ChangeUserOutcome, Reauthentication, change_user};
pub use connected::{Connected, connect, relay};
pub use error::ConnectError;
pub use login::Login;
pub use password::{PasswordError, PasswordKey};
pub use setup::{ConnectSetup, OfferedTls, UpstreamTls};

/// Maximum payload of a packet in the connection phase, in bytes.
pub const PACKET_LIMIT: usize = 64 * 1024;

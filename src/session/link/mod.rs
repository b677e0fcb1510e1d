//! The two sockets of a session, and the bytes between them.
//!
//! - `relay` passes commands and responses on as they came; `rewrite` passes a response on packet by packet and
//!   changes what the client must not see.
//! - `internal` reads the responses to internal statements; no client sees those.
//! - `definitions` are the columns that the client sees in place of a rewritten statement's.
//! - `transaction_state` and `tracked` keep what OK packets report on the transaction to what the client's own
//!   statements did.
//! - `spool` holds a response back until the transaction's locks are released.
//! - `close` tells the client why the session ends; `timing` measures where a command's time goes.
//!
//! Nothing here knows a hot table, a plan or a transaction. What a response says about the session is returned to the
//! caller, in a [`ResponseTracker`](crate::wire::response::ResponseTracker).

mod close;
pub(super) mod definitions;
pub(super) mod internal;
mod relay;
pub(super) mod rewrite;
mod spool;
#[cfg(test)]
mod tests;

pub(super) mod timing;
pub(super) mod tracked;
pub(super) mod transaction_state;

use std::time::Instant;

use close::Answered;
use timing::Timing;

use crate::net::PacketStream;

/// A client's connection, and the upstream connection that was opened for it.
pub(crate) struct Link {
    pub client: PacketStream,
    pub upstream: PacketStream,
    /// Capabilities as negotiated; the same on both sides except for TLS and compression.
    pub capabilities: u64,
    /// Where the time of the current command goes.
    pub timing: Timing,
    /// How much of the response to the current command the client has.
    pub answered: Answered,
    /// How much of the client's stream had been consumed when the current command began.
    command_at: u64,
    /// The last ERR payload to a statement of the proxy's that said that the transaction was rolled back.
    pub rolled_back: Option<Vec<u8>>,
    /// The current command of the client's has no response.
    pub is_unanswered: bool,
    /// Since the upstream's last response a command without one has been sent in a transaction, in answer to which the
    /// server may have wanted to say that the transaction is lost.
    pub owes_loss: bool,
    /// The client has closed its sending side.
    pub client_closed: bool,
    /// The sending side toward the upstream is shut down, because the client has closed: nothing more can be sent
    /// there.
    pub shutdown_sent: bool,
    /// When the upstream was last heard from: it closes idle connections.
    pub heard: Instant,
    /// When the session last had a response, from its upstream or from another session that wrote for it.
    pub served: Instant,
}

impl Link {
    /// A link between two streams that have completed the login with these capabilities.
    pub fn new(client: PacketStream, upstream: PacketStream, capabilities: u64) -> Self {
        let now = Instant::now();
        Self {
            client,
            upstream,
            capabilities,
            timing: Timing::start(),
            answered: Answered::default(),
            command_at: 0,
            rolled_back: None,
            is_unanswered: false,
            owes_loss: false,
            client_closed: false,
            shutdown_sent: false,
            heard: now,
            served: now,
        }
    }
}

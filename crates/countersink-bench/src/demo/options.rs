//! What the demo is told.

use std::time::Duration;

use countersink_sandbox::Flavour;

/// Direct and through the proxy in turns, so that whatever else the machine does hits both.
pub(super) const ROUNDS: u32 = 2;

/// What to show.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server behind the proxy.
    pub flavour: Flavour,
    /// Clients that increment the one row at the same time.
    pub clients: u16,
    /// How long the load lasts each way: directly, and through the proxy.
    pub each_way: Duration,
    /// Where the proxy listens, as rules.yaml has it.
    pub listen: String,
    /// Keep the server and the proxy running afterwards, until Ctrl-C.
    pub keep: bool,
}

impl Options {
    /// How long one round lasts.
    pub(super) fn round(&self) -> Duration {
        self.each_way / ROUNDS
    }
}

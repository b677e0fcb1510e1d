//! Options of the demo.

use std::time::Duration;

use countersink_sandbox::Flavour;

/// Number of rounds. Direct and proxied load alternate, so that whatever else the machine does affects both.
pub(super) const ROUNDS: u32 = 2;

/// What to show.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server behind the proxy.
    pub flavour: Flavour,
    /// Number of clients that increment the one row concurrently.
    pub clients: u16,
    /// Total duration of the load in each way: directly, and through the proxy.
    pub each_way: Duration,
    /// Where the proxy listens, as in rules.yaml.
    pub listen: String,
    /// Keep the server and the proxy running afterwards, until Ctrl-C.
    pub keep: bool,
}

impl Options {
    /// Duration of one round.
    pub(super) fn round(&self) -> Duration {
        self.each_way / ROUNDS
    }
}

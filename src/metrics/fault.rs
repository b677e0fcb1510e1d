//! Who is at fault.

use tracing::Level;

/// Who is at fault for a client that was not connected, or a session that was lost. The metrics' label `side` and the
/// log's level follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client: it vanished, stalled, spoke another protocol, or was not let in.
    Client,
    /// The upstream: unreachable, full, lost, or not speaking the protocol.
    Upstream,
    /// The proxy: its rules, or the machine that it runs on.
    Proxy,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Client, Self::Upstream, Self::Proxy];

    /// The value of the label `side`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Proxy => "proxy",
        }
    }

    /// The level at which the log has a client that was not connected. What a client does wrong, the client is told;
    /// the rest is the operator's to put right.
    pub const fn level(self) -> Level {
        match self {
            Self::Client => Level::DEBUG,
            Self::Upstream | Self::Proxy => Level::WARN,
        }
    }
}

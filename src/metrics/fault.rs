//! Which side is at fault for a failed connection.

use tracing::Level;

/// Which side is at fault for a client that was not connected, or for a session that was lost. It determines the
/// metrics' label `side` and the log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client: it vanished, stalled, spoke another protocol, or was denied access.
    Client,
    /// The upstream: unreachable, full, lost, or not speaking the protocol.
    Upstream,
    /// The proxy: its rules, or the machine that it runs on.
    Proxy,
}

impl Fault {
    /// All sides.
    pub const ALL: [Self; 3] = [Self::Client, Self::Upstream, Self::Proxy];

    /// The value of the label `side`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Proxy => "proxy",
        }
    }

    /// The level at which a client that was not connected is logged. A client learns of its own mistakes from the error
    /// that it gets; the others are for the operator to fix.
    pub const fn level(self) -> Level {
        match self {
            Self::Client => Level::DEBUG,
            Self::Upstream | Self::Proxy => Level::WARN,
        }
    }
}

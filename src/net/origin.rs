//! Where clients come from.

use std::fmt;
use std::net::SocketAddr;

/// Where a client has connected from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Over TCP.
    Tcp {
        /// From this address.
        from: SocketAddr,
        /// To this one.
        to: SocketAddr,
    },
    /// Over a unix socket, from this machine.
    Unix,
}

/// As SHOW PROCESSLIST has it.
impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { from, .. } => from.fmt(formatter),
            Self::Unix => formatter.write_str("localhost"),
        }
    }
}

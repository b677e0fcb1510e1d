//! Why a session ended in the middle of a command, and on whose side.

use std::io;

use crate::metrics::Fault;
use crate::net::ReadError;
use crate::session::connect::ConnectError;
use crate::wire::reader::Malformed;

/// A session's end. Each variant is one side at fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client vanished or sent what is no packet.
    #[error("client: {0}")]
    Client(#[source] ReadError),
    /// The upstream vanished or sent what is no packet.
    #[error("upstream: {0}")]
    Upstream(#[source] ReadError),
    /// The upstream did not take what was to be sent. It may have said why.
    #[error("upstream: connection lost: {0}")]
    NotSent(#[source] io::Error),
    /// COM_CHANGE_USER was not carried through.
    #[error(transparent)]
    ChangeUser(#[from] ConnectError),
    /// The session that had written this one's increment lost its upstream before the answer: whether it was committed
    /// is not known, which is what a client without the proxy would be left with.
    #[error("upstream: lost with an increment of this session on its way")]
    Batch,
    /// A transaction of our own could neither be committed nor rolled back, and would take in what the client does
    /// next.
    #[error("upstream: a transaction of the proxy's own could not be ended")]
    Open,
    /// The statement was planned by tables that have been altered past the proxy since. No session ends by it: whoever
    /// runs the statement plans it anew.
    #[error("stale plan")]
    Stale,
    /// What was kept of an answer cannot be read again.
    #[error("an answer that waited in a temporary file: {0}")]
    Spool(#[source] io::Error),
    /// The upstream's answer makes no sense at this point.
    #[error("upstream: {0}")]
    Answer(#[from] Malformed),
}

impl Error {
    /// A failed write to the client.
    pub(crate) fn client(error: io::Error) -> Self {
        Self::Client(error.into())
    }

    /// A failed read from the upstream.
    pub(crate) fn upstream(error: io::Error) -> Self {
        Self::Upstream(error.into())
    }

    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Client(_) => Fault::Client,
            Self::ChangeUser(error) => error.fault(),
            Self::Upstream(_)
            | Self::NotSent(_)
            | Self::Batch
            | Self::Open
            | Self::Stale
            | Self::Answer(_) => Fault::Upstream,
            // Its own disk.
            Self::Spool(_) => Fault::Proxy,
        }
    }
}

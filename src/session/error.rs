//! Why a session ended in the middle of a command, and which side is at fault.

use std::io;

use crate::metrics::Fault;
use crate::net::ReadError;
use crate::session::connect::ConnectError;
use crate::wire::reader::Malformed;

/// Why a session ended. Each variant puts one side at fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client vanished, or sent something that is not a packet.
    #[error("client: {0}")]
    Client(#[source] ReadError),
    /// The upstream vanished, or sent something that is not a packet.
    #[error("upstream: {0}")]
    Upstream(#[source] ReadError),
    /// The upstream did not take what was sent to it. It may have said why.
    #[error("upstream: connection lost: {0}")]
    NotSent(#[source] io::Error),
    /// COM_CHANGE_USER was not completed.
    #[error(transparent)]
    ChangeUser(#[from] ConnectError),
    /// The session that wrote this one's increment lost its upstream before the response. Whether the increment was
    /// committed is not known, just as it would not be without the proxy.
    #[error("upstream: lost with an increment of this session on its way")]
    Batch,
    /// A transaction of the proxy's own could be neither committed nor rolled back, and would take in what the client
    /// does next.
    #[error("upstream: a transaction of the proxy's own could not be ended")]
    Open,
    /// The statement was planned by tables that have since been altered past the proxy. No session ends with this
    /// error: the caller plans the statement again.
    #[error("stale plan")]
    Stale,
    /// The client's transaction, or one of the proxy's own, is gone (`State::lost`). No session ends with this error:
    /// the client is told, or the transaction is begun again.
    #[error("the transaction was rolled back")]
    Lost,
    /// A response that was kept in a temporary file cannot be read back.
    #[error("an answer that waited in a temporary file: {0}")]
    Spool(#[source] io::Error),
    /// The upstream's response makes no sense at this point.
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

    /// Which side is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Client(_) => Fault::Client,
            Self::ChangeUser(error) => error.fault(),
            Self::Upstream(_)
            | Self::NotSent(_)
            | Self::Batch
            | Self::Open
            | Self::Stale
            | Self::Lost
            | Self::Answer(_) => Fault::Upstream,
            // The proxy's own disk failed.
            Self::Spool(_) => Fault::Proxy,
        }
    }
}

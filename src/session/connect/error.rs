//! Why a client was not connected, whose fault it is, and what the client is told.

use std::io;
use std::time::Duration;

use super::password::PasswordError;
use crate::config::Address;
use crate::net::ReadError;
use crate::wire::reader::Malformed;
use crate::wire::reply;

/// Who caused a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client: vanished, stalled, spoke no protocol of ours, or was not let in.
    Client,
    /// The upstream: unreachable, full, or not speaking the protocol.
    Upstream,
    /// The proxy, as it is set up.
    Proxy,
}

/// A connection that did not come about. Where the client can be told, it has been.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The client vanished, or sent more than a packet of this phase may hold.
    #[error("client: {0}")]
    Client(#[source] ReadError),
    /// The client took longer than the handshake timeout.
    #[error("client: handshake not finished in time")]
    ClientStalled,
    /// The client's packet makes no sense.
    #[error("client: {0}")]
    ClientPacket(#[source] Malformed),
    /// The client asked for TLS that it was not offered.
    #[error("client: asks for TLS where none is offered")]
    ClientTlsNotOffered,
    /// The client is older than the 4.1 protocol.
    #[error("client: protocol older than 4.1")]
    ClientTooOld,
    /// The TLS handshake with the client failed.
    #[error("client: TLS: {0}")]
    ClientTls(#[source] io::Error),
    /// MySQL did not let the client in.
    #[error("login refused: {code} {message}")]
    Denied {
        /// MySQL's error code.
        code: u16,
        /// MySQL's message.
        message: String,
    },
    /// The upstream could not be reached.
    #[error("upstream: cannot connect: {0}")]
    Unreachable(#[source] io::Error),
    /// The upstream took longer than the handshake timeout to accept the connection or to greet.
    #[error("upstream: no greeting within {} s", .0.as_secs_f32())]
    UpstreamSilent(Duration),
    /// The upstream sent an error in place of its greeting.
    #[error("upstream: refuses connections: {code} {message}")]
    Refused {
        /// MySQL's error code.
        code: u16,
        /// MySQL's message.
        message: String,
    },
    /// The upstream vanished, or sent more than a packet of this phase may hold.
    #[error("upstream: {0}")]
    Upstream(#[source] ReadError),
    /// The upstream's packet makes no sense.
    #[error("upstream: {0}")]
    UpstreamPacket(#[source] Malformed),
    /// The upstream speaks another protocol.
    #[error("upstream: protocol version {0} instead of 10")]
    UpstreamVersion(u8),
    /// TLS is required toward the upstream, which does not offer it.
    #[error("upstream: TLS is required and not offered")]
    UpstreamWithoutTls,
    /// The TLS handshake with the upstream failed.
    #[error("upstream: TLS: {0}")]
    UpstreamTls(#[source] io::Error),
    /// A password could not be passed from a plain side to a secure one or back.
    #[error("{plugin}: {source}")]
    Password {
        /// The authentication plugin.
        plugin: &'static str,
        /// What went wrong.
        source: PasswordError,
    },
}

/// The ERR packet that a client gets.
struct Answer {
    code: u16,
    sql_state: &'static [u8; 5],
    message: String,
}

impl ConnectError {
    /// A failed write to the client.
    pub(super) fn client(error: io::Error) -> Self {
        Self::Client(error.into())
    }

    /// A failed write to the upstream.
    pub(super) fn upstream(error: io::Error) -> Self {
        Self::Upstream(error.into())
    }

    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Client(_)
            | Self::ClientStalled
            | Self::ClientPacket(_)
            | Self::ClientTlsNotOffered
            | Self::ClientTooOld
            | Self::ClientTls(_)
            | Self::Denied { .. } => Fault::Client,
            Self::Unreachable(_)
            | Self::UpstreamSilent(_)
            | Self::Refused { .. }
            | Self::Upstream(_)
            | Self::UpstreamPacket(_)
            | Self::UpstreamVersion(_) => Fault::Upstream,
            Self::UpstreamWithoutTls | Self::UpstreamTls(_) => Fault::Proxy,
            Self::Password { source, .. } => source.fault(),
        }
    }

    /// The payload of the ERR packet that tells the client, or `None` where it has been told by MySQL, is gone,
    /// or would not understand.
    pub(super) fn answer(&self, upstream: &Address) -> Option<Vec<u8>> {
        let answer = self.explain(upstream)?;
        let mut payload = Vec::new();
        reply::Err {
            code: answer.code,
            sql_state: answer.sql_state,
            message: answer.message.as_bytes(),
        }
        .encode(&mut payload);
        Some(payload)
    }

    fn explain(&self, upstream: &Address) -> Option<Answer> {
        // Codes and texts are those that the client's own library, or MySQL, has for the case.
        let (code, sql_state, message) = match self {
            Self::ClientStalled | Self::ClientTls(_) => return None,
            Self::Denied { .. } | Self::Refused { .. } => return None,
            Self::Client(ReadError::TooLong { length, limit }) => (
                1153,
                b"08S01",
                format!(
                    "countersink: login packet of {length} bytes, at most {limit} are accepted; \
                     is this a MySQL client?"
                ),
            ),
            Self::Client(_) => return None,
            Self::ClientPacket(_) => (1043, b"08S01", "countersink: Bad handshake".to_owned()),
            Self::ClientTlsNotOffered => (
                2026,
                b"HY000",
                "countersink: TLS was requested, but this proxy was not set up to offer it"
                    .to_owned(),
            ),
            Self::ClientTooOld => (
                1251,
                b"08004",
                "countersink: Client does not support the 4.1 protocol; consider upgrading MySQL client"
                    .to_owned(),
            ),
            Self::Unreachable(error) => (
                2003,
                b"HY000",
                format!(
                    "Can't connect to MySQL server on '{upstream}' ({error}): countersink cannot reach \
                     its upstream; is it running, and is the upstream address in the rules right?"
                ),
            ),
            Self::UpstreamSilent(waited) => (
                2003,
                b"HY000",
                format!(
                    "Can't connect to MySQL server on '{upstream}': countersink waited {} s for \
                     its upstream's greeting; is the server overloaded, or something else on that port?",
                    waited.as_secs_f32()
                ),
            ),
            Self::Upstream(error) => (
                2013,
                b"HY000",
                format!("Lost connection to MySQL server on '{upstream}' behind countersink: {error}"),
            ),
            Self::UpstreamPacket(_) => (
                2027,
                b"HY000",
                format!("Malformed packet from '{upstream}' behind countersink; is it a MySQL server?"),
            ),
            Self::UpstreamVersion(version) => (
                2007,
                b"HY000",
                format!(
                    "Protocol mismatch: '{upstream}' behind countersink speaks version {version}, not 10; \
                     is it a MySQL server?"
                ),
            ),
            Self::UpstreamWithoutTls => (
                2026,
                b"HY000",
                format!(
                    "countersink: TLS toward '{upstream}' is required, but that server does not offer it; \
                     enable TLS there, or set the upstream's TLS mode to preferred or disabled"
                ),
            ),
            Self::UpstreamTls(error) => (
                2026,
                b"HY000",
                format!("countersink: TLS toward '{upstream}' failed: {error}"),
            ),
            Self::Password { plugin, source } => (
                2061,
                b"HY000",
                format!("Authentication plugin '{plugin}' reported error: countersink: {source}"),
            ),
        };
        Some(Answer {
            code,
            sql_state,
            message,
        })
    }
}

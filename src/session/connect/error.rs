//! Why a client was not connected, which side is at fault, and what the client is told.

use std::io;
use std::time::Duration;

use super::admission::Full;
use super::password::PasswordError;
use crate::config::Address;
use crate::metrics::Fault;
use crate::net::ReadError;
use crate::net::proxy_protocol::HeaderError;
use crate::wire::error_code::{
    ER_ACCESS_DENIED_ERROR, ER_CON_COUNT_ERROR, ER_CONNECT_TO_FOREIGN_DATA_SOURCE,
    ER_HANDSHAKE_ERROR, ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_READ_ERROR,
    ER_SECURE_TRANSPORT_REQUIRED, ER_TOO_MANY_USER_CONNECTIONS, ER_UNKNOWN_ERROR,
};
use crate::wire::reader::Malformed;
use crate::wire::reply;

/// A connection that could not be made. The client has been sent the error where possible.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The client closed the connection, or sent a longer packet than this phase permits.
    #[error("client: {0}")]
    Client(#[source] ReadError),
    /// The client took longer than the handshake timeout.
    #[error("client: handshake not finished in time")]
    ClientStalled,
    /// The connection comes from a balancer, and does not begin with a PROXY protocol header.
    #[error("client: {0}")]
    ProxyHeader(#[from] HeaderError),
    /// The client's packet is malformed.
    #[error("client: {0}")]
    ClientPacket(#[source] Malformed),
    /// The client's packet does not have the next sequence id.
    #[error("client: packets out of order")]
    ClientOutOfOrder,
    /// The client asked for TLS, which it was not offered.
    #[error("client: asks for TLS where none is offered")]
    ClientTlsNotOffered,
    /// The client does not use TLS, which is required of it.
    #[error("client: uses no TLS, which tls.client requires")]
    ClientWithoutTls {
        /// Whether the server is a MariaDB, which has another error for that.
        mariadb: bool,
    },
    /// The client has shown no certificate, which is required of it.
    #[error("client: shows no certificate, which tls.client_certificate requires")]
    ClientWithoutCertificate,
    /// The client does not support the 4.1 protocol.
    #[error("client: protocol older than 4.1")]
    ClientTooOld,
    /// The TLS handshake with the client failed.
    #[error("client: TLS: {0}")]
    ClientTls(#[source] io::Error),
    /// MySQL denied the client access.
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
    /// The upstream did not accept the connection and send its initial handshake within the handshake timeout.
    #[error("upstream: no greeting within {} s", .0.as_secs_f32())]
    UpstreamSilent(Duration),
    /// The upstream sent an error instead of its initial handshake.
    #[error("upstream: refuses connections: {code} {message}")]
    Refused {
        /// MySQL's error code.
        code: u16,
        /// MySQL's message.
        message: String,
    },
    /// The upstream closed the connection, or sent a longer packet than this phase permits.
    #[error("upstream: {0}")]
    Upstream(#[source] ReadError),
    /// The upstream's packet is malformed.
    #[error("upstream: {0}")]
    UpstreamPacket(#[source] Malformed),
    /// The upstream uses another protocol version.
    #[error("upstream: protocol version {0} instead of 10")]
    UpstreamVersion(u8),
    /// TLS to the upstream is required, and the upstream does not offer it.
    #[error("upstream: TLS is required and not offered")]
    UpstreamWithoutTls,
    /// The TLS handshake with the upstream failed.
    #[error("upstream: TLS: {0}")]
    UpstreamTls(#[source] io::Error),
    /// The upstream authenticated the client as the operating system user that the proxy runs as.
    #[error("login refused: {plugin} lets the proxy's own user in, whoever the client is")]
    SocketAccount {
        /// The account's plugin, or one of them.
        plugin: &'static str,
    },
    /// The upstream, reached over a unix socket, did not reveal which plugin authenticated the client.
    #[error("login refused: how the account logs in is not known: {message}")]
    UnknownAccount {
        /// The upstream's error message.
        message: String,
    },
    /// There are as many clients as there may be.
    #[error("{0}")]
    Full(#[from] Full),
    /// A password could not be passed between a plain side and a secure one.
    #[error("{plugin}: {source}")]
    Password {
        /// The authentication plugin.
        plugin: &'static str,
        /// What went wrong.
        source: PasswordError,
    },
}

impl ConnectError {
    /// An error of a write to the client.
    pub(super) fn client(error: io::Error) -> Self {
        Self::Client(error.into())
    }

    /// An error of a write to the upstream.
    pub(super) fn upstream(error: io::Error) -> Self {
        Self::Upstream(error.into())
    }

    /// Which side is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Client(_)
            | Self::ClientStalled
            | Self::ProxyHeader(_)
            | Self::ClientPacket(_)
            | Self::ClientOutOfOrder
            | Self::ClientTlsNotOffered
            | Self::ClientWithoutTls { .. }
            | Self::ClientWithoutCertificate
            | Self::ClientTooOld
            | Self::ClientTls(_)
            | Self::Denied { .. } => Fault::Client,
            Self::Unreachable(_)
            | Self::UpstreamSilent(_)
            | Self::Refused { .. }
            | Self::Upstream(_)
            | Self::UpstreamPacket(_)
            | Self::UpstreamVersion(_) => Fault::Upstream,
            Self::UpstreamWithoutTls
            | Self::UpstreamTls(_)
            | Self::SocketAccount { .. }
            | Self::UnknownAccount { .. }
            | Self::Full(_) => Fault::Proxy,
            Self::Password { source, .. } => source.fault(),
        }
    }

    /// The payload of the ERR packet to send to the client. `None` if MySQL has already sent one, the client is gone,
    /// or it would not understand. The packet has an SQLSTATE only if the client has been `greeted` with an initial
    /// handshake.
    pub(super) fn payload(&self, upstream: &Address, greeted: bool) -> Option<Vec<u8>> {
        let (code, sql_state) = self.code()?;
        let message = self.explanation(upstream);
        let error = reply::Err {
            code,
            sql_state,
            message: message.as_bytes(),
        };
        let mut payload = Vec::new();
        match greeted {
            true => error.encode(&mut payload),
            false => error.encode_as_greeting(&mut payload),
        }
        Some(payload)
    }

    /// Error code and SQLSTATE. The code must be in the server's range: MariaDB's client library treats an ERR packet
    /// with a code of the client's range (2000 and up) as forged, and reports a malformed packet instead.
    fn code(&self) -> Option<(u16, &'static [u8; 5])> {
        match self {
            Self::Client(ReadError::TooLong { .. }) => Some((ER_NET_PACKET_TOO_LARGE, b"08S01")),
            Self::Client(_) | Self::ClientStalled | Self::ClientTls(_) => None,
            Self::ProxyHeader(HeaderError::Read(_)) => None,
            Self::ProxyHeader(_)
            | Self::ClientPacket(_)
            | Self::ClientTlsNotOffered
            | Self::ClientTooOld => Some((ER_HANDSHAKE_ERROR, b"08S01")),
            Self::ClientWithoutTls { mariadb: false } => {
                Some((ER_SECURE_TRANSPORT_REQUIRED, b"HY000"))
            }
            Self::ClientOutOfOrder => Some((ER_NET_PACKETS_OUT_OF_ORDER, b"08S01")),
            Self::Denied { .. } | Self::Refused { .. } => None,
            Self::Upstream(_) => Some((ER_NET_READ_ERROR, b"08S01")),
            Self::Unreachable(_)
            | Self::UpstreamSilent(_)
            | Self::UpstreamPacket(_)
            | Self::UpstreamVersion(_)
            | Self::UpstreamWithoutTls
            | Self::UpstreamTls(_) => Some((ER_CONNECT_TO_FOREIGN_DATA_SOURCE, b"HY000")),
            Self::ClientWithoutTls { mariadb: true }
            | Self::ClientWithoutCertificate
            | Self::SocketAccount { .. }
            | Self::UnknownAccount { .. } => Some((ER_ACCESS_DENIED_ERROR, b"28000")),
            Self::Full(Full::User { .. }) => Some((ER_TOO_MANY_USER_CONNECTIONS, b"42000")),
            Self::Full(_) => Some((ER_CON_COUNT_ERROR, b"08004")),
            Self::Password { source, .. } => match source.fault() {
                Fault::Client => Some((ER_ACCESS_DENIED_ERROR, b"28000")),
                _ => Some((ER_UNKNOWN_ERROR, b"HY000")),
            },
        }
    }

    /// The error in terms that the client's user understands, and what to do about it.
    fn explanation(&self, upstream: &Address) -> String {
        match self {
            Self::Client(ReadError::TooLong { length, limit }) => format!(
                "countersink: login packet of {length} bytes where at most {limit} are accepted; is this a MySQL client?"
            ),
            Self::ProxyHeader(_) => {
                "countersink: Bad handshake: a PROXY protocol header is expected from this address; let the balancer there send \
                 one, or take the address out of proxy_protocol.from in the rules"
                    .to_owned()
            }
            Self::ClientPacket(_) => "countersink: Bad handshake".to_owned(),
            Self::ClientOutOfOrder => "countersink: Got packets out of order".to_owned(),
            Self::ClientTlsNotOffered => {
                "countersink: TLS requested, but it is not offered here; set it up in the rules, or switch it off in the client".to_owned()
            }
            // As the server's own.
            Self::ClientWithoutTls { mariadb: false } => {
                "Connections using insecure transport are prohibited while --require_secure_transport=ON."
                    .to_owned()
            }
            Self::ClientWithoutTls { mariadb: true } => {
                "Access denied: countersink: connections without TLS are prohibited; let the client use it (--ssl)".to_owned()
            }
            Self::ClientWithoutCertificate => {
                "Access denied: countersink: a client certificate is required; let the client show one (--ssl-cert, --ssl-key)".to_owned()
            }
            Self::ClientTooOld => {
                "countersink: Bad handshake: the client does not support the 4.1 protocol; consider upgrading MySQL client".to_owned()
            }
            Self::Unreachable(error) => format!(
                "Can't connect to MySQL server on '{upstream}' ({error}): countersink cannot reach its upstream; is it running, and is its address right in the rules?"
            ),
            Self::UpstreamSilent(waited) => format!(
                "Can't connect to MySQL server on '{upstream}': countersink waited {} s for its upstream to answer; is it overloaded, or is that port another service's?",
                waited.as_secs_f32()
            ),
            Self::Upstream(error) => format!(
                "Lost connection to MySQL server on '{upstream}' behind countersink during login: {error}"
            ),
            Self::UpstreamPacket(_) => format!(
                "Malformed packet from '{upstream}' behind countersink; is it a MySQL server?"
            ),
            Self::UpstreamVersion(version) => format!(
                "Protocol mismatch: '{upstream}' behind countersink speaks version {version} instead of 10; is it a MySQL server?"
            ),
            Self::UpstreamWithoutTls => format!(
                "countersink: TLS toward '{upstream}' is required, but that server does not offer it; enable it there, or make it preferred or disabled in the rules"
            ),
            Self::UpstreamTls(error) => {
                format!(
                    "countersink: TLS toward '{upstream}' failed: {error}; \
                     check that server's certificate, and the authorities in the rules"
                )
            }
            Self::SocketAccount { plugin } => format!(
                "Access denied: countersink: '{plugin}' would let every client in as the proxy's own user of the operating system; \
                 give the account a plugin with a password, or let countersink reach its upstream over TCP"
            ),
            Self::UnknownAccount { message } => format!(
                "Access denied: countersink: over a unix socket it must know the account's plugin, and the server does not tell \
                 ({message}); log in directly, or let countersink reach its upstream over TCP"
            ),
            Self::Password { plugin, source } => {
                format!("Authentication plugin '{plugin}' reported error: countersink: {source}")
            }
            other => other.to_string(),
        }
    }
}

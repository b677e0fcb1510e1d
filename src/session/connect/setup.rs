//! What a listener needs to connect its clients.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::admission::Admission;
use super::password::PasswordKey;
use crate::config::{ProxyProtocol, UpstreamCompression};
use crate::net::Route;
use crate::net::tls::{Acceptor, UpstreamConnector};
use crate::wire::capability;

/// Whether the upstream side is encrypted. A unix socket never is; it counts as secure without TLS.
#[derive(Clone)]
pub enum UpstreamTls {
    /// Never.
    Disabled,
    /// If the server offers it.
    Preferred(UpstreamConnector),
    /// For clients that use TLS themselves, if the server offers it or if `is_required`.
    AsClient {
        /// Performs the TLS handshake.
        connector: UpstreamConnector,
        /// These clients are refused if the server does not offer TLS.
        is_required: bool,
    },
    /// Always. All clients are refused if the server does not offer TLS.
    Required(UpstreamConnector),
}

/// The TLS that clients are offered.
#[derive(Clone)]
pub struct OfferedTls {
    /// Performs the TLS handshake.
    pub acceptor: Arc<Acceptor>,
    /// Clients over TCP that do not use it are refused.
    pub is_required: bool,
    /// Clients that use it and show no certificate are refused.
    pub needs_certificate: bool,
}

/// How connections are made. Shared by all sessions of a listener.
pub struct ConnectSetup {
    /// Who is let in.
    pub admission: Arc<Admission>,
    /// Who says where clients have connected from, and whether the server is told.
    pub proxy_protocol: ProxyProtocol,
    /// Where MySQL listens.
    pub route: Arc<Route>,
    /// How long a client waits for another server to take the place of one that cannot be reached. Zero where there
    /// are not several.
    pub failover_patience: Duration,
    /// TLS to MySQL.
    pub upstream_tls: UpstreamTls,
    /// Compression of the clients' connections to MySQL.
    pub upstream_compression: UpstreamCompression,
    /// The TLS that clients are offered, if any.
    pub client_tls: Option<OfferedTls>,
    /// The key that clients on a plain connection use to encrypt a password that the upstream expects in the clear.
    pub password_key: Arc<PasswordKey>,
    /// The upstream's RSA key as PEM, if it was configured. Passwords that arrive over TLS are encrypted with it for a
    /// plain upstream.
    pub upstream_key: Option<Arc<ArcSwap<Vec<u8>>>>,
    /// How long the client may take for its whole side of the handshake, and how long the upstream may take until it
    /// has sent its initial handshake.
    pub handshake_timeout: Duration,
}

impl ConnectSetup {
    /// The flags of a client with the compression that a server is asked for which offers the flags `offered`.
    pub(super) fn compressed(&self, flags: u64, offered: u64) -> u64 {
        const EITHER: u64 = capability::COMPRESS | capability::ZSTD_COMPRESSION;
        let wanted = match self.upstream_compression {
            UpstreamCompression::AsClient => return flags,
            UpstreamCompression::Disabled => 0,
            UpstreamCompression::Zlib => capability::COMPRESS,
            UpstreamCompression::Zstd => capability::ZSTD_COMPRESSION,
        };
        flags & !EITHER | wanted & offered
    }

    /// How long a server may take until it says something. Where there are several, another may have taken its place,
    /// and is to be looked for before the client gives up.
    pub(super) fn time_to_greet(&self) -> Duration {
        match self.failover_patience.is_zero() {
            true => self.handshake_timeout,
            false => self.handshake_timeout.min(self.failover_patience),
        }
    }
}

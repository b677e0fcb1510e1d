//! What a listener knows before any client comes.

use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::TlsAcceptor;

use super::password::PasswordKey;
use crate::config::Address;
use crate::net::tls::UpstreamConnector;

/// Whether the upstream side is encrypted. A unix socket never is; it counts as secure as it stands.
#[derive(Clone)]
pub enum UpstreamTls {
    /// Never.
    Disabled,
    /// When the server offers it.
    Preferred(UpstreamConnector),
    /// For clients that have it themselves, when the server offers it or `is_required`.
    AsClient {
        /// Makes it.
        connector: UpstreamConnector,
        /// A server that does not offer it is refused to them.
        is_required: bool,
    },
    /// Always: a server that does not offer it is refused.
    Required(UpstreamConnector),
}

/// How connections are made. Shared by all sessions of a listener.
pub struct ConnectSetup {
    /// Where MySQL listens.
    pub upstream: Address,
    /// Encryption toward MySQL.
    pub upstream_tls: UpstreamTls,
    /// Encryption that clients are offered, if any.
    pub client_tls: Option<TlsAcceptor>,
    /// The key with which clients on a plain connection encrypt a password that the upstream takes in the clear.
    pub password_key: Arc<PasswordKey>,
    /// The upstream's RSA key, PEM text, known beforehand: passwords that come by TLS may cross to a plain upstream
    /// under it.
    pub upstream_key: Option<Arc<[u8]>>,
    /// How long the client may take over its whole side of the handshake, and how long the upstream may take
    /// until its initial handshake.
    pub handshake_timeout: Duration,
}

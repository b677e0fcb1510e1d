//! Why the control account has no connection, and what to do about it.

use std::time::Duration;

use mysql_async::{DriverError, Error as DriverFailure, IoError, TlsError};

use crate::config::{Address, Config};
use crate::counter::grants;
use crate::wire::error_code::is_login_refused;

/// The remedy for files that cannot be used.
pub(super) const WRONG_FILES: &str = "correct the files that upstream_tls names";

/// Why the control account has no connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing answers there.
    #[error("upstream: {address} cannot be reached: {why}; start the server, or correct upstream")]
    Unreachable {
        /// The address.
        address: String,
        /// Why.
        why: String,
    },
    /// The server refuses the account.
    #[error(
        "control: the server refuses the account: {message}; correct control.user and control.password, or make the account:{statements}"
    )]
    Denied {
        /// The server's words.
        message: String,
        /// Statements for a DBA, each on a line of its own.
        statements: String,
    },
    /// TLS fails or is missing.
    #[error("upstream_tls: {address}: {why}; {remedy}")]
    Tls {
        /// The address.
        address: String,
        /// Why.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Of several servers none takes writes.
    #[error(
        "upstreams: none takes writes: {states}; let one of them be the primary (SET GLOBAL read_only = OFF), or correct upstreams"
    )]
    NoPrimary {
        /// Each address, and what is the matter with its server.
        states: String,
    },
    /// Several servers take writes, and it is not certain which is to.
    #[error(
        "upstreams: {addresses} take writes, and only one can be the primary; let the others be read-only (SET GLOBAL read_only = ON)"
    )]
    SeveralPrimaries {
        /// Their addresses.
        addresses: String,
    },
    /// Another server took the place of the one that was asked, which may never answer.
    #[error("upstream: another server has taken its place meanwhile")]
    Replaced,
    /// Something else.
    #[error("upstream: {address}: {source}")]
    Other {
        /// The address.
        address: String,
        /// Why.
        source: DriverFailure,
    },
}

impl Error {
    /// Whether rules.yaml (or the account that it names) is to be corrected, rather than the server waited for.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::Tls { .. })
    }
}

/// What to tell an operator when a connection fails.
#[derive(Clone, Debug)]
pub(super) struct Remedies {
    user: String,
    grants: Vec<String>,
}

pub(in crate::counter) fn no_answer(address: &Address, limit: Duration) -> Error {
    Error::Unreachable {
        address: address.to_string(),
        why: format!("no answer within {limit:?}"),
    }
}

/// The handshake of TLS reports its errors as I/O errors.
fn tls_error(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// What to do about an error of TLS. The proxy has verified the server's certificate, and the server the proxy's own.
fn tls_remedy(why: &rustls::Error) -> &'static str {
    match why {
        rustls::Error::AlertReceived(_) => {
            "let the server trust the authority that signed upstream_tls.certificate (ssl_ca)"
        }
        rustls::Error::InconsistentKeys(_) => {
            "let upstream_tls.key name the key of upstream_tls.certificate"
        }
        _ => "let upstream_tls.ca name the certificate that signed the server's",
    }
}

impl Remedies {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            user: config.control.user.clone(),
            grants: grants::for_control(config, "ACCOUNT"),
        }
    }

    pub(super) fn explain(&self, address: &Address, failure: DriverFailure) -> Error {
        let address = address.to_string();
        match failure {
            DriverFailure::Io(IoError::Io(why)) => match tls_error(&why).map(tls_remedy) {
                Some(remedy) => Error::Tls {
                    address,
                    why: why.to_string(),
                    remedy,
                },
                None => Error::Unreachable {
                    address,
                    why: why.to_string(),
                },
            },
            DriverFailure::Io(IoError::Tls(TlsError::Tls(why))) => Error::Tls {
                address,
                remedy: tls_remedy(&why),
                why: why.to_string(),
            },
            DriverFailure::Io(IoError::Tls(why)) => Error::Tls {
                address,
                why: why.to_string(),
                remedy: WRONG_FILES,
            },
            DriverFailure::Driver(DriverError::NoClientSslFlagFromServer) => Error::Tls {
                address,
                why: "the server has no TLS".to_owned(),
                remedy: "let the server have TLS, or use mode preferred without upstream_tls.certificate",
            },
            DriverFailure::Server(error) if is_login_refused(error.code) => Error::Denied {
                statements: self.statements(&error.message),
                message: error.message,
            },
            source => Error::Other { address, source },
        }
    }

    /// CREATE USER and the GRANTs, for the host from which the server saw us come.
    fn statements(&self, message: &str) -> String {
        let host = message
            .split_once("'@'")
            .and_then(|(_, rest)| rest.split_once('\''))
            .or_else(|| message.strip_prefix("Host '")?.split_once('\''))
            .map_or("%", |(host, _)| host);
        let account = format!("'{}'@'{host}'", self.user);
        let create = format!("CREATE USER {account} IDENTIFIED BY '<control.password>';");
        std::iter::once(create)
            .chain(
                self.grants
                    .iter()
                    .map(|grant| grant.replace("ACCOUNT", &account)),
            )
            .map(|statement| format!("\n  {statement}"))
            .collect()
    }
}

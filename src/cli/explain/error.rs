//! Errors of `countersink explain`.

use std::io;
use std::path::PathBuf;

use crate::catalog::NotACatalog;
use crate::cli::password;
use crate::wire::error_code::{ER_BAD_DB_ERROR, is_login_refused};

/// Why nothing could be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input contains no statement.
    #[error("there is no statement to explain")]
    Nothing,
    /// A file does not exist or may not be read.
    #[error("{name}: cannot be read: {source}")]
    Unreadable {
        /// Name of the file.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The catalog could not be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a catalog.
    #[error("{}: {source}", file.display())]
    Catalog {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: NotACatalog,
    },
    /// The password could not be read.
    #[error(transparent)]
    Password(password::Error),
    /// The proxy refused the login or closed the connection.
    #[error("{proxy}: {source}")]
    Proxy {
        /// Its address.
        proxy: String,
        /// What went wrong.
        source: mysql_async::Error,
    },
    /// Something is asked of TLS, and the proxy has none.
    #[error(
        "{proxy}: offers no TLS; leave --ssl-ca and --ssl-cert out, or let it offer TLS (tls.client)"
    )]
    NoTls {
        /// Its address.
        proxy: String,
    },
    /// The address is not that of a proxy that can explain.
    #[error(
        "{proxy}: is no Countersink that explains, but a server: {message}; name the address that the proxy listens on"
    )]
    NotAProxy {
        /// Its address.
        proxy: String,
        /// The server's error message.
        message: String,
    },
}

impl Error {
    /// 2 for errors to correct on the command line; 1 for all others.
    pub(in crate::cli) fn exit_code(&self) -> u8 {
        match self {
            Self::Unwritable { .. } => 1,
            Self::Proxy {
                source: mysql_async::Error::Server(error),
                ..
            } if is_login_refused(error.code) || error.code == ER_BAD_DB_ERROR => 2,
            Self::Proxy { .. } => 1,
            _ => 2,
        }
    }
}

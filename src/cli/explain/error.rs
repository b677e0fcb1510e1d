//! What `countersink explain` can fail of.

use std::io;
use std::path::PathBuf;

use crate::catalog::NotACatalog;
use crate::cli::password;
use crate::wire::error_code::{ER_BAD_DB_ERROR, is_login_refused};

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no statement in what was given.
    #[error("there is no statement to explain")]
    Nothing,
    /// A file is not there, or may not be read.
    #[error("{name}: cannot be read: {source}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The catalog is not written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no catalog.
    #[error("{}: {source}", file.display())]
    Catalog {
        /// The file.
        file: PathBuf,
        /// Why.
        source: NotACatalog,
    },
    /// There is no password where it should be.
    #[error(transparent)]
    Password(password::Error),
    /// The proxy does not let us in, or goes away.
    #[error("{proxy}: {source}")]
    Proxy {
        /// Its address.
        proxy: String,
        /// Why.
        source: mysql_async::Error,
    },
    /// Something that does not explain.
    #[error(
        "{proxy}: is no Countersink that explains, but a server: {message}; name the address that the proxy listens on"
    )]
    NotAProxy {
        /// Its address.
        proxy: String,
        /// What it says.
        message: String,
    },
}

impl Error {
    /// 2 for what is corrected on the command line, 1 for the rest.
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

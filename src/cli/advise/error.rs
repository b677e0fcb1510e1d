//! Errors of `countersink advise`.

use crate::advise;

/// Why no advice could be given.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused the login.
    #[error(
        "the server refuses {user}: {why}; correct --user and its password, or the account's host"
    )]
    Refused {
        /// The account.
        user: String,
        /// The server's error message.
        why: String,
    },
    /// The server does not show what is needed, or a query failed.
    #[error(transparent)]
    Watch(#[from] advise::Error),
    /// The proxy does not report its traffic.
    #[error("{url}: {why}; name the `http` of a running proxy's rules.yaml")]
    Proxy {
        /// The URL of its HTTP port.
        url: String,
        /// What went wrong.
        why: String,
    },
}

impl Error {
    /// 2 for errors to correct on the command line or with a GRANT; 1 for all others.
    pub(in crate::cli) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused { .. } | Self::Watch(advise::Error::Blind { .. }) => 2,
            Self::Watch(advise::Error::Query(_)) | Self::Proxy { .. } => 1,
        }
    }
}

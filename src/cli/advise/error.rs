//! What `countersink advise` can fail of.

use crate::advise;

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refuses the account of the command line.
    #[error(
        "the server refuses {user}: {why}; correct --user and its password, or the account's host"
    )]
    Refused {
        /// The account.
        user: String,
        /// The server's words.
        why: String,
    },
    /// Nothing can be seen, or a query failed.
    #[error(transparent)]
    Watch(#[from] advise::Error),
    /// The proxy does not tell what passes.
    #[error("{url}: {why}; name the `http` of a running proxy's rules.yaml")]
    Proxy {
        /// Its HTTP port.
        url: String,
        /// Why.
        why: String,
    },
}

impl Error {
    /// 2 for what is corrected on the command line or by a GRANT; 1 for all else.
    pub(in crate::cli) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused { .. } | Self::Watch(advise::Error::Blind { .. }) => 2,
            Self::Watch(advise::Error::Query(_)) | Self::Proxy { .. } => 1,
        }
    }
}

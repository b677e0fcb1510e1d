//! What the demo can fail of.

use std::io;

use crate::clients;
use crate::lent::NotServing;

/// Why the demo did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A signal; `number` is the system's number of it.
    #[error("interrupted; the server, the proxy and their folder are gone")]
    Interrupted {
        /// 2 for Ctrl-C.
        number: u8,
    },
    /// There is no server and none can be fetched.
    #[error(
        "no {flavour} server on PATH, and none can be fetched because {reason}: {remedy}, or try the other --flavour"
    )]
    NoServer {
        /// Which was wanted.
        flavour: countersink_sandbox::Flavour,
        /// Why fetching is out of the question.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The server cannot be had or does not start.
    #[error(transparent)]
    Sandbox(countersink_sandbox::Error),
    /// The proxy does not serve.
    #[error(transparent)]
    Proxy(#[from] NotServing),
    /// No threads.
    #[error("cannot start: {0}")]
    Threads(io::Error),
    /// Nowhere to keep the server.
    #[error("no folder to keep the server's programs in: set HOME or XDG_CACHE_HOME")]
    NoFolder,
    /// A client has no connection, or a statement was refused.
    #[error(transparent)]
    Client(#[from] clients::Error),
    /// An increment was lost or counted twice.
    #[error("the sum is not exact, which must never be: please report it with the equation above")]
    NotExact,
    /// The report cannot be written.
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
}

impl From<countersink_sandbox::Error> for Error {
    fn from(error: countersink_sandbox::Error) -> Self {
        match error {
            // Its own text names a remedy of the tests.
            countersink_sandbox::Error::NotAvailable {
                flavour,
                reason,
                remedy,
            } => Self::NoServer {
                flavour,
                reason,
                remedy,
            },
            other => Self::Sandbox(other),
        }
    }
}

impl Error {
    /// As shells have it: 128 and the signal's number; 1 for all else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted { number } => 128 + number,
            Self::Proxy(error) => error.exit_code,
            _ => 1,
        }
    }
}

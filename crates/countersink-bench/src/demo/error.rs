//! Errors of the demo.

use std::io;

use crate::clients;
use crate::lent::NotServing;

/// Why the demo could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A signal arrived; `number` is its number.
    #[error("interrupted; the server, the proxy and their folder are gone")]
    Interrupted {
        /// 2 for Ctrl-C.
        number: u8,
    },
    /// There is no server, and none can be fetched.
    #[error(
        "no {flavour} server on PATH, and none can be fetched because {reason}: {remedy}, or try the other --flavour"
    )]
    NoServer {
        /// Which server was wanted.
        flavour: countersink_sandbox::Flavour,
        /// Why none can be fetched.
        reason: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The server could not be obtained or started.
    #[error(transparent)]
    Sandbox(countersink_sandbox::Error),
    /// The proxy could not be started.
    #[error(transparent)]
    Proxy(#[from] NotServing),
    /// The clients' thread could not be started.
    #[error("cannot start: {0}")]
    Threads(io::Error),
    /// There is no folder to keep the server in.
    #[error("no folder to keep the server's programs in: set HOME or XDG_CACHE_HOME")]
    NoFolder,
    /// A client could not connect, or a statement failed.
    #[error(transparent)]
    Client(#[from] clients::Error),
    /// An increment was lost or counted twice.
    #[error("the sum is not exact, which must never be: please report it with the equation above")]
    NotExact,
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
}

impl From<countersink_sandbox::Error> for Error {
    fn from(error: countersink_sandbox::Error) -> Self {
        match error {
            // Its own message names a remedy for the tests.
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
    /// 128 plus the signal's number, as in shells; 1 for all others.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted { number } => 128 + number,
            Self::Proxy(error) => error.exit_code,
            _ => 1,
        }
    }
}

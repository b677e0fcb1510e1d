//! Errors of the benchmark.

use std::io;

use countersink_server_errors::is_login_refused;

use crate::clients;
use crate::lent::NotServing;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A signal arrived; `number` is its number.
    #[error("interrupted; nothing is left of the schema {schema}")]
    Interrupted {
        /// 2 for Ctrl-C.
        number: u8,
        /// The schema.
        schema: String,
    },
    /// No mode is left to measure.
    #[error("the pattern written by hand is for --work increment; name another one by --modes")]
    NoMode,
    /// The server permits too few connections.
    #[error(
        "{clients} clients and the proxy need {needed} connections, and {limit} = {most} with {used} in use; take fewer --clients, or SET GLOBAL {limit} = {remedy}"
    )]
    MaxConnections {
        /// The largest number of clients.
        clients: u16,
        /// The number of connections that the clients and the proxy need.
        needed: u64,
        /// The variable that limits connections.
        limit: &'static str,
        /// Its value.
        most: u64,
        /// The number of other connections at the moment.
        used: u64,
        /// A value that would be sufficient.
        remedy: u64,
    },
    /// A schema of this name exists, and the benchmark did not create it.
    #[error(
        "the schema {schema} exists, and {why}; choose another name by --schema, or drop it yourself if nobody needs it: DROP DATABASE `{schema}`"
    )]
    Foreign {
        /// The schema.
        schema: String,
        /// What shows that.
        why: String,
    },
    /// Another run uses the schema.
    #[error(
        "another `countersink bench` works in the schema {schema} of this server at the moment; wait for its end, or choose another name by --schema"
    )]
    Busy {
        /// The schema.
        schema: String,
    },
    /// The account lacks the privilege.
    #[error(
        "{account} may not create the schema {schema}: {why}; let a DBA run\n  GRANT ALL ON `{schema}`.* TO {account};"
    )]
    Denied {
        /// The account as GRANT spells it.
        account: String,
        /// The schema.
        schema: String,
        /// The server's error message.
        why: String,
    },
    /// The schema could not be created for another reason.
    #[error("the schema {schema} cannot be made: {why}; {remedy}")]
    NotMade {
        /// The schema.
        schema: String,
        /// The server's error message.
        why: Box<clients::Error>,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The schema could not be removed.
    #[error(
        "{}the schema {schema} could not be removed: {why}; the next run removes it, or run DROP DATABASE `{schema}`", said(before.as_deref())
    )]
    Left {
        /// The schema.
        schema: String,
        /// What went wrong.
        why: Box<Error>,
        /// What had gone wrong before.
        before: Option<Box<Error>>,
    },
    /// The proxy could not be started.
    #[error(transparent)]
    Proxy(#[from] NotServing),
    /// The clients' threads could not be started.
    #[error("cannot start: {0}")]
    Threads(io::Error),
    /// A client could not connect, or a statement failed.
    #[error(transparent)]
    Client(#[from] clients::Error),
    /// An increment was lost or counted twice.
    #[error("the sum is not exact, which must never be: please report it with the figures above")]
    NotExact,
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
}

fn said(before: Option<&Error>) -> String {
    before.map_or_else(String::new, |error| format!("{error}; and "))
}

impl Error {
    /// 128 plus the signal's number, as in shells; 2 for errors to correct on the command line or with a GRANT; 1 for
    /// all others.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted { number, .. } => 128 + number,
            Self::Proxy(error) => error.exit_code,
            Self::NoMode
            | Self::MaxConnections { .. }
            | Self::Foreign { .. }
            | Self::Denied { .. } => 2,
            Self::Client(error) if error.code().is_some_and(is_login_refused) => 2,
            Self::Busy { .. }
            | Self::NotMade { .. }
            | Self::Threads(_)
            | Self::Left { .. }
            | Self::Client(_)
            | Self::NotExact
            | Self::Output(_) => 1,
        }
    }
}

//! What the benchmark can fail of.

use std::io;

use countersink_server_errors::is_login_refused;

use crate::clients;
use crate::lent::NotServing;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A signal; `number` is the system's number of it.
    #[error("interrupted; nothing is left of the schema {schema}")]
    Interrupted {
        /// 2 for Ctrl-C.
        number: u8,
        /// The schema.
        schema: String,
    },
    /// The server lets in too few.
    #[error(
        "{clients} clients and the proxy need {needed} connections, and {limit} = {most} with {used} in use; take fewer --clients, or SET GLOBAL {limit} = {remedy}"
    )]
    MaxConnections {
        /// Clients at most.
        clients: u16,
        /// Connections that takes, of the user's.
        needed: u64,
        /// The variable that limits it.
        limit: &'static str,
        /// Its value.
        most: u64,
        /// Connections of others at the moment.
        used: u64,
        /// A value that would do.
        remedy: u64,
    },
    /// A schema of this name is there, and not ours.
    #[error(
        "the schema {schema} exists, and {why}; choose another name by --schema, or drop it yourself if nobody needs it: DROP DATABASE `{schema}`"
    )]
    Foreign {
        /// The schema.
        schema: String,
        /// How we know.
        why: String,
    },
    /// Another run is at it.
    #[error(
        "another `countersink bench` works in the schema {schema} of this server at the moment; wait for its end, or choose another name by --schema"
    )]
    Busy {
        /// The schema.
        schema: String,
    },
    /// The account may not do it.
    #[error(
        "{account} may not create the schema {schema}: {why}; let a DBA run\n  GRANT ALL ON `{schema}`.* TO {account};"
    )]
    Denied {
        /// The account as GRANT writes it.
        account: String,
        /// The schema.
        schema: String,
        /// The server's words.
        why: String,
    },
    /// The schema cannot be made for another reason.
    #[error("the schema {schema} cannot be made: {why}; {remedy}")]
    NotMade {
        /// The schema.
        schema: String,
        /// The server's words.
        why: Box<clients::Error>,
        /// What to do.
        remedy: &'static str,
    },
    /// The schema is still there.
    #[error(
        "{}the schema {schema} could not be removed: {why}; the next run removes it, or run DROP DATABASE `{schema}`", said(before.as_deref())
    )]
    Left {
        /// The schema.
        schema: String,
        /// Why.
        why: Box<Error>,
        /// What had gone wrong before that.
        before: Option<Box<Error>>,
    },
    /// The proxy does not serve.
    #[error(transparent)]
    Proxy(#[from] NotServing),
    /// No threads.
    #[error("cannot start: {0}")]
    Threads(io::Error),
    /// A client has no connection, or a statement was refused.
    #[error(transparent)]
    Client(#[from] clients::Error),
    /// An increment was lost or counted twice.
    #[error("the sum is not exact, which must never be: please report it with the figures above")]
    NotExact,
    /// The report cannot be written.
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
}

fn said(before: Option<&Error>) -> String {
    before.map_or_else(String::new, |error| format!("{error}; and "))
}

impl Error {
    /// As shells have it, 128 and the signal's number; 2 for what is corrected on the command line or by a GRANT; 1 for
    /// all else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted { number, .. } => 128 + number,
            Self::Proxy(error) => error.exit_code,
            Self::MaxConnections { .. } | Self::Foreign { .. } | Self::Denied { .. } => 2,
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

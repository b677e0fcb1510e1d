//! Why a slot table cannot be had.

use crate::config::TableName;

/// Why a slot table cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{table}: {problem}")]
pub struct Error {
    /// The hot table, as the server spells it.
    pub table: TableName,
    /// Why, with the remedy.
    pub problem: Problem,
}

impl Problem {
    /// Whether a second try may succeed: the server did not answer, or a session had the slot table in use.
    pub fn is_passing(&self) -> bool {
        if let Self::Agreement(error) = self {
            return !error.is_configuration();
        }
        matches!(
            self,
            Self::NoConnection { .. }
                | Self::InUse { .. }
                | Self::Withdrawn { .. }
                | Self::Failed { .. }
        ) || matches!(self, Self::Catalog(crate::catalog::Problem::Query { .. }))
    }
}

/// What is wrong, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Another table has the name.
    #[error(
        "{slots} exists and is not a slot table of {table}{whose}; name another one with slot_table"
    )]
    NotOurs {
        /// The slot table.
        slots: String,
        /// The hot table.
        table: String,
        /// The hot table that it belongs to, if its comment says so.
        whose: String,
    },
    /// The slot table is not the one that is needed, and it holds values.
    #[error(
        "{slots} has values in it, but {what} is {found} there and should be {expected}; run `countersink drain`, which moves the values into {table} and drops {slots}, then start again"
    )]
    Drift {
        /// The slot table.
        slots: String,
        /// The hot table.
        table: String,
        /// What it is about.
        what: String,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
    /// A counter that the rule no longer names still has values in slots.
    #[error(
        "{slots} has values of `{column}`, which the rule no longer names; name it again, or run `countersink drain`, which moves the values into {table}"
    )]
    Forgotten {
        /// The slot table.
        slots: String,
        /// The hot table.
        table: String,
        /// The counter.
        column: String,
    },
    /// A rule that does not rewrite, while slots hold values that only rewriting shows.
    #[error(
        "{slots} has values in it, which would be missing from every read while the rule does not rewrite; run `countersink drain`, which moves them into {table}, or set slots above 0"
    )]
    Unserved {
        /// The slot table.
        slots: String,
        /// The hot table.
        table: String,
    },
    /// The account may not make it.
    #[error(
        "the control account may not {action} {slots} ({message}); give a DBA what `countersink provision --print` shows, or let the account do it: GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON {slots}"
    )]
    Forbidden {
        /// `create` or `alter`.
        action: &'static str,
        /// The slot table.
        slots: String,
        /// The server's words.
        message: String,
    },
    /// The control account may not lock it.
    #[error(
        "the control account may not lock {slots} ({message}), which keeps values out while it is dropped; allow it: {grant}"
    )]
    MayNotLock {
        /// The slot table.
        slots: String,
        /// The server's words.
        message: String,
        /// The GRANT.
        grant: String,
    },
    /// A session has it in use.
    #[error(
        "{slots} is in use: a transaction has written to it, or read it, and has not ended; end that transaction (SHOW PROCESSLIST), or try again later"
    )]
    InUse {
        /// The slot table.
        slots: String,
    },
    /// DDL keeps it away.
    #[error(
        "{slots} cannot be made while DDL runs on {table}: wait for that statement (SHOW PROCESSLIST), or end it"
    )]
    Withdrawn {
        /// The slot table.
        slots: String,
        /// The hot table.
        table: String,
    },
    /// Keys of the hot table are as long as a key may be.
    #[error(
        "the primary key of {table} leaves no room for a slot number beside it ({message}); make its columns shorter"
    )]
    KeyTooLong {
        /// The hot table.
        table: String,
        /// The server's words.
        message: String,
    },
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection {
        /// Why.
        source: crate::counter::control::Error,
    },
    /// The other proxies cannot be told.
    #[error(transparent)]
    Agreement(#[from] crate::counter::agreement::Error),
    /// Another failure of a statement.
    #[error("cannot {action} {slots}: {source}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// The slot table.
        slots: String,
        /// Why.
        source: mysql_async::Error,
    },
    /// A query of the catalog failed.
    #[error("{0}")]
    Catalog(crate::catalog::Problem),
}

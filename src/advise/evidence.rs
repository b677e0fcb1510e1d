//! What was seen: which clients wait for which rows, and how often statements run.

use std::time::Duration;

use crate::config::TableName;

/// Everything that was seen.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Where it was seen.
    pub source: Source,
    /// For how long.
    pub window: Duration,
    /// How often the server was looked at; none where each statement was seen.
    pub looks: Option<u64>,
    /// The statements that run.
    pub statements: Vec<Statement>,
    /// Whether [`Statement::times`] are executions, rather than how often a look found the statement running.
    pub are_executions: bool,
    /// The clients that wait.
    pub crowds: Vec<Crowd>,
    /// What transactions run after their updates.
    pub followers: Vec<Follower>,
    /// How often row locks were waited for anywhere in the server, and for how long in all; none where it is not known.
    pub row_lock_waits: Option<(u64, Duration)>,
    /// What could not be seen, with the remedy: sentences.
    pub unseen: Vec<String>,
}

/// Where something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// MySQL's performance_schema.
    PerformanceSchema,
    /// MariaDB's INNODB_TRX and INNODB_LOCKS.
    InnodbTables,
    /// SHOW ENGINE INNODB STATUS.
    InnodbStatus,
    /// A running proxy.
    Proxy,
}

impl Source {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PerformanceSchema => "performance_schema",
            Self::InnodbTables => "information_schema.INNODB_TRX",
            Self::InnodbStatus => "SHOW ENGINE INNODB STATUS",
            Self::Proxy => "proxy",
        }
    }
}

/// Statements that differ in their literals alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The schema in which they ran, as far as it is known.
    pub schema: Option<String>,
    /// Their text without literals.
    pub text: String,
    /// How often; see [`Evidence::are_executions`].
    pub times: u64,
}

/// A statement after an UPDATE in the same transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Follower {
    /// The schema in which they ran, as far as it is known.
    pub schema: Option<String>,
    /// The UPDATE without literals.
    pub update: String,
    /// What follows, without literals.
    pub text: String,
    /// In which share of the transactions with that UPDATE.
    pub share: f64,
}

/// Clients that wait for the same row by the same kind of statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// The schema in which they are, as far as it is known.
    pub schema: Option<String>,
    /// Their statement without literals; none where it is not known.
    pub text: Option<String>,
    /// The table whose rows they wait for, where the server says so.
    pub table: Option<TableName>,
    /// The row; none where it is not known, or there are too many.
    pub row: Option<Row>,
    /// How many of them wait, on average over the time.
    pub waiting: f64,
    /// The share of them in a transaction that stays open after the statement; none if it is not known.
    pub in_transaction: Option<f64>,
}

/// A row, as it was reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Row {
    /// By an index, and the values that its record has.
    Record {
        /// The index.
        index: String,
        /// The values, separated by commas.
        data: String,
    },
    /// By what a statement compares: `id = 42`.
    Compared(String),
    /// All rows of the table at a time.
    All,
}

//! What findings are made of: answers of the server, as data.

use crate::catalog::Examination;
use crate::counter::cluster::Cluster;
use crate::counter::provision::{Problem, State};

/// All that was asked.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) examination: Examination,
    /// The control account as the server matched it, quoted: `'user'@'host'`.
    pub(super) account: String,
    pub(super) read_only: bool,
    /// None when there is no binary log.
    pub(super) binlog_format: Option<String>,
    /// None when the server is by itself, or has replicas at most.
    pub(super) cluster: Option<Cluster>,
    pub(super) clock: Clock,
    /// One entry per entry of the examination's tables.
    pub(super) tables: Vec<Seen>,
    /// Rules that do not rewrite and whose slots hold values.
    pub(super) unserved: Vec<(usize, Problem)>,
    /// None when the control account may not see them.
    pub(super) accounts: Option<Accounts>,
}

/// When the server was asked for the time, what it said, and when the answer was there: in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) asked: f64,
    pub(super) said: f64,
    pub(super) answered: f64,
}

/// What is around one rule's table.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// None when it cannot be hot, has no slots, or the control account may not look.
    pub(super) slots: Option<State>,
    /// There is no schema for the slot table, or the control account may not see it.
    pub(super) lacks_schema: bool,
    pub(super) partitioned: bool,
    /// One entry per counter that may be slotted.
    pub(super) extremes: Vec<(usize, Extremes)>,
    /// Why its hand-written slots cannot be adopted.
    pub(super) adopted: Option<String>,
    /// Views, routines, events and triggers that have the table's name in their text.
    pub(super) programs: Vec<Program>,
}

/// How close a counter's values are to its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extremes {
    /// All within.
    Within,
    /// This one is beyond.
    Beyond(String),
    /// There are too many rows to look.
    TooMany(u64),
}

/// Something that runs inside the server.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) kind: Kind,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    View,
    Procedure,
    Function,
    Event,
    Trigger,
}

/// Which account may do what.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    pub(super) grants: Vec<Grant>,
    /// Each account with a role that it has been granted, both quoted.
    pub(super) roles: Vec<(String, String)>,
}

/// One line of the server's grant tables.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) user: String,
    /// Quoted.
    pub(super) account: String,
    pub(super) scope: Scope,
    /// `SELECT`, ..
    pub(super) privileges: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Server,
    /// A pattern as in LIKE.
    Schema(String),
    Table(String, String),
    /// A column of a table.
    Column(String, String, String),
}

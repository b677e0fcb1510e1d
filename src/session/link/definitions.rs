//! The column definitions that a client is shown in the place of those which a rewritten statement has, and whether they
//! are still right.
//!
//! Tables may change between the statement that gave the definitions and the one that is answered under them. What the
//! rewritten text itself sends tells: it comes before the rows, and before anything has gone to the client.

use crate::wire::column::Sent;
use crate::wire::materialized::Kinds;

/// How many things one rewritten text may be known to send: whether a temporary table is between is up to each plan,
/// and to cursors.
const MOST_SEEN: usize = 4;

/// Definitions to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    /// One payload per column.
    pub columns: Vec<Vec<u8>>,
    /// What the original's columns are; `None` where a temporary table between changes nothing (MariaDB).
    pub kinds: Option<Kinds>,
    /// What the rewritten text sent while these were right.
    seen: Vec<Vec<Sent>>,
    standing: Standing,
}

/// What is to be thought of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The original has just been prepared for them; what the rewritten text sends next goes with them.
    Fresh,
    /// What goes with them is known.
    Known,
    /// Something else was sent; the original is to be prepared again.
    Doubted,
}

/// Whether what a rewritten text has sent goes with the definitions.
#[derive(Debug, PartialEq, Eq)]
pub enum Agreement {
    /// As it did before.
    Known,
    /// It is to be remembered.
    New(Vec<Sent>),
    /// No: the tables have changed, or the plan. The answer has been read to its end, and nothing of it has gone to the
    /// client.
    Not,
}

impl Definitions {
    /// For an original that has just been prepared.
    pub fn new(columns: Vec<Vec<u8>>, kinds: Option<Kinds>) -> Self {
        Self {
            columns,
            kinds,
            seen: Vec::new(),
            standing: Standing::Fresh,
        }
    }

    /// The original has been prepared again. Where it has the same columns, what is sent is one more thing that goes
    /// with them.
    pub fn renew(&mut self, columns: Vec<Vec<u8>>) {
        if self.columns != columns || self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        self.columns = columns;
        self.standing = Standing::Fresh;
    }

    pub fn is_fresh(&self) -> bool {
        self.standing == Standing::Fresh
    }

    pub fn is_doubted(&self) -> bool {
        self.standing == Standing::Doubted
    }

    /// Compares with what the rewritten text has sent. `is_changed`: a column is not that of the original.
    pub fn compare(&self, sent: Vec<Sent>, is_changed: bool) -> Agreement {
        match self.is_fresh() {
            _ if self.seen.contains(&sent) => Agreement::Known,
            true if !is_changed => Agreement::New(sent),
            _ => Agreement::Not,
        }
    }

    /// Takes in how the last answer agreed.
    pub fn note(&mut self, agreement: Agreement) {
        self.standing = match agreement {
            Agreement::Not => Standing::Doubted,
            Agreement::Known => Standing::Known,
            Agreement::New(sent) => {
                self.seen.push(sent);
                Standing::Known
            }
        };
    }
}

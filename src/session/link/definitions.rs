//! The column definitions that a client sees in place of a rewritten statement's own, and whether they are still
//! right.
//!
//! Tables may change between the statement that gave the definitions and the one whose response is shown under them.
//! The column definitions that the rewritten text itself returns reveal that: they come before the rows, and before
//! anything has been sent to the client.

use crate::wire::column::Sent;
use crate::wire::materialized::Kinds;

/// How many sets of definitions are remembered for one rewritten text. Whether a temporary table is used varies with
/// the execution plan, and with cursors.
const MOST_SEEN: usize = 4;

/// Column definitions to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    /// One payload per column.
    pub columns: Vec<Vec<u8>>,
    /// What the original's columns are. `None` if a temporary table changes nothing (MariaDB).
    pub kinds: Option<Kinds>,
    /// What the rewritten text returned while these were right.
    seen: Vec<Vec<Sent>>,
    standing: Standing,
}

/// How far the definitions can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The original has just been prepared for them; what the rewritten text returns next goes with them.
    Fresh,
    /// It is known what goes with them.
    Known,
    /// Something else was returned; the original must be prepared again.
    Doubted,
}

/// Whether what a rewritten text has returned goes with the definitions.
#[derive(Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It does, as before.
    Known,
    /// It does, and must be remembered.
    New(Vec<Sent>),
    /// It does not: the tables have changed, or the execution plan. The response has been read to its end, and nothing
    /// of it has been sent to the client.
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

    /// Takes in that the original has been prepared again. If its columns are the same, what is returned next also
    /// goes with them.
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

    /// Compares with what the rewritten text has returned. `is_changed`: a column is not that of the original.
    pub fn compare(&self, sent: Vec<Sent>, is_changed: bool) -> Agreement {
        match self.is_fresh() {
            _ if self.seen.contains(&sent) => Agreement::Known,
            true if !is_changed => Agreement::New(sent),
            _ => Agreement::Not,
        }
    }

    /// Takes in how the last response agreed.
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

//! What the sentinel has found, for an operator to see.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::counter::unpoisoned;

/// How many are kept.
const MOST: usize = 1000;

/// What was done past the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row's counters were changed.
    Update,
    /// A row was deleted.
    Delete,
    /// A statement ran that names the table; the binary log has its text, and not its rows.
    Statement,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Statement => "statement",
        })
    }
}

/// One change past the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// When, by the server's clock, to the second.
    pub at: SystemTime,
    /// The hot table: schema and name.
    pub table: (String, String),
    /// What was done.
    pub kind: Kind,
    /// Whose row it was, as a condition: `id = 42`.
    pub key: Option<String>,
    /// The server's thread that did it, as SHOW PROCESSLIST and `CONNECTION_ID()` have it.
    pub thread: u32,
}

impl Finding {
    /// By seconds since 1970.
    pub(super) fn time(seconds: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())
    }
}

/// The last findings.
#[derive(Debug, Default)]
pub struct Reports(Mutex<VecDeque<Finding>>);

impl Reports {
    /// All that are kept, the oldest first.
    pub fn all(&self) -> Vec<Finding> {
        unpoisoned(&self.0).iter().cloned().collect()
    }

    pub(super) fn add(&self, finding: Finding) {
        let mut findings = unpoisoned(&self.0);
        if findings.len() == MOST {
            findings.pop_front();
        }
        findings.push_back(finding);
    }
}

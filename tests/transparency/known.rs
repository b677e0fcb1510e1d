//! The differences that are there by design. A difference that is not in this list fails its test, and so does an
//! entry that no longer shows.

use std::fmt;

use countersink::sandbox::Flavour;

use crate::difference::Difference;

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// The file of cases.
    topic: &'static str,
    /// The session.
    session: &'static str,
    /// What the statement (or command) begins with.
    statement: &'static str,
    /// Where it shows; everywhere unless set.
    flavour: Option<Flavour>,
    /// Why it is so.
    reason: &'static str,
}

/// All of them.
pub const ALL: &[Known] = &[];

impl Known {
    pub fn is_of(&self, flavour: Flavour, topic: &str) -> bool {
        self.topic == topic && self.flavour.is_none_or(|only| only == flavour)
    }

    pub fn covers(&self, difference: &Difference) -> bool {
        difference.session == self.session && difference.label.starts_with(self.statement)
    }
}

impl fmt::Display for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.session, self.statement, self.reason)
    }
}

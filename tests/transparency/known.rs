//! The differences that are there by design. A difference that is not in this list fails its test, and so does an
//! entry that no longer shows.

use std::fmt;

use countersink::sandbox::Flavour;

use crate::difference::{Aspect, Difference};

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// The file of cases; empty for all, and then nothing demands that it shows in each.
    topic: &'static str,
    /// The session; empty for all.
    session: &'static str,
    /// What the statement (or command) begins with.
    statement: &'static str,
    /// Where it shows; everywhere unless set.
    flavour: Option<Flavour>,
    /// It shows with cursors only.
    cursor: bool,
    /// All that may differ.
    aspects: &'static [Aspect],
    /// Why it is so.
    reason: &'static str,
}

/// All of them.
pub const ALL: &[Known] = &[
    Known {
        topic: "",
        session: "",
        statement: "",
        flavour: None,
        cursor: false,
        aspects: &[Aspect::KeyFlags, Aspect::TemporaryTable, Aspect::IndexFlags],
        reason: "MySQL's own plan decides on key flags, on what a temporary table makes of a definition and on the \
                 flags for missing indexes; the sum over slots has a plan of its own",
    },
    Known {
        topic: "",
        session: "",
        statement: "",
        flavour: None,
        cursor: true,
        aspects: &[
            Aspect::KeyFlags,
            Aspect::TemporaryTable,
            Aspect::IndexFlags,
            Aspect::Definition,
        ],
        reason: "a cursor's rows come from a temporary table, whose definitions the proxy replaces by those that were \
                 promised when the statement was prepared",
    },
    Known {
        topic: "locking",
        session: "FOR SHARE",
        statement: "",
        flavour: Some(Flavour::MySql),
        cursor: true,
        aspects: &[Aspect::Rows, Aspect::Other],
        reason: "MySQL refuses (1792) a locking read with a subquery and a cursor in a READ ONLY transaction",
    },
];

impl Known {
    pub fn is_of(&self, flavour: Flavour, topic: &str) -> bool {
        (self.topic.is_empty() || self.topic == topic)
            && self.flavour.is_none_or(|only| only == flavour)
    }

    /// Must show, or it is not true.
    pub fn is_specific(&self) -> bool {
        !self.topic.is_empty()
    }

    pub fn covers(&self, difference: &Difference) -> bool {
        (self.session.is_empty() || difference.session == self.session)
            && difference.label.starts_with(self.statement)
            && (!self.cursor || difference.cursor)
            && difference
                .aspects
                .iter()
                .all(|aspect| self.aspects.contains(aspect))
    }
}

impl fmt::Display for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let any = |text: &'static str| if text.is_empty() { "any" } else { text };
        let (session, statement) = (any(self.session), any(self.statement));
        write!(
            formatter,
            "session `{session}`, statement `{statement}`, {:?}: {}",
            self.aspects, self.reason
        )
    }
}

//! The differences that are there by design. A difference that is not in this list fails its test.

use std::fmt;

use crate::difference::{Aspect, Difference};

/// A known difference.
#[derive(Debug)]
pub struct Known {
    /// It shows with cursors only.
    cursor: bool,
    /// All that may differ.
    aspects: &'static [Aspect],
    /// Why it is so.
    reason: &'static str,
}

/// All of them.
///
/// What drivers do with what differs: key flags make Connector/J's updatable result sets, of one table without groups,
/// where they are told as prepared, and so as they are but for GROUP BY, DISTINCT and windows. BINARY means nothing for
/// numbers, and for strings goes with the character set, which does not differ. Drivers take an empty original name for
/// the name itself. The types of columns decide what a driver decodes, and are the same: only a cursor's may differ,
/// and between INT and BIGINT alone, where the client is told at each execution what it was told when it prepared, and
/// the rows go by that.
pub const ALL: &[Known] = &[
    Known {
        cursor: false,
        aspects: &[Aspect::KeyFlags, Aspect::TemporaryTable, Aspect::IndexFlags],
        reason: "MySQL's own plan decides on key flags, on what a temporary table makes of a definition and on the \
                 flags for missing indexes; the sum over slots has a plan of its own",
    },
    Known {
        cursor: true,
        aspects: &[
            Aspect::KeyFlags,
            Aspect::TemporaryTable,
            Aspect::IntegerType,
            Aspect::IndexFlags,
            Aspect::Definition,
        ],
        reason: "a cursor's rows come from a temporary table, whose definitions the proxy replaces by those that were \
                 promised when the statement was prepared",
    },
];

impl Known {
    pub fn covers(&self, difference: &Difference) -> bool {
        (!self.cursor || difference.cursor)
            && difference
                .aspects
                .iter()
                .all(|aspect| self.aspects.contains(aspect))
    }
}

impl fmt::Display for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.aspects, self.reason)
    }
}

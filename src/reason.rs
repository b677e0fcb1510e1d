//! Why a statement got the plan it has: the vocabulary that plans, metrics, the log and EXPLAIN share.

use std::fmt;

/// Makes [`Reason`] out of one table, so that no reason can lack its code, its sentence or its place in
/// [`Reason::ALL`]. The sentence is the variant's documentation as well.
macro_rules! reasons {
    ($($name:ident $code:literal $why:literal)*) => {
        /// Why a statement got the plan it has; one of a small closed set, counted and shown.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $(#[doc = $why] $name,)*
        }

        impl Reason {
            /// All of them, in order.
            pub const ALL: [Self; [$($code),*].len()] = [$(Self::$name),*];

            /// The stable name: what becomes of the statement, and behind a colon why, where there are several whys.
            /// Logs, metrics and EXPLAIN say it.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// One sentence for a DBA.
            pub const fn why(self) -> &'static str {
                match self {
                    $(Self::$name => $why,)*
                }
            }
        }
    };
}

reasons! {
    NotHot "forwarded:not-hot"
        "Names no hot table, or one that a temporary table hides."
    NoCounter "forwarded:no-counter"
        "Names a hot table, but neither reads nor writes a counter, and changes no key."
    Observed "forwarded:observed"
        "Names a table whose rule has mode: observe; what enforce would do is counted beside."
    InsertOnly "forwarded:insert-only"
        "Inserts rows that are new, with the values that it gives; rows that are there stay as they are."
    ZeroDelta "forwarded:zero-delta"
        "Adds zero, so nothing changes."
    AddsToBase "forwarded:adds-to-base"
        "Adds to the row itself, or leaves counters alone, which is right whatever the slots hold."
    Metadata "forwarded:metadata"
        "Concerns the session or the table, not the values of counters."
    Off "forwarded:off"
        "Rewriting is off: by the comment countersink:off, or because the session's user or program is under bypass."
    SqlPrepare "forwarded:sql-prepare"
        "Prepares a text in SQL; what it does to counters is seen to at its EXECUTE."
    UnderLockTables "forwarded:lock-tables"
        "Tables are locked: under a WRITE lock all slots are in the rows already, and what is not locked is MySQL's to refuse."
    Slotted "slotted"
        "Every counter that it sets gets a constant added, so a slot row takes the sum, and nobody waits for the row itself."
    Combined "combined"
        "Adds constants to counters of the one row that it names: what several clients add at a time is written as one."
    Batched "batched"
        "Writes the one row that it names, and depends on no other: what several clients send at a time runs in one transaction."
    OnBase "forwarded:on-base"
        "The table uses no slots, so the row itself holds the whole value, and the statement runs as it came."
    Summed "summed"
        "Reads a counter, whose value is the row's own plus the sum of its slots."
    SummedLocked "summed:locking"
        "Locks rows of a hot table while it reads, so their slot rows are locked in the same mode."
    LockTables "locked"
        "LOCK TABLES: the slot tables are locked with their hot tables; WRITE moves all slots into the rows at once."
    Explained "explained"
        "EXPLAIN FORMAT=COUNTERSINK: the statement behind it was explained and not run."
    AbsoluteSet "folded:absolute-set"
        "Sets a counter to something other than itself plus a constant, so the row must hold the whole value first."
    OtherColumns "folded:other-columns"
        "Sets other columns beside the counter, or from it, so it must run on the row itself."
    InexactDelta "folded:inexact-delta"
        "What it adds is no exact value of the counter's type and scale; how it is rounded depends on the whole value."
    UnsignedDecrement "folded:unsigned-decrement"
        "Lowers a counter that may not become negative; whether it does only the whole value can tell."
    NoRoom "folded:no-room"
        "A slot has no room for it: the counter's type is too narrow, a CHECK names the column, or the number is too large."
    TouchColumn "folded:touch-column"
        "Sets a time that is not the present; slots could hold a later one."
    CounterInPredicate "folded:counter-in-predicate"
        "Chooses or orders the rows to write by a counter, so the rows must hold the whole values first."
    KeyChange "folded:key-change"
        "Changes a primary key; the slots of the old key have to be in the row before it moves."
    Delete "folded:delete"
        "Deletes rows; their slots go with them."
    Replace "folded:replace"
        "REPLACE deletes the row that is in its way; its slots go with it."
    Upsert "folded:upsert"
        "An upsert that does more than add, or may reach the limit of the counter's type: what it sets depends on the whole value."
    CascadingDelete "folded:cascading-delete"
        "Deletes rows, and with them those of a hot table by ON DELETE CASCADE; their slots are moved into them first."
    CascadingUpdate "folded:cascading-update"
        "Changes a column, and with it primary keys of a hot table by ON UPDATE CASCADE; their slots are moved into the rows first."
    MultiTable "folded:multi-table"
        "Writes over several tables, or writes from a query that reads a counter, so the rows must hold the whole values first."
    Unresolved "folded:unresolved"
        "Is understood but for a name, modifier or clause, which leaves open what it does to counters."
    NotParsed "folded:not-parsed"
        "The parser does not know it, so it is taken to do anything to the hot tables that it names."
    TooLong "folded:too-long"
        "Is too long to be parsed, so it is taken to do anything to the hot tables that it names."
    CharacterSet "folded:character-set"
        "Cannot be read with certainty in its character set, so it is taken to do anything to the hot tables that it names."
    Ddl "folded:ddl"
        "Changes the table itself; the slots are moved into the rows first, and the catalog is read again behind it."
    Shadowed "folded:temporary-table"
        "May put a temporary table in front of a hot one; hot tables that it is filled from are folded first."
    SqlExecute "folded:sql-execute"
        "Executes a text that was prepared in SQL and is not known for certain; the hot tables that it may concern are folded first."
    RetypedParameter "folded:retyped-parameter"
        "A parameter that stands for text was given a number, and MySQL takes later values for numbers too; it alone can compare them."
    OwnIncrement "folded:own-increment"
        "The transaction reads what it increments, or is not known to do nothing but increment; the row itself takes it all."
    ColumnsUnknown "folded:columns-unknown"
        "Reads a counter, but the server would not prepare it to tell its columns, or told others; the rows must hold all."
    LockedByKey "folded:locked-by-key"
        "Reads one row by its key to lock it, in a transaction; under that lock its slots are moved in, and it answers itself."
    ChangingOver "folded:changing-over"
        "The rule is being switched on or off, in this proxy or another, and slots take nothing; the row itself does."
    SnapshotIsolation "folded:snapshot-isolation"
        "The transaction has read before, and under MariaDB's innodb_snapshot_isolation fails (1020) if others have added since."
    Fallback "folded:fallback"
        "The slot table refused the increment (no room near the type's limit, NULL, a CHECK, no right to it), so the row itself takes it."
}

impl Reason {
    /// The kind of plan that the statement has; `None` where it is not run.
    pub const fn plan(self) -> Option<PlanKind> {
        Some(match self {
            Self::Explained => return None,
            Self::Slotted | Self::Combined => PlanKind::Increment,
            Self::Summed | Self::SummedLocked => PlanKind::Read,
            // WRITE moves all slots.
            Self::LockTables => PlanKind::Fold,
            _ => match self.code().as_bytes() {
                [b'f', b'o', b'l', ..] => PlanKind::Fold,
                _ => PlanKind::Forward,
            },
        })
    }
}

/// What becomes of a statement, in four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanKind {
    /// It is sent as it came.
    Forward,
    /// It goes to a slot, or together with others to the row.
    Increment,
    /// It reads base + slots.
    Read,
    /// Slots are moved into the rows, then it runs as it came.
    Fold,
}

impl PlanKind {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Increment, Self::Read, Self::Fold];

    /// As metrics call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Increment => "increment",
            Self::Read => "read",
            Self::Fold => "fold",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_of_one_form() {
        let codes: HashSet<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
        for code in codes {
            let (what, why) = code.split_once(':').unwrap_or((code, "x"));
            let is_word = |word: &str| {
                !word.is_empty()
                    && !word.starts_with('-')
                    && !word.ends_with('-')
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            };
            assert!(is_word(what) && is_word(why), "{code}");
        }
    }

    #[test]
    fn the_kind_of_plan_is_what_the_code_says() {
        for reason in Reason::ALL {
            let code = reason.code();
            let expected = match code.split(':').next() {
                Some("forwarded" | "batched") => Some(PlanKind::Forward),
                Some("slotted" | "combined") => Some(PlanKind::Increment),
                Some("summed") => Some(PlanKind::Read),
                Some("folded" | "locked") => Some(PlanKind::Fold),
                _ => None,
            };
            assert_eq!(reason.plan(), expected, "{code}");
        }
        for (position, plan) in PlanKind::ALL.into_iter().enumerate() {
            assert_eq!(plan as usize, position);
        }
    }

    #[test]
    fn all_is_in_order_and_every_why_is_a_sentence() {
        for (position, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, position, "{reason}");
            let why = reason.why();
            assert!(why.ends_with('.') && why.len() < 130, "{why}");
            assert!(why.starts_with(|first: char| first.is_uppercase()), "{why}");
        }
    }
}

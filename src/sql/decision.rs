//! What becomes of a plan in a session: the decision that the session acts on, and that EXPLAIN shows.

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::reason::Reason;
use crate::sql::plan::{
    ConsistentRead, Ddl, Fold, Increment, LockTables, OneRow, Plan, Read, Write,
};

/// What a session does with a statement. The variants are those of [`Plan`], of which they borrow what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// Send the client's bytes as they are.
    Forward(Reason),
    /// The same, and take in which rows of a hot table the open transaction has changed.
    Write(&'a Write),
    /// Send the client's bytes as they are, because the rule has `mode: observe`.
    Observe(&'a Plan),
    /// Add to slots.
    Increment(&'a Arc<Increment>),
    /// Add to the base row of a table without slots.
    Combine(&'a Arc<Increment>),
    /// Write one row of a table without slots, with others that do.
    Batch(&'a Arc<OneRow>),
    /// Send a text in which each counter is base + SUM(slots).
    Read(&'a Read),
    /// Move slots into base, then run the client's bytes.
    Fold(Cow<'a, Fold>),
    /// DDL on a hot table.
    Ddl(&'a Ddl),
    /// A temporary table that may hide a hot one.
    Shadow(&'a [Arc<HotTable>]),
    /// SQL-level PREPARE: send the client's bytes as they are.
    Prepare,
    /// LOCK TABLES.
    LockTables(&'a LockTables),
}

/// What changes a plan when its statement is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// What LOCK TABLES means for hot tables.
    pub table_locks: TableLocks,
    /// The statement may be the first to compare an AUTO_INCREMENT column with IS NULL under `sql_auto_is_null`, so
    /// that it finds the row that was inserted last. An internal statement would be the first in its place.
    pub finds_last_inserted: bool,
    /// No increment may go to a slot.
    pub takes_no_slots: bool,
    /// What is known of the values of its parameters.
    pub values: Values,
}

/// What LOCK TABLES means for hot tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLocks {
    /// LOCK TABLES is not in force.
    None,
    /// Hot tables and their slot tables are locked for reading: reads are rewritten, and MySQL itself refuses all
    /// else.
    Read,
    /// Hot tables are folded and locked for writing, or not locked and so out of reach: nothing is rewritten.
    Plain,
}

/// What is known of the values of a statement's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// There are none, or all are known.
    Known,
    /// They are known, but MySQL has come to take them for other types: only MySQL itself can compare them.
    Retyped,
    /// Only the server has them, and takes them for another text with the same parameters as well.
    Transferable,
    /// Only the server has them, and for the client's own statement alone.
    Unknown,
}

/// A session in autocommit, with the server's defaults.
impl Default for Circumstances {
    fn default() -> Self {
        Self {
            table_locks: TableLocks::None,
            finds_last_inserted: false,
            takes_no_slots: false,
            values: Values::Known,
        }
    }
}

impl Decision<'_> {
    /// Whether it is a read with sums.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

impl Circumstances {
    /// Whether LOCK TABLES leaves a plan as it is.
    fn permit(self, plan: &Plan) -> bool {
        match (plan, self.table_locks) {
            // LOCK TABLES first releases what is locked.
            (_, TableLocks::None)
            | (Plan::LockTables(_) | Plan::Shadow(_), _)
            | (Plan::Read(_) | Plan::Forward(_) | Plan::Write(_), TableLocks::Read) => true,
            (
                Plan::Read(_)
                | Plan::Forward(_)
                | Plan::Write(_)
                | Plan::Observe(_)
                | Plan::Increment(_)
                | Plan::Combine(_)
                | Plan::Batch(_)
                | Plan::Fold(_)
                | Plan::Ddl(_)
                | Plan::Prepare(_),
                TableLocks::Read | TableLocks::Plain,
            ) => false,
        }
    }
}

/// What to do with a statement that has this plan.
pub fn decide(plan: &Plan, circumstances: Circumstances) -> Decision<'_> {
    if !circumstances.permit(plan) {
        return Decision::Forward(Reason::UnderLockTables);
    }
    let values = circumstances.values;
    let whole_tables = |reason| Decision::Fold(Cow::Owned(Fold::of_whole_tables(plan, reason)));
    match plan {
        Plan::Forward(reason) => Decision::Forward(*reason),
        Plan::Observe(plan) => Decision::Observe(plan),
        Plan::Combine(increment) => Decision::Combine(increment),
        Plan::Batch(row) => Decision::Batch(row),
        Plan::Ddl(ddl) => Decision::Ddl(ddl),
        Plan::Shadow(tables) => Decision::Shadow(tables),
        Plan::Prepare(_) => Decision::Prepare,
        Plan::LockTables(lock) => Decision::LockTables(lock),
        Plan::Write(_) | Plan::Increment(_) | Plan::Read(_) | Plan::Fold(_)
            if circumstances.finds_last_inserted =>
        {
            whole_tables(Reason::Unresolved)
        }
        Plan::Write(write) => Decision::Write(write),
        Plan::Increment(_) | Plan::Fold(_) if values == Values::Retyped => {
            whole_tables(Reason::RetypedParameter)
        }
        Plan::Increment(_) if values != Values::Known => whole_tables(Reason::Fallback),
        Plan::Increment(increment) if circumstances.takes_no_slots => {
            Decision::Fold(Cow::Borrowed(&increment.exact))
        }
        Plan::Increment(increment) => Decision::Increment(increment),
        Plan::Read(read) => match values {
            Values::Known | Values::Retyped => Decision::Read(read),
            // What is locked before is named by literals.
            Values::Transferable if read.locks.is_empty() => Decision::Read(read),
            Values::Transferable | Values::Unknown => whole_tables(Reason::Fallback),
        },
        Plan::Fold(fold) => Decision::Fold(Cow::Borrowed(fold)),
    }
}

/// What a session does with MariaDB's bulk execution: the statement runs once for each row of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkDecision {
    /// Send the client's bytes as they are.
    Pass(Reason),
    /// Fold this for each row of parameters, then run the client's bytes. `None`: only whole tables are certain.
    Fold(Option<Fold>),
}

/// What to do with a bulk execution of a statement that has this plan.
pub fn decide_in_bulk(
    plan: &Plan,
    circumstances: Circumstances,
    in_transaction: bool,
) -> BulkDecision {
    let of_a_row = match decide(plan, circumstances) {
        Decision::Forward(reason) => return BulkDecision::Pass(reason),
        Decision::Observe(_) => return BulkDecision::Pass(Reason::Observed),
        Decision::Combine(_) | Decision::Batch(_) => return BulkDecision::Pass(Reason::OnBase),
        Decision::Write(write) if !in_transaction => return BulkDecision::Pass(write.reason),
        // The server refuses queries in bulk.
        Decision::Read(_) => return BulkDecision::Pass(Reason::NoCounter),
        Decision::Fold(fold) => match fold.consistent_read {
            ConsistentRead::Yes => return BulkDecision::Pass(Reason::NoCounter),
            ConsistentRead::No if !fold.commits_first => Some(fold.into_owned()),
            ConsistentRead::No | ConsistentRead::Possibly => None,
        },
        Decision::Increment(increment) => Some(increment.exact.clone()),
        Decision::Write(write) => Some(Fold::new(vec![write.rows.clone()], Reason::Fallback)),
        Decision::Ddl(_) | Decision::Shadow(_) | Decision::Prepare | Decision::LockTables(_) => {
            None
        }
    };
    // What is the original's text has no use: the rows of parameters are not run one by one.
    BulkDecision::Fold(of_a_row.map(|fold| Fold {
        inserts_alone: fold.inserts_alone || fold.confined.is_some(),
        ..Fold::new(fold.folds, fold.reason)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::plan::{FoldTable, Scope};
    use crate::sql::planned_in_fixture;

    const INCREMENT: &str = "UPDATE posts SET views = views + ? WHERE id = ?";
    const READ: &str = "SELECT views FROM posts WHERE id = ?";
    const LOCKING_READ: &str = "SELECT views FROM posts WHERE id = ? FOR UPDATE";
    const FOLD: &str = "UPDATE posts SET views = views * 2 WHERE id = ?";
    const WRITE: &str = "UPDATE posts SET title = ? WHERE id = ?";

    /// The reason of what is decided, and whether it is a fold of the whole table.
    fn decided(text: &str, circumstances: Circumstances) -> (Reason, bool) {
        let plan = planned_in_fixture(text);
        match decide(&plan, circumstances) {
            Decision::Forward(reason) => (reason, false),
            Decision::Write(write) => (write.reason, false),
            Decision::Increment(_) => (Reason::Slotted, false),
            Decision::Read(read) => (read.reason, false),
            Decision::Fold(fold) => {
                let is_whole = |fold: &FoldTable| fold.scope == Scope::Table;
                (fold.reason, fold.folds.iter().all(is_whole))
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    fn with_values(values: Values) -> Circumstances {
        Circumstances {
            values,
            ..Circumstances::default()
        }
    }

    #[test]
    fn an_increment_needs_its_values() {
        let cases = [
            (Values::Known, (Reason::Slotted, false)),
            (Values::Retyped, (Reason::RetypedParameter, true)),
            (Values::Transferable, (Reason::Fallback, true)),
            (Values::Unknown, (Reason::Fallback, true)),
        ];
        for (values, expected) in cases {
            assert_eq!(decided(INCREMENT, with_values(values)), expected);
        }
    }

    #[test]
    fn without_checks_an_increment_folds_its_key() {
        let circumstances = Circumstances {
            takes_no_slots: true,
            ..Circumstances::default()
        };
        let (reason, is_whole) = decided(INCREMENT, circumstances);
        assert_eq!((reason, is_whole), (Reason::Fallback, false));
        let unknown = Circumstances {
            values: Values::Unknown,
            ..circumstances
        };
        assert_eq!(decided(INCREMENT, unknown), (Reason::Fallback, true));
    }

    #[test]
    fn a_read_needs_its_values_for_locks_only() {
        for values in [Values::Known, Values::Retyped, Values::Transferable] {
            let read = (Reason::Summed, false);
            assert_eq!(decided(READ, with_values(values)), read);
        }
        let fallback = (Reason::Fallback, true);
        assert_eq!(decided(READ, with_values(Values::Unknown)), fallback);
        let transferable = with_values(Values::Transferable);
        assert_eq!(decided(LOCKING_READ, transferable), fallback);
    }

    #[test]
    fn lock_tables_forwards_what_it_does_not_lock_slots_for() {
        let under = |table_locks| Circumstances {
            table_locks,
            ..Circumstances::default()
        };
        let forwarded = (Reason::UnderLockTables, false);
        for text in [INCREMENT, FOLD] {
            for locks in [TableLocks::Read, TableLocks::Plain] {
                assert_eq!(decided(text, under(locks)), forwarded, "{text}");
            }
        }
        for text in [READ, WRITE] {
            assert_ne!(decided(text, under(TableLocks::Read)), forwarded, "{text}");
            assert_eq!(decided(text, under(TableLocks::Plain)), forwarded, "{text}");
        }
    }

    #[test]
    fn a_bulk_execution_folds_what_a_row_of_parameters_names() {
        let decided = |text: &str, in_transaction| {
            let plan = planned_in_fixture(text);
            match decide_in_bulk(&plan, Circumstances::default(), in_transaction) {
                BulkDecision::Pass(reason) => (Some(reason), None),
                BulkDecision::Fold(fold) => {
                    let is_by_keys = |fold: &FoldTable| matches!(fold.scope, Scope::Keys(_));
                    let fold = fold.filter(|fold| fold.folds.iter().all(is_by_keys));
                    (None, fold.map(|fold| fold.reason))
                }
            }
        };
        for in_transaction in [false, true] {
            let keys = |reason| (None, Some(reason));
            assert_eq!(decided(INCREMENT, in_transaction), keys(Reason::Fallback));
            assert_eq!(decided(FOLD, in_transaction), keys(Reason::AbsoluteSet));
            for query in [READ, LOCKING_READ] {
                let passed = (Some(Reason::NoCounter), None);
                assert_eq!(decided(query, in_transaction), passed, "{query}");
            }
            let combined = "UPDATE tallies SET views = views + ? WHERE id = ?";
            let passed = (Some(Reason::OnBase), None);
            assert_eq!(decided(combined, in_transaction), passed);
        }
        assert!(decided(WRITE, false).0.is_some());
        assert_eq!(decided(WRITE, true), (None, Some(Reason::Fallback)));
    }

    #[test]
    fn whatever_touches_counters_folds_where_is_null_finds_the_last_row() {
        let circumstances = Circumstances {
            finds_last_inserted: true,
            ..Circumstances::default()
        };
        for text in [INCREMENT, READ, FOLD, WRITE] {
            let whole = (Reason::Unresolved, true);
            assert_eq!(decided(text, circumstances), whole, "{text}");
        }
    }
}

//! What concerns hot tables as wholes: DDL, temporary tables in front of them, PREPARE, LOCK TABLES.

use std::sync::Arc;

use super::{Explanation, Keys, Sent, Situation, Way, base, fold, locks, slots};
use crate::catalog::HotTable;
use crate::counter::fold as statements;
use crate::reason::Reason;
use crate::sql::plan::{Ddl, Emptying, Fold, FoldTable, LockTables};

fn all_of(tables: &[Arc<HotTable>]) -> Vec<Keys> {
    let whole = |table: &Arc<HotTable>| Keys {
        table: Arc::clone(table),
        predicate: None,
    };
    tables.iter().map(whole).collect()
}

/// DDL.
pub(super) fn ddl(ddl: &Ddl, situation: &Situation) -> Explanation {
    let (way, note) = match (ddl.emptying, situation.in_transaction) {
        (Emptying::None, _) | (Emptying::Unread, true) => (folded_ddl(ddl, situation), None),
        _ => (emptying(&ddl.tables), Some(WITHOUT_LOCKS)),
    };
    let notes = [
        Some("It is answered when the catalog has been read again."),
        note,
    ];
    Explanation {
        reason: Reason::Ddl,
        ways: vec![way],
        notes: notes.into_iter().flatten().map(str::to_owned).collect(),
    }
}

/// What a statement that empties tables comes to where the server refuses the locks.
const WITHOUT_LOCKS: &str = "Where the tables may not be locked (the account has no LOCK TABLES, the statement names other \
    tables), it is folded for and the slots are emptied behind it; what others have added meanwhile to rows that are new is lost.";

/// DDL that empties tables, while nobody else reaches them.
fn emptying(tables: &[Arc<HotTable>]) -> Way {
    let lock = statements::lock_alone(tables.to_vec());
    let before = [statements::lock_tables(&lock)]
        .into_iter()
        .chain(statements::under_locks(&lock))
        .map(Sent::text);
    let behind = tables
        .iter()
        .map(|table| Sent::Text(statements::empty(table)));
    let names = tables.iter().flat_map(|table| {
        [
            format!("{}: the table, WRITE", base(table)),
            format!("{}: the table, WRITE", slots(table)),
        ]
    });
    Way {
        when: String::new(),
        sends: before
            .chain([Sent::Original])
            .chain(behind)
            .chain([Sent::text(statements::UNLOCK)])
            .collect(),
        locks: names
            .chain(["held until UNLOCK TABLES".to_owned()])
            .collect(),
    }
}

/// DDL behind a fold: in an open transaction it commits what was folded in it.
fn folded_ddl(ddl: &Ddl, situation: &Situation) -> Way {
    let keys = all_of(&ddl.tables);
    let folding = fold::statements(&keys, situation);
    let mut sends = match situation.in_transaction {
        true => folding,
        false => [Sent::text("START TRANSACTION")]
            .into_iter()
            .chain(folding)
            .chain([Sent::text(statements::COMMIT)])
            .collect(),
    };
    sends.push(Sent::Original);
    if ddl.emptying != Emptying::None {
        sends.extend(
            ddl.tables
                .iter()
                .map(|table| Sent::Text(statements::empty(table))),
        );
    }
    let mut locks = fold::locks_of(&keys);
    locks.push(match situation.in_transaction {
        true => "held until the statement itself commits".to_owned(),
        false => locks::until(false),
    });
    locks.push(locks::THEN_THE_STATEMENTS_OWN.to_owned());
    Way {
        when: String::new(),
        sends,
        locks,
    }
}

/// A temporary table with a hot table's name.
pub(super) fn shadow(tables: &[Arc<HotTable>], situation: &Situation) -> Explanation {
    let fold = Fold {
        folds: tables.iter().map(FoldTable::whole).collect(),
        reason: Reason::Shadowed,
    };
    let mut way = fold::way(&fold, situation);
    let questions = tables
        .iter()
        .map(|table| Sent::Text(statements::show_create(table)));
    way.sends.extend(questions);
    Explanation {
        reason: Reason::Shadowed,
        ways: vec![way],
        notes: vec![
            "While the temporary table is there, statements of this session pass as they came."
                .to_owned(),
        ],
    }
}

/// SQL-level PREPARE.
pub(super) fn prepare() -> Explanation {
    Explanation {
        reason: Reason::SqlPrepare,
        ways: vec![Way::original()],
        notes: vec!["Each EXECUTE follows the plan of the text.".to_owned()],
    }
}

/// LOCK TABLES.
pub(super) fn lock_tables(lock: &LockTables) -> Explanation {
    let sends = [statements::lock_tables(lock)]
        .into_iter()
        .chain(statements::under_locks(lock))
        .map(Sent::text);
    let mode = if lock.write { "WRITE" } else { "READ" };
    let names = lock.tables.iter().flat_map(|table| {
        [
            format!("{}: the table, as it asks for", base(table)),
            format!("{}: the table, {mode}", slots(table)),
        ]
    });
    let note = match lock.write {
        true => {
            "Until UNLOCK TABLES the hot tables are plain tables: statements on them pass as they came."
        }
        false => {
            "Until UNLOCK TABLES reads of the hot tables are rewritten as ever, and writes are MySQL's to refuse."
        }
    };
    Explanation {
        reason: Reason::LockTables,
        ways: vec![Way {
            when: String::new(),
            sends: sends.collect(),
            locks: names.collect(),
        }],
        notes: vec![note.to_owned()],
    }
}

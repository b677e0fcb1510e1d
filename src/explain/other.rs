//! What concerns hot tables as wholes: DDL, temporary tables in front of them, PREPARE, LOCK TABLES.

use std::sync::Arc;

use super::{Explanation, Keys, Sent, Situation, Way, base, fold, locks, slots};
use crate::catalog::HotTable;
use crate::counter::fold as statements;
use crate::reason::Reason;
use crate::sql::plan::{Ddl, Fold, FoldTable, LockTables};

fn all_of(tables: &[Arc<HotTable>]) -> Vec<Keys> {
    let whole = |table: &Arc<HotTable>| Keys {
        table: Arc::clone(table),
        predicate: None,
    };
    tables.iter().map(whole).collect()
}

/// DDL: in an open transaction it commits what was folded in it.
pub(super) fn ddl(ddl: &Ddl, situation: &Situation) -> Explanation {
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
    if ddl.empties {
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
    Explanation {
        reason: Reason::Ddl,
        ways: vec![Way {
            when: String::new(),
            sends,
            locks,
        }],
        notes: vec!["The catalog is read again before the next statement.".to_owned()],
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

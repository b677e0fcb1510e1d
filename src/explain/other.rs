//! What concerns hot tables as wholes: DDL, temporary tables in front of them, PREPARE, LOCK TABLES.

use std::sync::Arc;

use super::{Explanation, Keys, Sent, Situation, Way, base, fold, locks, shown, slots};
use crate::catalog::HotTable;
use crate::counter::fold as statements;
use crate::counter::withdrawal;
use crate::reason::Reason;
use crate::sql::lock_around;
use crate::sql::plan::{Ddl, Fold, FoldTable, LockTables, OneRow};

fn all_of(tables: &[Arc<HotTable>]) -> Vec<Keys> {
    let whole = |table: &Arc<HotTable>| Keys {
        table: Arc::clone(table),
        predicate: None,
    };
    tables.iter().map(whole).collect()
}

/// A write of one row of a table without slots.
pub(super) fn batch(row: &OneRow) -> Explanation {
    let alone = Way {
        when: "Alone".to_owned(),
        ..Way::original()
    };
    let together = Way {
        when: "When others wait for the same row".to_owned(),
        sends: locked(&row.table, &shown(&row.key), [Sent::Original]),
        locks: vec![
            format!("{}: the one row, X", base(&row.table)),
            locks::THE_STATEMENTS_OWN.to_owned(),
        ],
    };
    let alike = row.repeat.as_ref().map(|repeat| Way {
        when: "When others of the same wait, with what they add together".to_owned(),
        sends: match row.table.is_keyless() {
            true => locked(
                &row.table,
                &shown(&row.key),
                [Sent::Original, Sent::text(shown(&repeat.text))],
            ),
            false => vec![
                Sent::Text(statements::BEGIN.to_owned()),
                Sent::Original,
                Sent::text(shown(&repeat.text)),
                Sent::Text(statements::COMMIT.to_owned()),
            ],
        },
        locks: vec![locks::THE_STATEMENTS_OWN.to_owned()],
    });
    let note =
        "One of the sessions runs the statements of all that wait. Transactions run it as it came.";
    Explanation {
        reason: Reason::Batched,
        ways: [alone, together].into_iter().chain(alike).collect(),
        notes: vec![note.to_owned()],
    }
}

/// A transaction that locks the row first. Where the table has no primary key, it looks again at the end: there must be
/// one row.
pub(super) fn locked(
    table: &HotTable,
    key: &str,
    sends: impl IntoIterator<Item = Sent>,
) -> Vec<Sent> {
    let (before, behind) = lock_around(table);
    let lock = format!("{before}{key}{behind}");
    let again = table.is_keyless().then(|| Sent::Text(lock.clone()));
    let first = [Sent::Text(statements::BEGIN.to_owned()), Sent::Text(lock)];
    let last = Sent::Text(statements::COMMIT.to_owned());
    first
        .into_iter()
        .chain(sends)
        .chain(again)
        .chain([last])
        .collect()
}

/// DDL.
pub(super) fn ddl(ddl: &Ddl, situation: &Situation) -> Explanation {
    let (way, note) = match ddl.withdraws_slots {
        false => (folded_ddl(ddl, situation), None),
        true => (without_slots(&ddl.tables), Some(AWAY)),
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

/// What goes on while slots are away.
const AWAY: &str = "Until the statement has run, and slot tables are made anew, increments go to base. Where the control \
    account may not lock the tables, slots stay in use, and what others put there meanwhile stays with the name.";

/// DDL while no slot table is there.
fn without_slots(tables: &[Arc<HotTable>]) -> Way {
    let lock = statements::lock_alone(tables.to_vec());
    let drops = tables
        .iter()
        .map(|table| format!("DROP TABLE {}", withdrawal::slots(table)).into_bytes());
    let emptying = [statements::lock_tables(&lock)]
        .into_iter()
        .chain(statements::under_locks(&lock))
        .chain(drops)
        .chain([statements::UNLOCK.as_bytes().to_vec()])
        .map(|text| Sent::Control(String::from_utf8_lossy(&text).into_owned()));
    let named = |text: &'static str| {
        let locks = tables.iter();
        locks.map(move |table| Sent::Text(text.replace("{}", &slots(table))))
    };
    let taken = named("SELECT GET_LOCK('countersink.ddl.<{}>', ..)");
    let released = named("DO RELEASE_LOCK('countersink.ddl.<{}>')");
    let names = tables.iter().flat_map(|table| {
        [
            format!("{}: the table, WRITE", base(table)),
            format!("{}: the table, WRITE", slots(table)),
        ]
    });
    Way {
        when: String::new(),
        sends: taken
            .chain(emptying)
            .chain([Sent::Original])
            .chain(released)
            .collect(),
        locks: names
            .chain(["held until UNLOCK TABLES".to_owned()])
            .chain([locks::THEN_THE_STATEMENTS_OWN.to_owned()])
            .collect(),
    }
}

/// DDL after a fold: in an open transaction it commits what was folded in it.
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
    let fold = Fold::new(
        tables.iter().map(FoldTable::whole).collect(),
        Reason::Shadowed,
    );
    let way = match tables.is_empty() {
        true => Way::original(),
        false => fold::way(&fold, situation),
    };
    Explanation {
        reason: Reason::Shadowed,
        ways: vec![way],
        notes: vec![
            "While the temporary table is there, statements of this session pass as they came: before the next one that \
             names a hot table, SHOW CREATE TABLE tells which of them are temporary."
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
    let flush = lock.flush.iter().cloned();
    let sends = flush
        .chain([statements::lock_tables(lock)])
        .chain(statements::under_locks(lock))
        .map(Sent::text);
    let names = lock.tables.iter().flat_map(|table| {
        let mode = match lock.written.contains(table) {
            true => "WRITE",
            false => "READ",
        };
        let locks_slots = memchr::memmem::find(&lock.text, table.slot_name.as_bytes()).is_some();
        let of_slots = format!("{}: the table, {mode}", slots(table));
        [format!("{}: the table, as it asks for", base(table))]
            .into_iter()
            .chain(locks_slots.then_some(of_slots))
    });
    let note = match lock.written.len() == lock.tables.len() {
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

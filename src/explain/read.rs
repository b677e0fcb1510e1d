//! Reads: base + SUM(slots), after a fold of what the transaction has incremented itself.

use std::sync::Arc;

use super::{Explanation, Keys, Sent, Situation, Way, base, filled, fold, locks, shown, slots};
use crate::catalog::HotTable;
use crate::counter::KeyForm;
use crate::counter::fold::open_rows;
use crate::reason::Reason;
use crate::sql::plan::{Fold, Read};
use crate::sql::template::Filling;

/// The plan of a read.
pub(super) fn explain(read: &Read, situation: &Situation) -> Explanation {
    let mut notes =
        vec!["The client is shown the column definitions of its own statement.".to_owned()];
    if situation.in_transaction && own(read, situation).is_empty() {
        notes.push(format!(
            "Once the transaction has incremented one of these counters itself, it folds those keys first ({}).",
            Reason::OwnIncrement
        ));
    }
    Explanation {
        reason: match own(read, situation).is_empty() {
            true if read.folded_first.is_some() && situation.in_transaction => Reason::LockedByKey,
            true => read.reason,
            false => Reason::OwnIncrement,
        },
        ways: folded_first(read, situation)
            .into_iter()
            .chain([way(read, situation)])
            .collect(),
        notes,
    }
}

/// What the transaction has incremented of what is read.
fn own(read: &Read, situation: &Situation) -> Vec<Keys> {
    let incremented = situation.incremented.iter();
    incremented
        .filter(|keys| read.tables.contains(&keys.table))
        .cloned()
        .collect()
}

/// FOR UPDATE by a key, in a transaction: folded, the original reads what it locks.
fn folded_first(read: &Read, situation: &Situation) -> Option<Way> {
    let first = read.folded_first.as_ref()?;
    let fold = Fold::new(vec![first.clone()], Reason::LockedByKey);
    let way = Way {
        when: "When the transaction may write".to_owned(),
        ..fold::way(&fold, situation)
    };
    situation.in_transaction.then_some(way)
}

fn way(read: &Read, situation: &Situation) -> Way {
    let own = own(read, situation);
    let mut sends = fold::statements(&own, situation);
    if situation.in_transaction {
        sends.extend(read.locks.iter().map(|lock| Sent::Text(shown(lock))));
    }
    let whole: Vec<&Keys> = situation.folded.iter().chain(&own).collect();
    let folded: Vec<_> = read
        .tables
        .iter()
        .map(|table| predicates(&whole, table))
        .collect();
    let mut open_slots = vec![None; read.tables.len()];
    for position in read.text.asks_for_open_slots() {
        let table = &read.tables[position];
        if let (None, Some(form)) = (&open_slots[position], KeyForm::of(table)) {
            sends.push(Sent::Control(open_rows(table, &form, None)));
            open_slots[position] = Some(vec![(fold::some_key(table), 0)]);
        }
    }
    let filling = Filling {
        folded: &folded,
        open_slots: &open_slots,
        ..Filling::default()
    };
    let text = filled(&read.text, &filling);
    // Keys and their numbers are known only then.
    sends.push(Sent::Text(
        text.replace(" THEN 0 ELSE ", " THEN <slots> ELSE "),
    ));
    let is_second = read.folded_first.is_some() && situation.in_transaction;
    Way {
        when: match is_second {
            true => "When it may not".to_owned(),
            false => String::new(),
        },
        sends,
        locks: locks_of(read, &own, situation),
    }
}

/// The predicates of those keys that are of this table: their rows count without slots.
fn predicates(keys: &[&Keys], table: &Arc<HotTable>) -> Vec<Vec<u8>> {
    let of_table = keys.iter().filter(|keys| keys.table == *table);
    let predicate = |keys: &&Keys| keys.predicate.clone().unwrap_or_else(|| b"TRUE".to_vec());
    of_table.map(predicate).collect()
}

fn locks_of(read: &Read, own: &[Keys], situation: &Situation) -> Vec<String> {
    let mut locks = fold::locks_of(own);
    if read.locks_rows() {
        locks.extend(read.tables.iter().flat_map(|table| {
            [
                format!(
                    "{}: the rows that it reads, in the mode that it asks for",
                    base(table)
                ),
                format!("{}: their slot rows, in the same mode", slots(table)),
            ]
        }));
    }
    locks.push(match (locks.is_empty(), situation.in_transaction) {
        (true, false) => locks::NONE.to_owned(),
        (true, true) => locks::NONE_IN_TRANSACTION.to_owned(),
        (false, false) => "held until the statement ends".to_owned(),
        (false, true) => locks::until(true),
    });
    locks
}

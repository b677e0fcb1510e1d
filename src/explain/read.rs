//! Reads: base + SUM(slots), after a fold of what the transaction has incremented itself.

use super::{Explanation, Keys, Sent, Situation, Way, base, fold, locks, shown, slots};
use crate::reason::Reason;
use crate::sql::plan::Read;

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
        reason: read.reason,
        ways: vec![way(read, situation)],
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

fn way(read: &Read, situation: &Situation) -> Way {
    let own = own(read, situation);
    let mut sends = fold::statements(&own, Reason::OwnIncrement, situation);
    let mut locks = fold::locks_of(&own);
    if situation.in_transaction {
        sends.extend(read.locks.iter().map(|lock| Sent::Text(shown(lock, &[]))));
    }
    let by_base_alone: Vec<&Keys> = situation.folded.iter().chain(&own).collect();
    let folded: Vec<Vec<Vec<u8>>> = read
        .tables
        .iter()
        .map(|table| {
            let of_table = by_base_alone.iter().filter(|keys| keys.table == *table);
            of_table
                .map(|keys| keys.predicate.clone().unwrap_or_else(|| b"TRUE".to_vec()))
                .collect()
        })
        .collect();
    sends.push(Sent::Text(shown(&read.text, &folded)));
    match read.reason {
        Reason::SummedLocked => {
            for table in &read.tables {
                locks.push(format!(
                    "{}: the rows that it reads, in the mode that it asks for",
                    base(table)
                ));
                locks.push(format!(
                    "{}: their slot rows, in the same mode",
                    slots(table)
                ));
            }
            if !situation.in_transaction {
                locks.push("all of them until the statement ends".to_owned());
            }
        }
        _ if locks.is_empty() => locks.push(locks::NONE.to_owned()),
        _ => {}
    }
    if !locks.is_empty() && situation.in_transaction && locks != [locks::NONE] {
        locks.push(locks::until(true));
    }
    Way {
        when: String::new(),
        sends,
        locks,
    }
}

//! Folds: slots into the rows, then the original, in one transaction.

use super::{Explanation, Keys, Sent, Situation, Way, locks};
use crate::catalog::HotTable;
use crate::counter::fold::{self, COMMIT, Cautious, FoldStatements, OpenRow};
use crate::counter::{Key, KeyForm};
use crate::sql::plan::{ConsistentRead, Fold, FoldTable, Scope};
use crate::sql::template::{Filling, Template};

/// The plan of a fold.
pub(super) fn explain(fold: &Fold, situation: &Situation) -> Explanation {
    let done = fold
        .folds
        .iter()
        .any(|fold| situation.has_settled(&keys(fold, situation)));
    let way = way(fold, situation);
    let moves = way
        .sends
        .iter()
        .any(|sent| matches!(sent, Sent::Control(_)));
    let notes = [
        (fold.with_sums.is_some() && situation.in_transaction).then_some(
            "Where the transaction has a snapshot, the statement runs with sums in place of its counters, and nothing is folded.",
        ),
        (fold.confined.is_some() && situation.in_transaction).then_some(
            "Where the transaction has a snapshot, and the statement changes only some of these rows, the folds are undone, and \
             the statement runs once more for the rows that it changes.",
        ),
        (fold.in_snapshot.is_some() && situation.in_transaction).then_some(
            "Where the transaction has a snapshot, an execution whose parameters are known reads sums, and nothing is folded.",
        ),
        (fold.consistent_read == ConsistentRead::Yes && situation.in_transaction).then_some(
            "Where the transaction has a snapshot, nothing is folded: rows with slots are written as the snapshot adds them up, and \
             a savepoint takes that back after the query.",
        ),
        (fold.consistent_read == ConsistentRead::Possibly && situation.in_transaction).then_some(
            "It may be a query. Where the transaction has a snapshot, and slots hold something, it fails with 1412 unless it writes \
             something.",
        ),
        done.then_some("What the transaction has folded already is not folded again."),
        moves.then_some(
            "Slots are moved key by key, those that the control account finds open (<slots>); where none is, nothing is.",
        ),
    ];
    Explanation {
        reason: fold.reason,
        ways: vec![way],
        notes: notes.into_iter().flatten().map(str::to_owned).collect(),
    }
}

/// Fold, then the original.
pub(super) fn way(fold: &Fold, situation: &Situation) -> Way {
    let folds = fold.folds.iter();
    let keys = folds.map(|fold| keys(fold, situation));
    let keys: Vec<Keys> = keys.filter(|keys| !situation.has_settled(keys)).collect();
    if keys.is_empty() {
        return Way::original();
    }
    let asked = fold.folds.iter().flat_map(|fold| reads(fold, situation));
    let asked = asked.map(|path| Sent::Text(fold::show_create_of(path)));
    let folding: Vec<Sent> = asked.chain(statements(&keys, situation)).collect();
    let mut locks = locks_of(&keys);
    locks.push(locks::THEN_THE_STATEMENTS_OWN.to_owned());
    locks.push(locks::until(situation.in_transaction));
    let sends = match situation.in_transaction {
        true => folding.into_iter().chain([Sent::Original]).collect(),
        false => [Sent::text("START TRANSACTION")]
            .into_iter()
            .chain(folding)
            .chain([Sent::Original, Sent::text(COMMIT)])
            .collect(),
    };
    Way {
        when: String::new(),
        sends,
        locks,
    }
}

/// The statements that fold these keys: base is locked, the control account reports which slot rows are open, and these
/// are moved, one key at a time.
pub(super) fn statements(keys: &[Keys], situation: &Situation) -> Vec<Sent> {
    keys.iter()
        .flat_map(|keys| of_keys(keys, situation))
        .collect()
}

fn of_keys(keys: &Keys, situation: &Situation) -> Vec<Sent> {
    let (table, predicate) = (&*keys.table, keys.predicate.as_deref());
    let Some(form) = KeyForm::of(table) else {
        let FoldStatements { lock, fold } = FoldStatements::new(table, predicate);
        let lock_alone = fold::lock(table, predicate, None);
        return [lock_alone, lock, fold].map(Sent::text).to_vec();
    };
    let named = Some(&form).filter(|_| predicate.is_some());
    let mut sends = vec![Sent::text(fold::lock(table, predicate, named))];
    // Key and slots are known only then.
    let key = some_key(table);
    let asked = Some(std::slice::from_ref(&key)).filter(|_| predicate.is_some());
    sends.push(Sent::Control(fold::open_rows(table, &form, asked)));
    let around = fold::without_caution(Cautious {
        safe_updates: situation.safe_updates,
        big_selects: true,
        character_set: None,
    });
    let [before, after] = around.map_or([None, None], |around| around.map(Some));
    sends.extend(before.map(Sent::text));
    let row = OpenRow { key, slot: 0 };
    let moves = fold::moves(table, &form, &[row]).into_iter();
    let moves = moves.flat_map(|of_key| of_key.texts);
    sends.extend(moves.map(|text| {
        let text = String::from_utf8_lossy(&text).replace("SELECT 0 AS", "SELECT <slots> AS");
        Sent::Text(text)
    }));
    sends.extend(after.map(Sent::text));
    sends
}

/// The placeholder of a key that is known only when the statement runs.
pub(super) fn some_key(table: &HotTable) -> Key {
    let columns = table.primary_key.iter();
    columns
        .map(|&position| format!("<{}>", table.columns[position].name))
        .collect()
}

/// What a fold of these keys locks.
pub(super) fn locks_of(keys: &[Keys]) -> Vec<String> {
    let of = |keys: &Keys| {
        let predicate = keys.predicate.as_deref().map(String::from_utf8_lossy);
        locks::of_fold(&keys.table, predicate.as_deref())
    };
    keys.iter().flat_map(of).collect()
}

/// The other tables that are read to find the rows, of which it is asked first what they are.
fn reads<'a>(fold: &'a FoldTable, situation: &Situation) -> &'a [String] {
    match &fold.scope {
        Scope::Rows(rows) if situation.locks_gaps => &rows.reads,
        _ => &[],
    }
}

/// The keys of a scope; parameters stay question marks.
pub(super) fn keys(fold: &FoldTable, situation: &Situation) -> Keys {
    let predicate = match &fold.scope {
        Scope::Keys(predicate) => Some(rendered(predicate)),
        Scope::Rows(rows) if situation.locks_gaps => Some(rendered(&rows.predicate)),
        Scope::Rows(_) | Scope::Table => None,
    };
    Keys {
        table: fold.table.clone(),
        predicate,
    }
}

fn rendered(template: &Template) -> Vec<u8> {
    let mut text = Vec::new();
    template.render(&Filling::default(), &mut text);
    text
}

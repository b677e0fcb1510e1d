//! Folds: slots into the rows, then the original, in one transaction.

use super::{Explanation, Keys, Sent, Situation, Way, locks};
use crate::counter::fold::{COMMIT, FoldStatements, SAFE_UPDATES, UNSAFE_UPDATES};
use crate::reason::Reason;
use crate::sql::plan::{Fold, FoldTable, Scope};
use crate::sql::template::{Filling, Template};

/// The plan of a fold.
pub(super) fn explain(fold: &Fold, situation: &Situation) -> Explanation {
    let done = fold
        .folds
        .iter()
        .any(|fold| situation.has_folded(&keys(fold)));
    let note = "What the transaction has folded already is not folded again.";
    Explanation {
        reason: fold.reason,
        ways: vec![way(fold, fold.reason, situation)],
        notes: done.then(|| note.to_owned()).into_iter().collect(),
    }
}

/// Fold, then the original.
pub(super) fn way(fold: &Fold, reason: Reason, situation: &Situation) -> Way {
    let keys = fold.folds.iter().map(keys);
    let keys: Vec<Keys> = keys.filter(|keys| !situation.has_folded(keys)).collect();
    if keys.is_empty() {
        return Way::original();
    }
    let folding = statements(&keys, reason, situation);
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

/// The statements that fold these keys.
pub(super) fn statements(keys: &[Keys], reason: Reason, situation: &Situation) -> Vec<Sent> {
    let purge = reason.may_remove_rows();
    let folds = keys
        .iter()
        .map(|keys| FoldStatements::new(&keys.table, keys.predicate.as_deref(), purge));
    let folds: Vec<Sent> = folds
        .flat_map(|statements| statements.all().map(Sent::text).collect::<Vec<_>>())
        .collect();
    match situation.safe_updates {
        true => [Sent::text(UNSAFE_UPDATES)]
            .into_iter()
            .chain(folds)
            .chain([Sent::text(SAFE_UPDATES)])
            .collect(),
        false => folds,
    }
}

/// What a fold of these keys locks.
pub(super) fn locks_of(keys: &[Keys]) -> Vec<String> {
    let of = |keys: &Keys| {
        let predicate = keys.predicate.as_deref().map(String::from_utf8_lossy);
        locks::of_fold(&keys.table, predicate.as_deref())
    };
    keys.iter().flat_map(of).collect()
}

/// The keys of a scope; parameters stay question marks.
pub(super) fn keys(fold: &FoldTable) -> Keys {
    let predicate = match &fold.scope {
        Scope::Keys(predicate) => Some(rendered(predicate)),
        Scope::Table => None,
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

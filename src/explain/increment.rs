//! Increments: the slot row, base when that is not known, and the ways out.

use super::other::locked;
use super::{Explanation, Sent, Situation, Way, base, fold, shown, slots};
use crate::reason::Reason;
use crate::sql::plan::{Increment, Scope};

/// The plan of an increment.
pub(super) fn explain(increment: &Increment, situation: &Situation) -> Explanation {
    let ways = update(increment).into_iter().chain([
        upsert(increment),
        nothing(),
        exact(increment, situation),
    ]);
    Explanation {
        reason: Reason::Slotted,
        ways: ways.collect(),
        notes: notes(increment, situation),
    }
}

/// The plan of an increment of a table without slots.
pub(super) fn explain_base(increment: &Increment) -> Explanation {
    let together = increment.update.as_ref().map(|update| Way {
        when: "When others of its kind wait, with what they add together".to_owned(),
        sends: match increment.table.is_keyless() {
            true => locked(&increment.table, "TRUE", [Sent::Text(shown(update))]),
            false => vec![Sent::Text(shown(update))],
        },
        locks: vec![format!("{}: the one row, X", base(&increment.table))],
    });
    let alone = Way {
        when: "Alone, and when that finds no row".to_owned(),
        ..Way::original()
    };
    Explanation {
        reason: Reason::Combined,
        ways: std::iter::once(alone).chain(together).collect(),
        notes: vec![
            "The table uses no slots. Transactions run it as it came, and queue on the row."
                .to_owned(),
        ],
    }
}

fn update(increment: &Increment) -> Option<Way> {
    let table = &increment.table;
    Some(Way {
        when: "When the slot row is known to be there".to_owned(),
        sends: vec![Sent::Text(shown(increment.update.as_ref()?))],
        locks: vec![
            format!("{}: the one slot row, X", slots(table)),
            format!("{}: nothing", base(table)),
        ],
    })
}

fn upsert(increment: &Increment) -> Way {
    let table = &increment.table;
    let when = match &increment.update {
        Some(_) => "When it is not, or a fold has closed it",
        None => "Always at first",
    };
    let rows = match &increment.exact.folds[..] {
        [fold] if matches!(fold.scope, Scope::Keys(_)) => "the rows that the WHERE finds, S",
        _ => "all that the WHERE looks at, S (where the statement itself takes X)",
    };
    Way {
        when: when.to_owned(),
        sends: vec![Sent::Text(shown(&increment.upsert))],
        locks: vec![
            format!("{}: {rows}", base(table)),
            format!("{}: the slot rows of this slot, X", slots(table)),
        ],
    }
}

fn nothing() -> Way {
    Way {
        when: "When that finds no row".to_owned(),
        ..Way::original()
    }
}

fn exact(increment: &Increment, situation: &Situation) -> Way {
    let reason = increment.exact.reason;
    Way {
        when: format!("When the slot table refuses ({reason})"),
        ..fold::way(&increment.exact, situation)
    }
}

fn notes(increment: &Increment, situation: &Situation) -> Vec<String> {
    let mut notes = vec![format!(
        "<slot> is the lowest number from 0 to {} that no other session holds.",
        increment.table.slots - 1
    )];
    if increment.may_combine && !situation.in_transaction {
        notes.push(
            "What others add to the row while it is on its way is written as one behind it."
                .to_owned(),
        );
    }
    if situation.in_transaction {
        notes.push(
            "In a transaction of which it is not known yet that such ones do nothing but increment, the row itself \
             takes it."
                .to_owned(),
        );
    }
    if !increment.parameter_deltas.is_empty() {
        notes.push(format!(
            "A parameter that is no exact value of its counter's type goes to the row itself ({}), and so does zero ({}).",
            Reason::InexactDelta,
            Reason::ZeroDelta
        ));
    }
    if increment.one_key_only && !increment.key_parameters.is_empty() {
        notes.push(format!(
            "LIMIT means nothing where one row at most can match; a key parameter that may equal several keys goes to \
             the row itself ({}).",
            increment.exact.reason
        ));
    } else if increment
        .key_parameters
        .iter()
        .any(|key| key.integers.is_none())
    {
        notes.push(
            "A key parameter that is not sent as text may equal several keys, so the slot row is not taken for known."
                .to_owned(),
        );
    }
    notes
}

//! Plans of UPDATE, DELETE, INSERT and REPLACE.

mod confined;
mod insert;
mod mentions;
pub(super) mod one_row;
mod repeat;
mod rows_in_the_way;
mod sums;

use sqlparser::ast::{Delete, Expr, FromTable, Statement, Update, Value, ValueWithSpan, Visit};

use crate::sql::context::Context;
use crate::sql::ddl;
use crate::sql::increment::{self, Delta};
use crate::sql::key;
use crate::sql::plan::{ChangeReport, Fold, FoldTable, Plan, Reason, Write};
use crate::sql::predicate::{Target, is_plain};
use crate::sql::rows;
use crate::sql::touch::Touch;
use mentions::Mentions;

/// The plan of a write that was parsed.
pub(super) fn plan(context: &Context<'_>, statement: &Statement) -> Plan {
    let plan = match statement {
        Statement::Update(update) => plan_update(context, update),
        Statement::Delete(delete) => plan_delete(context, delete),
        Statement::Insert(insert) => insert::plan(context, insert),
        // WITH .. UPDATE, and whatever else the parser may know: names in it are not resolved.
        other => fold_all(&Mentions::of(context, other), Reason::MultiTable),
    };
    match plan {
        Plan::Fold(fold) => Plan::Fold(Box::new(Fold {
            with_sums: sums::with_sums(context, statement),
            confined: confined::confined(context, statement),
            ..*fold
        })),
        plan => plan,
    }
}

fn plan_update(context: &Context<'_>, update: &Update) -> Plan {
    let all = Mentions::of(context, update);
    if all.tables.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    let target = Target::of(context, &update.table).filter(|_| update.from.is_none());
    let Some(target) = target else {
        return plan_complex_update(context, update, &all);
    };
    if let Some(plan) = plan_increment(context, &target, update) {
        return plan;
    }
    let own = rows::fold_of(context, &target, update.selection.as_ref());
    let others = all.without(target.table);
    if let Some(reason) = reason_to_fold(context, &target, update) {
        return fold_or_forward(vec![own], &others, reason, reason);
    }
    match fold_or_forward(Vec::new(), &others, Reason::MultiTable, Reason::NoCounter) {
        Plan::Forward(reason) => {
            let one_key = update
                .selection
                .as_ref()
                .and_then(|predicate| key::one_key(context, &target, predicate));
            Plan::Write(Box::new(Write {
                rows: own,
                change_report: match one_key {
                    Some(_) => ChangeReport::Count,
                    None => ChangeReport::Nothing,
                },
                key_parameters: one_key.unwrap_or_default(),
                reason,
            }))
        }
        plan => plan,
    }
}

/// An UPDATE of a cold table, of several tables, or of a part of one.
fn plan_complex_update(context: &Context<'_>, update: &Update, all: &Mentions) -> Plan {
    let written = Mentions::of(context, &update.table);
    let folds = written.tables.iter().map(FoldTable::whole).collect();
    let others = written
        .tables
        .iter()
        .fold(all.clone(), |others, table| others.without(table));
    fold_or_forward(folds, &others, Reason::MultiTable, Reason::NoCounter)
}

/// The plan of an UPDATE of one hot table that sets nothing but counters, if it may be an increment.
fn plan_increment(context: &Context<'_>, target: &Target<'_>, update: &Update) -> Option<Plan> {
    let is_simple = update.order_by.is_empty()
        && update.limit.as_ref().is_none_or(is_one_or_more)
        && update.returning.is_none()
        && update.output.is_none()
        && update.or.is_none()
        && update.optimizer_hints.is_empty()
        && !context.syntax.has_modifier;
    let is_plain = update
        .selection
        .as_ref()
        .is_none_or(|predicate| is_plain(context, target, predicate));
    let (deltas, touches) = deltas(context, target, update).ok()?;
    let is_increment = is_simple && is_plain && !deltas.is_empty();
    is_increment.then(|| increment::plan(context, target, update, &deltas, &touches))
}

/// Whether a LIMIT lets a row pass; with one row at most it then means nothing.
fn is_one_or_more(limit: &Expr) -> bool {
    matches!(limit, Expr::Value(ValueWithSpan { value: Value::Number(digits, false), .. })
        if digits.parse::<u64>().is_ok_and(|rows| rows >= 1))
}

/// The increments that an UPDATE consists of, and the times that it sets, or what else it does.
fn deltas<'a>(
    context: &Context<'_>,
    target: &Target<'a>,
    update: &Update,
) -> Result<(Vec<Delta<'a>>, Vec<Touch>), Reason> {
    let mut seen = Vec::new();
    let mut deltas = Vec::new();
    let mut touches = Vec::new();
    for assignment in &update.assignments {
        let column =
            increment::assigned_column(context, target, assignment).ok_or(Reason::OtherColumns)?;
        if seen.contains(&column) {
            return Err(Reason::AbsoluteSet);
        }
        seen.push(column);
        if target.table.touches.contains(&column) {
            let touch = Touch::assigned(context, target.table, column, &assignment.value);
            touches.push(touch.ok_or(Reason::TouchColumn)?);
            continue;
        }
        let counter = target.table.counter(column).ok_or(Reason::OtherColumns)?;
        deltas.push(increment::delta(
            context,
            target,
            counter,
            &assignment.value,
        )?);
    }
    for &column in &target.table.touches {
        if target.table.columns[column].on_update_now && !seen.contains(&column) {
            touches.push(Touch::automatic(target.table, column));
        }
    }
    Ok((deltas, touches))
}

/// Why an UPDATE of one hot table must not run on base alone; `None` if it may.
fn reason_to_fold(context: &Context<'_>, target: &Target<'_>, update: &Update) -> Option<Reason> {
    let columns: Vec<Option<usize>> = update
        .assignments
        .iter()
        .map(|assignment| increment::assigned_column(context, target, assignment))
        .collect();
    let is_counter = |column: &Option<usize>| {
        column.is_some_and(|column| target.table.counter(column).is_some())
    };
    let is_key = |column: &Option<usize>| {
        column.is_some_and(|column| target.table.primary_key.contains(&column))
    };
    let names_counter = |mentions: Mentions| mentions.names_counter_of(target.table);
    let in_predicate = names_counter(Mentions::of(context, &update.selection))
        || names_counter(Mentions::of(context, &update.order_by))
        || names_counter(Mentions::of(context, &update.limit));
    // Slots may hold a later time, or just this one: then the statement changes nothing, and has to say so.
    let sets_a_time = columns
        .iter()
        .any(|column| column.is_some_and(|column| target.table.touches.contains(&column)));
    let in_values = update
        .assignments
        .iter()
        .any(|assignment| names_counter(Mentions::of(context, &assignment.value)));
    if columns.iter().any(is_key) {
        Some(Reason::KeyChange)
    } else if in_predicate {
        Some(Reason::CounterInPredicate)
    } else if columns.iter().any(is_counter) {
        // An increment in all but its surroundings is one that we cannot resolve.
        Some(
            deltas(context, target, update)
                .err()
                .unwrap_or(Reason::Unresolved),
        )
    } else if sets_a_time {
        Some(Reason::TouchColumn)
    } else if in_values || update.returning.is_some() {
        Some(Reason::OtherColumns)
    } else {
        None
    }
}

fn plan_delete(context: &Context<'_>, delete: &Delete) -> Plan {
    let all = Mentions::of(context, delete);
    if all.tables.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let is_single = delete.tables.is_empty() && delete.using.is_none();
    if let ([from], true) = (from.as_slice(), is_single)
        && let Some(target) = Target::of(context, from)
    {
        let own = rows::fold_of(context, &target, delete.selection.as_ref());
        return fold_or_forward(
            vec![own],
            &all.without(target.table),
            Reason::Delete,
            Reason::Delete,
        );
    }
    let written = Mentions::of(context, &delete.from).and(Mentions::of(context, &delete.using));
    let folds = written.tables.iter().map(FoldTable::whole).collect();
    let others = written
        .tables
        .iter()
        .fold(all, |others, table| others.without(table));
    fold_or_forward(folds, &others, Reason::MultiTable, Reason::NoCounter)
}

/// Folds what must be folded, and those of the other tables whose counters the statement reads.
fn fold_or_forward(
    mut folds: Vec<FoldTable>,
    others: &Mentions,
    reason: Reason,
    otherwise: Reason,
) -> Plan {
    for table in others.read() {
        // One that it writes to as well is read elsewhere than in the rows that it writes.
        folds.retain(|fold| fold.table != *table);
        folds.push(FoldTable::whole(table));
    }
    match (folds.is_empty(), others.tables.is_empty()) {
        (false, _) => Plan::Fold(Box::new(Fold::new(folds, reason))),
        (true, _) => Plan::Forward(otherwise),
    }
}

/// Folds all hot tables that are mentioned.
pub(super) fn fold_all(mentions: &Mentions, reason: Reason) -> Plan {
    match mentions.tables.is_empty() {
        true => Plan::Forward(Reason::NotHot),
        false => ddl::fold_tables(mentions.tables.clone(), reason),
    }
}

/// The hot tables of any part of a statement.
pub(super) fn mentions(context: &Context<'_>, part: &impl Visit) -> Mentions {
    Mentions::of(context, part)
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn updates_and_deletes() {
        let cases = [
            (
                "UPDATE authors SET views = views + 1 WHERE id = 1",
                "forward NotHot",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE id = 1",
                "write NoCounter: posts where `id` = 1, reported by Count",
            ),
            (
                "UPDATE posts SET title = views WHERE id = 1",
                "fold OtherColumns: posts where `id` = 1",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE views > 3",
                "fold CounterInPredicate: posts",
            ),
            (
                "UPDATE posts SET title = 'x' ORDER BY views LIMIT 1",
                "fold CounterInPredicate: posts",
            ),
            (
                "UPDATE posts SET id = 3 WHERE id = 1",
                "fold KeyChange: posts where `id` = 1",
            ),
            (
                "UPDATE IGNORE posts SET views = views + 1 WHERE id = 1",
                "fold Unresolved: posts where `id` = 1",
            ),
            (
                "UPDATE LOW_PRIORITY IGNORE posts SET title = 'x'",
                "write NoCounter: posts, reported by Nothing",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE id IN (1, 2)",
                "write NoCounter: posts where `id` IN (1, 2), reported by Nothing",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE title = 'y' AND id = 1",
                "write NoCounter: posts where `id` = 1, reported by Count",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE author_id = 1",
                "write NoCounter: posts of base where `author_id` = 1, reported by Nothing",
            ),
            (
                "UPDATE posts PARTITION (p0) SET views = views + 1",
                "fold MultiTable: posts",
            ),
            (
                "UPDATE posts p JOIN authors a ON a.id = p.author_id SET p.views = p.views + 1",
                "fold MultiTable: posts",
            ),
            (
                "UPDATE posts, authors SET posts.views = 1",
                "fold NotParsed: posts",
            ),
            (
                "WITH c AS (SELECT 1) UPDATE posts SET views = 1",
                "fold MultiTable: posts",
            ),
            (
                "UPDATE authors SET name = (SELECT MAX(views) FROM posts)",
                "fold MultiTable: posts",
            ),
            (
                "UPDATE authors SET name = (SELECT MAX(title) FROM posts)",
                "forward NoCounter",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE id IN (SELECT n FROM hits)",
                "fold MultiTable: hits",
            ),
            (
                "UPDATE posts SET title = (SELECT MAX(views) FROM (SELECT views FROM posts) p) WHERE id = 1",
                "fold OtherColumns: posts",
            ),
            (
                "UPDATE posts SET title = (SELECT MAX(id) FROM (SELECT id FROM posts) p) WHERE id = 1",
                "write NoCounter: posts where `id` = 1, reported by Count",
            ),
            (
                "DELETE FROM posts WHERE id = 1 AND 5 < (SELECT MAX(views) FROM (SELECT views FROM posts) p)",
                "fold Delete: posts",
            ),
            ("DELETE FROM posts", "fold Delete: posts"),
            (
                "DELETE FROM posts WHERE id IN (1, 2) AND views < 3",
                "fold Delete: posts where `id` IN (1, 2)",
            ),
            ("DELETE FROM posts WHERE id = 'it''s'", "fold Delete: posts"),
            (
                "DELETE FROM posts WHERE id = \"5\"",
                "fold Delete: posts where `id` = '5'",
            ),
            (
                "DELETE FROM posts WHERE id = 5 XOR author_id = 1",
                "fold Delete: posts",
            ),
            (
                "DELETE LOW_PRIORITY QUICK FROM posts WHERE id = ?",
                "fold Delete: posts where `id` = <?0>",
            ),
            (
                "DELETE p FROM posts p JOIN authors a ON a.id = p.author_id",
                "fold MultiTable: posts",
            ),
            (
                "DELETE FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views = 0)",
                "fold MultiTable: posts",
            ),
            (
                "DELETE FROM hits WHERE slot = 'b' AND tenant = 'a'",
                "fold Delete: hits where `tenant` = 'a' AND `slot` = 'b'",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(planned(text), expected, "{text}");
        }
    }
}

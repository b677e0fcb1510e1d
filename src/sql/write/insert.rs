//! INSERT and REPLACE: what they do to rows that exist already.

use std::sync::Arc;

use sqlparser::ast::{
    Assignment, BinaryOperator, Expr, FunctionArguments, Insert, OnInsert, Query, SetExpr,
    TableObject, Value, ValueWithSpan,
};

use crate::catalog::{Bounds, Counter, Domain, HotTable};
use crate::sql::context::{Context, bare, column_path, ident};
use crate::sql::increment::assigned_column;
use crate::sql::plan::{ChangeReport, Fold, FoldTable, Plan, Reason, Rows, Scope, Write};
use crate::sql::predicate::Target;
use crate::sql::rows;
use crate::sql::write::mentions::Mentions;
use crate::sql::write::rows_in_the_way::{inserted_values, rows_in_the_way};

/// The plan of an INSERT or REPLACE.
pub(super) fn plan(context: &Context<'_>, insert: &Insert) -> Plan {
    let all = Mentions::of(context, insert);
    let target = match &insert.table {
        TableObject::TableName(name) => context
            .hot(name)
            .map(|table| Target::unaliased(context, table, name.0.last().and_then(ident))),
        _ => None,
    };
    if all.tables.is_empty() && target.is_none() {
        return Plan::Forward(Reason::NotHot);
    }
    let others = match &target {
        Some(target) => all.without(target.table),
        None => all,
    };
    let mut folds = read_folds(context, insert, &others);
    let reads = !folds.is_empty();
    let Some(target) = target else {
        return match reads {
            true => Plan::Fold(Box::new(Fold::new(folds, Reason::MultiTable))),
            false => Plan::Forward(Reason::NoCounter),
        };
    };
    let mut effect = effect(context, &target, insert);
    if let Effect::Folds(_) = effect {
        match rows_in_the_way(context, &target, insert) {
            // It reads some rows of the table, and meets others.
            Some(way) => match folds.iter_mut().find(|fold| fold.table == way.table) {
                Some(read) => *read = FoldTable::whole(&way.table),
                None => folds.insert(0, way),
            },
            None => effect = Effect::Forwards(Reason::InsertOnly),
        }
    }
    match effect {
        Effect::Folds(reason) => Plan::Fold(Box::new(Fold {
            inserts_alone: !reads,
            ..Fold::new(folds, reason)
        })),
        Effect::Forwards(_) if reads => Plan::Fold(Box::new(Fold::new(folds, Reason::MultiTable))),
        Effect::Forwards(reason) => forwarded(context, &target, insert, reason),
    }
}

/// An INSERT that is right on base alone. If the keys of its rows are not known, they are new: slots hold nothing for
/// keys that the server generates.
fn forwarded(context: &Context<'_>, target: &Target<'_>, insert: &Insert, reason: Reason) -> Plan {
    let is_upsert = insert.on.is_some();
    let Some(rows) = rows_in_the_way(context, target, insert) else {
        return Plan::Forward(reason);
    };
    let change_report = match &rows.scope {
        Scope::Keys(_) if !is_upsert => ChangeReport::Count,
        Scope::Keys(_) if row_count(insert) == Some(1) => ChangeReport::CountOfChanged,
        _ if is_upsert => ChangeReport::Nothing,
        Scope::Rows(rows) if rows.key.is_some() => ChangeReport::Count,
        _ => return Plan::Forward(reason),
    };
    // It inserts rows, and leaves existing rows with one of their other keys alone.
    let rows = match (rows.scope, change_report) {
        (Scope::Rows(Rows { key: Some(key), .. }), ChangeReport::Count) => FoldTable {
            scope: Scope::Keys(key),
            ..rows
        },
        (scope, _) => FoldTable { scope, ..rows },
    };
    Plan::Write(Box::new(Write {
        rows,
        key_parameters: Vec::new(),
        change_report,
        reason,
    }))
}

/// How many rows it inserts, where the statement says so.
fn row_count(insert: &Insert) -> Option<usize> {
    match insert.source.as_ref().map(|source| &*source.body) {
        None => Some(1),
        Some(SetExpr::Values(values)) => Some(values.rows.len()),
        Some(_) => None,
    }
}

/// What the statement does to the hot table that it inserts into.
enum Effect {
    /// Something that base alone cannot answer.
    Folds(Reason),
    /// Nothing that concerns slots.
    Forwards(Reason),
}

fn effect(context: &Context<'_>, target: &Target<'_>, insert: &Insert) -> Effect {
    if insert.replace_into {
        return Effect::Folds(Reason::Replace);
    }
    match &insert.on {
        None if insert.returning.is_some() => Effect::Folds(Reason::Upsert),
        None => Effect::Forwards(Reason::InsertOnly),
        Some(OnInsert::DuplicateKeyUpdate(assignments))
            if insert.returning.is_none()
                && assignments
                    .iter()
                    .all(|assignment| only_adds(context, target, insert, assignment)) =>
        {
            Effect::Forwards(Reason::AddsToBase)
        }
        Some(_) => Effect::Folds(Reason::Upsert),
    }
}

/// Whether an assignment of ON DUPLICATE KEY UPDATE leaves counters, times and keys alone, or only adds to a counter:
/// base + n is value + n, whatever the slots hold.
fn only_adds(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    assignment: &Assignment,
) -> bool {
    let Some(column) = assigned_column(context, target, assignment) else {
        return false;
    };
    match target.table.counter(column) {
        Some(counter) => adds_constant(context, target, insert, counter, &assignment.value),
        None => {
            let mentions = Mentions::of(context, &assignment.value);
            // Slots may hold a later time, or just this one: then the statement changes nothing, and has to say so.
            !target.table.touches.contains(&column)
                && !target.table.primary_key.contains(&column)
                && !mentions.has_query
                && !mentions.names_counter_of(target.table)
        }
    }
}

/// `c + n` with an n so small that the limit of c's type is out of reach for base and slots together.
fn adds_constant(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    counter: &Counter,
    value: &Expr,
) -> bool {
    let Domain::Integer { bytes: 8, unsigned } = counter.domain else {
        return false;
    };
    let is_counter = |expr: &Expr| target.column_of(context, expr) == Some(counter.column);
    let Expr::BinaryOp { left, op, right } = bare(value) else {
        return false;
    };
    let added = match op {
        BinaryOperator::Plus if is_counter(left) => right,
        BinaryOperator::Plus if is_counter(right) => left,
        // Base may be smaller than the value: what the value could bear, base could refuse.
        BinaryOperator::Minus if is_counter(left) && !unsigned => right,
        _ => return false,
    };
    if is_inserted_value(context, counter, target, added)
        || is_row_alias(context, target, insert, counter, added)
    {
        return inserted_values(context, target, insert, counter.column)
            .is_some_and(|values| values.into_iter().all(is_small));
    }
    is_small(added)
}

/// A literal of at most [`Bounds::MOST_ADDED`].
fn is_small(expr: &Expr) -> bool {
    let Expr::Value(ValueWithSpan {
        value: Value::Number(digits, _),
        ..
    }) = bare(expr)
    else {
        return false;
    };
    let number: Result<u64, _> = digits.parse();
    number.is_ok_and(|number| number <= Bounds::MOST_ADDED)
}

/// `VALUES(c)` of the same counter.
fn is_inserted_value(
    context: &Context<'_>,
    counter: &Counter,
    target: &Target<'_>,
    expr: &Expr,
) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let is_values = function
        .name
        .0
        .iter()
        .all(|part| ident(part).is_some_and(|name| name.value.eq_ignore_ascii_case("VALUES")));
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    let [sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(column))] =
        list.args.as_slice()
    else {
        return false;
    };
    is_values && target.column_of(context, column) == Some(counter.column)
}

/// `new.c` of the same counter, with INSERT .. AS new.
fn is_row_alias(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    counter: &Counter,
    expr: &Expr,
) -> bool {
    let Some(alias) = insert
        .insert_alias
        .as_ref()
        .filter(|alias| alias.col_aliases.as_ref().is_none_or(Vec::is_empty))
    else {
        return false;
    };
    let row = alias
        .row_alias
        .0
        .last()
        .and_then(ident)
        .map(|name| context.name(name));
    match column_path(expr) {
        Some([table, column]) => {
            row.is_some_and(|row| row == context.name(table))
                && target.table.column(&context.name(column)) == Some(counter.column)
        }
        _ => false,
    }
}

/// Folds for the hot tables whose counters the statement reads anywhere: in its source, in ON DUPLICATE KEY UPDATE, in
/// RETURNING. `others` are all that it mentions besides the table that it inserts into.
fn read_folds(context: &Context<'_>, insert: &Insert, others: &Mentions) -> Vec<FoldTable> {
    let simple = insert
        .source
        .as_deref()
        .and_then(|source| simple_source(context, source));
    let fold_of = |table: &Arc<HotTable>| match &simple {
        Some(fold) if fold.table == *table && !others.repeats(table) => fold.clone(),
        _ => FoldTable::whole(table),
    };
    others.read().map(fold_of).collect()
}

/// The keys that `SELECT .. FROM hot WHERE ..` reads, if the source is that and nothing else.
fn simple_source(context: &Context<'_>, source: &Query) -> Option<FoldTable> {
    let SetExpr::Select(select) = &*source.body else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let has_inner_query = Mentions::of(context, &select.projection).has_query
        || Mentions::of(context, &select.selection).has_query
        || source.with.is_some();
    let target = Target::of(context, from).filter(|_| !has_inner_query)?;
    Some(rows::fold_of(context, &target, select.selection.as_ref()))
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn inserts_and_replaces() {
        let cases = [
            (
                "INSERT INTO posts (id, views) VALUES (1, 2)",
                "write InsertOnly: posts where `id` = 1, reported by Count",
            ),
            (
                "INSERT IGNORE INTO posts SET id = 1, views = 2",
                "write InsertOnly: posts where `id` = 1, reported by Count",
            ),
            (
                "INSERT INTO authors (name) VALUES ('posts')",
                "forward NotHot",
            ),
            (
                "INSERT INTO authors SELECT id, title, views FROM posts WHERE id = 3",
                "fold MultiTable: posts where `id` = 3",
            ),
            (
                "INSERT INTO authors SELECT id, title, 0 FROM posts",
                "forward NoCounter",
            ),
            (
                "INSERT INTO posts SELECT * FROM authors",
                "forward InsertOnly",
            ),
            (
                "INSERT INTO posts (id, views) SELECT id + 500, views FROM posts WHERE id = 3",
                "fold MultiTable: posts where `id` = 3",
            ),
            (
                "INSERT INTO posts (id, views) SELECT id + 500, views FROM posts WHERE id = (SELECT MAX(id) FROM posts)",
                "fold MultiTable: posts",
            ),
            (
                "REPLACE INTO posts (id, views) SELECT id + 500, views FROM posts WHERE id = 3",
                "fold Replace: posts",
            ),
            (
                "REPLACE INTO posts (id, views) VALUES (1, 2)",
                "fold Replace: posts where `id` = 1",
            ),
            (
                "REPLACE INTO posts SET views = 2, id = ?",
                "fold Replace: posts where `id` = <?0>",
            ),
            (
                "REPLACE INTO posts VALUES (1, 2, 'x', 3, 4, 5)",
                "fold Replace: posts where `id` = 1",
            ),
            (
                "REPLACE INTO posts (id) VALUES (1), (2)",
                "fold Replace: posts where `id` = 1 OR `id` = 2",
            ),
            // Read elsewhere than in the source.
            (
                "INSERT INTO authors (id) VALUES (1) ON DUPLICATE KEY UPDATE id = (SELECT views FROM posts)",
                "fold MultiTable: posts",
            ),
            (
                "INSERT INTO authors SELECT id, 1 FROM posts p WHERE id = 3 ON DUPLICATE KEY UPDATE name = p.views",
                "fold MultiTable: posts where `id` = 3",
            ),
            (
                "INSERT INTO authors SELECT id, views FROM posts WHERE id = 3 \
                 ON DUPLICATE KEY UPDATE name = (SELECT MAX(views) FROM posts)",
                "fold MultiTable: posts",
            ),
            (
                "INSERT INTO authors (id) VALUES (1) RETURNING (SELECT views FROM posts)",
                "fold MultiTable: posts",
            ),
            (
                "REPLACE INTO posts (id, views) VALUES (1, (SELECT MAX(views) FROM posts p))",
                "fold Replace: posts",
            ),
            (
                "INSERT INTO posts (id, views) VALUES (1, (SELECT MAX(title) FROM posts p))",
                "write InsertOnly: posts where `id` = 1, reported by Count",
            ),
            // Stored as 3, and as an unknown value.
            (
                "REPLACE INTO posts (id) VALUES (2.6)",
                "fold Replace: posts",
            ),
            (
                "REPLACE INTO posts (id) VALUES ('2x')",
                "fold Replace: posts",
            ),
            (
                "REPLACE INTO posts (id) VALUES (1 + 1)",
                "fold Replace: posts",
            ),
            (
                "REPLACE INTO posts (views) VALUES (1)",
                "fold Replace: posts",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(planned(text), expected, "{text}");
        }
    }

    #[test]
    fn upserts_that_only_add_may_go_to_base() {
        const FOLD: &str = "fold Upsert: posts where `id` = 1";
        const WRITE: &str = "write AddsToBase: posts where `id` = 1, reported by CountOfChanged";
        let cases = [
            ("likes = likes + 1", WRITE),
            ("likes = likes + 1, title = 'x'", WRITE),
            ("likes = posts.likes + VALUES(likes)", WRITE),
            // Together with slots they might reach the limit of the type, which base alone would not.
            ("likes = likes + 1000001", FOLD),
            ("likes = likes + ?", FOLD),
            ("views = views + 1", FOLD),
            ("views = views - 1", FOLD),
            ("score = score + 1", FOLD),
            ("likes = likes - 1", FOLD),
            ("likes = VALUES(likes)", FOLD),
            ("likes = likes + VALUES(views)", FOLD),
            ("title = views", FOLD),
            ("id = LAST_INSERT_ID(id)", FOLD),
        ];
        for (assignments, expected) in cases {
            let text = format!(
                "INSERT INTO posts (id, likes) VALUES (1, 2) ON DUPLICATE KEY UPDATE {assignments}"
            );
            assert_eq!(planned(&text), expected, "{text}");
        }
        let rows = [
            ("(id, likes) VALUES (1, 2) AS new", WRITE),
            (
                "(id, likes) VALUES (1, 2), (2, 3) AS new",
                "write AddsToBase: posts where `id` = 1 OR `id` = 2, reported by Nothing",
            ),
            ("VALUES (1, 2, 'x', 3, 4, 5) AS new", WRITE),
            ("(id, likes) VALUES (1, ?) AS new", FOLD),
            ("(id, likes) VALUES (1, 1000001) AS new", FOLD),
            ("(id) VALUES (1) AS new", FOLD),
        ];
        for (rows, expected) in rows {
            let text = format!(
                "INSERT INTO posts {rows} ON DUPLICATE KEY UPDATE likes = posts.likes + new.likes"
            );
            assert_eq!(planned(&text), expected, "{text}");
        }
    }
}

//! The statements that go to the slot table instead.

use std::ops::Range;

use sqlparser::ast::{Expr, Update};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::Delta;
use crate::catalog::{Bounds, HotTable};
use crate::sql::context::{Context, Edit, base_path, column_path, quoted, slots_path};
use crate::sql::predicate::{Target, is_plain};
use crate::sql::syntax;
use crate::sql::template::{Piece, Template};
use crate::sql::touch::Touch;

/// The text of the WHERE, with schema-qualified columns cut down to the name that the rewritten statement has
/// for the table. The outer `None`: it cannot be found; the inner: there is no WHERE.
pub(super) fn predicate_text(
    context: &Context<'_>,
    target: &Target<'_>,
    update: &Update,
) -> Option<Option<Template>> {
    let Some(predicate) = &update.selection else {
        return Some(None);
    };
    let range = predicate_range(context, update)?;
    let mut edits = schema_qualifications(context, predicate)?;
    edits.sort_by_key(|edit| edit.range.start);
    debug_assert!(
        is_plain(context, target, predicate),
        "only plain predicates are moved to another statement"
    );
    Some(Some(context.spliced(range, &edits)))
}

/// Where the predicate of an UPDATE with WHERE is in the text.
pub(in crate::sql) fn predicate_range(
    context: &Context<'_>,
    update: &Update,
) -> Option<Range<usize>> {
    let tokens = &context.syntax.tokens;
    let keyword = tokens.iter().position(|token| token.is(Keyword::WHERE))?;
    let mut end = tokens
        .iter()
        .rposition(|token| token.token != Token::SemiColon)?;
    if update.limit.is_some() {
        // `LIMIT 1`, two tokens.
        end = end.checked_sub(2)?;
        tokens
            .get(end + 1)
            .filter(|token| token.is(Keyword::LIMIT))?;
    }
    Some(tokens.get(keyword + 1)?.range.start..tokens.get(end)?.range.end)
}

/// Edits that cut `schema.` off `schema.table.column`.
pub(in crate::sql) fn schema_qualifications(
    context: &Context<'_>,
    predicate: &Expr,
) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let complete = sqlparser::ast::visit_expressions(predicate, |expr| {
        if let Some([schema, written, _]) = column_path(expr) {
            match (syntax::range(schema), syntax::range(written)) {
                (Some(schema), Some(table)) => {
                    edits.push(Edit::new(
                        schema.start..table.end,
                        quoted(&context.name(written)),
                    ));
                }
                _ => return std::ops::ControlFlow::Break(()),
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    complete.is_continue().then_some(edits)
}

/// `UPDATE slots SET c = c + n WHERE <key> AND slot = ..`
///
/// The first delta carries the guard of the touch columns, because it is evaluated before they are set.
pub(super) fn update_text(
    target: &Target<'_>,
    deltas: &[Delta<'_>],
    touches: &[Touch],
    predicate: &Template,
) -> Template {
    let table = target.table;
    let alias = quoted(&target.exposed);
    let mut text = Template::text(format!("UPDATE {} AS {alias} SET ", slots_path(table)));
    for (index, delta) in deltas.iter().enumerate() {
        let name = quoted(&table.columns[delta.counter.column].name);
        text.push_text(if index == 0 { "" } else { ", " });
        text.push_text(format!("{name} = {name} "));
        match (index, touch_guard(table, touches, &[("", true)])) {
            (0, Some(guard)) => {
                text.push_text("+ IF(").append(&guard).push_text(", ");
                text.append(&delta.signed(index));
                text.push_text(format!(", {})", delta.refused()))
            }
            _ => text.append(&delta.signed(index)),
        };
    }
    for touch in touches {
        text.push_text(", ").append(&touch.assignment(table));
    }
    text.push_text(" WHERE (").append(predicate);
    text.push_text(format!(") AND {alias}.{} = ", quoted(table.slot_column())));
    text.push(Piece::Slot);
    text
}

/// `UPDATE base SET c = c + n WHERE <key> AND c BETWEEN ..`
///
/// A row whose counter is NULL, or so close to its limits that a sum could meet them, does not match: each of the
/// increments then runs by itself, and MySQL decides on it.
pub(super) fn base_text(
    target: &Target<'_>,
    deltas: &[Delta<'_>],
    touches: &[Touch],
    predicate: &Template,
) -> Template {
    let table = target.table;
    let alias = quoted(&target.exposed);
    let mut text = Template::text(format!("UPDATE {} AS {alias} SET ", base_path(table)));
    for (index, delta) in deltas.iter().enumerate() {
        let name = quoted(&table.columns[delta.counter.column].name);
        text.push_text(if index == 0 { "" } else { ", " });
        text.push_text(format!("{name} = {name} "));
        text.append(&delta.signed(index));
    }
    for touch in touches {
        text.push_text(", ").append(&touch.assignment(table));
    }
    text.push_text(" WHERE (").append(predicate).push_text(")");
    for delta in deltas {
        let Bounds {
            base_low,
            base_high,
            ..
        } = delta.bounds;
        let name = quoted(&table.columns[delta.counter.column].name);
        text.push_text(format!(
            " AND {alias}.{name} BETWEEN {base_low} AND {base_high}"
        ));
    }
    text
}

/// `UPDATE base SET c = c, t = NOW() WHERE k IS NULL`
///
/// The same columns are read and set as by the original; those that ON UPDATE CURRENT_TIMESTAMP sets need no right.
pub(super) fn rights_text(
    context: &Context<'_>,
    target: &Target<'_>,
    deltas: &[Delta<'_>],
    touches: &[Touch],
    predicate: Option<&Expr>,
) -> String {
    let table = target.table;
    let name = |column: usize| quoted(&table.columns[column].name);
    let counters = deltas.iter().map(|delta| {
        let name = name(delta.counter.column);
        format!("{name} = {name}")
    });
    let touches = touches.iter().filter(|touch| !touch.is_automatic());
    let touches = touches.map(|touch| format!("{} = NOW()", name(touch.column)));
    let assignments: Vec<_> = counters.chain(touches).collect();
    let mut text = format!("UPDATE {} SET {}", base_path(table), assignments.join(", "));
    let mut read = std::collections::BTreeSet::new();
    if let Some(predicate) = predicate {
        let _: std::ops::ControlFlow<()> = sqlparser::ast::visit_expressions(predicate, |expr| {
            read.extend(target.column_of(context, expr));
            std::ops::ControlFlow::Continue(())
        });
    }
    let read: Vec<_> = read
        .into_iter()
        .map(|column| format!("{} IS NULL", name(column)))
        .collect();
    if !read.is_empty() {
        text += " WHERE ";
        text += &read.join(" AND ");
    }
    text
}

/// `INSERT INTO slots SELECT .. FROM base WHERE .. ON DUPLICATE KEY UPDATE ..`
///
/// LOCK IN SHARE MODE keeps the base row from vanishing before we commit, also under READ COMMITTED; both servers
/// know that spelling in this place. A base value without room for slots, or NULL, turns the delta into one that
/// the slot table's CHECK refuses, whatever the slot holds. A slot row that a fold has closed is opened again.
pub(super) fn upsert_text(
    target: &Target<'_>,
    deltas: &[Delta<'_>],
    touches: &[Touch],
    predicate: Option<&Template>,
    exposed_is_slots: bool,
) -> Template {
    let table = target.table;
    let alias = quoted(&target.exposed);
    let name = |column: usize| quoted(&table.columns[column].name);
    let keys = || table.primary_key.iter().map(|&column| name(column));
    let counters = || deltas.iter().map(|delta| name(delta.counter.column));
    let columns: Vec<String> = keys()
        .chain([quoted(table.slot_column())])
        .chain(counters())
        .chain(touches.iter().map(|touch| name(touch.column)))
        .collect();
    let selected: String = keys().map(|key| format!("{alias}.{key}, ")).collect();

    let mut text = Template::text(format!(
        "INSERT INTO {} ({}) SELECT {selected}",
        slots_path(table),
        columns.join(", ")
    ));
    text.push(Piece::Slot);
    let base = format!("{alias}.");
    let slots = format!("{}.", slots_path(table));
    let first = |index: usize, guard: Option<Template>| guard.filter(|_| index == 0);
    for (index, delta) in deltas.iter().enumerate() {
        let guard = first(index, touch_guard(table, touches, &[(&base, false)]));
        let counter = name(delta.counter.column);
        text.push_text(", ")
            .append(&guarded(&alias, &counter, (index, delta), guard.as_ref()));
    }
    for touch in touches {
        text.push_text(", ").append(touch.value());
    }
    text.push_text(format!(" FROM {} AS {alias}", base_path(table)));
    if let Some(predicate) = predicate {
        text.push_text(" WHERE (").append(predicate).push_text(")");
    }
    text.push_text(" LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE ");
    // Both tables are in sight there, and may have one name in two schemas.
    let alias = match exposed_is_slots {
        true => format!("{}.{alias}", quoted(&table.schema)),
        false => alias,
    };
    let base = format!("{alias}.");
    for (index, delta) in deltas.iter().enumerate() {
        let counter = name(delta.counter.column);
        text.push_text(if index == 0 { "" } else { ", " });
        text.push_text(format!("{counter} = {slots}{counter} + "));
        let both = [(base.as_str(), false), (slots.as_str(), true)];
        let guard = first(index, touch_guard(table, touches, &both));
        text.append(&guarded(&alias, &counter, (index, delta), guard.as_ref()));
    }
    for touch in touches {
        text.push_text(", ").append(&touch.assignment(table));
    }
    text.push_text(format!(", {} = 1", quoted(table.open_column())));
    text
}

/// The condition under which the touch columns may go to a slot; `held` are the qualifiers of the columns whose times
/// they must not precede, and whether these may be NULL. `None`: there is none to set.
fn touch_guard(table: &HotTable, touches: &[Touch], held: &[(&str, bool)]) -> Option<Template> {
    let mut guard: Option<Template> = None;
    for touch in touches {
        let name = quoted(&table.columns[touch.column].name);
        let conditions = held
            .iter()
            .map(|(qualifier, may_be_null)| {
                touch.is_not_before(&format!("{qualifier}{name}"), *may_be_null)
            })
            .chain(touch.is_close());
        for condition in conditions {
            match &mut guard {
                None => guard = Some(condition),
                Some(guard) => {
                    guard.push_text(" AND ").append(&condition);
                }
            }
        }
    }
    guard
}

/// The delta where base has room for it (and `more` holds), else a value that no slot can take.
fn guarded(
    alias: &str,
    counter: &str,
    (position, delta): (usize, &Delta<'_>),
    more: Option<&Template>,
) -> Template {
    let Bounds {
        base_low,
        base_high,
        ..
    } = delta.bounds;
    let mut text = Template::text(format!(
        "IF({alias}.{counter} BETWEEN {base_low} AND {base_high}"
    ));
    if let Some(more) = more {
        text.push_text(" AND ").append(more);
    }
    text.push_text(", ").append(&delta.signed(position));
    text.push_text(format!(", {})", delta.refused()));
    text
}

//! Which rows an INSERT or REPLACE may meet: those that have a primary or unique key of the rows that it inserts.

use sqlparser::ast::{Expr, Insert, ObjectName, SetExpr, Value, ValueWithSpan};

use crate::sql::context::{Context, bare, ident, quoted};
use crate::sql::increment::assigned_column;
use crate::sql::key::{self, KeyValueKind};
use crate::sql::plan::{FoldTable, Rows, Scope, StoredParameter};
use crate::sql::predicate::Target;
use crate::sql::stored::is_stored_as_written;
use crate::sql::template::{Piece, Template};

/// The fold of the rows that may be in the way of those that are inserted; `None` if none can be.
pub(super) fn rows_in_the_way(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
) -> Option<FoldTable> {
    let mut stored = Vec::new();
    let by_keys = keys_of_rows(context, target, insert, &mut stored);
    let Some((key, others)) = by_keys else {
        return Some(FoldTable::whole(target.table));
    };
    let any = |conditions: &[Template]| -> Option<Template> {
        let (first, rest) = conditions.split_first()?;
        let mut text = first.clone();
        for condition in rest {
            text.push_text(" OR ").append(condition);
        }
        Some(text)
    };
    let scope = match (any(&key), others.is_empty()) {
        (None, true) => return None,
        (Some(key), true) => Scope::Keys(key),
        (inserted, false) => Scope::Rows(Rows {
            predicate: any(&[key, others].concat())?,
            reads: Vec::new(),
            without_reads: None,
            key: inserted,
        }),
    };
    Some(FoldTable {
        scope,
        stored,
        ..FoldTable::whole(target.table)
    })
}

/// Conditions that find the rows that have a primary key of the statement's rows, and the rows that have another unique
/// key of these; `None` if the statement does not show them.
fn keys_of_rows(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    stored: &mut Vec<StoredParameter>,
) -> Option<(Vec<Template>, Vec<Template>)> {
    /// More rows are not looked up one by one.
    const MOST_ROWS: usize = 64;
    let rows = match insert.source.as_ref().map(|source| &*source.body) {
        None => 1,
        Some(SetExpr::Values(values)) => values.rows.len(),
        Some(_) => return None,
    };
    let unique_keys = target.table.unique_keys.as_ref()?;
    let (mut key, mut others) = (Vec::new(), Vec::new());
    if rows > MOST_ROWS {
        return None;
    }
    for row in 0..rows {
        let mut condition = |columns: &[usize]| {
            let mut text = Template::default();
            for (index, &column) in columns.iter().enumerate() {
                let Some(value) = key_of_row(context, target, insert, column, row, stored)? else {
                    return Some(None);
                };
                text.push_text(if index == 0 { "" } else { " AND " })
                    .push_text(quoted(&target.table.columns[column].name))
                    .push_text(" = ")
                    .append(&value);
            }
            Some(Some(text))
        };
        key.extend(condition(&target.table.primary_key)?);
        for columns in unique_keys {
            others.extend(condition(columns)?);
        }
    }
    Some((key, others))
}

/// What a row will have in a column of a unique key, as it is written. The inner `None`: nothing that another row has.
/// The outer one: not known.
fn key_of_row(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    column: usize,
    row: usize,
    stored: &mut Vec<StoredParameter>,
) -> Option<Option<Template>> {
    let definition = &target.table.columns[column];
    let Some(values) = inserted_values(context, target, insert, column) else {
        // Left out of a list, or not to be read.
        let is_left_out = !insert.columns.is_empty() || insert.source.is_none();
        return (is_left_out && definition.auto_increment).then_some(None);
    };
    let value = bare(values.get(row)?);
    if let Expr::Value(ValueWithSpan {
        value: Value::Null, ..
    }) = value
    {
        return (definition.nullable || definition.auto_increment).then_some(None);
    }
    let value = key::key_value(context, value)?;
    match (value.kind, value.text.pieces.as_slice()) {
        (KeyValueKind::Parameter(parameter), [_]) => {
            stored.push(StoredParameter { parameter, column });
            Some(Some(value.text))
        }
        (_, [Piece::Text(literal)]) if is_stored_as_written(definition, literal) => {
            Some(Some(value.text))
        }
        _ => None,
    }
}

/// The values of a column in the rows to be inserted; `None` if the statement does not show them.
pub(super) fn inserted_values<'a>(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &'a Insert,
    column: usize,
) -> Option<Vec<&'a Expr>> {
    let Some(source) = &insert.source else {
        let mut assignments = insert.assignments.iter();
        let found = assignments
            .find(|assignment| assigned_column(context, target, assignment) == Some(column));
        return found.map(|assignment| vec![&assignment.value]);
    };
    let SetExpr::Values(values) = &*source.body else {
        return None;
    };
    let listed = |name: &ObjectName| {
        let name = ident(name.0.last()?)?;
        target.table.column(&context.name(name))
    };
    let mut columns = insert.columns.iter().map(listed);
    let position = match insert.columns.is_empty() {
        false => columns.position(|listed| listed == Some(column))?,
        true if target.table.columns.iter().any(|column| column.invisible) => return None,
        true => column,
    };
    let rows = values.rows.iter().map(|row| row.content.get(position));
    rows.collect()
}

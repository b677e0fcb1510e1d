//! Writes that concern one row and depend on nothing but that row, so that any session of an account may run them for
//! another.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    Delete, Expr, FromTable, Function, FunctionArguments, Insert, OnInsert, SetExpr, Statement,
    TableObject, UnaryOperator, Update, visit_expressions,
};

use super::rows_in_the_way::inserted_values;
use super::{is_one_or_more, repeat};
use crate::catalog::HotTable;
use crate::sql::context::{Context, bare, base_path, column_path, ident, quoted};
use crate::sql::increment::shape;
use crate::sql::integer_column::IntegerColumn;
use crate::sql::key::{self, KeyValueKind};
use crate::sql::plan::{KeyParameter, OneRow, Scope};
use crate::sql::predicate::{Target, is_plain_operator, is_plain_value};
use crate::sql::template::Template;

/// What stands before and behind the predicate in the query that locks one row. Of a table without a primary key it
/// locks a second row too, which shows that there is one. The limit takes the place of the session's own
/// `sql_select_limit`, which may be zero.
pub fn lock_around(table: &HotTable) -> (String, &'static str) {
    let behind = match table.is_keyless() {
        true => " LIMIT 2 FOR UPDATE",
        false => " LIMIT 1 FOR UPDATE",
    };
    (format!("SELECT 1 FROM {} WHERE ", base_path(table)), behind)
}

/// Longer texts are not kept for others to run.
const MOST_TEXT: usize = 4096;

/// The plan of a write of a table without slots, if all of this is certain: it names one primary key (or updates a
/// table that has none), meets no trigger, and reads nothing but the row and its own constants.
pub(in crate::sql) fn plan(context: &Context<'_>, statement: &Statement) -> Option<OneRow> {
    let is_short = context.text.len() <= MOST_TEXT && !context.syntax.has_modifier;
    is_short.then_some(())?;
    let (target, (key, key_parameters)) = match statement {
        Statement::Update(update) => updated(context, update)?,
        Statement::Delete(delete) => deleted(context, delete)?,
        Statement::Insert(insert) => inserted(context, insert)?,
        _ => return None,
    };
    let mut sets_last_insert_id = false;
    let is_alike = visit_expressions(statement, |expr| {
        let sets = sets_last_insert_id_by(expr);
        sets_last_insert_id |= sets;
        match sets || is_alike(context, &target, expr) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    // The OK of a DELETE does not tell the value.
    let is_told = !(sets_last_insert_id && matches!(statement, Statement::Delete(_)));
    let is_certain = is_alike.is_continue() && is_told && !target.table.has_triggers;
    is_certain.then(|| OneRow {
        table: Arc::clone(target.table),
        repeat: repeat::plan(context, &target, statement, &key),
        key,
        key_parameters,
        text: context.spliced(0..context.text.len(), &[]),
        sets_last_insert_id,
        shape: shape(context),
    })
}

type Found<'a> = (Target<'a>, (Template, Vec<KeyParameter>));

fn updated<'a>(context: &Context<'a>, update: &Update) -> Option<Found<'a>> {
    let is_simple = update.from.is_none()
        && update.order_by.is_empty()
        && update.limit.as_ref().is_none_or(is_one_or_more)
        && update.returning.is_none()
        && update.output.is_none()
        && update.or.is_none()
        && update.optimizer_hints.is_empty();
    let target = Target::of(context, &update.table).filter(|_| is_simple)?;
    let key = match target.table.is_keyless() {
        // The server may refuse it with 1175.
        true if context.variables.safe_updates => return None,
        true => (key::only_row(), Vec::new()),
        false => named_key(context, &target, update.selection.as_ref()?)?,
    };
    Some((target, key))
}

fn deleted<'a>(context: &Context<'a>, delete: &Delete) -> Option<Found<'a>> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let is_simple = delete.tables.is_empty()
        && delete.using.is_none()
        && delete.order_by.is_empty()
        && delete.limit.as_ref().is_none_or(is_one_or_more)
        && delete.returning.is_none()
        && delete.output.is_none()
        && delete.optimizer_hints.is_empty();
    let [from] = from.as_slice() else {
        return None;
    };
    let target = Target::of(context, from).filter(|_| is_simple)?;
    // The row that all others wait for must stay.
    (!target.table.is_keyless()).then_some(())?;
    let key = named_key(context, &target, delete.selection.as_ref()?)?;
    Some((target, key))
}

/// The one key to which a predicate confines a statement.
fn named_key(
    context: &Context<'_>,
    target: &Target<'_>,
    predicate: &Expr,
) -> Option<(Template, Vec<KeyParameter>)> {
    let parameters = key::one_key(context, target, predicate)?;
    match key::scope(context, target, Some(predicate)) {
        Scope::Keys(key) => Some((key, parameters)),
        _ => None,
    }
}

/// An INSERT or REPLACE of one row. It gives each column its value: a default may be one of the session's.
fn inserted<'a>(context: &Context<'a>, insert: &Insert) -> Option<Found<'a>> {
    let TableObject::TableName(name) = &insert.table else {
        return None;
    };
    let table = context.hot(name).filter(|table| !table.is_keyless())?;
    let target = Target::unaliased(context, table, name.0.last().and_then(ident));
    let rows = match insert.source.as_deref() {
        None => 1,
        Some(query) if query.with.is_some() || query.order_by.is_some() => return None,
        Some(query) => match &*query.body {
            SetExpr::Values(values) => values.rows.len(),
            _ => return None,
        },
    };
    let is_simple = rows == 1
        && !insert.ignore
        && insert.returning.is_none()
        && insert.output.is_none()
        && insert.or.is_none()
        && insert.priority.is_none()
        && insert.partitioned.is_none()
        && insert.optimizer_hints.is_empty()
        && insert.table_alias.is_none()
        && matches!(insert.on, None | Some(OnInsert::DuplicateKeyUpdate(_)));
    is_simple.then_some(())?;
    for (column, definition) in table.columns.iter().enumerate() {
        let values = inserted_values(context, &target, insert, column)?;
        let is_generated = definition.auto_increment;
        if is_generated || values.len() != 1 {
            return None;
        }
    }
    let mut predicate = Template::default();
    let mut parameters = Vec::new();
    for (index, &column) in table.primary_key.iter().enumerate() {
        let values = inserted_values(context, &target, insert, column)?;
        let value = key::key_value(context, bare(values.first()?))?;
        let definition = &table.columns[column];
        if let KeyValueKind::Parameter(parameter) = value.kind {
            parameters.push(KeyParameter {
                parameter,
                integers: IntegerColumn::of(&definition.definition),
            });
        }
        predicate
            .push_text(if index == 0 { "" } else { " AND " })
            .push_text(quoted(&definition.name))
            .push_text(" = ")
            .append(&value.text);
    }
    Some((target, (predicate, parameters)))
}

/// Whether an expression, apart from those inside it, has the same value in every session that has the same variables.
fn is_alike(context: &Context<'_>, target: &Target<'_>, expr: &Expr) -> bool {
    match expr {
        // A column of the row, or of the one to be inserted. DEFAULT stands in such places too, as does CURRENT_USER.
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            let name = column_path(expr).and_then(|path| path.last());
            name.is_some_and(|name| target.table.column(&context.name(name)).is_some())
        }
        Expr::Value(value) => is_plain_value(&value.value),
        Expr::TypedString(_)
        | Expr::Nested(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::Case { .. }
        | Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus | UnaryOperator::Not,
            ..
        } => true,
        Expr::BinaryOp { op, .. } => is_plain_operator(op),
        Expr::Function(function) => is_plain_call(function, &ALIKE),
        _ => false,
    }
}

/// Whether an expression is LAST_INSERT_ID with an argument. Without one, its value is the session's own.
fn sets_last_insert_id_by(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    list.args.len() == 1 && is_plain_call(function, &["LAST_INSERT_ID"])
}

/// Functions whose value is that of their arguments, or the statement's own present.
const ALIKE: [&str; 15] = [
    "GREATEST",
    "LEAST",
    "IF",
    "IFNULL",
    "COALESCE",
    "NULLIF",
    "ABS",
    "VALUES",
    "VALUE",
    "NOW",
    "CURRENT_TIMESTAMP",
    "LOCALTIMESTAMP",
    "UTC_TIMESTAMP",
    "UNIX_TIMESTAMP",
    "CURRENT_DATE",
];

/// Whether a function is one of these, called with nothing but arguments.
fn is_plain_call(function: &Function, names: &[&str]) -> bool {
    let [name] = function.name.0.as_slice() else {
        return false;
    };
    let is_known = ident(name).is_some_and(|name| {
        let mut names = names.iter();
        name.quote_style.is_none() && names.any(|known| name.value.eq_ignore_ascii_case(known))
    });
    let has_plain_arguments = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => {
            list.clauses.is_empty() && list.duplicate_treatment.is_none()
        }
        FunctionArguments::Subquery(_) => false,
    };
    is_known && has_plain_arguments && function.over.is_none() && function.filter.is_none()
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn writes_of_one_row_may_share_a_transaction() {
        for text in [
            "UPDATE tallies SET views = 5 WHERE id = 42",
            "update tallies p set p.views = p.views - 1 where p.id = 42 and p.views >= 1 limit 1",
            "UPDATE tallies SET views = GREATEST(views - 1, 0), title = 'x' WHERE id = 42",
            "UPDATE tallies SET views = LAST_INSERT_ID(views + 1) WHERE id = 42",
            "DELETE FROM tallies WHERE 42 = id",
            "INSERT INTO tallies VALUES (42, 1, 'a', 1, 0, 0.5)",
            "INSERT INTO tallies VALUES (42, 1, 'a', 1, 0, 0) ON DUPLICATE KEY UPDATE views = views + VALUES(views)",
            "REPLACE INTO tallies SET id = 42, author_id = 1, title = '', views = 1, likes = 0, score = -1",
        ] {
            assert_eq!(planned(text), format!("batch `id` = 42: {text}"));
        }
        assert_eq!(
            planned("UPDATE tallies SET views = ? WHERE id = ?"),
            "batch `id` = <?1>: UPDATE tallies SET views = <?0> WHERE id = <?1>"
        );
    }

    #[test]
    fn without_a_primary_key_the_only_row_is_the_one() {
        for text in [
            "UPDATE drawn SET number = LAST_INSERT_ID(number + 1)",
            "UPDATE drawn SET number = number - 1 WHERE number > 0",
            "UPDATE drawn SET number = 5 LIMIT 1",
        ] {
            assert_eq!(planned(text), format!("batch TRUE: {text}"));
        }
        for text in [
            "UPDATE drawn SET number = number + 1",
            "UPDATE drawn d SET d.number = d.number + 1 WHERE 1 LIMIT 2",
        ] {
            let plan = planned(text);
            assert!(
                plan.starts_with("combine: UPDATE `shop`.`drawn` AS "),
                "{plan}"
            );
        }
        for text in [
            "DELETE FROM drawn",
            "INSERT INTO drawn VALUES (1, 'a')",
            "REPLACE INTO drawn VALUES (1, 'a')",
            "UPDATE drawn SET number = number + 1 ORDER BY number",
            "UPDATE drawn SET number = (SELECT 1)",
        ] {
            assert_eq!(planned(text), "forward OnBase", "{text}");
        }
    }

    #[test]
    fn what_depends_on_more_than_the_row_is_left_alone() {
        for text in [
            "UPDATE tallies SET views = 5",
            "UPDATE tallies SET views = 5 WHERE id IN (1, 2)",
            "UPDATE tallies SET views = 5 WHERE id > 42",
            "UPDATE tallies SET views = 5 WHERE author_id = 42",
            "UPDATE IGNORE tallies SET views = 5 WHERE id = 42",
            "UPDATE tallies SET views = @n WHERE id = 42",
            "UPDATE tallies SET views = @@insert_id WHERE id = 42",
            "UPDATE tallies SET views = LAST_INSERT_ID() WHERE id = 42",
            "UPDATE tallies SET views = views / 2 WHERE id = 42",
            "UPDATE tallies SET views = RAND() WHERE id = 42",
            "UPDATE tallies SET views = CONNECTION_ID() WHERE id = 42",
            "UPDATE tallies SET views = DEFAULT WHERE id = 42",
            "UPDATE tallies SET title = CURRENT_USER WHERE id = 42",
            "UPDATE tallies SET views = drawn.nextval WHERE id = 42",
            "UPDATE tallies SET views = DEFAULT(views) WHERE id = 42",
            "UPDATE tallies SET views = (SELECT 1) WHERE id = 42",
            "UPDATE tallies SET views = 5 WHERE id = 42 AND EXISTS (SELECT 1)",
            "UPDATE tallies, authors SET views = 5 WHERE tallies.id = 42",
            "DELETE FROM tallies WHERE id = 42 ORDER BY views",
            "DELETE FROM tallies WHERE id = 42 AND views = LAST_INSERT_ID(5)",
            "DELETE tallies FROM tallies WHERE id = 42",
            "INSERT INTO tallies (id) VALUES (42)",
            "INSERT INTO tallies VALUES (42, 1, 'a', 1, 0, DEFAULT)",
            "INSERT INTO tallies VALUES (42, 1, 'a', 1, 0, 0), (43, 1, 'a', 1, 0, 0)",
            "INSERT INTO tallies SELECT 42, 1, 'a', 1, 0, 0",
            "INSERT IGNORE INTO tallies VALUES (42, 1, 'a', 1, 0, 0)",
            "INSERT INTO tallies VALUES (NULL, 1, 'a', 1, 0, 0)",
            "INSERT INTO tallies VALUES (42, 1, 'a', 1, 0, 0) ON DUPLICATE KEY UPDATE views = (SELECT 1)",
        ] {
            assert_eq!(planned(text), "forward OnBase", "{text}");
        }
    }
}

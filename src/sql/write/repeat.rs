//! Writes of one row that do by one statement what several of the same would do, one after another.
//!
//! Each adds constants to counters, and sets other columns to the same values again. Its conditions hold for all of
//! them if they hold for the first and for the last: what is compared grows, or shrinks, by the same amount each time.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Insert,
    OnInsert, Statement, UnaryOperator, Update, Value, ValueWithSpan, visit_expressions,
};

use super::rows_in_the_way::inserted_values;
use crate::catalog::{Bounds, Domain};
use crate::sql::context::{Context, Edit, bare, base_path, column_path, ident, quoted};
use crate::sql::increment::{self, Delta, predicate_range, schema_qualifications};
use crate::sql::integer_column::IntegerColumn;
use crate::sql::key::{self, KeyValueKind};
use crate::sql::plan::{Repeat, RepeatedAs};
use crate::sql::predicate::{Target, conjuncts};
use crate::sql::syntax;
use crate::sql::template::Template;
use crate::sql::touch;

/// How several of a statement are written as one. `key`: the predicate of the one row that it concerns.
pub(super) fn plan(
    context: &Context<'_>,
    target: &Target<'_>,
    statement: &Statement,
    key: &Template,
) -> Option<Repeat> {
    match statement {
        Statement::Update(update) => updates(context, target, update, key),
        Statement::Insert(insert) => upserts(context, target, insert, key),
        _ => None,
    }
}

fn updates(
    context: &Context<'_>,
    target: &Target<'_>,
    update: &Update,
    key: &Template,
) -> Option<Repeat> {
    let mut sets = Assignments::default();
    for assignment in &update.assignments {
        sets.add(context, target, assignment, &assignment.value)?;
    }
    let Some(predicate) = &update.selection else {
        return sets.repeat(target, key.clone(), Vec::new(), RepeatedAs::Update);
    };
    let (range, mut edits) = (
        predicate_range(context, update)?,
        schema_qualifications(context, predicate)?,
    );
    edits.sort_by_key(|edit| edit.range.start);
    let mut condition = Template::text("(");
    condition
        .append(&context.spliced(range.clone(), &edits))
        .push_text(")");
    let mut numbers = Vec::new();
    let at_last = sets.at_last(context, target, predicate, &mut numbers)?;
    if !at_last.is_empty() {
        edits.retain(|edit| {
            !at_last.iter().any(|other| {
                other.range.start <= edit.range.start && edit.range.end <= other.range.end
            })
        });
        edits.extend(at_last);
        edits.sort_by_key(|edit| edit.range.start);
        condition
            .push_text(" AND (")
            .append(&context.spliced(range, &edits))
            .push_text(")");
    }
    sets.repeat(target, condition, numbers, RepeatedAs::Update)
}

/// Where the row is there, an upsert is an UPDATE of it, if no other row can be in its way.
fn upserts(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    key: &Template,
) -> Option<Repeat> {
    let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &insert.on else {
        return None;
    };
    let has_one_key = target.table.unique_keys.as_ref().is_some_and(Vec::is_empty);
    has_one_key.then_some(())?;
    let mut sets = Assignments::default();
    for assignment in assignments {
        let value = with_inserted(context, target, insert, assignment)?;
        sets.add(context, target, assignment, &value)?;
    }
    sets.sequence.is_none().then_some(())?;
    let mut condition = Template::text("(");
    condition.append(key).push_text(")");
    sets.repeat(target, condition, Vec::new(), RepeatedAs::Upsert)
}

/// The value of an assignment, with what is to be inserted in the place of VALUES(column).
fn with_inserted(
    context: &Context<'_>,
    target: &Target<'_>,
    insert: &Insert,
    assignment: &Assignment,
) -> Option<Expr> {
    let own = increment::assigned_column(context, target, assignment)?;
    let inserted = |expr: &Expr| -> Option<Expr> {
        let Some(column) = column_of_values(context, target, expr) else {
            return Some(expr.clone());
        };
        // As another column it could be another value.
        let values = inserted_values(context, target, insert, column).filter(|_| column == own)?;
        values.first().map(|value| (*value).clone())
    };
    match bare(&assignment.value) {
        Expr::BinaryOp { left, op, right } => Some(Expr::BinaryOp {
            left: Box::new(inserted(left)?),
            op: op.clone(),
            right: Box::new(inserted(right)?),
        }),
        other => inserted(other),
    }
}

/// The column in `VALUES(column)`, which MariaDB calls VALUE, too.
fn column_of_values(context: &Context<'_>, target: &Target<'_>, expr: &Expr) -> Option<usize> {
    let column = call_of_one(expr, &["VALUES", "VALUE"])?;
    target.column_of(context, column)
}

/// The argument of a call of one of these functions with one argument.
fn call_of_one<'e>(expr: &'e Expr, names: &[&str]) -> Option<&'e Expr> {
    match arguments(expr, names)?.as_slice() {
        [argument] => Some(argument),
        _ => None,
    }
}

/// The arguments of a call of one of these functions.
fn arguments<'e>(expr: &'e Expr, names: &[&str]) -> Option<Vec<&'e Expr>> {
    let Expr::Function(function) = bare(expr) else {
        return None;
    };
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = &ident(name)?.value;
    let is_one_of_them = names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    });
    is_one_of_them.then(|| arguments.collect())?
}

/// A limit that a sum is not to pass: the other argument of GREATEST or LEAST.
struct Limit {
    /// Which of the deltas.
    delta: usize,
    /// How a value that has not passed it compares with it.
    operator: &'static str,
    value: Template,
}

/// What is assigned.
#[derive(Default)]
struct Assignments<'a> {
    deltas: Vec<Delta<'a>>,
    /// `column = LAST_INSERT_ID(column + n)`: which of the deltas.
    sequence: Option<usize>,
    /// `column = GREATEST(column - n, 0)`, and its like.
    limits: Vec<Limit>,
    /// Other columns, with the values that they get.
    constants: Vec<(usize, Template)>,
    /// Parameters that must be exact numbers.
    numbers: Vec<u16>,
}

impl<'a> Assignments<'a> {
    /// Adds one; `None` if it is neither a constant nor adds one.
    fn add(
        &mut self,
        context: &Context<'_>,
        target: &Target<'a>,
        assignment: &Assignment,
        value: &Expr,
    ) -> Option<()> {
        let table = target.table;
        let column = increment::assigned_column(context, target, assignment)?;
        let is_new = !self.deltas.iter().any(|delta| delta.column() == column)
            && !self.constants.iter().any(|(other, _)| *other == column)
            && !table.primary_key.contains(&column);
        is_new.then_some(())?;
        let is_handed_out = call_of_one(value, &["LAST_INSERT_ID"]);
        if let Some(counter) = table.counter(column) {
            let value = is_handed_out.unwrap_or(value);
            let value = self.limited(context, value).unwrap_or(value);
            if let Ok(delta) = increment::delta(context, target, counter, value) {
                if is_handed_out.is_some() {
                    let is_whole = matches!(counter.domain, Domain::Integer { .. });
                    (is_whole && self.sequence.is_none()).then_some(())?;
                    self.sequence = Some(self.deltas.len());
                }
                self.deltas.push(delta);
                return Some(());
            }
        }
        let has_limit = self
            .limits
            .iter()
            .any(|limit| limit.delta == self.deltas.len());
        (is_handed_out.is_none() && !has_limit).then_some(())?;
        let constant = match touch::now(value) {
            Some(digits) => Template::text(format!("NOW({digits})")),
            None => key::key_value(context, value)?.text,
        };
        self.constants.push((column, constant));
        Some(())
    }

    /// What GREATEST or LEAST limits, if one of its two arguments is a number. The next delta is to have that limit.
    fn limited<'e>(&mut self, context: &Context<'_>, value: &'e Expr) -> Option<&'e Expr> {
        let (arguments, operator) = match arguments(value, &["GREATEST"]) {
            Some(arguments) => (arguments, ">="),
            None => (arguments(value, &["LEAST"])?, "<="),
        };
        let [left, right] = arguments.as_slice() else {
            return None;
        };
        let limit = |expr: &Expr| {
            key::key_value(context, expr)
                .filter(|value| !matches!(value.kind, KeyValueKind::Text | KeyValueKind::Bytes))
        };
        let (sum, limit) = match (limit(left), limit(right)) {
            (None, Some(limit)) => (left, limit),
            (Some(limit), None) => (right, limit),
            _ => return None,
        };
        if let KeyValueKind::Parameter(parameter) = limit.kind {
            self.numbers.push(parameter);
        }
        self.limits.push(Limit {
            delta: self.deltas.len(),
            operator,
            value: limit.text,
        });
        Some(sum)
    }

    /// The delta of the counter that an expression is, if it gets one.
    fn delta_of(&self, context: &Context<'_>, target: &Target<'_>, expr: &Expr) -> Option<usize> {
        let column = target.column_of(context, expr)?;
        self.deltas
            .iter()
            .position(|delta| delta.column() == column)
    }

    /// Edits that make of a predicate what it is for the last one, when all others have run. `None` if it could hold
    /// for the first and the last, and not for all. The parameters in `numbers` must be exact numbers.
    fn at_last(
        &self,
        context: &Context<'_>,
        target: &Target<'_>,
        predicate: &Expr,
        numbers: &mut Vec<u16>,
    ) -> Option<Vec<Edit>> {
        let mut edits = Vec::new();
        for conjunct in conjuncts(predicate) {
            let mut changes = false;
            let is_known = visit_expressions(conjunct, |expr| {
                let Some(column) = column_path(expr).and(target.column_of(context, expr)) else {
                    return ControlFlow::Continue(());
                };
                if self.is_set(target, column) {
                    return ControlFlow::Break(());
                }
                if let Some(position) = self.delta_of(context, target, expr) {
                    changes = true;
                    match range_of(expr) {
                        Some(range) => edits.push(self.as_it_is_last(target, position, range)),
                        None => return ControlFlow::Break(()),
                    }
                }
                ControlFlow::Continue(())
            });
            is_known.is_continue().then_some(())?;
            if changes && !self.holds_between(context, target, conjunct, numbers) {
                return None;
            }
        }
        Some(edits)
    }

    /// Whether the first one sets this column to a value that it may not have had.
    fn is_set(&self, target: &Target<'_>, column: usize) -> bool {
        target.table.columns[column].on_update_now
            || self.constants.iter().any(|(other, _)| *other == column)
    }

    /// The counter, and what all but the last one have added to it.
    fn as_it_is_last(
        &self,
        target: &Target<'_>,
        position: usize,
        range: std::ops::Range<usize>,
    ) -> Edit {
        let delta = &self.deltas[position];
        let name = quoted(&target.table.columns[delta.column()].name);
        let mut text = Template::text(format!("({}.{name} ", quoted(&target.exposed)));
        text.append(&delta.signed(self.deltas.len() + position))
            .push_text(")");
        Edit { range, text }
    }

    /// Whether a condition on counters that holds for the first and the last one holds for all.
    fn holds_between(
        &self,
        context: &Context<'_>,
        target: &Target<'_>,
        condition: &Expr,
        numbers: &mut Vec<u16>,
    ) -> bool {
        match condition {
            Expr::BinaryOp {
                left,
                op:
                    BinaryOperator::Lt
                    | BinaryOperator::LtEq
                    | BinaryOperator::Gt
                    | BinaryOperator::GtEq,
                right,
            } => self.are_comparable(context, target, &[left, right], numbers),
            Expr::Between {
                expr,
                negated: false,
                low,
                high,
            } => {
                self.are_comparable(context, target, &[expr, low], numbers)
                    && self.are_comparable(context, target, &[expr, high], numbers)
            }
            // Adding a number to NULL leaves NULL.
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                self.delta_of(context, target, inner).is_some()
            }
            _ => false,
        }
    }

    /// Whether the difference of two sides grows, or shrinks, steadily. A constant may be of any type: what a number
    /// becomes to be compared with it grows with the number.
    fn are_comparable(
        &self,
        context: &Context<'_>,
        target: &Target<'_>,
        sides: &[&Expr; 2],
        numbers: &mut Vec<u16>,
    ) -> bool {
        let are_constants = sides.map(|side| matches!(bare(side), Expr::Value(_)));
        sides.iter().zip(are_constants).all(|(side, is_constant)| {
            is_constant || self.is_linear(context, target, side, numbers)
        })
    }

    /// Whether an expression is a sum of columns of exact numbers and of numbers.
    fn is_linear(
        &self,
        context: &Context<'_>,
        target: &Target<'_>,
        expr: &Expr,
        numbers: &mut Vec<u16>,
    ) -> bool {
        match bare(expr) {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => target
                .column_of(context, expr)
                .is_some_and(|column| is_exact(&target.table.columns[column].definition)),
            Expr::Value(ValueWithSpan {
                value: Value::Number(digits, false),
                ..
            }) => digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.'),
            Expr::Value(ValueWithSpan {
                value: Value::Placeholder(_),
                span,
            }) => {
                let parameter = context.parameter(syntax::offsets(*span).start);
                numbers.extend(parameter);
                parameter.is_some()
            }
            Expr::UnaryOp {
                op: UnaryOperator::Minus | UnaryOperator::Plus,
                expr,
            } => self.is_linear(context, target, expr, numbers),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus,
                right,
            } => {
                self.is_linear(context, target, left, numbers)
                    && self.is_linear(context, target, right, numbers)
            }
            _ => false,
        }
    }

    /// `UPDATE base SET c = c + n, .. WHERE <condition> AND c BETWEEN ..`: it finds no row where a value could meet the
    /// limits of its type on the way.
    fn repeat(
        &self,
        target: &Target<'_>,
        condition: Template,
        numbers: Vec<u16>,
        answered: RepeatedAs,
    ) -> Option<Repeat> {
        let table = target.table;
        let amounts: Vec<_> = self
            .deltas
            .iter()
            .map(Delta::addend)
            .collect::<Option<_>>()?;
        (!amounts.is_empty()).then_some(())?;
        let alias = quoted(&target.exposed);
        let name = |column: usize| quoted(&table.columns[column].name);
        let mut text = Template::text(format!("UPDATE {} AS {alias} SET ", base_path(table)));
        for (position, delta) in self.deltas.iter().enumerate() {
            let name = name(delta.column());
            text.push_text(if position == 0 { "" } else { ", " });
            let (open, close) = match self.sequence == Some(position) {
                true => ("LAST_INSERT_ID(", ")"),
                false => ("", ""),
            };
            text.push_text(format!("{name} = {open}{name} "));
            text.append(&delta.signed(position)).push_text(close);
        }
        for (column, value) in &self.constants {
            text.push_text(format!(", {} = ", name(*column)))
                .append(value);
        }
        text.push_text(" WHERE ").append(&condition);
        for (position, delta) in self.deltas.iter().enumerate() {
            let Bounds {
                base_low,
                base_high,
                ..
            } = delta.bounds();
            let name = name(delta.column());
            text.push_text(format!(
                " AND {alias}.{name} BETWEEN {base_low} AND {base_high}"
            ));
            if delta.is_unsigned() {
                // Written so that nothing is less than zero on the way.
                text.push_text(format!(" AND {alias}.{name} >= (0 - (0 "));
                text.append(&delta.signed(position)).push_text("))");
            }
        }
        for limit in &self.limits {
            let delta = &self.deltas[limit.delta];
            let name = name(delta.column());
            // Neither before nor behind any of them.
            text.push_text(format!(" AND {alias}.{name} {} ", limit.operator));
            text.append(&limit.value);
            text.push_text(format!(" AND {alias}.{name} {} (", limit.operator));
            text.append(&limit.value).push_text(" - (0 ");
            text.append(&delta.signed(limit.delta)).push_text("))");
        }
        Some(Repeat {
            text,
            amounts,
            numbers: [numbers, self.numbers.clone()].concat(),
            answered: match self.sequence {
                Some(position) => RepeatedAs::Sequence(position),
                None => answered,
            },
        })
    }
}

/// Whether a column holds exact numbers.
fn is_exact(definition: &str) -> bool {
    IntegerColumn::of(definition).is_some()
        || definition.to_ascii_lowercase().starts_with("decimal")
}

/// Where a column reference is in the text.
fn range_of(expr: &Expr) -> Option<std::ops::Range<usize>> {
    let path = column_path(expr)?;
    Some(syntax::range(path.first()?)?.start..syntax::range(path.last()?)?.end)
}

#[cfg(test)]
mod tests;

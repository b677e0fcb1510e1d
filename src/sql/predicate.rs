//! The target of a write, and which of its predicates are simple enough to be asked of another table.

use std::sync::Arc;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, TableFactor, TableWithJoins, UnaryOperator, Value,
};

use crate::catalog::HotTable;
use crate::sql::context::{Context, bare, column_path};

/// The single table that a statement works on.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub(super) table: &'a Arc<HotTable>,
    /// The name by which the statement refers to it: its alias, or its own.
    pub(super) exposed: String,
    has_alias: bool,
}

impl<'a> Target<'a> {
    /// The hot table that `from` consists of, if it is one table without anything else.
    pub(super) fn of(context: &Context<'a>, from: &TableWithJoins) -> Option<Self> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            partitions,
            index_hints,
            version: None,
            ..
        } = &from.relation
        else {
            return None;
        };
        let table = context.hot(name)?;
        if !from.joins.is_empty() || !partitions.is_empty() || !index_hints.is_empty() {
            return None;
        }
        Some(match alias {
            Some(alias) => Self {
                table,
                exposed: context.name(&alias.name),
                has_alias: true,
            },
            None => Self::unaliased(
                context,
                table,
                name.0.last().and_then(crate::sql::context::ident),
            ),
        })
    }

    /// The table under its own name, as written.
    pub(super) fn unaliased(
        context: &Context<'a>,
        table: &'a Arc<HotTable>,
        written: Option<&Ident>,
    ) -> Self {
        let exposed = written.map_or_else(|| table.name.clone(), |name| context.name(name));
        Self {
            table,
            exposed,
            has_alias: false,
        }
    }

    /// The table under the name that a query block knows it by.
    pub(super) fn named(table: &'a Arc<HotTable>, exposed: &str) -> Self {
        Self {
            table,
            exposed: exposed.to_owned(),
            has_alias: false,
        }
    }

    /// The column of this table that a path names.
    pub(super) fn column(&self, context: &Context<'_>, path: &[Ident]) -> Option<usize> {
        let is_mine = match path {
            [_] => true,
            [table, _] => context.is_same_table_name(&context.name(table), &self.exposed),
            [schema, table, _] => {
                !self.has_alias
                    && context.is_same_table_name(&context.name(schema), &self.table.schema)
                    && context.is_same_table_name(&context.name(table), &self.exposed)
            }
            _ => false,
        };
        let name = path.last().filter(|_| is_mine)?;
        self.table.column(&context.name(name))
    }

    /// The column of this table that an expression is.
    pub(super) fn column_of(&self, context: &Context<'_>, expr: &Expr) -> Option<usize> {
        self.column(context, column_path(bare(expr))?)
    }
}

/// Whether a predicate consists only of this table's cold columns, constants and plain operators, so that it means the
/// same in any statement over the table.
pub(super) fn is_plain(context: &Context<'_>, target: &Target<'_>, predicate: &Expr) -> bool {
    // A list of what is left to look at, not recursion: operators chain by the hundred.
    let mut rest = vec![predicate];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                let column = target.column_of(context, expr);
                if column.is_none_or(|column| target.table.is_hot(column)) {
                    return false;
                }
            }
            Expr::Value(value) if is_plain_value(&value.value) => {}
            Expr::Nested(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::UnaryOp {
                op: UnaryOperator::Minus | UnaryOperator::Plus | UnaryOperator::Not,
                expr: inner,
            } => {
                rest.push(inner);
            }
            Expr::BinaryOp { left, op, right } if is_plain_operator(op) => {
                rest.extend([&**left, &**right])
            }
            Expr::InList { expr, list, .. } => {
                rest.push(expr);
                rest.extend(list);
            }
            Expr::Between {
                expr, low, high, ..
            } => rest.extend([&**expr, &**low, &**high]),
            Expr::Like {
                any: false,
                expr,
                pattern,
                escape_char: None,
                ..
            } => rest.extend([&**expr, &**pattern]),
            _ => return false,
        }
    }
    true
}

pub(super) fn is_plain_value(value: &Value) -> bool {
    matches!(
        value,
        Value::Number(..)
            | Value::SingleQuotedString(_)
            | Value::DoubleQuotedString(_)
            | Value::HexStringLiteral(_)
            | Value::Boolean(_)
            | Value::Null
            | Value::Placeholder(_)
    )
}

pub(super) fn is_plain_operator(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::And
            | BinaryOperator::Or
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Spaceship
            | BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
    )
}

/// The operands of a chain of ANDs.
pub(super) fn conjuncts(predicate: &Expr) -> Vec<&Expr> {
    let mut found = Vec::new();
    let mut rest = vec![predicate];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::Nested(inner) => rest.push(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => rest.extend([&**right, &**left]),
            other => found.push(other),
        }
    }
    found
}

//! Which rows of a hot table a predicate confines a statement to, where it does not name their keys.

use sqlparser::ast::{BinaryOperator, Expr};

use crate::sql::context::{Context, bare, quoted};
use crate::sql::key;
use crate::sql::plan::{FoldTable, Rows, Scope};
use crate::sql::predicate::{Target, conjuncts};
use crate::sql::template::Template;

/// Deeper nesting is not looked into.
const MOST_DEPTH: usize = 16;

/// A fold of what this target alone must be folded for.
pub(super) fn fold_of(
    context: &Context<'_>,
    target: &Target<'_>,
    predicate: Option<&Expr>,
) -> FoldTable {
    FoldTable {
        scope: scope(context, target, predicate),
        ..FoldTable::whole(target.table)
    }
}

/// The keys that a predicate names, or else the rows for which as much of it holds as is plain: columns of the table that
/// are not hot, compared with constants.
fn scope(context: &Context<'_>, target: &Target<'_>, predicate: Option<&Expr>) -> Scope {
    let by_key = key::scope(context, target, predicate);
    let Some(predicate) = predicate.filter(|_| by_key == Scope::Table) else {
        return by_key;
    };
    if !key::has_familiar_precedence(context) {
        return Scope::Table;
    }
    let plain = conjuncts(predicate)
        .into_iter()
        .filter_map(|conjunct| printed(context, target, conjunct, MOST_DEPTH));
    let mut text = Template::default();
    for (index, conjunct) in plain.enumerate() {
        text.push_text(if index == 0 { "" } else { " AND " })
            .append(&conjunct);
    }
    match text.pieces.is_empty() {
        true => Scope::Table,
        false => Scope::Rows(Rows {
            predicate: text,
            key: None,
        }),
    }
}

/// A condition over unqualified columns; `None` when there is more to it than columns and constants, or when it is nested
/// deeper than `depth`.
fn printed(
    context: &Context<'_>,
    target: &Target<'_>,
    expr: &Expr,
    depth: usize,
) -> Option<Template> {
    let depth = depth.checked_sub(1)?;
    let column = |expr: &Expr| {
        let column = target.column_of(context, expr);
        let cold = column.filter(|&column| !target.table.is_hot(column))?;
        Some(Template::text(quoted(&target.table.columns[cold].name)))
    };
    let constant = |expr: &Expr| Some(key::key_value(context, expr)?.text);
    let mut text = Template::default();
    match expr {
        Expr::Nested(inner) => return printed(context, target, inner, depth),
        Expr::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } => {
            let word = match op {
                BinaryOperator::And => " AND ",
                _ => " OR ",
            };
            text.push_text("(");
            for (index, operand) in operands(expr, op).into_iter().enumerate() {
                text.push_text(if index == 0 { "" } else { word })
                    .append(&printed(context, target, operand, depth)?);
            }
            text.push_text(")");
        }
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = match column(left) {
                Some(left) => (left, constant(right)?),
                None => (constant(left)?, column(right)?),
            };
            text.append(&left)
                .push_text(format!(" {} ", comparison(op)?))
                .append(&right);
        }
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            text.append(&column(expr)?)
                .push_text(if *negated { " NOT IN (" } else { " IN (" });
            for (index, value) in list.iter().enumerate() {
                text.push_text(if index == 0 { "" } else { ", " })
                    .append(&constant(value)?);
            }
            text.push_text(")");
        }
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            text.append(&column(expr)?)
                .push_text(if *negated {
                    " NOT BETWEEN "
                } else {
                    " BETWEEN "
                })
                .append(&constant(low)?)
                .push_text(" AND ")
                .append(&constant(high)?);
        }
        Expr::Like {
            any: false,
            negated,
            expr,
            pattern,
            escape_char: None,
        } => {
            text.append(&column(expr)?)
                .push_text(if *negated { " NOT LIKE " } else { " LIKE " })
                .append(&constant(pattern)?);
        }
        // `sql_auto_is_null` gives it another meaning in queries for keys that AUTO_INCREMENT has made.
        Expr::IsNull(inner) => {
            let found = target.column_of(context, bare(inner))?;
            target.table.columns[found].nullable.then_some(())?;
            text.append(&column(bare(inner))?).push_text(" IS NULL");
        }
        Expr::IsNotNull(inner) => {
            text.append(&column(bare(inner))?).push_text(" IS NOT NULL");
        }
        _ => return None,
    }
    Some(text)
}

/// The operands of a chain of one operator, which may be long.
fn operands<'a>(chain: &'a Expr, of: &BinaryOperator) -> Vec<&'a Expr> {
    let mut found = Vec::new();
    let mut rest = vec![chain];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::BinaryOp { left, op, right } if op == of => rest.extend([&**right, &**left]),
            other => found.push(other),
        }
    }
    found
}

fn comparison(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Lt => "<",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Gt => ">",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::Spaceship => "<=>",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn rows_are_found_by_what_is_plain_of_a_predicate() {
        let cases = [
            ("id = 3 AND title = 'x'", "posts where `id` = 3"),
            ("title = 'x'", "posts of base where `title` = 'x'"),
            ("p.title = ?", "posts of base where `title` = <?0>"),
            (
                "author_id IN (1, 2) AND views > 5 AND title NOT LIKE 'x%'",
                "posts of base where `author_id` IN (1, 2) AND `title` NOT LIKE 'x%'",
            ),
            (
                "(author_id < 3 OR 7 <= author_id) AND title IS NOT NULL",
                "posts of base where (`author_id` < 3 OR 7 <= `author_id`) AND `title` IS NOT NULL",
            ),
            (
                "author_id NOT BETWEEN -1 AND ?",
                "posts of base where `author_id` NOT BETWEEN -1 AND <?0>",
            ),
            // Counters, other tables, functions, what is not the same twice, and NOT, whose precedence the sql_mode sets.
            ("views > 5", "posts"),
            ("author_id = 1 OR views > 5", "posts"),
            ("author_id = RAND()", "posts"),
            ("author_id = @a", "posts"),
            ("NOT author_id = 1", "posts"),
            ("author_id = id", "posts"),
            ("author_id = 1 XOR title = 'x'", "posts"),
        ];
        for (predicate, expected) in cases {
            let text = format!("UPDATE posts AS p SET views = 0 WHERE {predicate}");
            let planned = planned(&text);
            let (_, scope) = planned.split_once(": ").unwrap_or_default();
            assert_eq!(scope, expected, "{text}: {planned}");
        }
    }
}

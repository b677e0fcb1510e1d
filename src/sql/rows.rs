//! Which rows of a hot table a predicate confines a statement to, if it does not name their keys.

mod inner;

use sqlparser::ast::{BinaryOperator, Expr, Query};

use crate::sql::context::{Context, bare, quoted};
use crate::sql::key;
use crate::sql::plan::{FoldTable, Rows, Scope};
use crate::sql::predicate::{Target, conjuncts};
use crate::sql::rows::inner::Inner;
use crate::sql::template::Template;

/// Deeper nesting is not looked into.
const MOST_DEPTH: usize = 16;

/// A fold of only what this target must be folded for.
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

/// The keys that a predicate names, or else the rows for which as much of it holds as is plain: columns of the table
/// that are not hot, compared with constants, or looked for in a column of another table.
fn scope(context: &Context<'_>, target: &Target<'_>, predicate: Option<&Expr>) -> Scope {
    let by_key = key::scope(context, target, predicate);
    let Some(predicate) = predicate.filter(|_| by_key == Scope::Table) else {
        return by_key;
    };
    if !key::has_familiar_precedence(context) {
        return Scope::Table;
    }
    let table = Columns::Target(target);
    let plain: Vec<Printed> = conjuncts(predicate)
        .into_iter()
        .filter_map(|conjunct| printed(context, &table, conjunct, MOST_DEPTH))
        .collect();
    let Some(predicate) = all_of(plain.iter()) else {
        return Scope::Table;
    };
    let reads: Vec<String> = plain.iter().flat_map(|of| of.reads.clone()).collect();
    let without_reads = match reads.is_empty() {
        true => None,
        false => all_of(plain.iter().filter(|of| of.reads.is_empty())),
    };
    Scope::Rows(Rows {
        predicate,
        reads,
        without_reads,
        key: None,
    })
}

/// Conditions joined by AND; `None` where there is none.
fn all_of<'a>(mut conditions: impl Iterator<Item = &'a Printed>) -> Option<Template> {
    let mut text = conditions.next()?.text.clone();
    for condition in conditions {
        text.push_text(" AND ").append(&condition.text);
    }
    Some(text)
}

/// Whose columns a condition compares.
enum Columns<'a> {
    Target(&'a Target<'a>),
    Inner(Inner),
}

impl Columns<'_> {
    /// A column that is not hot, as it is printed.
    fn printed(&self, context: &Context<'_>, expr: &Expr) -> Option<Template> {
        let text = match self {
            Self::Target(target) => {
                let column = target.column_of(context, expr);
                let cold = column.filter(|&column| !target.table.is_hot(column))?;
                quoted(&target.table.columns[cold].name)
            }
            Self::Inner(inner) => inner.column(context, expr)?,
        };
        Some(Template::text(text))
    }

    /// Whether an expression is a column that surely may be NULL.
    fn is_nullable(&self, context: &Context<'_>, expr: &Expr) -> bool {
        match self {
            Self::Target(target) => target
                .column_of(context, expr)
                .is_some_and(|column| target.table.columns[column].nullable),
            Self::Inner(_) => false,
        }
    }
}

/// A condition.
#[derive(Default)]
struct Printed {
    text: Template,
    /// As in [`Rows::reads`].
    reads: Vec<String>,
}

impl Printed {
    fn push_text(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.text.push_text(text);
        self
    }

    fn append(&mut self, text: &Template) -> &mut Self {
        self.text.append(text);
        self
    }

    fn append_condition(&mut self, condition: Printed) {
        self.text.append(&condition.text);
        self.reads.extend(condition.reads);
    }
}

/// A condition over unqualified columns; `None` when there is more to it than columns and constants, or when it is
/// nested deeper than `depth`.
fn printed(
    context: &Context<'_>,
    columns: &Columns<'_>,
    expr: &Expr,
    depth: usize,
) -> Option<Printed> {
    let depth = depth.checked_sub(1)?;
    let column = |expr: &Expr| columns.printed(context, expr);
    let constant = |expr: &Expr| Some(key::key_value(context, expr)?.text);
    let columns_of = |expr: &Expr| each(expr, column);
    let constants_of = |expr: &Expr| each(expr, constant);
    let mut text = Printed::default();
    match expr {
        Expr::Nested(inner) => return printed(context, columns, inner, depth),
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
                    .append_condition(printed(context, columns, operand, depth)?);
            }
            text.push_text(")");
        }
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = match columns_of(left) {
                Some(left) => (left, constants_of(right)?),
                None => (constants_of(left)?, columns_of(right)?),
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
            text.append(&columns_of(expr)?)
                .push_text(if *negated { " NOT IN (" } else { " IN (" });
            for (index, value) in list.iter().enumerate() {
                text.push_text(if index == 0 { "" } else { ", " })
                    .append(&constants_of(value)?);
            }
            text.push_text(")");
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } if matches!(columns, Columns::Target(_)) => {
            text.append(&column(expr)?)
                .push_text(if *negated { " NOT IN (" } else { " IN (" })
                .append_condition(printed_query(context, subquery, depth)?);
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
            columns.is_nullable(context, bare(inner)).then_some(())?;
            text.append(&column(bare(inner))?).push_text(" IS NULL");
        }
        Expr::IsNotNull(inner) => {
            text.append(&column(bare(inner))?).push_text(" IS NOT NULL");
        }
        _ => return None,
    }
    Some(text)
}

/// An operand, or each of those of a row: `(a, b)`.
fn each(expr: &Expr, print: impl Fn(&Expr) -> Option<Template>) -> Option<Template> {
    let Expr::Tuple(parts) = bare(expr) else {
        return print(expr);
    };
    let mut text = Template::text("(");
    for (index, part) in parts.iter().enumerate() {
        text.push_text(if index == 0 { "" } else { ", " })
            .append(&print(part)?);
    }
    text.push_text(")");
    Some(text)
}

/// A query that reads one column of one table. An UPDATE or DELETE reads what is committed there, and locks it for
/// sharing, where a query reads the snapshot, unless it says so.
fn printed_query(context: &Context<'_>, query: &Query, depth: usize) -> Option<Printed> {
    let (inner, column, condition) = inner::read(context, query)?;
    let mut text = Printed::default();
    text.push_text(format!(
        "SELECT {} FROM {}",
        inner.column(context, column)?,
        inner.from()
    ));
    text.reads.push(inner.path.clone());
    if let Some(condition) = condition {
        text.push_text(" WHERE ");
        text.append_condition(printed(context, &Columns::Inner(inner), condition, depth)?);
    }
    text.push_text(" LOCK IN SHARE MODE");
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
    use crate::sql::fixture::{plan_of, planned, show_template};
    use crate::sql::plan::{Plan, Scope};

    #[test]
    fn rows_are_found_by_what_is_plain_of_a_predicate() {
        let cases = [
            ("id = 3 AND title = 'x'", "posts where `id` = 3"),
            ("title = 'x'", "posts of base where `title` = 'x'"),
            (
                "(p.id, author_id) = (1, ?) AND title = 'x'",
                "posts of base where (`id`, `author_id`) = (1, <?0>) AND `title` = 'x'",
            ),
            (
                "(id, author_id) NOT IN ((1, 2), (3, 4))",
                "posts of base where (`id`, `author_id`) NOT IN ((1, 2), (3, 4))",
            ),
            ("(id, views) = (1, 2)", "posts"),
            ("(id, author_id) = (1, title)", "posts"),
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
            (
                "id IN (SELECT post_id FROM comments)",
                "posts of base where `id` IN (SELECT `comments`.`post_id` FROM `shop`.`comments` LOCK IN SHARE MODE)",
            ),
            (
                "p.author_id NOT IN (SELECT DISTINCT a.id FROM other.authors a WHERE a.name = ? OR (7 < `age` AND id = 2)) AND views > 3",
                "posts of base where `author_id` NOT IN (SELECT `a`.`id` FROM `other`.`authors` AS `a` \
                 WHERE (`a`.`name` = <?0> OR (7 < `a`.`age` AND `a`.`id` = 2)) LOCK IN SHARE MODE)",
            ),
            (
                "(id IN (SELECT shop.comments.post_id FROM comments WHERE votes BETWEEN 1 AND 2) OR title = 'x')",
                "posts of base where (`id` IN (SELECT `comments`.`post_id` FROM `shop`.`comments` \
                 WHERE `comments`.`votes` BETWEEN 1 AND 2 LOCK IN SHARE MODE) OR `title` = 'x')",
            ),
            // Of the statement's own table, or of one around, or more than a column of one table with constants.
            ("id IN (SELECT p.id FROM comments)", "posts"),
            (
                "id IN (SELECT post_id FROM comments WHERE p.id = 3)",
                "posts",
            ),
            (
                "id IN (SELECT post_id FROM comments WHERE posts.id = 3)",
                "posts",
            ),
            (
                "id IN (SELECT post_id FROM comments WHERE id = post_id)",
                "posts",
            ),
            (
                "id IN (SELECT post_id FROM comments WHERE votes IS NULL)",
                "posts",
            ),
            (
                "id IN (SELECT post_id FROM comments WHERE votes = @v)",
                "posts",
            ),
            ("id IN (SELECT CURRENT_USER FROM comments)", "posts"),
            ("id IN (SELECT post_id + 1 FROM comments)", "posts"),
            ("id IN (SELECT MAX(post_id) FROM comments)", "posts"),
            ("id IN (SELECT post_id FROM comments LIMIT 1)", "posts"),
            (
                "id IN (SELECT post_id FROM comments GROUP BY post_id)",
                "posts",
            ),
            ("id IN (SELECT post_id FROM comments FOR SHARE)", "posts"),
            (
                "id IN (SELECT post_id FROM comments UNION SELECT 1)",
                "posts",
            ),
            ("id IN (SELECT post_id FROM comments, authors)", "posts"),
            (
                "id IN (SELECT post_id FROM comments WHERE id IN (SELECT id FROM authors))",
                "posts",
            ),
            (
                "id IN (SELECT post_id FROM (SELECT 1 AS post_id) AS x)",
                "posts",
            ),
            (
                "(id, author_id) IN (SELECT post_id, id FROM comments)",
                "posts",
            ),
            ("views IN (SELECT votes FROM comments)", "posts"),
            ("id = (SELECT post_id FROM comments)", "posts"),
            ("EXISTS (SELECT post_id FROM comments)", "posts"),
            // Counters, other tables, functions, what is not the same twice, and NOT, whose precedence the sql_mode
            // sets.
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
    #[test]
    fn what_reads_no_other_table_is_told_apart() {
        let cases = [
            ("id IN (SELECT post_id FROM comments)", 1, None),
            (
                "author_id IN (SELECT id FROM authors) AND title = ? AND id IN (SELECT post_id FROM comments) AND score = 1 \
                 AND author_id < 5",
                2,
                Some("`title` = <?0> AND `author_id` < 5"),
            ),
            ("title = 'x'", 0, None),
        ];
        for (predicate, reads, without_reads) in cases {
            let text = format!("DELETE FROM posts WHERE {predicate}");
            let Plan::Fold(fold) = plan_of(&text) else {
                panic!("{text} is not folded for");
            };
            let Scope::Rows(rows) = &fold.folds[0].scope else {
                panic!("the rows of {text} are not told");
            };
            assert_eq!(rows.reads.len(), reads, "{text}");
            let left = rows.without_reads.as_ref().map(show_template);
            assert_eq!(left.as_deref(), without_reads, "{text}");
        }
    }
}

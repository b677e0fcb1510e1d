//! What a write sets the columns of its table to, by its text alone: no rule has to name the table yet.

use sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Insert, ObjectName, OnInsert, Statement, TableFactor, TableObject,
    UnaryOperator, Update, Value,
};

use crate::catalog::Catalog;
use crate::catalog::letter_case::is_same;
use crate::sql::context::{Context, bare, column_path, ident};
use crate::sql::plan::SessionVariables;
use crate::sql::{syntax, touch};

/// A write of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The schema, where the text names it.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// INSERT .. ON DUPLICATE KEY UPDATE rather than UPDATE.
    pub is_upsert: bool,
    /// The columns that it sets, and to what; no column is there twice.
    pub sets: Vec<(String, Sets)>,
}

/// What a column is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// Itself and a constant, added or subtracted.
    Sum,
    /// The same, handed out: `LAST_INSERT_ID(c + 1)`.
    Sequence,
    /// A constant.
    Constant,
    /// The statement's present: NOW().
    Present,
    /// Anything else.
    Other,
}

impl Tally {
    /// The columns that are set so.
    pub fn columns(&self, wanted: Sets) -> impl Iterator<Item = &str> {
        let columns = self.sets.iter().filter(move |(_, sets)| *sets == wanted);
        columns.map(|(column, _)| column.as_str())
    }
}

/// What a write of one table sets; `None` for all other statements. Digests are understood as well.
pub fn tally(text: &[u8], variables: &SessionVariables) -> Option<Tally> {
    let plain = String::from_utf8_lossy(text).replace("(...)", "(?)");
    let text = plain.as_bytes();
    let syntax = syntax::parse(text, variables).ok()?;
    let catalog = Catalog::default();
    let context = Context {
        text,
        variables,
        catalog: &catalog,
        syntax: &syntax,
    };
    match &syntax.statement {
        Statement::Update(update) => of_update(&context, update),
        Statement::Insert(insert) => of_insert(&context, insert),
        _ => None,
    }
}

fn of_update(context: &Context<'_>, update: &Update) -> Option<Tally> {
    let TableFactor::Table { name, .. } = &update.table.relation else {
        return None;
    };
    let is_single = update.table.joins.is_empty() && update.from.is_none();
    let (schema, table) = table(context, name).filter(|_| is_single)?;
    Some(Tally {
        schema,
        table,
        is_upsert: false,
        sets: sets(context, &update.assignments)?,
    })
}

fn of_insert(context: &Context<'_>, insert: &Insert) -> Option<Tally> {
    let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &insert.on else {
        return None;
    };
    let TableObject::TableName(name) = &insert.table else {
        return None;
    };
    let (schema, table) = table(context, name)?;
    Some(Tally {
        schema,
        table,
        is_upsert: true,
        sets: sets(context, assignments)?,
    })
}

fn table(context: &Context<'_>, name: &ObjectName) -> Option<(Option<String>, String)> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(ident).collect();
    match parts?.as_slice() {
        [table] => Some((context.variables.schema.clone(), context.name(table))),
        [schema, table] => Some((Some(context.name(schema)), context.name(table))),
        _ => None,
    }
}

fn sets(context: &Context<'_>, assignments: &[Assignment]) -> Option<Vec<(String, Sets)>> {
    let mut found: Vec<(String, Sets)> = Vec::new();
    for assignment in assignments {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return None;
        };
        let column = context.name(ident(name.0.last()?)?);
        let sets = set_to(context, &column, &assignment.value);
        match found.iter_mut().find(|(other, _)| is_same(other, &column)) {
            Some((_, twice)) => *twice = Sets::Other,
            None => found.push((column, sets)),
        }
    }
    Some(found)
}

fn set_to(context: &Context<'_>, column: &str, value: &Expr) -> Sets {
    match bare(value) {
        Expr::Value(_) => Sets::Constant,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } if is_constant(expr) => Sets::Constant,
        value if touch::is_now(value) => Sets::Present,
        Expr::Function(function) => match only_argument(function, &["LAST_INSERT_ID"]) {
            Some(inner) if set_to(context, column, inner) == Sets::Sum => Sets::Sequence,
            _ => Sets::Other,
        },
        Expr::BinaryOp { left, op, right } => {
            let is_column = |expr: &Expr| is_column(context, column, expr);
            let is_amount = |expr: &Expr| is_constant(expr) || is_inserted(context, column, expr);
            let is_sum = match op {
                BinaryOperator::Plus => {
                    (is_column(left) && is_amount(right)) || (is_amount(left) && is_column(right))
                }
                BinaryOperator::Minus => is_column(left) && is_amount(right),
                _ => false,
            };
            match is_sum {
                true => Sets::Sum,
                false => Sets::Other,
            }
        }
        _ => Sets::Other,
    }
}

/// Whether an expression is the column, or `COALESCE(column, 0)`.
fn is_column(context: &Context<'_>, column: &str, expr: &Expr) -> bool {
    let named = |expr: &Expr| {
        let path = column_path(bare(expr));
        path.and_then(<[Ident]>::last)
            .is_some_and(|name| is_same(&context.name(name), column))
    };
    match bare(expr) {
        Expr::Function(function) => match arguments(function, &["COALESCE", "IFNULL"]).as_slice() {
            [value, default] => named(value) && is_constant(default),
            _ => false,
        },
        expr => named(expr),
    }
}

/// Whether it is what the INSERT would have inserted: `VALUES(c)`, or MySQL's `new.c`.
fn is_inserted(context: &Context<'_>, column: &str, expr: &Expr) -> bool {
    let named = |expr: &Expr| {
        let path = column_path(bare(expr));
        path.and_then(<[Ident]>::last)
            .is_some_and(|name| is_same(&context.name(name), column))
    };
    match bare(expr) {
        Expr::Function(function) => {
            only_argument(function, &["VALUES", "VALUE"]).is_some_and(named)
        }
        expr @ Expr::CompoundIdentifier(_) => named(expr),
        _ => false,
    }
}

fn is_constant(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Value(value) => !matches!(value.value, Value::Null | Value::Boolean(_)),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => matches!(bare(expr), Expr::Value(_)),
        _ => false,
    }
}

fn only_argument<'a>(function: &'a Function, names: &[&str]) -> Option<&'a Expr> {
    match arguments(function, names).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The arguments of a function of one of these names; none if it has another one.
fn arguments<'a>(function: &'a Function, names: &[&str]) -> Vec<&'a Expr> {
    let [name] = function.name.0.as_slice() else {
        return Vec::new();
    };
    let is_meant = ident(name).is_some_and(|ident| {
        names
            .iter()
            .any(|name| ident.value.eq_ignore_ascii_case(name))
    });
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let argument = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_meant => Some(expr),
        _ => None,
    };
    list.args.iter().filter_map(argument).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `table: column Sets, ..`
    fn shown(text: &str) -> String {
        let Some(tally) = tally(text.as_bytes(), &SessionVariables::default()) else {
            return "none".to_owned();
        };
        let sets: Vec<_> = tally
            .sets
            .iter()
            .map(|(column, sets)| format!("{column} {sets:?}"))
            .collect();
        let schema = tally.schema.map_or_else(String::new, |schema| schema + ".");
        let upsert = if tally.is_upsert { "upsert " } else { "" };
        format!("{upsert}{schema}{}: {}", tally.table, sets.join(", "))
    }

    #[test]
    fn sums_are_told_from_all_else() {
        for (text, expected) in [
            (
                "UPDATE shop.posts SET views = views + 1, likes = 2 + posts.Likes WHERE id = 42",
                "shop.posts: views Sum, likes Sum",
            ),
            (
                "UPDATE `posts` AS p SET p.`views` = COALESCE(`p`.`views`, 0) - ?, `updated_at` = NOW() WHERE id = ?",
                "posts: views Sum, updated_at Present",
            ),
            (
                "UPDATE posts SET views = -1, title = 'x', likes = views + 1, a = a * 2, b = b + c",
                "posts: views Constant, title Constant, likes Other, a Other, b Other",
            ),
            (
                "UPDATE seq SET n = LAST_INSERT_ID(n + 1) WHERE name = 'orders'",
                "seq: n Sequence",
            ),
            ("UPDATE posts SET a = a + 1, a = a + 1", "posts: a Other"),
            (
                "INSERT INTO hits (page, n) VALUES ('x', 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
                "upsert hits: n Sum",
            ),
            (
                "INSERT INTO hits VALUES (1, 2) ON DUPLICATE KEY UPDATE n = n + 1, at = CURRENT_TIMESTAMP",
                "upsert hits: n Sum, at Present",
            ),
            ("INSERT INTO hits VALUES (1, 2)", "none"),
            ("UPDATE a JOIN b ON a.id = b.id SET a.n = a.n + 1", "none"),
            ("DELETE FROM posts", "none"),
            ("UPDATE posts SET views = 'not closed", "none"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    /// As MySQL 9.7 and MariaDB 10.11 print them.
    #[test]
    fn digests_of_the_servers_are_understood() {
        for (text, expected) in [
            (
                "UPDATE `shop` . `posts` SET `views` = `views` + ? WHERE `id` = ?",
                "shop.posts: views Sum",
            ),
            (
                "UPDATE `posts` SET `views` = `views` + ? WHERE `id` IN (...)",
                "posts: views Sum",
            ),
            (
                "INSERT INTO `hits` VALUES (...) ON DUPLICATE KEY UPDATE `n` = `n` + ?",
                "upsert hits: n Sum",
            ),
            (
                "UPDATE `seq` SET `n` = `LAST_INSERT_ID` ( `n` + ? ) WHERE NAME = ?",
                "seq: n Sequence",
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}

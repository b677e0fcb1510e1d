//! Writes of a table by which a foreign key's action deletes rows of a hot one, or gives them other primary keys.
//!
//! Slots do not go with such rows. So they are moved into the rows first, and the rows are locked until the statement
//! has reached them.

use std::ops::Range;

use sqlparser::ast::{
    AssignmentTarget, Delete, FromTable, Ident, ObjectName, Statement, TableFactor, TableObject,
    TableWithJoins, Update,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use crate::catalog::letter_case::is_same;
use crate::catalog::{Cascade, Catalog, HotTable};
use crate::sql::context::{Context, base_path, ident, may_name, quoted};
use crate::sql::plan::{Fold, FoldTable, Plan, Reason, Scope, SessionVariables};
use crate::sql::statement::Kind;
use crate::sql::template::{Piece, Template};
use crate::sql::words::{Words, identifier};
use crate::sql::{read, syntax};

/// The plan of a statement whose plan, by the hot tables that it names, is `plan`. `plan_of` plans another text.
pub(super) fn with_cascades(
    plan: Plan,
    text: &[u8],
    (variables, catalog, kind): (&SessionVariables, &Catalog, Kind),
    plan_of: impl Fn(&[u8]) -> Plan,
) -> Plan {
    let Some(reached) = reached(text, variables, catalog, kind, plan_of) else {
        return plan;
    };
    let (mut folds, reason) = match plan {
        Plan::Fold(fold) => (fold.folds, fold.reason),
        Plan::Write(write) => (vec![write.rows], reached.reason),
        Plan::Increment(increment) => (vec![FoldTable::whole(&increment.table)], reached.reason),
        Plan::Forward(_) | Plan::Combine(_) | Plan::Batch(_) => (Vec::new(), reached.reason),
        other => return other,
    };
    for fold in reached.folds {
        match folds.iter_mut().find(|other| other.table == fold.table) {
            Some(other) => *other = FoldTable::whole(&fold.table),
            None => folds.push(fold),
        }
    }
    Plan::Fold(Box::new(Fold::new(folds, reason)))
}

/// What a statement reaches by foreign keys.
struct Reached {
    folds: Vec<FoldTable>,
    reason: Reason,
}

fn reached(
    text: &[u8],
    variables: &SessionVariables,
    catalog: &Catalog,
    kind: Kind,
    plan_of: impl Fn(&[u8]) -> Plan,
) -> Option<Reached> {
    let is_of_kind = |cascade: &Cascade| match kind {
        Kind::Delete | Kind::LoadData => cascade.on_delete,
        Kind::Update | Kind::Insert => cascade.on_update,
        Kind::Replace | Kind::With | Kind::Other => true,
        _ => false,
    };
    // As most tables have none, the text need not be looked at.
    let mut cascades = catalog.tables.iter().flat_map(|table| &table.cascades);
    if !cascades.any(is_of_kind) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let is_named = |cascade: &Cascade| is_of_kind(cascade) && may_name(&lower, &cascade.name);
    let of_table = |table: &'_ HotTable| -> Vec<Cascade> {
        let named = table.cascades.iter().filter(|cascade| is_named(cascade));
        // To itself the rows that it reaches are not known. They are left to the roll-up.
        let others = named.filter(|cascade| !is_itself(table, cascade));
        others.cloned().collect()
    };
    let named = catalog.tables.iter().map(|table| (table, of_table(table)));
    let named: Vec<_> = named.filter(|(_, cascades)| !cascades.is_empty()).collect();
    if named.is_empty() {
        return None;
    }
    let syntax = syntax::parse(text, variables).ok();
    let statement = syntax.as_ref().map(|syntax| {
        let context = Context {
            text,
            variables,
            catalog,
            syntax,
        };
        (context, &syntax.statement)
    });
    let (mut folds, mut reason) = (Vec::new(), Reason::CascadingDelete);
    for (table, mut cascades) in named {
        cascades.retain(|cascade| match &statement {
            Some((_, Statement::Query(query))) if read::is_query(query) => false,
            Some((context, Statement::Delete(delete))) => may_delete(context, delete, cascade),
            Some((context, Statement::Update(update))) => may_assign(context, update, cascade),
            Some((context, Statement::Insert(insert))) => {
                is_named_by(context, &insert.table, cascade)
                    && may_reach(text, variables, kind, cascade)
            }
            _ => may_reach(text, variables, kind, cascade),
        });
        let only_deletes = |cascade: &Cascade| !cascade.on_update || kind == Kind::Delete;
        if !cascades.iter().all(only_deletes) {
            reason = Reason::CascadingUpdate;
        }
        let one = match (cascades.as_slice(), &statement) {
            ([], _) => continue,
            ([cascade], Some((context, statement))) => rows(context, statement, table, cascade),
            _ => None,
        };
        // As the planner understands a DELETE of the rows that the action reaches.
        let confined = one.and_then(|text| match plan_of(&text) {
            Plan::Fold(fold) => fold.folds.into_iter().find(|fold| fold.table == *table),
            _ => None,
        });
        let mut fold = confined.unwrap_or_else(|| FoldTable::whole(table));
        if let Scope::Rows(rows) = &mut fold.scope {
            lock_to_write(&mut rows.predicate);
        }
        folds.push(fold);
    }
    (!folds.is_empty()).then_some(Reached { folds, reason })
}

fn is_itself(table: &HotTable, cascade: &Cascade) -> bool {
    cascade.schema == table.schema && cascade.name == table.name
}

/// Has the query that a predicate ends with lock its rows as the statement will: two that held them shared would wait
/// for each other.
fn lock_to_write(predicate: &mut Template) {
    const SHARED: &[u8] = b" LOCK IN SHARE MODE)";
    if let Some(Piece::Text(last)) = predicate.pieces.last_mut()
        && let Some(rest) = last.strip_suffix(SHARED)
    {
        *last = [rest, b" FOR UPDATE)"].concat();
    }
}

/// Whether a DELETE may delete rows of the table above.
fn may_delete(context: &Context<'_>, delete: &Delete, cascade: &Cascade) -> bool {
    match deleted(delete) {
        Some(from) => names(context, from, cascade),
        None => true,
    }
}

/// The table of a DELETE that has one.
fn deleted(delete: &Delete) -> Option<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    match from.as_slice() {
        [from] if delete.tables.is_empty() && delete.using.is_none() && from.joins.is_empty() => {
            Some(from)
        }
        _ => None,
    }
}

/// Whether an UPDATE may change a column of the table above that is referred to.
fn may_assign(context: &Context<'_>, update: &Update, cascade: &Cascade) -> bool {
    let is_referred = |name: &ObjectName| {
        let name = name.0.last().and_then(ident);
        name.is_none_or(|name| {
            let name = context.name(name);
            let mut columns = cascade.columns.iter();
            columns.any(|column| is_same(column, &name))
        })
    };
    let may_be_its = !update.table.joins.is_empty() || names(context, &update.table, cascade);
    let mut assignments = update.assignments.iter();
    may_be_its
        && assignments.any(|assignment| match &assignment.target {
            AssignmentTarget::ColumnName(name) => is_referred(name),
            AssignmentTarget::Tuple(names) => names.iter().any(is_referred),
        })
}

/// Whether a reference may mean the table above.
fn names(context: &Context<'_>, from: &TableWithJoins, cascade: &Cascade) -> bool {
    match &from.relation {
        TableFactor::Table { name, .. } => is_path_of(context, name, cascade),
        _ => true,
    }
}

/// The same of the table that an INSERT or REPLACE writes.
fn is_named_by(context: &Context<'_>, table: &TableObject, cascade: &Cascade) -> bool {
    match table {
        TableObject::TableName(name) => is_path_of(context, name, cascade),
        _ => true,
    }
}

fn is_path_of(context: &Context<'_>, name: &ObjectName, cascade: &Cascade) -> bool {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(ident).collect();
    let is_one = |left: &str, right: &str| context.is_same_table_name(left, right);
    match parts.as_deref() {
        Some([table]) => {
            let mut schema = context.variables.schema.iter();
            schema.any(|schema| is_one(schema, &cascade.schema))
                && is_one(&context.name(table), &cascade.name)
        }
        Some([schema, table]) => {
            is_one(&context.name(schema), &cascade.schema)
                && is_one(&context.name(table), &cascade.name)
        }
        _ => true,
    }
}

/// The same by the words of a statement that is not taken apart.
fn may_reach(text: &[u8], variables: &SessionVariables, kind: Kind, cascade: &Cascade) -> bool {
    let mut words = Words::new(text, variables);
    let has = |words: &[&str], all: &Words<'_>| words.iter().any(|word| all.has(word));
    match kind {
        Kind::Insert => {
            // What is named before is inserted.
            words.skip_past("DUPLICATE")
                && cascade.on_update
                && words.rest().iter().any(|token| {
                    let name = identifier(token.of(text));
                    cascade.columns.iter().any(|column| is_same(column, &name))
                })
        }
        Kind::LoadData => cascade.on_delete && words.has("REPLACE"),
        Kind::Replace => true,
        // REPLACE is a function as well.
        _ => {
            (cascade.on_delete && has(&["DELETE"], &words))
                || (cascade.on_update && has(&["UPDATE"], &words))
        }
    }
}

/// A DELETE of the hot table's rows that refer to those which the statement deletes or changes; `None` if no condition
/// says which these are.
fn rows(
    context: &Context<'_>,
    statement: &Statement,
    table: &HotTable,
    cascade: &Cascade,
) -> Option<Vec<u8>> {
    let ([column], [referring]) = (&cascade.columns[..], &cascade.referring[..]) else {
        return None;
    };
    let (from, is_plain) = match statement {
        Statement::Delete(delete) => (
            deleted(delete)?,
            delete.order_by.is_empty() && delete.limit.is_none() && delete.returning.is_none(),
        ),
        Statement::Update(update) => (
            &update.table,
            update.table.joins.is_empty()
                && update.order_by.is_empty()
                && update.limit.is_none()
                && update.returning.is_none(),
        ),
        _ => return None,
    };
    let TableFactor::Table { name, .. } = &from.relation else {
        return None;
    };
    let tokens = &context.syntax.tokens;
    let start = syntax::range(name.0.first().and_then(ident)?)?.start;
    let end = tokens
        .iter()
        .rfind(|token| token.token != Token::SemiColon)?
        .range
        .end;
    let assignments = match statement {
        Statement::Update(_) => assignments(context, end)?,
        _ => end..end,
    };
    if !is_plain || !plain_between(context, &assignments) {
        return None;
    }
    let mut text = format!(
        "DELETE FROM {} WHERE {} IN (SELECT {} FROM ",
        base_path(table),
        quoted(referring),
        quoted(column),
    )
    .into_bytes();
    text.extend_from_slice(context.slice(start..assignments.start));
    text.extend_from_slice(context.slice(assignments.end..end));
    text.push(b')');
    Some(text)
}

/// Where an UPDATE of one table sets columns: from SET to WHERE.
fn assignments(context: &Context<'_>, end: usize) -> Option<Range<usize>> {
    let tokens = context.syntax.tokens.iter();
    let set = tokens.clone().find(|token| token.is(Keyword::SET))?;
    let mut depth = 0_usize;
    let mut behind = tokens.skip_while(|token| token.range.start < set.range.end);
    let condition = behind.find(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is(Keyword::WHERE)
    });
    Some(set.range.start..condition.map_or(end, |condition| condition.range.start))
}

/// Whether there is no parameter here, so that later parameters keep their numbers.
fn plain_between(context: &Context<'_>, range: &Range<usize>) -> bool {
    let mut parameters = context.placeholders();
    !parameters.any(|(_, hole)| range.contains(&hole.start))
}

#[cfg(test)]
mod tests {
    use crate::catalog::Cascade;
    use std::sync::Arc;

    use crate::catalog::Catalog;
    use crate::sql::fixture::{catalog, posts, show};
    use crate::sql::plan::SessionVariables;

    fn cascade(name: &str, on_delete: bool, on_update: bool) -> Cascade {
        Cascade {
            schema: "shop".to_owned(),
            name: name.to_owned(),
            columns: vec!["id".to_owned()],
            referring: vec!["author_id".to_owned()],
            on_delete,
            on_update,
        }
    }

    fn planned(cascades: Vec<Cascade>, text: &str) -> String {
        let mut table = (*posts()).clone();
        table.cascades = cascades;
        let variables = SessionVariables {
            schema: Some("shop".to_owned()),
            ..SessionVariables::default()
        };
        let mut catalog: Catalog = catalog();
        catalog.tables[0] = Arc::new(table);
        show(&crate::sql::plan(text.as_bytes(), &variables, &catalog))
    }

    #[test]
    fn what_an_action_reaches_is_folded_first() {
        let of_authors = |kind: &str, from: &str| {
            format!("fold {kind}: posts of base where `author_id` IN (SELECT {from} FOR UPDATE)")
        };
        let (deletes, updates) = ("CascadingDelete", "CascadingUpdate");
        let all = |kind: &str| format!("fold {kind}: posts");
        let none = || "forward NotHot".to_owned();
        let cases = [
            (
                "DELETE FROM authors WHERE id = 1",
                of_authors(
                    deletes,
                    "`authors`.`id` FROM `shop`.`authors` WHERE `authors`.`id` = 1",
                ),
            ),
            (
                "DELETE FROM shop.authors WHERE id > ?;",
                of_authors(
                    deletes,
                    "`authors`.`id` FROM `shop`.`authors` WHERE `authors`.`id` > <?0>",
                ),
            ),
            (
                "DELETE IGNORE FROM `authors` a WHERE a.id IN (1, 2)",
                of_authors(
                    deletes,
                    "`a`.`id` FROM `shop`.`authors` AS `a` WHERE `a`.`id` IN (1, 2)",
                ),
            ),
            (
                "DELETE FROM authors",
                of_authors(deletes, "`authors`.`id` FROM `shop`.`authors`"),
            ),
            ("DELETE FROM authors WHERE id = 1 LIMIT 1", all(deletes)),
            ("DELETE a FROM authors a JOIN tags ON 1", all(deletes)),
            ("DELETE FROM other.authors", none()),
            (
                "DELETE FROM tags WHERE id IN (SELECT id FROM authors)",
                none(),
            ),
            (
                "UPDATE authors SET id = 2 WHERE id = 1",
                of_authors(
                    updates,
                    "`authors`.`id` FROM `shop`.`authors` WHERE `authors`.`id` = 1",
                ),
            ),
            (
                "UPDATE authors SET name = (SELECT 1 FROM x WHERE y), ID = 3 WHERE id = ?",
                of_authors(
                    updates,
                    "`authors`.`id` FROM `shop`.`authors` WHERE `authors`.`id` = <?0>",
                ),
            ),
            // Parameters after that one have other numbers.
            ("UPDATE authors SET id = ? WHERE id = ?", all(updates)),
            ("UPDATE authors SET name = 'x' WHERE id = 1", none()),
            ("UPDATE tags, authors SET authors.id = 1", all(updates)),
            ("REPLACE INTO authors VALUES (1, 'x')", all(updates)),
            ("REPLACE INTO tags SELECT * FROM authors", none()),
            (
                "INSERT INTO authors (id) VALUES (1) ON DUPLICATE KEY UPDATE name = 'x'",
                none(),
            ),
            (
                "INSERT INTO authors (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 5",
                all(updates),
            ),
            ("WITH a AS (SELECT 1) DELETE FROM authors", all(updates)),
            (
                "WITH a AS (SELECT 1) SELECT id FROM authors FOR UPDATE",
                none(),
            ),
            ("SELECT id FROM authors", none()),
            (
                "DELETE FROM authors /* countersink:off */",
                "forward Off".to_owned(),
            ),
            (
                "DELETE FROM authors WHERE id IN (SELECT author_id FROM posts WHERE title = '')",
                all(deletes),
            ),
            (
                "DELETE FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views = 0)",
                "fold MultiTable: posts".to_owned(),
            ),
        ];
        for (text, expected) in cases {
            let cascades = vec![cascade("authors", true, true)];
            assert_eq!(planned(cascades, text), expected, "{text}");
        }
    }

    #[test]
    fn an_action_is_of_one_kind_or_both() {
        let delete = "DELETE FROM authors WHERE id = 1";
        let only_deletes = || vec![cascade("authors", true, false)];
        assert_eq!(
            planned(only_deletes(), "UPDATE authors SET id = 2"),
            "forward NotHot"
        );
        let only_updates = vec![cascade("authors", false, true)];
        assert_eq!(planned(only_updates, delete), "forward NotHot");

        let of_itself = || cascade("posts", true, false);
        assert_eq!(
            planned(vec![of_itself()], "DELETE FROM posts WHERE id = 1"),
            "fold Delete: posts where `id` = 1"
        );
        let mut both = only_deletes();
        both.push(of_itself());
        assert_eq!(
            planned(both, delete),
            "fold CascadingDelete: posts of base where `author_id` IN (SELECT `authors`.`id` FROM `shop`.`authors` \
             WHERE `authors`.`id` = 1 FOR UPDATE)"
        );

        let mut farther = cascade("countries", true, false);
        farther.referring.clear();
        assert_eq!(
            planned(vec![farther], "DELETE FROM countries WHERE id = 1"),
            "fold CascadingDelete: posts"
        );
    }
}

//! Whether each hot table's name in a text is in a place where the planner looks.
//!
//! The planner finds tables by walking the syntax tree, and the tree may keep a name where no walk passes: to sqlparser
//! the name in `SELECT .. UNION TABLE t` is a plain string. Such a table would be read from base alone. So the names in
//! the text are compared with those that a walk meets. A statement whose text has more of them counts as not
//! understood.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, Ident, Insert, ObjectName, OnInsert, Query, Select,
    SelectItem, Statement, TableAlias, TableFactor, Update, Visit, Visitor,
};
use sqlparser::tokenizer::Token;

use crate::catalog::HotTable;
use crate::sql::context::{Context, column_path, ident};
use crate::sql::syntax::{self, Lexeme};
use crate::sql::words::identifier;

/// Whether a walk over the statement meets these tables' names in every place of its text where they are.
pub(super) fn is_complete(context: &Context<'_>, tables: &[Arc<HotTable>]) -> bool {
    let tokens = &context.syntax.tokens;
    let mut names = (0..tokens.len())
        .filter(|&index| may_be_one_of(context, tokens, index, tables))
        .map(|index| tokens[index].range.start)
        .peekable();
    if names.peek().is_none() {
        return true;
    }
    let mut met = Met::default();
    let walk = context.syntax.statement.visit(&mut met);
    walk.is_continue() && names.all(|start| met.starts.contains(&start))
}

/// Whether a token may be the name of one of these tables: by how it is spelled, and because it qualifies nothing, and
/// is itself qualified by the table's schema at most.
fn may_be_one_of(
    context: &Context<'_>,
    tokens: &[Lexeme],
    index: usize,
    tables: &[Arc<HotTable>],
) -> bool {
    let name = |index: usize| match &tokens[index].token {
        Token::Word(_) => Some(identifier(context.slice(tokens[index].range.clone()))),
        _ => None,
    };
    let is_dot = |index: usize| {
        let token = tokens.get(index);
        token.is_some_and(|token| token.token == Token::Period)
    };
    let Some(spelled) = name(index).filter(|_| !is_dot(index + 1)) else {
        return false;
    };
    let qualifier = match index.checked_sub(2) {
        Some(before) if is_dot(index - 1) => name(before),
        _ => None,
    };
    tables.iter().any(|table| {
        context.is_same_table_name(&spelled, &table.name)
            && qualifier
                .as_ref()
                .is_none_or(|schema| context.is_same_table_name(schema, &table.schema))
    })
}

/// Where the identifiers that a walk meets begin, including those that name no table.
#[derive(Default)]
struct Met {
    starts: BTreeSet<usize>,
}

impl Met {
    fn note(&mut self, ident: &Ident) {
        self.starts
            .extend(syntax::range(ident).map(|range| range.start));
    }

    fn note_path(&mut self, name: &ObjectName) {
        for part in name.0.iter().filter_map(ident) {
            self.note(part);
        }
    }

    fn note_alias(&mut self, alias: &TableAlias) {
        self.note(&alias.name);
        for column in &alias.columns {
            self.note(&column.name);
        }
    }

    fn note_assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => self.note_path(name),
                AssignmentTarget::Tuple(names) => {
                    names.iter().for_each(|name| self.note_path(name));
                }
            }
        }
    }

    fn note_insert(&mut self, insert: &Insert) {
        insert.columns.iter().for_each(|name| self.note_path(name));
        self.note_assignments(&insert.assignments);
        if let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &insert.on {
            self.note_assignments(assignments);
        }
        if let Some(alias) = &insert.insert_alias {
            self.note_path(&alias.row_alias);
            alias
                .col_aliases
                .iter()
                .flatten()
                .for_each(|name| self.note(name));
        }
    }
}

impl Visitor for Met {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        match statement {
            Statement::Insert(insert) => self.note_insert(insert),
            Statement::Update(Update { assignments, .. }) => self.note_assignments(assignments),
            Statement::Delete(Delete { tables, .. }) => {
                tables.iter().for_each(|table| self.note_path(table));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.note_path(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        ctes.for_each(|cte| self.note_alias(&cte.alias));
        let locked = query.locks.iter().filter_map(|lock| lock.of.as_ref());
        locked.for_each(|name| self.note_path(name));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.note(alias);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::JsonTable { alias, .. } = factor
            && let Some(alias) = alias
        {
            self.note_alias(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        // Other databases' `f(x).field`. A server finds an error there, and quotes the text.
        if let Expr::CompoundFieldAccess { .. } = expr {
            return ControlFlow::Break(());
        }
        if let Some(path) = column_path(expr) {
            path.iter().for_each(|part| self.note(part));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::sql::fixture::{catalog, planned, show};
    use crate::sql::plan;
    use crate::sql::plan::SessionVariables;

    #[test]
    fn a_name_where_no_walk_comes_by_is_folded_for() {
        let cases = [
            "SELECT 1 UNION TABLE posts",
            "SELECT id FROM authors UNION ALL (SELECT 1 EXCEPT TABLE shop.posts)",
            "SELECT * FROM (SELECT 1 INTERSECT TABLE posts) AS x",
            "INSERT INTO authors SELECT 1 UNION TABLE posts",
            "UPDATE authors SET name = 1 WHERE id IN (SELECT 1 UNION TABLE `posts`)",
            "DELETE FROM authors WHERE id IN (SELECT 1 UNION TABLE posts)",
        ];
        // MySQL's are read as the SELECTs that they stand for.
        let catalog = Catalog {
            mariadb: true,
            ..catalog()
        };
        let variables = SessionVariables {
            schema: Some("shop".to_owned()),
            ..SessionVariables::default()
        };
        for text in cases {
            let plan = plan(text.as_bytes(), &variables, &catalog);
            assert_eq!(show(&plan), "fold NotParsed: posts", "{text}");
        }
    }

    #[test]
    fn what_no_server_reads_is_not_edited() {
        for text in [
            "SELECT f(1).views FROM posts WHERE id = 1",
            "SELECT a.name, COUNT(*).views FROM posts p JOIN authors a ON a.id = p.author_id",
            "UPDATE posts SET views = views + 1 WHERE f(1).id = 1",
            "UPDATE posts SET views = views + 1 WHERE id = 1 END",
            "UPDATE posts SET views = 1 WHERE id = 1 END WHEN",
            "SELECT views FROM posts WHERE id = 1 END views",
        ] {
            assert_eq!(planned(text), "fold NotParsed: posts", "{text}");
        }
    }

    #[test]
    fn other_things_may_have_a_tables_name() {
        let cases = [
            "SELECT 1 UNION TABLE other.posts",
            "SELECT posts FROM authors",
            "SELECT a.posts AS posts FROM authors AS a, other.posts GROUP BY posts ORDER BY posts",
            "WITH posts (posts) AS (SELECT 1) SELECT posts.posts FROM authors",
            "SELECT id posts FROM authors posts FOR UPDATE OF posts",
            "INSERT INTO authors (posts) VALUES (1) ON DUPLICATE KEY UPDATE posts = VALUES(posts)",
            "INSERT INTO authors VALUES (1) AS posts ON DUPLICATE KEY UPDATE name = posts.name",
            "INSERT INTO authors SET posts = 'posts'",
            "UPDATE authors AS posts SET posts.posts = 1, posts = 2 WHERE posts = 3",
            "DELETE posts FROM authors AS posts WHERE posts.id = 1",
        ];
        for text in cases {
            assert_eq!(planned(text), "forward NotHot", "{text}");
        }
    }
}

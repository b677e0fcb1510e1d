//! Writes of other tables that read counters, with sums in place of the counters: the slots stay as they are.
//!
//! A fold would write to base. In a transaction with a snapshot the rows are then its own, and its reads show their
//! counters as they are now. A query in a write reads what is committed, and locks it: slots and rows alike.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, Statement, TableObject, Visit, Visitor};
use sqlparser::tokenizer::Token;

use crate::sql::context::{Context, Edit};
use crate::sql::plan::WithSums;
use crate::sql::read;
use crate::sql::template::{Piece, Template};
use crate::sql::write::mentions::Mentions;

/// The statement with sums; `None` if it writes hot tables, or names counters in other ways.
pub(super) fn with_sums(context: &Context<'_>, statement: &Statement) -> Option<WithSums> {
    let is_cold = |written: Mentions| written.tables.is_empty();
    let is_understood = match statement {
        Statement::Update(update) => {
            update.returning.is_none()
                && is_cold(Mentions::of(context, &update.table))
                && is_cold(Mentions::of(context, &update.from))
        }
        Statement::Delete(delete) => {
            delete.returning.is_none()
                && is_cold(Mentions::of(context, &delete.from))
                && is_cold(Mentions::of(context, &delete.using))
        }
        Statement::Insert(insert) => {
            let is_cold = matches!(&insert.table, TableObject::TableName(name) if context.hot(name).is_none());
            insert.returning.is_none() && insert.on.is_none() && is_cold
        }
        _ => false,
    };
    if !is_understood {
        return None;
    }
    let mut sums = Sums {
        context,
        depth: 0,
        edits: Vec::new(),
    };
    match statement.visit(&mut sums) {
        ControlFlow::Continue(()) => Some(WithSums {
            text: filled(context, sums.edits)?,
            any_cursor: takes_values_alone(context, statement),
        }),
        ControlFlow::Break(()) => None,
    }
}

/// Whether queries are only in the values that it sets or inserts, one value each.
fn takes_values_alone(context: &Context<'_>, statement: &Statement) -> bool {
    let has_query = |mentions: Mentions| mentions.has_query;
    match statement {
        Statement::Update(update) => {
            !has_query(Mentions::of(context, &update.table))
                && !has_query(Mentions::of(context, &update.selection))
                && update.table.joins.is_empty()
                && update.from.is_none()
        }
        Statement::Insert(insert) => insert.source.as_deref().is_none_or(is_list),
        _ => false,
    }
}

/// The text with these edits, and with its parameters to be filled in.
pub(super) fn filled(context: &Context<'_>, mut edits: Vec<Edit>) -> Option<Template> {
    for (position, hole) in context.placeholders() {
        if edits.iter().any(|edit| edit.range.contains(&hole.start)) {
            return None;
        }
        let mut text = Template::default();
        text.push(Piece::Parameter(position));
        edits.push(Edit { range: hole, text });
    }
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    // A semicolon and a comment after a prepared statement would be a second statement.
    let mut tokens = context.syntax.tokens.iter().rev();
    let last = tokens.find(|token| token.token != Token::SemiColon)?;
    Some(context.edited(0..last.range.end, &edits))
}

/// Goes from one outermost query of a statement to the next.
struct Sums<'a> {
    context: &'a Context<'a>,
    /// How many queries there are around.
    depth: usize,
    edits: Vec<Edit>,
}

/// Whether it is a list of rows, in which there may be queries.
fn is_list(query: &Query) -> bool {
    matches!(*query.body, SetExpr::Values(_))
}

impl Visitor for Sums<'_> {
    /// A query is not understood.
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            if is_list(query) {
                return ControlFlow::Continue(());
            }
            match read::sums(self.context, query) {
                Some(edits) => self.edits.extend(edits),
                None => return ControlFlow::Break(()),
            }
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        // A list that is not in a query is not counted.
        self.depth = self.depth.saturating_sub(1);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::{plan_of, show_template};
    use crate::sql::plan::Plan;

    /// The text with sums, the queries over slots shortened to `slots`.
    fn summed(text: &str) -> Option<String> {
        let Plan::Fold(fold) = plan_of(text) else {
            panic!("{text} is not folded for");
        };
        fold.with_sums
            .as_ref()
            .map(|sums| show_template(&sums.text))
    }

    #[test]
    fn only_counters_in_queries_of_other_tables_become_sums() {
        for text in [
            "UPDATE authors SET name = (SELECT MAX(views) FROM posts)",
            "DELETE FROM authors WHERE id IN (SELECT author_id FROM posts WHERE views > ?)",
            "INSERT INTO authors (id, name) VALUES (?, (SELECT views FROM posts WHERE id = ?))",
            "INSERT INTO authors (id, name) SELECT id, views FROM posts",
        ] {
            let summed = summed(text).unwrap_or_else(|| panic!("{text} has no sums"));
            assert!(summed.contains("SUM(`countersink_s`.`views`)"), "{summed}");
            assert!(!summed.contains('?') || summed.contains("<?0>"), "{summed}");
        }
        let ended =
            summed("DELETE FROM authors WHERE id IN (SELECT views FROM posts); /* done */;");
        assert!(ended.is_some_and(|text| text.ends_with("FROM posts)")));
        for text in [
            "UPDATE posts SET title = (SELECT MAX(n) FROM hits) WHERE id = 1",
            "UPDATE authors JOIN posts ON posts.author_id = authors.id SET name = views",
            "INSERT INTO posts (id, title) SELECT n, path FROM hits",
            "INSERT INTO authors (id) SELECT id FROM posts ON DUPLICATE KEY UPDATE name = posts.views",
            "INSERT INTO authors (id, name) SELECT id, views FROM posts FOR UPDATE",
            "INSERT INTO authors (id, name) TABLE posts",
        ] {
            assert_eq!(summed(text), None, "{text}");
        }
    }
}

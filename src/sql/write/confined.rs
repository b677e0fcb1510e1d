//! A write of one hot table, to be run once more for only some of the rows that it has met.

use sqlparser::ast::{Delete, FromTable, Statement, Update};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use crate::sql::calls::calls_alone;
use crate::sql::context::{Context, Edit};
use crate::sql::increment::assigned_column;
use crate::sql::predicate::Target;
use crate::sql::syntax::Lexeme;
use crate::sql::template::{Piece, Template};
use crate::sql::write::mentions::Mentions;
use crate::sql::write::sums::filled;

/// The statement with one more condition, by which it meets only the rows that [`Piece::Keys`] names. `None` if it
/// might do something else to them, or to other tables, when it is run a second time, or if it gives them other keys.
pub(super) fn confined(context: &Context<'_>, statement: &Statement) -> Option<Template> {
    let is_of_one_table = match statement {
        Statement::Update(update) => keeps_keys(context, update),
        Statement::Delete(delete) => is_plain(context, delete),
        _ => false,
    };
    if !is_of_one_table || Mentions::of(context, statement).has_query || !calls_alone(context.text)
    {
        return None;
    }
    let tokens = &context.syntax.tokens;
    let mut depth = 0_usize;
    let (mut begin, mut end) = (None, None);
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            // It would be assigned, or read, a second time.
            _ if context.slice(token.range.clone()).starts_with(b"@") => return None,
            _ if depth > 0 || end.is_some() => {}
            _ if token.is(Keyword::WHERE) => begin = Some(at),
            Token::SemiColon => end = Some(at),
            _ if token.is(Keyword::LIMIT) || is_order_by(tokens, at) => end = Some(at),
            _ => {}
        }
    }
    let last = end.unwrap_or(tokens.len()).checked_sub(1)?;
    let (start, end) = (begin.map(|at| tokens[at].range.end), tokens[last].range.end);
    let mut condition = Template::default();
    condition
        .push_text(if start.is_some() {
            ") AND ("
        } else {
            " WHERE ("
        })
        .push(Piece::Keys)
        .push_text(") ");
    let opened = start.map(|start| Edit::new(start..start, " ("));
    let closed = Edit {
        range: end..end,
        text: condition,
    };
    filled(context, opened.into_iter().chain([closed]).collect())
}

/// To sqlparser, ORDER by itself is a name.
fn is_order_by(tokens: &[Lexeme], at: usize) -> bool {
    let is = |at: usize, keyword| tokens.get(at).is_some_and(|token| token.is(keyword));
    is(at, Keyword::ORDER) && is(at + 1, Keyword::BY)
}

fn keeps_keys(context: &Context<'_>, update: &Update) -> bool {
    let Some(target) = Target::of(context, &update.table) else {
        return false;
    };
    let is_key = |column: usize| target.table.primary_key.contains(&column);
    update.from.is_none()
        && update.returning.is_none()
        && update.assignments.iter().all(|assignment| {
            assigned_column(context, &target, assignment).is_some_and(|column| !is_key(column))
        })
}

fn is_plain(context: &Context<'_>, delete: &Delete) -> bool {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let is_single =
        delete.tables.is_empty() && delete.using.is_none() && delete.returning.is_none();
    matches!(from.as_slice(), [from] if is_single && Target::of(context, from).is_some())
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::{plan_of, show_template};
    use crate::sql::plan::Plan;

    fn confined(text: &str) -> Option<String> {
        let Plan::Fold(fold) = plan_of(text) else {
            panic!("{text} is not folded for");
        };
        fold.confined.as_ref().map(show_template)
    }

    #[test]
    fn a_condition_more_stands_behind_the_others() {
        for (text, expected) in [
            (
                "DELETE FROM posts WHERE likes * ORDER",
                "DELETE FROM posts WHERE ( likes * ORDER) AND (<keys>) ",
            ),
            (
                "UPDATE posts SET title = 'x' WHERE views > ? OR likes = 1;",
                "UPDATE posts SET title = 'x' WHERE ( views > <?0> OR likes = 1) AND (<keys>) ",
            ),
            (
                "UPDATE posts p SET p.title = UPPER(views) ORDER BY (p.views) LIMIT 3 -- three",
                "UPDATE posts p SET p.title = UPPER(views) WHERE (<keys>)  ORDER BY (p.views) LIMIT 3",
            ),
            (
                "DELETE FROM posts WHERE(views<?)LIMIT 1",
                "DELETE FROM posts WHERE ((views<<?0>)) AND (<keys>) LIMIT 1",
            ),
            (
                "UPDATE posts SET views = 5, title = '@' WHERE title LIKE '%)' /* WHERE */",
                "UPDATE posts SET views = 5, title = '@' WHERE ( title LIKE '%)') AND (<keys>) ",
            ),
        ] {
            assert_eq!(confined(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_may_not_run_twice_is_left_alone() {
        for text in [
            "UPDATE posts SET id = 3 WHERE views > 3",
            "UPDATE posts SET title = @a := views",
            "UPDATE posts SET title = RAND() WHERE views > 3",
            "UPDATE posts SET views = LAST_INSERT_ID(views + 1)",
            "UPDATE posts SET title = 'x' WHERE views > (SELECT MAX(age) FROM authors)",
            "UPDATE posts JOIN authors ON author_id = age SET title = views",
            "DELETE posts FROM posts JOIN authors WHERE views > 3",
            "INSERT INTO posts (id, views) VALUES (1, 2) ON DUPLICATE KEY UPDATE views = 3",
        ] {
            assert_eq!(confined(text), None, "{text}");
        }
    }
}

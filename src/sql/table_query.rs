//! `TABLE t`, read as the query that it means: `SELECT * FROM t` (MySQL from 8.0.19; MariaDB has none).

use std::borrow::Cow;
use std::ops::Range;

use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;

/// The text with `SELECT * FROM t` in place of each `TABLE t` that is a query, an arm of a set operation or a subquery.
/// The text is left as it is if one of them has a clause that only a SELECT may have.
pub(super) fn with_selects<'a>(text: &'a [u8], variables: &SessionVariables) -> Cow<'a, [u8]> {
    if !mentions(text, b"TABLE") {
        return Cow::Borrowed(text);
    }
    let tokens: Vec<_> = Lexer::new(text, variables)
        .filter(Token::is_significant)
        .collect();
    let mut selects = Vec::new();
    let mut from = 0;
    for place in places(text, &tokens) {
        selects.extend_from_slice(&text[from..place.start]);
        selects.extend_from_slice(b"SELECT * FROM");
        from = place.end;
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => {
            selects.extend_from_slice(&text[from..]);
            Cow::Owned(selects)
        }
    }
}

/// Whether a query begins with `TABLE t`.
pub fn is_table_query(text: &[u8]) -> bool {
    const TABLE: &[u8] = b"TABLE";
    let is_mark = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'(';
    let start = text.iter().take_while(|byte| is_mark(byte)).count();
    let word = text[start..].get(..TABLE.len());
    word.is_some_and(|word| word.eq_ignore_ascii_case(TABLE))
}

/// Where the word TABLE comes before a table that is read; none if not all of them are understood.
fn places(text: &[u8], tokens: &[Token]) -> Vec<Range<usize>> {
    const BEFORE: [&str; 5] = ["UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT"];
    const BEHIND: [&str; 6] = ["ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "INTO"];
    let is_one_of = |token: &Token, words: &[&str]| {
        let is = |word: &&str| token.of(text).eq_ignore_ascii_case(word.as_bytes());
        token.kind == TokenKind::Word && words.iter().any(is)
    };
    let is_mark = |token: &Token, mark: &[u8]| token.of(text) == mark;
    let is_name = |token: &Token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let begins_query =
            before.is_none_or(|before| is_mark(before, b"(") || is_one_of(before, &BEFORE));
        if !is_one_of(token, &["TABLE"]) || !begins_query {
            continue;
        }
        let mut name = at + 1;
        if tokens.get(name + 1).is_some_and(|dot| is_mark(dot, b".")) {
            name += 2;
        }
        let ends = tokens.get(name + 1).is_none_or(|behind| {
            is_mark(behind, b")") || is_mark(behind, b";") || is_one_of(behind, &BEHIND)
        });
        if !tokens.get(name).is_some_and(is_name) || !ends {
            return Vec::new();
        }
        found.push(token.start..token.end);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_query_is_the_select_that_it_stands_for() {
        for (text, select) in [
            ("TABLE posts", "SELECT * FROM posts"),
            (
                "(table`shop`.`posts` ORDER BY id LIMIT 1)",
                "(SELECT * FROM`shop`.`posts` ORDER BY id LIMIT 1)",
            ),
            (
                "SELECT 1 UNION ALL TABLE shop.posts UNION TABLE posts;",
                "SELECT 1 UNION ALL SELECT * FROM shop.posts UNION SELECT * FROM posts;",
            ),
            (
                "SELECT * FROM (TABLE posts) AS p",
                "SELECT * FROM (SELECT * FROM posts) AS p",
            ),
        ] {
            let selects = with_selects(text.as_bytes(), &SessionVariables::default());
            assert_eq!(String::from_utf8_lossy(&selects), select);
        }
    }

    #[test]
    fn what_only_a_select_may_have_stays() {
        for text in [
            "TABLE posts WHERE id = 1",
            "TABLE posts AS p",
            "TABLE posts, authors",
            "TABLE posts FOR UPDATE",
            "TABLE",
            "SELECT 'TABLE posts'",
            "LOCK TABLE posts WRITE",
            "SELECT 1 UNION TABLE posts p UNION TABLE posts",
        ] {
            let selects = with_selects(text.as_bytes(), &SessionVariables::default());
            assert_eq!(String::from_utf8_lossy(&selects), text);
        }
    }
}

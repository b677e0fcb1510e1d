//! A statement is the same with and without the spaces that its tokens do not need, and so is what is sent for it.

use proptest::prelude::*;

use crate::sql::fixture::{catalog, planned};
use crate::sql::lexer::{Lexer, TokenKind};
use crate::sql::plan::SessionVariables;

/// The statements of the golden cases, and a few more.
fn statements() -> Vec<String> {
    const FILES: [&str; 6] = [
        include_str!("../../tests/cases/increments.yaml"),
        include_str!("../../tests/cases/orm.yaml"),
        include_str!("../../tests/cases/reads.yaml"),
        include_str!("../../tests/cases/section3.yaml"),
        include_str!("../../tests/cases/traps.yaml"),
        include_str!("../../tests/cases/writes.yaml"),
    ];
    const MORE: [&str; 4] = [
        "SELECT views , COUNT(*) FROM posts GROUP BY views HAVING views > 1 ORDER BY views",
        "SELECT * FROM posts NATURAL JOIN authors",
        "SELECT views 'v' , likes \"l\" FROM posts WHERE id = ? AND views > ? LIMIT ?",
        "UPDATE posts SET views = views + ? WHERE shop.posts.id = ? AND title = ?",
    ];
    let given = FILES.iter().flat_map(|file| file.lines());
    let given = given.filter_map(|line| line.trim().strip_prefix("statement: "));
    let given = given.map(|text| text.trim_matches('\''));
    given.chain(MORE).map(str::to_owned).collect()
}

fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let variables = SessionVariables::default();
    let significant =
        Lexer::new(text.as_bytes(), &variables).filter(|token| token.is_significant());
    significant
        .map(|token| (token.kind, text[token.start..token.end].to_owned()))
        .collect()
}

/// The tokens, with a space between two of them if `has_space` says so, or if they would otherwise be one. The names of
/// hot tables and of their columns are quoted, so nearly all can do without a space.
fn written(text: &str, mut has_space: impl FnMut() -> bool) -> String {
    let catalog = catalog();
    let is_name = |word: &str| {
        let mut tables = catalog.tables.iter();
        tables
            .any(|table| word == table.name || word == table.schema || table.column(word).is_some())
    };
    let mut out = String::new();
    let mut last = String::new();
    let mut rest = text;
    for (kind, token) in tokens(text) {
        // `:=` and `<=` are two tokens to this lexer, and one to the server.
        let is_one_mark = kind == TokenKind::Punctuation
            && last.ends_with(|byte: char| byte.is_ascii_punctuation())
            && rest.starts_with(&token);
        rest = rest.split_once(&token).expect("a token of it").1;
        let token = match kind == TokenKind::Word && is_name(&token) {
            true => format!("`{token}`"),
            false => token,
        };
        let together = tokens(&format!("{last}{token}"));
        // Before a variable and between a number and a word sqlparser needs one.
        let is_easy =
            !token.starts_with('@') && !last.ends_with(|byte: char| byte.is_ascii_digit());
        let are_two = together.len() == 2 && together[1].1 == token && is_easy;
        if !last.is_empty() && !is_one_mark && (!are_two || has_space()) {
            out.push(' ');
        }
        out.push_str(&token);
        last = token;
    }
    out
}

/// What is planned, token by token. An item's name may be its text, so spaces inside tokens do not count.
fn planned_tokens(text: &str) -> Vec<(TokenKind, String)> {
    let planned = tokens(&planned(text)).into_iter();
    planned
        .map(|(kind, token)| (kind, token.replace(' ', "")))
        .collect()
}

#[test]
fn no_space_is_needed_where_something_is_replaced() {
    let statements = statements();
    assert!(statements.len() > 200, "{}", statements.len());
    for text in statements {
        let (spaced, squeezed) = (written(&text, || true), written(&text, || false));
        assert_eq!(
            planned_tokens(&squeezed),
            planned_tokens(&spaced),
            "{squeezed}"
        );
    }
}

proptest! {
    #[test]
    fn any_spaces_give_the_same(index in 0..200_usize, spaces in any::<u64>()) {
        let text = &statements()[index];
        let mut at = 0;
        let some = written(text, || {
            at += 1;
            spaces >> (at % 64) & 1 == 1
        });
        prop_assert_eq!(planned_tokens(&some), planned_tokens(&written(text, || true)), "{}", some);
    }
}

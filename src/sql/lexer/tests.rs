//! The lexer against examples, against arbitrary bytes, and against sqlparser's tokenizer.

use proptest::prelude::*;
use sqlparser::tokenizer::{Token as Theirs, Tokenizer};

use super::*;
use crate::sql::dialect::SessionDialect;

fn tokens(text: &[u8], variables: &SessionVariables) -> Vec<(TokenKind, String)> {
    Lexer::new(text, variables)
        .filter(|token| token.kind != TokenKind::Space)
        .map(|token| {
            (
                token.kind,
                String::from_utf8_lossy(token.of(text)).into_owned(),
            )
        })
        .collect()
}

fn kinds(text: &str) -> Vec<(TokenKind, String)> {
    tokens(text.as_bytes(), &SessionVariables::default())
}

fn one(kind: TokenKind, text: &str) {
    assert_eq!(kinds(text), [(kind, text.to_owned())]);
}

#[test]
fn tokens_of_each_kind() {
    for word in ["posts", "_a$1", "1st", "été", "0x", "0xzz"] {
        one(TokenKind::Word, word);
    }
    for number in ["1", "1.5", ".5", "1.", "1e5", "1.5E-7", "0x1F", "0b01"] {
        one(TokenKind::Number, number);
    }
    for string in [
        "'a'",
        "'it''s'",
        r"'a\'b'",
        "\"a\"",
        "x'1F'",
        "N'a'",
        "b'01'",
        "'not closed",
        r"'end\",
    ] {
        one(TokenKind::String, string);
    }
    one(TokenKind::Quoted, "`a``b`");
    one(TokenKind::Variable, "@a");
    one(TokenKind::Variable, "@@global");
    one(TokenKind::Placeholder, "?");
    for comment in ["-- a", "--", "# a", "/* a */", "/**/", "/* not closed"] {
        one(TokenKind::Comment, comment);
    }
    one(TokenKind::ExecutableComment, "/*!40101 a */");
    one(TokenKind::Comment, "/*!40001 SQL_NO_CACHE */");
    one(TokenKind::Comment, "/*! sql_no_cache*/");
    one(TokenKind::ExecutableComment, "/*!40001 SQL_NO_CACHE * */");
    one(TokenKind::ExecutableComment, "/*!40001 a SQL_NO_CACHE */");
    one(TokenKind::ExecutableComment, "/*!40001 SQL_NO_CACHE");
    one(TokenKind::ExecutableComment, "/*M!100100 a */");
    one(TokenKind::Hint, "/*+ a */");
}

#[test]
fn two_minus_signs_are_a_comment_only_before_a_space() {
    assert_eq!(kinds("1--1").len(), 4);
    assert_eq!(kinds("1-- 1").len(), 2);
}

#[test]
fn digits_behind_a_dot_of_a_name_are_a_name() {
    let kinds: Vec<TokenKind> = kinds("t.1a.2").into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(
        kinds,
        [
            TokenKind::Word,
            TokenKind::Punctuation,
            TokenKind::Word,
            TokenKind::Punctuation,
            TokenKind::Word
        ]
    );
}

#[test]
fn sql_mode_changes_quotes_and_backslashes() {
    let ansi = SessionVariables {
        ansi_quotes: true,
        ..SessionVariables::default()
    };
    assert_eq!(
        tokens(br#""a\""#, &ansi),
        [(TokenKind::Quoted, r#""a\""#.to_owned())]
    );
    let plain = SessionVariables {
        no_backslash_escapes: true,
        ..SessionVariables::default()
    };
    assert_eq!(tokens(br"'\' x", &plain).len(), 2);
}

fn any_facts() -> impl Strategy<Value = SessionVariables> {
    (any::<bool>(), any::<bool>()).prop_map(|(ansi_quotes, no_backslash_escapes)| {
        SessionVariables {
            ansi_quotes,
            no_backslash_escapes,
            ..SessionVariables::default()
        }
    })
}

/// A piece of SQL on whose boundaries both lexers must agree.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z_][a-zA-Z0-9_$]{0,8}",
        "`[a-z` ]{0,6}`"
            .prop_map(|quoted| format!("`{}`", quoted.trim_matches('`').replace('`', "``"))),
        "'[a-z\" ]{0,6}(''|\\\\n)?[a-z]{0,3}'",
        "\"[a-z' ]{1,6}\"",
        "[0-9]{1,5}",
        "[0-9]{1,3}\\.[0-9]{1,3}",
        "[0-9]{1,2}e[0-9]{1,2}",
        "0x[0-9a-f]{1,4}",
        "[x]'[0-9a-f]{2}'",
        Just("?".to_owned()),
        "@[a-z]{1,5}",
        "@@[a-z]{1,5}",
        "/\\*[a-z '\"`;]{0,8}\\*/",
        "-- [a-z '\"`;]{0,8}\n",
        "#[a-z '\"`;]{0,8}\n",
        prop::sample::select(vec![
            "(", ")", ",", ";", "=", "<", ">", "+", "-", "*", "/", "%"
        ])
        .prop_map(str::to_owned),
    ]
}

/// The boundaries of sqlparser's tokens, spaces left out.
fn their_boundaries(text: &str, variables: &SessionVariables) -> Option<Vec<String>> {
    let dialect = SessionDialect::new(variables);
    let tokens = Tokenizer::new(&dialect, text)
        .with_unescape(false)
        .tokenize_with_location()
        .ok()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let offset = |location: sqlparser::tokenizer::Location| {
        let line = usize::try_from(location.line).expect("a line number") - 1;
        let column = usize::try_from(location.column).expect("a column number") - 1;
        lines
            .iter()
            .take(line)
            .map(|line| line.len())
            .sum::<usize>()
            + column
    };
    let is_space = |token: &Theirs| {
        matches!(token, Theirs::Whitespace(space) if !matches!(space,
        sqlparser::tokenizer::Whitespace::SingleLineComment { .. } | sqlparser::tokenizer::Whitespace::MultiLineComment(_)))
    };
    let tokens = tokens.into_iter().filter(|token| !is_space(&token.token));
    Some(
        tokens
            .map(|token| text[offset(token.span.start)..offset(token.span.end)].to_owned())
            .collect(),
    )
}

proptest! {
    #[test]
    fn tokens_cover_any_bytes(text in prop::collection::vec(any::<u8>(), 0..200), variables in any_facts()) {
        let mut end = 0;
        for token in Lexer::new(&text, &variables) {
            prop_assert_eq!(token.start, end);
            prop_assert!(token.end > token.start);
            end = token.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn planning_never_panics(text in "(SELECT|UPDATE|INSERT|DELETE|WITH|LOCK TABLES|CREATE TABLE) [ -~\\n]{0,40}posts[ -~]{0,40}") {
        crate::sql::fixture::planned(&text);
    }

    #[test]
    fn boundaries_are_sqlparsers(pieces in prop::collection::vec(piece(), 0..12), variables in any_facts()) {
        let text = pieces.join(" ");
        let ours: Vec<String> = Lexer::new(text.as_bytes(), &variables)
            .filter(|token| token.kind != TokenKind::Space)
            .map(|token| text[token.start..token.end].to_owned())
            .collect();
        if let Some(theirs) = their_boundaries(&text, &variables) {
            prop_assert_eq!(ours, theirs);
        }
    }
}

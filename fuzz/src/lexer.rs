//! Any bytes as a text: the tokens of this proxy's own lexer, and what is read from a text by tokens alone.

use std::sync::LazyLock;

use crate::fixture;
use crate::input::{Input, session_variables};
use crate::sql::plan::SessionVariables;
use crate::sql::{self, Kind, Lexer, Prefilter, TokenKind};

/// The first look at a text, which the planner's catalog makes.
static PREFILTER: LazyLock<Prefilter> =
    LazyLock::new(|| Prefilter::new(&fixture::catalog(false, false)));

/// Words that `mentions` is asked for.
const WORDS: [&[u8]; 5] = [b"EXECUTE", b"XA", b"@@TX_", b"SHARE", b"TRANSACTION"];

/// An input: `int<1>` session variables, the text.
///
/// # Panics
///
/// If tokens leave a gap or overlap, or if two ways to read the same from a text disagree.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let variables = session_variables(input.byte());
    let text = input.0;
    tokens(text, &variables);
    kinds(text, &variables);
    parts(text, &variables);
    searches(text);
    for mariadb in [false, true] {
        comments(text, &variables, mariadb);
    }
    others(text, &variables);
}

fn tokens(text: &[u8], variables: &SessionVariables) {
    let mut at = 0;
    let mut last = None;
    for token in Lexer::new(text, variables) {
        assert_eq!(token.start, at, "tokens follow one another");
        assert!(token.end > token.start, "a token has a byte");
        assert!(
            last != Some(TokenKind::Space) || token.kind != TokenKind::Space,
            "spaces are one token"
        );
        if token.kind == TokenKind::Punctuation {
            assert_eq!(token.of(text).len(), 1, "a mark is one byte");
        }
        at = token.end;
        last = Some(token.kind);
    }
    assert_eq!(at, text.len(), "tokens cover the text");
}

/// The kind of a statement, whatever stands before it.
fn kinds(text: &[u8], variables: &SessionVariables) -> Kind {
    let kind = sql::statement_kind(text, variables);
    if let Some(seen) = sql::glance(text) {
        assert_eq!(seen, kind, "at a glance");
    }
    for before in [&b" \n"[..], b"/* a */", b"-- a\n", b"# a\n"] {
        let commented = [before, text].concat();
        assert_eq!(
            sql::statement_kind(&commented, variables),
            kind,
            "behind a comment"
        );
    }
    kind
}

/// The statements of a packet are in order, and only semicolons and spaces are between and behind them.
fn parts(text: &[u8], variables: &SessionVariables) {
    let is_between = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace() || *byte == 0x0b;
    let parts = sql::split(text, variables);
    let mut at = 0;
    for part in &parts {
        assert!(
            at <= part.range.start && part.range.start <= part.range.end,
            "parts are in order"
        );
        assert!(
            text[at..part.range.start].iter().all(is_between),
            "nothing is lost between parts"
        );
        at = part.range.end;
    }
    assert!(
        text[at..].iter().all(is_between),
        "nothing is lost at the end"
    );
    if !sql::is_several(text, variables) {
        let filled = parts.iter().filter(|part| !part.is_empty).count();
        assert!(filled <= 1, "one statement is one part");
    }
}

/// What is searched for many bytes at a time is found if a plain search finds it.
fn searches(text: &[u8]) {
    let upper = text.to_ascii_uppercase();
    for word in WORDS {
        let plain = memchr::memmem::find(&upper, word).is_some();
        assert_eq!(sql::mentions(text, word), plain, "a word");
    }
    let lower = text.to_ascii_lowercase();
    for name in [&b"posts"[..], b"hits", b"tallies", b"drawn"] {
        let mut found = memchr::memmem::find_iter(&lower, name);
        let is_name = |at: usize| {
            let next = lower.get(at + name.len()).copied().unwrap_or(b' ');
            !(next.is_ascii_alphanumeric() || matches!(next, b'_' | b'$'))
        };
        if found.any(is_name) {
            assert!(PREFILTER.may_concern(text), "a hot table is named");
        }
    }
}

/// What is read without the marks of executable comments can be read again, and is no longer than it was.
fn comments(text: &[u8], variables: &SessionVariables, mariadb: bool) {
    let executed = sql::executed(text, variables, mariadb);
    if !sql::may_have_executable_comment(text) {
        assert_eq!(&*executed, text, "there is none");
    }
    assert!(executed.len() <= text.len(), "marks are left out");
}

/// What is only asked whether it panics, because it says nothing that is known in another way.
fn others(text: &[u8], variables: &SessionVariables) {
    let kind = sql::statement_kind(text, variables);
    let _ = sql::is_off(text, variables);
    let _ = sql::tally(text, variables);
    let _ = sql::transaction_control(text, kind, variables);
    let _ = sql::locks_for_update(text, kind, variables);
    let _ = sql::is_table_query(text);
    let _ = sql::may_call_routines(text);
    let _ = sql::may_test_for_null(text, variables);
    let _ = sql::prepare::command(text, variables);
    let _ = sql::prepare::placeholders(text, variables);
    let _ = sql::prepare::promises_hold(text, variables);
    if sql::diagnostics::question(text, variables).is_some() {
        let is_seen = sql::diagnostics::may_be_question(text, kind);
        assert!(is_seen, "a question that is not seen at first");
    }
    if sql::one_shot::sets(text, variables) {
        let is_seen = sql::one_shot::may_be(text, kind);
        assert!(
            is_seen,
            "it is not seen at first that one transaction is set"
        );
    }
    let _ = sql::one_shot::sets_session(text, variables);
    let _ = sql::one_shot::survives(text, kind, variables);
    if let Some(rest) = sql::explained(text, variables) {
        assert!(
            text.ends_with(rest),
            "what is explained is a part of the text"
        );
    }
    if let Some(digest) = sql::digest(text, variables) {
        assert!(digest.text.len() <= sql::LONGEST_DIGEST, "a long digest");
        for compared in &digest.compared {
            if let sql::Place::Literal(place) = &compared.place {
                assert!(text.get(place.clone()).is_some(), "a value in the text");
            }
        }
    }
}

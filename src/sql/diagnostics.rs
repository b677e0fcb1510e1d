//! Questions about the statement before: SHOW WARNINGS, ROW_COUNT() and their kin.

use std::ops::Range;

use memchr::memchr_iter;

use crate::sql::lexer::{Token, TokenKind};
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;
use crate::sql::statement::Kind;
use crate::sql::words::Words;

/// What a statement asks about the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// SHOW WARNINGS or SHOW ERRORS: the messages.
    Messages {
        /// Only those of level Error.
        errors: bool,
        /// How many to leave out, and how many to show.
        limit: Option<(usize, usize)>,
    },
    /// `SHOW COUNT(*) WARNINGS`
    Count(Number),
    /// Numbers in the expressions of a statement.
    Numbers(Vec<(Range<usize>, Number)>),
    /// GET DIAGNOSTICS of the statement itself: user variables, as they are written, and what is put into them.
    Into(Vec<(Vec<u8>, Number)>),
}

/// A number that describes the statement before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// ROW_COUNT()
    RowCount,
    /// `@@warning_count`
    Warnings,
    /// `@@error_count`
    Errors,
}

/// The question that a statement asks; `None` when it asks none.
pub fn question(text: &[u8], variables: &SessionVariables) -> Option<Question> {
    if variables.unsafe_character_set {
        return None;
    }
    messages(Words::new(text, variables))
        .or_else(|| count(Words::new(text, variables)))
        .or_else(|| into(Words::new(text, variables), text))
        .or_else(|| numbers(text, variables))
}

/// `SHOW {WARNINGS | ERRORS} [LIMIT [offset,] count]`
fn messages(mut words: Words<'_>) -> Option<Question> {
    if !words.accept("SHOW") {
        return None;
    }
    let errors = words.accept("ERRORS");
    if !errors && !words.accept("WARNINGS") {
        return None;
    }
    let mut limit = None;
    if words.accept("LIMIT") {
        let first = words.number()?;
        limit = Some(match words.accept_mark(b',') {
            true => (first, words.number()?),
            false => (0, first),
        });
    }
    words.accept_mark(b';');
    words
        .peek()
        .is_none()
        .then_some(Question::Messages { errors, limit })
}

/// `SHOW COUNT(*) {WARNINGS | ERRORS}`
fn count(mut words: Words<'_>) -> Option<Question> {
    let counts = words.accept("SHOW")
        && words.accept("COUNT")
        && words.accept_mark(b'(')
        && words.accept_mark(b'*')
        && words.accept_mark(b')');
    if !counts {
        return None;
    }
    let number = match (words.accept("WARNINGS"), words.accept("ERRORS")) {
        (true, _) => Number::Warnings,
        (_, true) => Number::Errors,
        _ => return None,
    };
    words.accept_mark(b';');
    words.peek().is_none().then_some(Question::Count(number))
}

/// `GET [CURRENT] DIAGNOSTICS @a = {ROW_COUNT | NUMBER} [, ..]`
fn into(mut words: Words<'_>, text: &[u8]) -> Option<Question> {
    if !words.accept("GET") {
        return None;
    }
    words.accept("CURRENT");
    if !words.accept("DIAGNOSTICS") {
        return None;
    }
    let mut items = Vec::new();
    loop {
        let variable = words.next()?;
        let name = variable.of(text);
        if variable.kind != TokenKind::Variable || name.starts_with(b"@@") {
            return None;
        }
        let is_set = words.accept_mark(b'=');
        let number = match (words.accept("ROW_COUNT"), words.accept("NUMBER")) {
            (true, _) => Number::RowCount,
            (_, true) => Number::Warnings,
            _ => return None,
        };
        items.push((name.to_vec(), number));
        if !words.accept_mark(b',') {
            words.accept_mark(b';');
            let is_all = is_set && words.peek().is_none();
            return is_all.then_some(Question::Into(items));
        }
    }
}

/// Whether a text may ask; `false` is certain.
pub fn may_ask(text: &[u8]) -> bool {
    const ASKING: [&[u8]; 3] = [b"ROW", b"WARNING", b"ERROR"];
    const COUNT: &[u8] = b"_COUNT";
    memchr_iter(b'_', text).any(|at| {
        let (before, rest) = text.split_at(at);
        let counts = rest.len() >= COUNT.len() && rest[..COUNT.len()].eq_ignore_ascii_case(COUNT);
        counts
            && ASKING.iter().any(|word| {
                before.len() >= word.len()
                    && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
            })
    })
}

/// Whether a text, of one statement or of several, may ask for the messages or for how many there are; `false` is
/// certain.
pub fn may_ask_for_messages(text: &[u8]) -> bool {
    let mentions_one = [b"WARNINGS".as_slice(), b"ERRORS", b"DIAGNOSTICS"]
        .iter()
        .any(|word| mentions(text, word));
    mentions_one && (mentions(text, b"SHOW") || mentions(text, b"GET"))
}

/// Whether a statement of this kind may ask; `false` is certain.
pub fn may_be_question(text: &[u8], kind: Kind) -> bool {
    match kind {
        // Others begin in other ways (SHOW, GET), or have bodies.
        Kind::Select
        | Kind::Insert
        | Kind::Replace
        | Kind::Update
        | Kind::Delete
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::Savepoint
        | Kind::Release => may_ask(text),
        _ => true,
    }
}

/// The numbers in a statement.
fn numbers(text: &[u8], variables: &SessionVariables) -> Option<Question> {
    let words = Words::new(text, variables);
    let tokens = words.rest();
    let is = |token: &Token, word: &[u8]| token.of(text).eq_ignore_ascii_case(word);
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Word if is(token, b"ROW_COUNT") => {
                let Some([open, close]) = tokens.get(index + 1..index + 3) else {
                    continue;
                };
                if is(open, b"(") && is(close, b")") {
                    found.push((token.start..close.end, Number::RowCount));
                }
            }
            TokenKind::Variable => {
                let name = token.of(text).to_ascii_lowercase();
                let (number, end) = match name.as_slice() {
                    b"@@warning_count" => (Number::Warnings, token.end),
                    b"@@error_count" => (Number::Errors, token.end),
                    // The lexer may have stopped at the dot.
                    b"@@session" | b"@@local" => match tokens.get(index + 1..index + 3) {
                        Some([dot, last]) if is(dot, b".") && is(last, b"warning_count") => {
                            (Number::Warnings, last.end)
                        }
                        Some([dot, last]) if is(dot, b".") && is(last, b"error_count") => {
                            (Number::Errors, last.end)
                        }
                        _ => continue,
                    },
                    b"@@session.warning_count" | b"@@local.warning_count" => {
                        (Number::Warnings, token.end)
                    }
                    b"@@session.error_count" | b"@@local.error_count" => {
                        (Number::Errors, token.end)
                    }
                    _ => continue,
                };
                found.push((token.start..end, number));
            }
            _ => {}
        }
    }
    (!found.is_empty()).then_some(Question::Numbers(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The question, which must be found as one that may be.
    fn ask(text: &str) -> Option<Question> {
        let (text, variables) = (text.as_bytes(), SessionVariables::default());
        let question = question(text, &variables);
        let kind = crate::sql::statement_kind(text, &variables);
        assert!(question.is_none() || may_be_question(text, kind));
        question
    }

    #[test]
    fn most_statements_are_seen_not_to_ask() {
        for text in [
            "UPDATE t SET view_count = view_count + 1",
            "SELECT rows_count, _COUNT FROM t",
            "COMMIT",
        ] {
            let kind = crate::sql::statement_kind(text.as_bytes(), &SessionVariables::default());
            assert!(!may_be_question(text.as_bytes(), kind), "{text}");
        }
    }

    #[test]
    fn messages_are_asked_for_as_a_whole() {
        let all = |errors, limit| Some(Question::Messages { errors, limit });
        assert_eq!(ask("SHOW WARNINGS"), all(false, None));
        assert_eq!(ask("/* c */ show errors limit 5;"), all(true, Some((0, 5))));
        assert_eq!(ask("SHOW WARNINGS LIMIT 2, 3"), all(false, Some((2, 3))));
        assert_eq!(ask("SHOW WARNINGS LIKE 'x'"), None);
        assert_eq!(ask("SHOW TABLES"), None);
    }

    #[test]
    fn numbers_are_found_where_they_stand() {
        let one = |range, number| Some(Question::Numbers(vec![(range, number)]));
        assert_eq!(ask("SELECT ROW_COUNT()"), one(7..18, Number::RowCount));
        assert_eq!(
            ask("select row_count ( ) + 1"),
            one(7..20, Number::RowCount)
        );
        assert_eq!(ask("SELECT @@warning_count"), one(7..22, Number::Warnings));
        assert_eq!(
            ask("SELECT @@SESSION.error_count"),
            one(7..28, Number::Errors)
        );
        assert_eq!(
            ask("SHOW COUNT(*) WARNINGS"),
            Some(Question::Count(Number::Warnings))
        );
        assert_eq!(ask("SELECT 'ROW_COUNT()', row_count"), None);
        assert_eq!(
            ask("UPDATE t SET n = ROW_COUNT()"),
            one(17..28, Number::RowCount)
        );
        assert_eq!(
            ask("GET DIAGNOSTICS @a = ROW_COUNT, @b = NUMBER;"),
            Some(Question::Into(vec![
                (b"@a".to_vec(), Number::RowCount),
                (b"@b".to_vec(), Number::Warnings)
            ]))
        );
        assert_eq!(ask("GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT"), None);
    }
}

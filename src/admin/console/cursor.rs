//! A cursor over the words of a statement, and what is said of one that is not understood.

use super::table::{Code, Refusal};
use crate::sql::plan::SessionVariables;
use crate::sql::{Lexer, Token, TokenKind};

/// The significant tokens of a text, read from left to right; a semicolon at the end is none. They may be many, and are
/// never copied.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let variables = SessionVariables::default();
        let tokens = Lexer::new(text.as_bytes(), &variables);
        let mut tokens: Vec<_> = tokens.filter(Token::is_significant).collect();
        let is_semicolon = |token: &Token| token.of(text.as_bytes()) == b";";
        while tokens.last().is_some_and(is_semicolon) {
            tokens.pop();
        }
        Self {
            text,
            tokens,
            at: 0,
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// Where the next token begins.
    pub(super) fn position(&self) -> Option<usize> {
        Some(self.tokens.get(self.at)?.start)
    }

    /// The next token's text.
    pub(super) fn peek(&self) -> Option<(TokenKind, &'a str)> {
        let token = self.tokens.get(self.at)?;
        Some((token.kind, self.slice(token.start, token.end)))
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Option<(TokenKind, &'a str)> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Takes the next token if it is this word, in any letter case, or this mark.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|(kind, text)| {
            matches!(kind, TokenKind::Word | TokenKind::Punctuation)
                && text.eq_ignore_ascii_case(word)
        });
        self.at += usize::from(found);
        found
    }

    /// Takes the next token if it is one of these words.
    pub(super) fn accept_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.accept(word))
    }

    /// Takes all these words, or nothing.
    pub(super) fn accept_all(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        let all = words.iter().all(|word| self.accept(word));
        if !all {
            self.at = start;
        }
        all
    }

    /// Takes a name, with backticks or without.
    pub(super) fn name(&mut self) -> Option<String> {
        let (kind, text) = self.peek()?;
        let name = match kind {
            TokenKind::Word => text.to_owned(),
            TokenKind::Quoted => unquoted(text, '`')?,
            _ => return None,
        };
        self.at += 1;
        Some(name)
    }

    /// Takes a string's value, or a number as it is written.
    pub(super) fn value(&mut self) -> Option<String> {
        let value = self.peek_value()?;
        self.at += 1;
        Some(value)
    }

    /// The same, without taking it.
    pub(super) fn peek_value(&self) -> Option<String> {
        let (kind, text) = self.peek()?;
        match kind {
            TokenKind::String => string(text),
            TokenKind::Number => Some(text.to_owned()),
            _ => None,
        }
    }

    /// The lexer cuts between bytes below 0x80, or around whole names and strings.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The value of a string in single or double quotes. Patterns need the backslash before `%` and `_`.
fn string(text: &str) -> Option<String> {
    let quote = text.chars().next()?;
    let inside = unquoted(text, quote)?;
    let mut value = String::new();
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                pattern @ ('%' | '_') => value.extend(['\\', pattern]),
                other => value.push(other),
            },
            letter => value.push(letter),
        }
    }
    Some(value)
}

/// The text between two quotes; quotes inside it are doubled.
fn unquoted(text: &str, quote: char) -> Option<String> {
    let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inside.replace(&format!("{quote}{quote}"), &quote.to_string()))
}

/// The statement that was read, if nothing follows it.
pub(super) fn at_end<T>(cursor: &Cursor<'_>, read: T) -> Result<T, Refusal> {
    match cursor.peek() {
        None => Ok(read),
        Some((_, more)) => Err(refuse(&format!("nothing may stand here: {}", cut(more)))),
    }
}

/// A statement that is not understood.
pub(super) fn refuse(why: &str) -> Refusal {
    Refusal::new(
        Code::Syntax,
        format!("{why}; SHOW HELP lists the statements"),
    )
}

/// Some of a word, for an error.
pub(super) fn cut(word: &str) -> String {
    const MOST_LETTERS: usize = 40;
    word.chars().take(MOST_LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_names_and_values() {
        let mut cursor = Cursor::new("/* x */ show `a``b` 'it''s\\_' 17 ; ");
        assert!(!cursor.accept("HIDE"));
        assert!(cursor.accept("SHOW"));
        assert_eq!(cursor.position(), Some(13));
        assert_eq!(cursor.name().as_deref(), Some("a`b"));
        assert_eq!(cursor.name(), None);
        assert_eq!(cursor.value().as_deref(), Some("it's\\_"));
        assert_eq!(cursor.value().as_deref(), Some("17"));
        assert!(cursor.is_at_end());
        assert_eq!(cursor.position(), None);
    }

    #[test]
    fn whatever_comes_is_read_without_a_panic() {
        for text in [
            "",
            ";",
            "'",
            "`",
            "'\\",
            "é",
            "\u{1F600}'é",
            "@",
            "@@",
            "/*",
            "''",
            "\"",
            "x'",
            "SHOW 'é",
        ] {
            let mut cursor = Cursor::new(text);
            while !cursor.is_at_end() {
                drop((cursor.name(), cursor.value(), cursor.position()));
                cursor.next();
            }
        }
    }
}

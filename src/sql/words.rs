//! A cursor over a statement's significant tokens, for what is planned by words alone.

use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;

/// The significant tokens of a text, read from left to right.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    text: &'a [u8],
    tokens: Vec<Token>,
    at: usize,
}

/// The first significant tokens of a text, one after another, without allocation.
pub(super) struct Beginning<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    next: Option<Token>,
}

/// A table's name as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) schema: Option<String>,
    pub(super) table: String,
}

impl<'a> Beginning<'a> {
    pub(super) fn new(text: &'a [u8], variables: &SessionVariables) -> Self {
        let mut lexer = Lexer::new(text, variables);
        let next = lexer.find(Token::is_significant);
        Self { text, lexer, next }
    }

    /// Takes the next token if it is a word; its bytes.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let token = self.next.filter(|token| token.kind == TokenKind::Word)?;
        self.advance();
        Some(token.of(self.text))
    }

    /// Takes the next token if it is this keyword (given in upper case).
    pub(super) fn accept(&mut self, keyword: &str) -> bool {
        let found = self
            .next
            .is_some_and(|token| is_word(self.text, token, keyword));
        if found {
            self.advance();
        }
        found
    }

    /// Takes the next token if it is one of these keywords.
    pub(super) fn accept_any(&mut self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.accept(keyword))
    }

    /// Takes the next token if it is this punctuation.
    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        let found = self
            .next
            .is_some_and(|token| is_mark(self.text, token, mark));
        if found {
            self.advance();
        }
        found
    }

    /// Whether the statement ends here.
    pub(super) fn is_at_end(&self) -> bool {
        self.next
            .is_none_or(|token| is_mark(self.text, token, b';'))
    }

    fn advance(&mut self) {
        self.next = self.lexer.find(Token::is_significant);
    }
}

impl<'a> Words<'a> {
    /// All of the text.
    pub(super) fn new(text: &'a [u8], variables: &SessionVariables) -> Self {
        Self::of(text, Lexer::new(text, variables))
    }

    /// The first `count` significant tokens only.
    pub(super) fn first(text: &'a [u8], variables: &SessionVariables, count: usize) -> Self {
        let significant = Lexer::new(text, variables).filter(Token::is_significant);
        Self::of(text, significant.take(count))
    }

    fn of(text: &'a [u8], tokens: impl Iterator<Item = Token>) -> Self {
        let tokens = tokens.filter(Token::is_significant).collect();
        Self {
            text,
            tokens,
            at: 0,
        }
    }

    /// The next token.
    pub(super) fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Tokens that are left.
    pub(super) fn rest(&self) -> &[Token] {
        &self.tokens[self.at..]
    }

    /// The next token's bytes in upper case, if it is a word.
    pub(super) fn peek_word(&self) -> Option<String> {
        let token = self.peek().filter(|token| token.kind == TokenKind::Word)?;
        Some(upper(token.of(self.text)))
    }

    /// Takes the next token if it is this keyword (given in upper case).
    pub(super) fn accept(&mut self, keyword: &str) -> bool {
        let found = self
            .peek()
            .is_some_and(|token| is_word(self.text, token, keyword));
        self.at += usize::from(found);
        found
    }

    /// Takes the next token if it is one of these keywords.
    pub(super) fn accept_any(&mut self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.accept(keyword))
    }

    /// Takes all these keywords, or nothing.
    pub(super) fn accept_all(&mut self, keywords: &[&str]) -> bool {
        let start = self.at;
        let found = keywords.iter().all(|keyword| self.accept(keyword));
        if !found {
            self.at = start;
        }
        found
    }

    /// Takes the next token if it is a whole number.
    pub(super) fn number(&mut self) -> Option<usize> {
        let token = self.peek()?;
        let number = std::str::from_utf8(token.of(self.text))
            .ok()?
            .parse()
            .ok()?;
        self.at += 1;
        Some(number)
    }

    /// Takes the next token if it is this punctuation.
    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        let found = self
            .peek()
            .is_some_and(|token| is_mark(self.text, token, mark));
        self.at += usize::from(found);
        found
    }

    /// Moves past the next token that is this keyword; stays at the end if there is none.
    pub(super) fn skip_past(&mut self, keyword: &str) -> bool {
        while self.peek().is_some() {
            if self.accept(keyword) {
                return true;
            }
            self.at += 1;
        }
        false
    }

    /// Whether this keyword is among the tokens that are left.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.rest()
            .iter()
            .any(|&token| is_word(self.text, token, keyword))
    }

    /// Whether the remaining tokens contain a query in parentheses, or a comment that is executed and may contain one.
    pub(super) fn has_subquery(&self) -> bool {
        const BEGINNINGS: [&str; 4] = ["SELECT", "TABLE", "VALUES", "WITH"];
        let rest = self.rest();
        let is_in_parentheses = |pair: &[Token]| {
            is_mark(self.text, pair[0], b'(')
                && BEGINNINGS
                    .iter()
                    .any(|word| is_word(self.text, pair[1], word))
        };
        let may_be_in_comment = |token: &Token| {
            token.kind == TokenKind::ExecutableComment
                && BEGINNINGS
                    .iter()
                    .any(|word| mentions(token.of(self.text), word.as_bytes()))
        };
        rest.windows(2).any(is_in_parentheses) || rest.iter().any(may_be_in_comment)
    }

    /// Whether the statement describes another one that it does not run, or whose rows it does not show.
    pub(super) fn explains(&self) -> bool {
        let first = self.peek();
        ["EXPLAIN", "DESCRIBE", "DESC"]
            .iter()
            .any(|word| first.is_some_and(|first| is_word(self.text, first, word)))
    }

    /// Whether this identifier is among the tokens that are left, quoted or not.
    pub(super) fn names(&self, name: &str) -> bool {
        let spells = |token: &Token| {
            let is_identifier = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
            is_identifier && identifier(token.of(self.text)).eq_ignore_ascii_case(name)
        };
        self.rest().iter().any(spells)
    }

    /// Whether this punctuation is among the remaining tokens, with something after it.
    pub(super) fn has_inner_mark(&self, mark: u8) -> bool {
        let rest = self.rest();
        let last = rest
            .iter()
            .rposition(|&token| !is_mark(self.text, token, mark));
        rest.iter()
            .position(|&token| is_mark(self.text, token, mark))
            .is_some_and(|first| last.is_some_and(|last| first < last))
    }

    /// Takes an identifier.
    pub(super) fn identifier(&mut self) -> Option<String> {
        let token = self
            .peek()
            .filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted))?;
        self.at += 1;
        Some(identifier(token.of(self.text)))
    }

    /// Takes `table` or `schema.table`.
    pub(super) fn name(&mut self) -> Option<Name> {
        let first = self.identifier()?;
        match self.accept_mark(b'.') {
            true => Some(Name {
                schema: Some(first),
                table: self.identifier()?,
            }),
            false => Some(Name {
                schema: None,
                table: first,
            }),
        }
    }
}

/// Whether a text may compare something with IS NULL, however it spells that; `false` is certain.
pub fn may_test_for_null(text: &[u8], variables: &SessionVariables) -> bool {
    let words = Words::new(text, variables);
    words.has("IS") || words.has("ISNULL")
}

fn upper(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_uppercase()
}

fn is_word(text: &[u8], token: Token, keyword: &str) -> bool {
    token.kind == TokenKind::Word && token.of(text).eq_ignore_ascii_case(keyword.as_bytes())
}

fn is_mark(text: &[u8], token: Token, mark: u8) -> bool {
    token.kind == TokenKind::Punctuation && text[token.start] == mark
}

/// The name that an identifier, quoted or not, spells.
pub(super) fn identifier(bytes: &[u8]) -> String {
    let name = String::from_utf8_lossy(bytes);
    let quote = match bytes.first() {
        Some(b'`') => '`',
        Some(b'"') => '"',
        _ => return name.into_owned(),
    };
    let inner = name.strip_prefix(quote).unwrap_or(&name);
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    if !inner.contains(quote) {
        return inner.to_owned();
    }
    let doubled = String::from_iter([quote, quote]);
    inner.replace(&doubled, &String::from(quote))
}

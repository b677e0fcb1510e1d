//! A zero-copy lexer for the bytes of MySQL statements.
//!
//! It knows no keywords and never fails: what is not closed ends with the text. Texts in character sets that
//! hide ASCII bytes inside characters (gbk, sjis ..) must not be given to it.

use crate::sql::plan::SessionVariables;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Blanks, tabs, newlines.
    Space,
    /// Keyword or unquoted identifier.
    Word,
    /// Identifier in backticks, or in `"` under ANSI_QUOTES.
    Quoted,
    /// String, with a prefix as in `x'..'`, `b'..'`, `n'..'`.
    String,
    /// Number, hexadecimal and binary ones too.
    Number,
    /// `?`
    Placeholder,
    /// `@name`, `@@name`: user or system variable.
    Variable,
    /// Comment that the server ignores.
    Comment,
    /// `/*! .. */` or `/*M! .. */`: may be executed, depending on the server and its version.
    ExecutableComment,
    /// `/*+ .. */`
    Hint,
    /// One byte of anything else.
    Punctuation,
}

/// A token: a range of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
}

impl Token {
    /// Its bytes.
    pub fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }

    /// Whether it means anything to the grammar: no space, no comment.
    pub fn is_significant(&self) -> bool {
        !matches!(
            self.kind,
            TokenKind::Space | TokenKind::Comment | TokenKind::Hint
        )
    }
}

/// Iterates over the tokens of a text; they cover it without gaps.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    ansi_quotes: bool,
    backslash_escapes: bool,
    /// The last token was an identifier or a dot after one: a digit or a dot does not start a number here.
    in_name: bool,
}

impl<'a> Lexer<'a> {
    /// A lexer that follows the session's sql_mode.
    pub fn new(text: &'a [u8], variables: &SessionVariables) -> Self {
        Self {
            text,
            at: 0,
            ansi_quotes: variables.ansi_quotes,
            backslash_escapes: !variables.no_backslash_escapes,
            in_name: false,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// Kind and end of the token that starts at `at`, which is inside the text.
    fn scan_token(&self, at: usize) -> (TokenKind, usize) {
        match CLASSES[usize::from(self.text[at])] {
            Class::Space => (TokenKind::Space, self.skip(at + 1, is_space)),
            Class::Word => self.word(at),
            Class::Digit if self.after_dot(at) => self.word(at),
            Class::Digit => self.number(at),
            Class::Mark => (TokenKind::Punctuation, at + 1),
            Class::Other => self.scan_other(at),
        }
    }

    /// The same for a byte whose meaning depends on what follows or on the session.
    fn scan_other(&self, at: usize) -> (TokenKind, usize) {
        let next = self.byte(at + 1);
        match self.text[at] {
            b'`' => (TokenKind::Quoted, self.quoted(at, false)),
            b'"' if self.ansi_quotes => (TokenKind::Quoted, self.quoted(at, false)),
            b'\'' | b'"' => (TokenKind::String, self.quoted(at, self.backslash_escapes)),
            b'?' => (TokenKind::Placeholder, at + 1),
            b'#' => (TokenKind::Comment, self.line(at)),
            b'-' if next == b'-' && self.opens_comment(at + 2) => {
                (TokenKind::Comment, self.line(at))
            }
            b'/' if next == b'*' => self.block_comment(at),
            b'@' => self.variable(at),
            b'.' if next.is_ascii_digit() && !self.in_name => {
                (TokenKind::Number, self.fraction(at))
            }
            _ => (TokenKind::Punctuation, at + 1),
        }
    }

    fn after_dot(&self, at: usize) -> bool {
        self.in_name && at > 0 && self.text[at - 1] == b'.'
    }

    fn skip(&self, at: usize, part: impl Fn(u8) -> bool) -> usize {
        self.text[at..]
            .iter()
            .position(|&byte| !part(byte))
            .map_or(self.text.len(), |length| at + length)
    }

    /// End of a token in quotes that starts at `at`.
    fn quoted(&self, at: usize, backslash_escapes: bool) -> usize {
        let quote = self.text[at];
        let mut end = at + 1;
        while end < self.text.len() {
            match self.text[end] {
                b'\\' if backslash_escapes => end += 2,
                byte if byte != quote => end += 1,
                _ if self.byte(end + 1) == quote => end += 2,
                _ => return end + 1,
            }
        }
        self.text.len()
    }

    /// `--` opens a comment only before a space or a control character.
    fn opens_comment(&self, at: usize) -> bool {
        self.text
            .get(at)
            .is_none_or(|&byte| byte <= b' ' || byte == 0x7f)
    }

    /// End of the line; its newline is not part of a comment.
    fn line(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |length| at + length)
    }

    fn block_comment(&self, at: usize) -> (TokenKind, usize) {
        let end = memchr::memmem::find(&self.text[at + 2..], b"*/")
            .map_or(self.text.len(), |length| at + 2 + length + 2);
        let kind = match (self.byte(at + 2), self.byte(at + 3)) {
            (b'!', _) | (b'M', b'!') if !does_nothing(&self.text[at..end]) => {
                TokenKind::ExecutableComment
            }
            (b'+', _) => TokenKind::Hint,
            _ => TokenKind::Comment,
        };
        (kind, end)
    }

    fn variable(&self, at: usize) -> (TokenKind, usize) {
        let name = if self.byte(at + 1) == b'@' {
            at + 2
        } else {
            at + 1
        };
        let end = self.skip(name, is_word);
        match end > name {
            true => (TokenKind::Variable, end),
            // @'name' and 'user'@'host': the quotes are tokens of their own.
            false => (TokenKind::Punctuation, at + 1),
        }
    }

    fn number(&self, at: usize) -> (TokenKind, usize) {
        let whole = self.skip(at, |byte| byte.is_ascii_digit());
        let word = self.skip(at, is_word);
        let is_prefixed = |mark: u8, digit: fn(u8) -> bool| {
            self.text[at] == b'0'
                && self.byte(at + 1) == mark
                && word > at + 2
                && self.text[at + 2..word].iter().all(|&byte| digit(byte))
        };
        if is_prefixed(b'x', |byte| byte.is_ascii_hexdigit())
            || is_prefixed(b'b', |byte| matches!(byte, b'0' | b'1'))
        {
            return (TokenKind::Number, word);
        }
        if self.byte(whole) == b'.' {
            return (TokenKind::Number, self.fraction(whole));
        }
        match self.exponent(whole) {
            Some(end) => (TokenKind::Number, end),
            None if word > whole => (TokenKind::Word, word),
            None => (TokenKind::Number, whole),
        }
    }

    /// End of a number from its point on.
    fn fraction(&self, point: usize) -> usize {
        let end = self.skip(point + 1, |byte| byte.is_ascii_digit());
        self.exponent(end).unwrap_or(end)
    }

    /// End of the exponent that starts at `at`, if one does.
    fn exponent(&self, at: usize) -> Option<usize> {
        let digits = match (self.byte(at), self.byte(at + 1)) {
            (b'e' | b'E', b'+' | b'-') => at + 2,
            (b'e' | b'E', _) => at + 1,
            _ => return None,
        };
        let end = self.skip(digits, |byte| byte.is_ascii_digit());
        (digits < self.text.len() && end > digits).then_some(end)
    }

    fn word(&self, at: usize) -> (TokenKind, usize) {
        let end = self.skip(at, is_word);
        let prefixes_string = end == at + 1
            && self.byte(end) == b'\''
            && matches!(self.text[at] | 0x20, b'x' | b'b' | b'n');
        match prefixes_string {
            true => (TokenKind::String, self.quoted(end, self.backslash_escapes)),
            false => (TokenKind::Word, end),
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let (kind, end) = self.scan_token(start);
        let end = end.min(self.text.len());
        self.in_name = match kind {
            TokenKind::Word | TokenKind::Quoted => true,
            TokenKind::Punctuation => self.in_name && self.text[start] == b'.',
            _ => false,
        };
        self.at = end;
        Some(Token { kind, start, end })
    }
}

fn is_space(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == Class::Space
}

/// Whether an executable comment, executed or not, changes nothing: mysqldump and mydumper put SQL_NO_CACHE into each
/// of their queries so.
fn does_nothing(comment: &[u8]) -> bool {
    let Some(code) = comment.strip_suffix(b"*/") else {
        return false;
    };
    let code = code.trim_ascii_end();
    let word = code.len() - code.iter().rev().take_while(|&&byte| is_word(byte)).count();
    let (mark, word) = code.split_at(word);
    let is_mark = |byte: &u8| byte.is_ascii_digit() || b"/*!M ".contains(byte);
    mark.ends_with(b" ") && mark.iter().all(is_mark) && word.eq_ignore_ascii_case(b"SQL_NO_CACHE")
}

fn is_word(byte: u8) -> bool {
    matches!(CLASSES[usize::from(byte)], Class::Word | Class::Digit)
}

/// What a byte may be the first of. A look into a table costs half of what comparing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Space,
    /// A word; digits may follow in it.
    Word,
    Digit,
    /// A token by itself, whatever follows.
    Mark,
    /// It depends.
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Mark; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b' ' | b'\t'..=b'\r' => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => Class::Word,
            b'0'..=b'9' => Class::Digit,
            b'`' | b'"' | b'\'' | b'?' | b'#' | b'-' | b'/' | b'@' | b'.' => Class::Other,
            _ => Class::Mark,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

#[cfg(test)]
mod tests;

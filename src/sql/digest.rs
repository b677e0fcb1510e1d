//! Digests: a statement's text without users' data, and the places of the values that say which row it means.
//!
//! They look as MySQL's own do (`DIGEST_TEXT` of performance_schema): each literal is `?`, a list of them `(...)`.

mod finder;

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::plan::SessionVariables;
use finder::Finder;

/// Longer texts have no digest, in bytes.
const MOST_BYTES: usize = 16 * 1024;

/// Longer digests are none, in bytes.
pub const LONGEST_DIGEST: usize = 2 * 1024;

/// The maximum number of columns that identify a row.
const MOST_COMPARED: usize = 16;

/// A digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The text: only what statements that differ in their literals have in common.
    pub text: Arc<str>,
    /// What identifies the row: columns that the WHERE compares by `=`, or that an INSERT gives and its ON DUPLICATE
    /// KEY UPDATE does not set. In the order of the text; empty if the row is not known, and for an INSERT of a new
    /// row.
    pub compared: Vec<Compared>,
}

/// A column and the place of the value that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Its name; `#1` for the first one of a list that the statement does not name.
    pub column: String,
    /// Where its value is.
    pub place: Place,
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the statement's text.
    Literal(Range<usize>),
    /// In the parameters: position, from 0.
    Parameter(u16),
}

/// Whether a text has the same tokens in whatever sql_mode and character set a session is, but for the meaning of `"`:
/// no backslash, which may be an escape, a letter or half of one, and no backquote that may be half of one.
pub fn reads_the_same(text: &[u8]) -> bool {
    let is_half = |at: usize| at > 0 && !text[at - 1].is_ascii();
    memchr(b'\\', text).is_none() && !memchr_iter(b'`', text).any(is_half)
}

/// The digest of a statement; `None` where its text is too long, or may mean more than it shows.
pub fn digest(text: &[u8], variables: &SessionVariables) -> Option<Digest> {
    if variables.unsafe_character_set || text.len() > MOST_BYTES {
        return None;
    }
    let mut pass = Pass::new(text);
    for token in Lexer::new(text, variables).filter(Token::is_significant) {
        pass.take(&token)?;
    }
    pass.finish()
}

/// One pass over the tokens.
struct Pass<'a> {
    text: &'a [u8],
    out: String,
    /// Where the group in parentheses began that has held nothing but constants and commas so far, and how many.
    list: Option<(usize, usize)>,
    parameters: u16,
    /// A semicolon has come, after which nothing may follow.
    is_ended: bool,
    finder: Finder,
}

impl<'a> Pass<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            out: String::new(),
            list: None,
            parameters: 0,
            is_ended: false,
            finder: Finder::default(),
        }
    }

    fn take(&mut self, token: &Token) -> Option<()> {
        if self.is_ended {
            return None;
        }
        let spelled = token.of(self.text);
        match token.kind {
            TokenKind::ExecutableComment => return None,
            TokenKind::Number | TokenKind::String => {
                self.finder.value(Place::Literal(token.start..token.end));
                self.constant();
            }
            TokenKind::Placeholder => {
                self.finder.value(Place::Parameter(self.parameters));
                self.parameters = self.parameters.checked_add(1)?;
                self.constant();
            }
            TokenKind::Punctuation => {
                let mark = self.text[token.start];
                self.is_ended = mark == b';';
                self.finder.mark(mark);
                self.mark(mark);
            }
            _ => {
                self.list = None;
                self.finder.word(spelled, token.kind == TokenKind::Quoted);
                let word = String::from_utf8_lossy(spelled);
                self.space(&word);
                self.out.push_str(&word);
            }
        }
        (self.out.len() <= 2 * LONGEST_DIGEST).then_some(())
    }

    fn constant(&mut self) {
        if let Some((_, count)) = &mut self.list {
            *count += 1;
        }
        self.space("?");
        self.out.push('?');
    }

    fn mark(&mut self, mark: u8) {
        match mark {
            b'(' => {
                self.space("(");
                self.list = Some((self.out.len(), 0));
                self.out.push('(');
            }
            b')' => match self.list.take() {
                Some((start, count)) if count > 1 => self.fold(start),
                _ => self.out.push(')'),
            },
            b',' => self.out.push(','),
            // Multiplication, or every column: the server's own digests have it too.
            mark => {
                if mark != b'-' {
                    self.list = None;
                }
                let mark = String::from(char::from(mark));
                self.space(&mark);
                self.out.push_str(&mark);
            }
        }
    }

    /// Replaces a list by `(...)`; of several lists in a row the first stays.
    fn fold(&mut self, start: usize) {
        const LIST: &str = "(...)";
        self.out.truncate(start);
        let before = self.out.trim_end().strip_suffix(',');
        match before.filter(|before| before.ends_with(LIST)) {
            Some(before) => self.out.truncate(before.len()),
            None => self.out.push_str(LIST),
        }
    }

    /// A space where two tokens need one.
    fn space(&mut self, next: &str) {
        let last = self.out.chars().last();
        let is_apart =
            matches!(last, None | Some('(' | '.' | '@' | ' ')) || matches!(next, "." | ";");
        if !is_apart {
            self.out.push(' ');
        }
    }

    fn finish(mut self) -> Option<Digest> {
        self.out
            .truncate(self.out.trim_end_matches([' ', ';']).len());
        let fits = !self.out.is_empty() && self.out.len() <= LONGEST_DIGEST;
        fits.then(|| Digest {
            text: self.out.into(),
            compared: self.finder.finish(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Digest {
        digest(text.as_bytes(), &SessionVariables::default())
            .unwrap_or_else(|| panic!("none: {text}"))
    }

    /// `column = literal` or `column = ?n`.
    fn compared(text: &str) -> String {
        let show = |compared: Compared| match compared.place {
            Place::Literal(place) => format!("{} = {}", compared.column, &text[place]),
            Place::Parameter(position) => format!("{} = ?{position}", compared.column),
        };
        let compared: Vec<_> = of(text).compared.into_iter().map(show).collect();
        compared.join(", ")
    }

    #[test]
    fn literals_are_gone_and_lists_are_short() {
        for (text, expected) in [
            (
                "UPDATE `posts` SET views=views+1, t = NOW() WHERE id = 42 /* trace 7 */",
                "UPDATE `posts` SET views = views + ?, t = NOW () WHERE id = ?",
            ),
            (
                "insert into shop.hits (page, n) values ('home', 1), ('b', -2) on duplicate key update n = n + 1;",
                "insert into shop.hits (page, n) values (...) on duplicate key update n = n + ?",
            ),
            (
                "SELECT a FROM t WHERE id IN (1, 2, 3) AND x = 'it''s' -- me",
                "SELECT a FROM t WHERE id IN (...) AND x = ?",
            ),
            (
                "SELECT a FROM t WHERE id IN (?)",
                "SELECT a FROM t WHERE id IN (?)",
            ),
        ] {
            assert_eq!(&*of(text).text, expected);
        }
    }

    #[test]
    fn a_digest_of_a_digest_is_itself() {
        for text in [
            "UPDATE t SET a = a + 1, b = 'x' WHERE id IN (1, 2) AND c = 5",
            "INSERT INTO t VALUES (1, 2), (3, 4)",
        ] {
            let once = of(text).text;
            assert_eq!(of(&once).text.replace(". . .", "..."), *once);
        }
    }

    #[test]
    fn the_row_is_told_by_what_columns_are_compared_with() {
        for (text, expected) in [
            ("UPDATE t SET n = n + 1 WHERE id = 42", "id = 42"),
            (
                "UPDATE t SET n = n + 1 WHERE t.`tenant` = 7 AND (name = 'a')",
                "tenant = 7, name = 'a'",
            ),
            ("UPDATE t SET n = n + ? WHERE id = ?", "id = ?1"),
            ("UPDATE t SET n = n + 1 WHERE id IN (42)", "id = 42"),
            ("UPDATE t SET n = n + 1 WHERE id IN (42, 43)", ""),
            ("UPDATE t SET n = n + 1 WHERE id = 1 OR id = 2", ""),
            ("UPDATE t SET n = n + 1 WHERE id > 5", ""),
            ("UPDATE t SET n = n + 1", ""),
            (
                "UPDATE t SET n = n + 1 WHERE id = 1 AND n >= 5 AND m != 2",
                "id = 1",
            ),
            (
                "UPDATE s.t SET n = n + 1 WHERE (s.t.id = 1) LIMIT 1",
                "id = 1",
            ),
            // More is compared than these columns, or with more than these values.
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = 2 + x", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = -2", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = LOWER('x')", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = @b", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = (SELECT 2)", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b = 'x' 'y'", ""),
            (
                "UPDATE t SET n = n + 1 WHERE a = 1 AND b = 'x' COLLATE c",
                "",
            ),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b - c = 2", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b - t.c = 2", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND 2 = b", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND (b, c) = (2, 3)", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b <=> 2", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b IN (2, 3)", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b IN (2 + x)", ""),
            (
                "UPDATE t SET n = n + 1 WHERE a = 1 AND (b, c) IN ((2, 3))",
                "",
            ),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND b LIKE 'x%'", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 || b = 2", ""),
            ("UPDATE t SET n = n + 1 WHERE a = 1 AND !(b = 2)", ""),
            // A new row.
            ("INSERT INTO t (page, n) VALUES ('home', 1)", ""),
            ("INSERT INTO t SET page = 'home', n = 1", ""),
            (
                "INSERT INTO t (page, day, n) VALUES ('home', ?, 1), ('b', ?, 1) ON DUPLICATE KEY UPDATE n = n + 1",
                "page = 'home', day = ?0",
            ),
            (
                "INSERT INTO t VALUES ('home', NOW(), 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
                "#1 = 'home', #3 = 1",
            ),
            (
                "INSERT INTO t SET page = 'home', n = 1 ON DUPLICATE KEY UPDATE n = n + 1",
                "page = 'home'",
            ),
        ] {
            assert_eq!(compared(text), expected, "{text}");
        }
    }

    #[test]
    fn what_may_mean_more_than_it_shows_has_none() {
        let variables = SessionVariables::default();
        assert_eq!(digest(b"/*!50000 UPDATE t SET a = 1 */", &variables), None);
        assert_eq!(
            digest(b"UPDATE t SET a = 1; DELETE FROM t", &variables),
            None
        );
        assert_eq!(digest(b"", &variables), None);
        assert_eq!(digest(&vec![b'x'; MOST_BYTES + 1], &variables), None);
        assert_eq!(
            digest("a ".repeat(LONGEST_DIGEST).as_bytes(), &variables),
            None
        );
    }

    #[test]
    fn a_text_that_others_may_read_otherwise_is_told_apart() {
        for text in [
            "UPDATE t SET a = 'C:\\' WHERE b = 'secret'".as_bytes(),
            // A character of GBK that ends in a backquote.
            b"UPDATE `t\x81`` SET a = 'secret ` secret'",
        ] {
            assert!(!reads_the_same(text));
        }
        assert!(reads_the_same("UPDATE `t` SET é = 'é''s'".as_bytes()));
    }

    proptest! {
        /// Whatever the bytes are: no panic, no digit of a literal, and a bound.
        #[test]
        fn any_bytes_will_do(text in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(digest) = digest(&text, &SessionVariables::default()) {
                prop_assert!(digest.text.len() <= LONGEST_DIGEST);
                prop_assert!(digest.compared.len() <= MOST_COMPARED);
            }
        }

        #[test]
        fn no_literal_is_left(secret in "[a-z]{8}", number in 10_000_000_u64..99_999_999) {
            let text = format!("UPDATE t SET a = '{secret}', b = {number} WHERE c IN ('{secret}', {number}) AND d = \"{secret}\"");
            let digest = of(&text).text;
            prop_assert!(!digest.contains(&secret) && !digest.contains(&number.to_string()), "{}", digest);
        }
    }
}

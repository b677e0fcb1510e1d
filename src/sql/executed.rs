//! Executable comments, read as the server reads them.
//!
//! `/*!50110 ROW_FORMAT=COMPACT */` is executed by servers from version 5.1.10 on, `/*! .. */` by all of MySQL's kind,
//! and `/*M! .. */` by MariaDB alone. MariaDB takes the versions from 5.7 to 9.99 for features that it does not have,
//! and skips them. What every supported server of a kind does with a comment is known without its exact version.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr_iter, memmem};

use crate::sql::lexer::{Lexer, Token, TokenKind};
use crate::sql::plan::SessionVariables;
use crate::sql::statement::{Kind, is_several, statement_kind};

/// The text without the marks of comments that the server executes, and without comments that it skips: it means the
/// same, and servers take the names of columns from it as well. Where that is not certain, the text is left as it is.
pub fn executed<'a>(text: &'a [u8], variables: &SessionVariables, mariadb: bool) -> Cow<'a, [u8]> {
    if variables.unsafe_character_set || !may_have_executable_comment(text) {
        return Cow::Borrowed(text);
    }
    let Some(marks) = marks(text, variables, mariadb) else {
        return Cow::Borrowed(text);
    };
    let mut executed = Vec::with_capacity(text.len());
    let mut from = 0;
    for mark in marks {
        executed.extend_from_slice(&text[from..mark.start]);
        from = mark.end;
    }
    executed.extend_from_slice(&text[from..]);
    // Of several statements the first says nothing about the others.
    match is_several(&executed, variables) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(executed),
    }
}

/// Whether [`executed`] needs to be asked.
pub fn may_have_executable_comment(text: &[u8]) -> bool {
    // Each statement is asked this, and few contain the last byte of the mark.
    memchr_iter(b'!', text).any(|at| text[..at].ends_with(b"/*") || text[..at].ends_with(b"/*M"))
}

/// What means nothing to the server, in order.
fn marks(text: &[u8], variables: &SessionVariables, mariadb: bool) -> Option<Vec<Range<usize>>> {
    let mut marks = Vec::new();
    let mut from = 0;
    let is_comment = |token: &Token| token.kind == TokenKind::ExecutableComment;
    while let Some(comment) = tokens(text, from, variables).find(is_comment) {
        let (mark, is_executed) = Mark::of(comment.of(text))?.meaning(mariadb)?;
        if is_executed {
            let code = comment.start + mark;
            let end = end_of_executed(text, code, variables)?;
            from = end + END.len();
            marks.extend([comment.start..code, end..from]);
        } else {
            let inner = comment.of(text).strip_suffix(END)?;
            // The names of columns keep it. A comment in a comment each server skips in its own way.
            let is_query = matches!(statement_kind(text, variables), Kind::Select | Kind::With);
            if is_query || memmem::find(&inner[2..], b"/*").is_some() {
                return None;
            }
            from = comment.end;
            marks.push(comment.start..comment.end);
        }
    }
    let part = |mark: &Range<usize>| may_part(text[..mark.start].last(), text.get(mark.end));
    marks.iter().all(part).then_some(marks)
}

/// Whether two bytes are two tokens, or parts of them, even with nothing between them.
fn may_part(before: Option<&u8>, behind: Option<&u8>) -> bool {
    let (Some(before), Some(behind)) = (before, behind) else {
        return true;
    };
    let parts = |byte: &u8| byte.is_ascii_whitespace() || b"(),".contains(byte);
    let is_operator = |byte: &u8| b"+*%<>=".contains(byte);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    parts(before)
        || parts(behind)
        || (is_operator(before) && is_word(behind))
        || (is_word(before) && is_operator(behind))
}

const END: &[u8] = b"*/";

/// The tokens from an offset on at which one begins.
fn tokens<'a>(
    text: &'a [u8],
    from: usize,
    variables: &SessionVariables,
) -> impl Iterator<Item = Token> + 'a {
    Lexer::new(&text[from..], variables).map(move |token| Token {
        start: from + token.start,
        end: from + token.end,
        ..token
    })
}

/// Where the `*/` is that ends an executed comment whose code begins at `from`. `None` if there is none, or if
/// something in the comment may hide it, or another statement.
fn end_of_executed(text: &[u8], from: usize, variables: &SessionVariables) -> Option<usize> {
    for token in tokens(text, from, variables) {
        match token.kind {
            TokenKind::Comment | TokenKind::ExecutableComment | TokenKind::Hint => return None,
            TokenKind::Punctuation if text[token.start] == b';' => return None,
            TokenKind::Punctuation if text[token.start..].starts_with(END) => {
                return Some(token.start);
            }
            _ => {}
        }
    }
    None
}

/// What an executable comment begins with.
struct Mark {
    length: usize,
    is_mariadb: bool,
    version: Option<u32>,
}

impl Mark {
    /// `None` where the version is not spelled as servers spell it: five or six digits, then a space. MySQL warns of
    /// others.
    fn of(comment: &[u8]) -> Option<Self> {
        let is_mariadb = comment.starts_with(b"/*M!");
        let start = if is_mariadb {
            b"/*M!".len()
        } else {
            b"/*!".len()
        };
        let code = comment.get(start..)?;
        let digits = code.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let version = match digits {
            0 => None,
            5 | 6 if code.get(digits).is_some_and(u8::is_ascii_whitespace) => {
                Some(std::str::from_utf8(&code[..digits]).ok()?.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self {
            length: start + digits,
            is_mariadb,
            version,
        })
    }

    /// Its length, and whether it is executed; `None` where that depends on the server's version.
    fn meaning(&self, mariadb: bool) -> Option<(usize, bool)> {
        // The oldest servers that we support.
        const MYSQL: u32 = 80_016;
        const MARIADB: u32 = 100_201;
        let is_executed = match (self.version, mariadb) {
            _ if self.is_mariadb && !mariadb => false,
            (None, _) => true,
            (Some(version), false) => (version <= MYSQL).then_some(true)?,
            (Some(50_700..=99_999), true) if !self.is_mariadb => false,
            (Some(version), true) => (version <= MARIADB).then_some(true)?,
        };
        Some((self.length, is_executed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mariadb: bool) -> String {
        let executed = executed(text.as_bytes(), &SessionVariables::default(), mariadb);
        String::from_utf8_lossy(&executed).into_owned()
    }

    #[test]
    fn comments_that_every_server_executes_are_read() {
        for (text, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT /* x */ 1", "SELECT /* x */ 1"),
            ("SELECT '/*!' /*! + 1 */", "SELECT '/*!'  + 1 "),
            ("/*!50000 SELECT '*/' */", " SELECT '*/' "),
            ("SELECT a/*!+1*/", "SELECT a+1"),
            ("(SELECT a /*! + 1) */", "(SELECT a  + 1) "),
            (
                "SELECT 1 /*!40001 + 1 */ /*!050000 + 2 */",
                "SELECT 1  + 1   + 2 ",
            ),
        ] {
            for mariadb in [false, true] {
                assert_eq!(read(text, mariadb), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_only_one_kind_of_server_executes_is_read_by_that() {
        for (text, mysql, mariadb) in [
            ("DO 1 /*M! + 1 */", "DO 1 ", "DO 1  + 1 "),
            ("DO 1 /*M!100100 + 1 */", "DO 1 ", "DO 1  + 1 "),
            ("DO 1 /*M!100100 '*/", "DO 1 ", "DO 1 /*M!100100 '*/"),
            ("DO 1 /*!80000 + 1 */", "DO 1  + 1 ", "DO 1 "),
            (
                "DO 1 /*!50701 + 1 */ /*! + 2 */",
                "DO 1  + 1   + 2 ",
                "DO 1   + 2 ",
            ),
            (
                "SELECT 1 /*!80000 + 1 */",
                "SELECT 1  + 1 ",
                "SELECT 1 /*!80000 + 1 */",
            ),
        ] {
            assert_eq!(read(text, false), mysql, "{text}");
            assert_eq!(read(text, true), mariadb, "{text}");
        }
    }

    #[test]
    fn what_is_not_certain_is_left_alone() {
        for text in [
            "SELECT 1 /*!99999 + 1 */ FROM t /*!101100 WHERE 1 */",
            "SELECT 1 /*!50000+ 1 */",
            "SELECT 1 /*!1 + 1 */",
            "SELECT 1 /*! + 1",
            "SELECT 1 /*! + 1 -- */",
            "SELECT 1 /*! + 1 # */",
            "SELECT 1 /*! + /* 1 */ 2 */",
            "SELECT 1 /*! ; SELECT 2 */",
            "SELECT 1 /*! + 1 */ + /*!99999 2 */",
            "SELECT a/*!b*/",
            "SELECT 'a'/*!'b'*/",
            "SELECT 1 -/*!-1*/",
            "SELECT t./*!a*/",
            "SELECT 1 /*! + 1 */; SELECT 2",
        ] {
            assert_eq!(read(text, false), text);
        }
    }
}

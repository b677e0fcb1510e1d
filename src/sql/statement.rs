//! Statements by their first words: kind, boundaries, and the comment that switches rewriting off.

use std::ops::Range;

use crate::sql::lexer::{Lexer, TokenKind};
use crate::sql::lock_tables;
use crate::sql::plan::SessionVariables;
use crate::sql::words::{Beginning, Words};

/// What kind of statement a text is, by its first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SELECT.
    Select,
    /// WITH .. (a SELECT, UPDATE or DELETE after common table expressions).
    With,
    /// INSERT.
    Insert,
    /// REPLACE.
    Replace,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// LOAD DATA, LOAD XML.
    LoadData,
    /// CALL.
    Call,
    /// DO.
    Do,
    /// SET of variables; harmless if it changes neither how later statements are read nor what they do.
    Set {
        /// Sets nothing but user variables, timeouts and the like, from plain values.
        harmless: bool,
    },
    /// USE.
    Use,
    /// PREPARE.
    Prepare,
    /// EXECUTE of a prepared statement.
    Execute,
    /// DEALLOCATE PREPARE, DROP PREPARE.
    Deallocate,
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK (to a savepoint as well).
    Rollback,
    /// SAVEPOINT.
    Savepoint,
    /// RELEASE SAVEPOINT.
    Release,
    /// LOCK TABLES, and FLUSH TABLES of named tables that locks them.
    LockTables,
    /// UNLOCK TABLES.
    UnlockTables,
    /// CREATE, ALTER, DROP, TRUNCATE, RENAME.
    Ddl,
    /// SHOW, DESCRIBE, EXPLAIN, HELP, and administration: reads or writes no rows of a table.
    Show,
    /// Anything else.
    Other,
}

impl Kind {
    /// Whether it writes rows of a table, as the server counts such statements.
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::Insert | Self::Replace | Self::Update | Self::Delete | Self::LoadData
        )
    }
}

/// Of the first words that say what a statement is, the longest is DEALLOCATE.
const LONGEST_FIRST_WORD: usize = 10;

/// The kind of a statement, without allocation (but for SET). Leading comments and parentheses are skipped.
pub fn statement_kind(text: &[u8], variables: &SessionVariables) -> Kind {
    let mut words = Beginning::new(text, variables);
    while words.accept_mark(b'(') {}
    let mut upper = [0; LONGEST_FIRST_WORD];
    let first = words
        .word()
        .and_then(|word| Some((word, upper.get_mut(..word.len())?)));
    let Some((first, upper)) = first else {
        return Kind::Other;
    };
    upper.copy_from_slice(first);
    upper.make_ascii_uppercase();
    match str::from_utf8(upper).unwrap_or_default() {
        "SELECT" | "TABLE" => Kind::Select,
        "WITH" => Kind::With,
        "INSERT" => Kind::Insert,
        "REPLACE" => Kind::Replace,
        "UPDATE" => Kind::Update,
        "DELETE" => Kind::Delete,
        "LOAD" if words.accept_any(&["DATA", "XML"]) => Kind::LoadData,
        "CALL" => Kind::Call,
        "DO" => Kind::Do,
        // MariaDB: SET STATEMENT variable = value FOR any statement.
        "SET" if words.accept("STATEMENT") => Kind::Other,
        "SET" => Kind::Set {
            harmless: is_harmless(text, variables),
        },
        "USE" => Kind::Use,
        "PREPARE" => Kind::Prepare,
        "EXECUTE" if words.accept("IMMEDIATE") => Kind::Other,
        "EXECUTE" => Kind::Execute,
        "DEALLOCATE" => Kind::Deallocate,
        "DROP" if words.accept("PREPARE") => Kind::Deallocate,
        "BEGIN" if words.accept("WORK") || words.is_at_end() => Kind::Begin,
        // MariaDB: BEGIN NOT ATOMIC .. END, and with sql_mode ORACLE BEGIN .. END, are compound statements.
        "BEGIN" => Kind::Other,
        "START" if words.accept("TRANSACTION") => Kind::Begin,
        "COMMIT" => Kind::Commit,
        "ROLLBACK" => Kind::Rollback,
        "SAVEPOINT" => Kind::Savepoint,
        "RELEASE" => Kind::Release,
        "LOCK" if words.accept_any(&["TABLES", "TABLE"]) => Kind::LockTables,
        "FLUSH" if lock_tables::flushes_and_locks(text, variables) => Kind::LockTables,
        "UNLOCK" if words.accept_any(&["TABLES", "TABLE"]) => Kind::UnlockTables,
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "RENAME" => Kind::Ddl,
        "ANALYZE" if is_table_maintenance(&mut words) => Kind::Show,
        "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN" | "HELP" | "CHECK" | "CHECKSUM" | "OPTIMIZE"
        | "REPAIR" | "CACHE" | "KILL" | "FLUSH" | "GRANT" | "REVOKE" | "RESET" | "PURGE"
        | "CHANGE" | "INSTALL" | "UNINSTALL" | "START" | "STOP" | "SIGNAL" | "RESIGNAL" | "GET"
        | "BINLOG" | "SHUTDOWN" | "RESTART" | "CLONE" | "LOCK" | "UNLOCK" => Kind::Show,
        _ => Kind::Other,
    }
}

/// ANALYZE TABLE; MariaDB's `ANALYZE UPDATE ..` runs the statement that it analyses.
fn is_table_maintenance(words: &mut Beginning<'_>) -> bool {
    words.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    words.accept_any(&["TABLE", "TABLES"])
}

/// Variables that may be set without any effect on what later statements mean.
const HARMLESS: &[&str] = &[
    "GROUP_CONCAT_MAX_LEN",
    "INTERACTIVE_TIMEOUT",
    "MAX_EXECUTION_TIME",
    "NET_READ_TIMEOUT",
    "NET_WRITE_TIMEOUT",
    "WAIT_TIMEOUT",
];

/// Whether each assignment of a SET is `variable = value` with a harmless variable and a plain value.
fn is_harmless(text: &[u8], variables: &SessionVariables) -> bool {
    let mut words = Words::new(text, variables);
    words.accept("SET");
    loop {
        words.accept_any(&["SESSION", "LOCAL"]);
        let Some(variable) = words.next() else {
            return false;
        };
        let name = String::from_utf8_lossy(variable.of(text)).to_ascii_uppercase();
        let name = name.strip_prefix("@@").unwrap_or(&name);
        let is_user_variable = variable.kind == TokenKind::Variable && name.starts_with('@');
        if words.accept_mark(b'.') {
            // @@session.wait_timeout, @@global.wait_timeout
            let scope = name.to_owned();
            let Some(inner) = words.peek_word() else {
                return false;
            };
            words.next();
            if !matches!(scope.as_str(), "SESSION" | "LOCAL") || !HARMLESS.contains(&inner.as_str())
            {
                return false;
            }
        } else if !is_user_variable && !HARMLESS.contains(&name) {
            return false;
        }
        words.accept_mark(b':');
        if !words.accept_mark(b'=') || !accept_plain_value(&mut words) {
            return false;
        }
        if !words.accept_mark(b',') {
            words.accept_mark(b';');
            return words.peek().is_none();
        }
    }
}

fn accept_plain_value(words: &mut Words<'_>) -> bool {
    words.accept_mark(b'-');
    if words.accept_any(&["NULL", "DEFAULT"]) {
        return true;
    }
    words.next().is_some_and(|value| {
        matches!(
            value.kind,
            TokenKind::String | TokenKind::Number | TokenKind::Placeholder | TokenKind::Variable
        )
    })
}

/// A statement of a packet, without its `;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub range: Range<usize>,
    /// It consists of spaces and comments: a syntax error for the server, or at the end of a packet nothing to do.
    pub is_empty: bool,
}

/// The statements of a packet, as the server takes them one by one.
///
/// From a statement on whose body may hold semicolons (CREATE PROCEDURE ..), the rest is one part; a text with
/// an executable comment that could hide a boundary is one part, too.
pub fn split(text: &[u8], variables: &SessionVariables) -> Vec<Part> {
    // What the server takes off a packet before it reads it.
    let is_left_over = |byte: &u8| *byte == b';' || is_space(byte);
    let end = text.iter().rposition(|byte| !is_left_over(byte));
    let text = &text[..end.map_or(0, |last| last + 1)];
    let part = |range, has_words: bool| Part {
        range,
        is_empty: !has_words,
    };
    if Lexer::new(text, variables)
        .any(|token| token.kind == TokenKind::ExecutableComment && hides_boundary(token.of(text)))
    {
        return vec![part(0..text.len(), true)];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let mut has_words = false;
    for token in Lexer::new(text, variables) {
        if token.kind != TokenKind::Punctuation || text[token.start] != b';' {
            has_words |= token.is_significant();
            continue;
        }
        if has_words && may_hold_semicolons(&text[start..token.start], variables) {
            break;
        }
        parts.push(part(start..token.start, has_words));
        start = token.end;
        has_words = false;
    }
    if !text[start..].iter().all(is_space) {
        parts.push(part(start..text.len(), has_words));
    }
    parts
}

/// What the server takes for a space.
fn is_space(byte: &u8) -> bool {
    const VERTICAL_TAB: u8 = 0x0b;
    byte.is_ascii_whitespace() || *byte == VERTICAL_TAB
}

/// Whether something follows a semicolon, which is an error if a packet may hold one statement only.
pub fn is_several(text: &[u8], variables: &SessionVariables) -> bool {
    Words::new(text, variables).has_inner_mark(b';')
}

fn hides_boundary(comment: &[u8]) -> bool {
    comment
        .get(3..)
        .unwrap_or_default()
        .iter()
        .any(|byte| matches!(byte, b'\'' | b'"' | b'`' | b';' | b'#'))
        || memchr::memmem::find(comment, b"--").is_some()
        || memchr::memmem::find(comment.get(2..).unwrap_or_default(), b"/*").is_some()
}

fn may_hold_semicolons(part: &[u8], variables: &SessionVariables) -> bool {
    const BODIES: [&str; 6] = [
        "PROCEDURE",
        "FUNCTION",
        "TRIGGER",
        "EVENT",
        "PACKAGE",
        "LIBRARY",
    ];
    const NO_BODIES: [&str; 6] = ["TABLE", "VIEW", "INDEX", "DATABASE", "SCHEMA", "USER"];
    const COMPOUND: [&str; 7] = ["IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR", "DECLARE"];
    let mut words = Words::first(part, variables, 24);
    if words.accept_any(&["CREATE", "ALTER"]) {
        while words.peek().is_some() && !words.accept_any(&NO_BODIES) {
            if words.accept_any(&BODIES) {
                return true;
            }
            words.next();
        }
        return false;
    }
    if words.accept("BEGIN") {
        return !words.accept("WORK") && !words.accept_mark(b';') && words.peek().is_some();
    }
    words.accept_any(&COMPOUND)
}

/// Whether the statement carries the comment `/* countersink:off */`.
pub fn is_off(text: &[u8], variables: &SessionVariables) -> bool {
    const MARK: &[u8] = b"countersink:off";
    let is_mark = |comment: &[u8]| {
        comment
            .windows(MARK.len())
            .any(|window| window.eq_ignore_ascii_case(MARK))
    };
    memchr::memmem::find(text, b":").is_some()
        && Lexer::new(text, variables)
            .any(|token| token.kind == TokenKind::Comment && is_mark(token.of(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        statement_kind(text.as_bytes(), &SessionVariables::default())
    }

    fn parts(text: &str) -> Vec<&str> {
        let parts = split(text.as_bytes(), &SessionVariables::default());
        parts.into_iter().map(|part| &text[part.range]).collect()
    }

    #[test]
    fn kinds_by_first_words() {
        let cases = [
            ("  -- hello\n/* there */ ((select 1))", Kind::Select),
            ("WITH a AS (SELECT 1) SELECT 1", Kind::With),
            ("LOAD DATA INFILE 'x'", Kind::LoadData),
            ("START TRANSACTION READ ONLY", Kind::Begin),
            ("START REPLICA", Kind::Show),
            ("BEGIN", Kind::Begin),
            ("BEGIN WORK", Kind::Begin),
            ("BEGIN -- now\n; SELECT 1", Kind::Begin),
            ("BEGIN NOT ATOMIC SELECT 1; END", Kind::Other),
            ("BEGIN SELECT 1; END", Kind::Other),
            ("RELEASE SAVEPOINT a", Kind::Release),
            ("DROP PREPARE s", Kind::Deallocate),
            ("DROP TABLE t", Kind::Ddl),
            ("DESC t", Kind::Show),
            ("ANALYZE LOCAL TABLE t", Kind::Show),
            ("ANALYZE SELECT 1", Kind::Other),
            ("LOCK TABLES t READ", Kind::LockTables),
            ("SET @a = 1, @b := 'x'", Kind::Set { harmless: true }),
            (
                "SET SESSION wait_timeout = 5, @@session.net_read_timeout = 6",
                Kind::Set { harmless: true },
            ),
            ("SET NAMES utf8mb4", Kind::Set { harmless: false }),
            ("SET sql_mode = ''", Kind::Set { harmless: false }),
            ("SET @a = (SELECT 1)", Kind::Set { harmless: false }),
            ("SET GLOBAL wait_timeout = 1", Kind::Set { harmless: false }),
            ("SET STATEMENT x = 1 FOR SELECT 1", Kind::Other),
            ("/*!40101 SET NAMES utf8 */", Kind::Other),
            ("", Kind::Other),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn packets_are_split_at_their_semicolons() {
        assert_eq!(parts("SELECT 1"), ["SELECT 1"]);
        assert_eq!(
            parts("SELECT ';'; SELECT `;` -- ;\n; ; /* ; */"),
            ["SELECT ';'", " SELECT `;` -- ;\n", " ", " /* ; */"]
        );
        assert_eq!(parts(" ; "), [""; 0]);
        assert_eq!(parts("SELECT 1;; \x0b"), ["SELECT 1"]);
        assert_eq!(parts("; SELECT 1"), ["", " SELECT 1"]);
        let empty = split(
            b"SELECT 1; ; /* c */; SELECT 2; -- x",
            &SessionVariables::default(),
        );
        let empty: Vec<bool> = empty.iter().map(|part| part.is_empty).collect();
        assert_eq!(empty, [false, true, true, false, true]);
        assert_eq!(
            parts("CREATE TABLE event (id INT); SELECT 2"),
            ["CREATE TABLE event (id INT)", " SELECT 2"]
        );
        let body = " CREATE DEFINER = a@b PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; SELECT 3";
        assert_eq!(parts(&format!("SELECT 0;{body}")), ["SELECT 0", body]);
        assert_eq!(
            parts("/*!1 SELECT ';' */; SELECT 2"),
            ["/*!1 SELECT ';' */; SELECT 2"]
        );
        assert_eq!(
            parts("/*!40101 SET NAMES utf8 */; SELECT 2"),
            ["/*!40101 SET NAMES utf8 */", " SELECT 2"]
        );
    }

    #[test]
    fn the_comment_that_switches_off_is_no_string() {
        let variables = SessionVariables::default();
        assert!(is_off(b"SELECT 1 /* countersink:off */", &variables));
        assert!(is_off(b"SELECT 1 -- Countersink:OFF", &variables));
        assert!(!is_off(b"SELECT '/* countersink:off */'", &variables));
    }
}

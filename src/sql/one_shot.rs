//! Characteristics for the next transaction alone (manual: "SET TRANSACTION Statement", without SESSION or GLOBAL).

use crate::sql::calls::has_calls;
use crate::sql::lexer::TokenKind;
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;
use crate::sql::statement::Kind;
use crate::sql::words::Words;

/// Whether a SET may be about the next transaction; `false` is certain.
pub fn may_be(text: &[u8], kind: Kind) -> bool {
    kind == Kind::Set { harmless: false }
        && (mentions(text, b"TRANSACTION") || mentions(text, b"@@TX_"))
}

/// Whether a statement does nothing but set characteristics of the next transaction, so that it may be sent again.
pub fn sets(text: &[u8], variables: &SessionVariables) -> bool {
    const VARIABLES: [&[u8]; 4] = [
        b"@@transaction_isolation",
        b"@@transaction_read_only",
        b"@@tx_isolation",
        b"@@tx_read_only",
    ];
    let mut words = Words::new(text, variables);
    if !words.accept("SET") {
        return false;
    }
    if words.accept("TRANSACTION") {
        return !words.has_inner_mark(b';');
    }
    let is_variable = words.next().is_some_and(|token| {
        let name = token.of(text).to_ascii_lowercase();
        VARIABLES.contains(&name.as_slice())
    });
    words.accept_mark(b':');
    let is_assigned = is_variable && words.accept_mark(b'=');
    let is_plain = words.next().is_some_and(|value| {
        matches!(
            value.kind,
            TokenKind::String | TokenKind::Number | TokenKind::Word
        )
    });
    words.accept_mark(b';');
    is_assigned && is_plain && words.peek().is_none()
}

/// Whether a statement does nothing but set characteristics of the session. They replace the same ones of the next
/// transaction and leave the others, so it may be sent again after the statements that have set these.
pub fn sets_session(text: &[u8], variables: &SessionVariables) -> bool {
    let mut words = Words::new(text, variables);
    words.accept("SET")
        && (words.accept("SESSION") || words.accept("LOCAL"))
        && words.accept("TRANSACTION")
        && !words.has_inner_mark(b';')
}

/// Whether what was set is certainly still there after a statement that has succeeded: it touches no table.
pub fn survives(text: &[u8], kind: Kind, variables: &SessionVariables) -> bool {
    match kind {
        Kind::Set { harmless } => harmless || sets_constants(text, variables),
        Kind::Prepare | Kind::Deallocate => true,
        // Other ones read tables of the server's own.
        Kind::Show => {
            let mut words = Words::new(text, variables);
            let messages = ["WARNINGS", "ERRORS", "COUNT"];
            words.accept("SHOW") && messages.iter().any(|word| words.accept(word))
        }
        // A stored function may look into tables.
        Kind::Do | Kind::Select => {
            let words = Words::new(text, variables);
            !words.has("FROM") && !words.has("TABLE") && !has_calls(text)
        }
        _ => false,
    }
}

/// Whether a SET assigns constants to variables that say nothing of transactions, so that no table is looked into.
fn sets_constants(text: &[u8], variables: &SessionVariables) -> bool {
    const OTHERS: [&[u8]; 5] = [b"AUTOCOMMIT", b"TRANSACTION", b"TX_", b"PASSWORD", b"ROLE"];
    let words = Words::new(text, variables);
    text.contains(&b'=')
        && !text.contains(&b'(')
        && !words.has("RESOURCE")
        && !OTHERS.iter().any(|word| mentions(text, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::statement_kind;

    #[test]
    fn only_the_next_transaction_is_meant() {
        let variables = SessionVariables::default();
        let cases = [
            ("SET TRANSACTION READ ONLY", true),
            (
                "set transaction isolation level serializable, read write;",
                true,
            ),
            ("SET @@transaction_isolation = 'SERIALIZABLE'", true),
            ("SET @@tx_read_only := 1", true),
            ("SET SESSION TRANSACTION READ ONLY", false),
            ("SET transaction_read_only = 1", false),
            ("SET @@session.transaction_read_only = 1", false),
            ("SET @@transaction_read_only = 1, @a = 5", false),
            ("SET @@transaction_read_only = (SELECT 1)", false),
        ];
        for (text, expected) in cases {
            let kind = statement_kind(text.as_bytes(), &variables);
            assert_eq!(sets(text.as_bytes(), &variables), expected, "{text}");
            assert!(may_be(text.as_bytes(), kind), "{text}");
        }
    }

    #[test]
    fn the_session_is_meant() {
        let sets = |text: &str| sets_session(text.as_bytes(), &SessionVariables::default());
        assert!(sets("SET SESSION TRANSACTION READ ONLY"));
        assert!(sets(
            "set local transaction isolation level read committed;"
        ));
        assert!(!sets("SET TRANSACTION READ ONLY"));
        assert!(!sets("SET GLOBAL TRANSACTION READ ONLY"));
        assert!(!sets("SET SESSION TRANSACTION READ ONLY; SELECT 1"));
        assert!(!sets("SET SESSION sql_mode = ''"));
    }

    #[test]
    fn what_touches_no_table_leaves_it() {
        let survives = |text: &str| {
            let variables = SessionVariables::default();
            let kind = statement_kind(text.as_bytes(), &variables);
            super::survives(text.as_bytes(), kind, &variables)
        };
        assert!(survives("SELECT @@autocommit"));
        assert!(survives("SELECT ROW_COUNT(), (1 + 1)"));
        assert!(!survives("SELECT stored()"));
        assert!(survives("SET @a = 1"));
        assert!(survives("SET completion_type = 0"));
        assert!(survives(
            "SET SESSION sql_mode = '', @@sort_buffer_size = 65536"
        ));
        assert!(!survives("SET autocommit = 1"));
        assert!(!survives("SET @@session.tx_read_only = 1"));
        assert!(!survives("SET PASSWORD = 'x'"));
        assert!(!survives("SET sql_mode = (SELECT 1 FROM t)"));
        assert!(survives("show warnings limit 1"));
        assert!(survives("SHOW COUNT(*) ERRORS"));
        assert!(!survives("SHOW TABLES"));
        assert!(!survives("SELECT 1 FROM t"));
        assert!(!survives("SELECT f()"));
        assert!(!survives("COMMIT"));
        assert!(!survives("SET SESSION TRANSACTION READ WRITE"));
    }
}

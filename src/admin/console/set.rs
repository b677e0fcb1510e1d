//! SET and transaction control as clients send them to every server: there is nothing to set here, and nothing open.
//! What no client says by itself is refused, for it may be a SET RULE that was meant.

use super::cursor::{Cursor, at_end, cut, refuse};
use super::table::{Code, Refusal};
use crate::config::did_you_mean;
use crate::sql::TokenKind;

/// How a rule's mode is set.
pub(super) const FORM_OF_SET_RULE: &str =
    "write SET RULE schema.table MODE off, observe or enforce";

/// The session's variables that clients set without a word for their scope.
const SET_BY_CLIENTS: [&str; 40] = [
    "autocommit",
    "big_tables",
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "character_set_server",
    "collation_connection",
    "collation_database",
    "collation_server",
    "default_storage_engine",
    "foreign_key_checks",
    "group_concat_max_len",
    "information_schema_stats_expiry",
    "innodb_lock_wait_timeout",
    "interactive_timeout",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "max_execution_time",
    "max_join_size",
    "max_statement_time",
    "net_read_timeout",
    "net_write_timeout",
    "optimizer_switch",
    "profiling",
    "resultset_metadata",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_select_limit",
    "sql_warnings",
    "time_zone",
    "transaction_isolation",
    "tx_isolation",
    "unique_checks",
    "wait_timeout",
];

/// What follows the name of the variable in a SET.
enum Rest {
    /// A value, and perhaps further settings after a comma.
    Value,
    /// Words up to its end.
    Words,
}

/// Reads what follows SET, if that is not RULE.
pub(super) fn set(cursor: &mut Cursor<'_>) -> Result<(), Refusal> {
    loop {
        match target(cursor)? {
            Rest::Words => {
                while !cursor.is_at_end() {
                    value(cursor)?;
                    cursor.accept(",");
                }
            }
            Rest::Value => value(cursor)?,
        }
        if !cursor.accept(",") {
            return Ok(());
        }
    }
}

/// What is set.
fn target(cursor: &mut Cursor<'_>) -> Result<Rest, Refusal> {
    if cursor.accept_any(&["NAMES", "CHARSET"]) || cursor.accept_all(&["CHARACTER", "SET"]) {
        return Ok(Rest::Value);
    }
    if cursor.accept_any(&["GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
        return Err(no_variables());
    }
    let has_scope = cursor.accept_any(&["SESSION", "LOCAL"]);
    if cursor.accept("TRANSACTION") {
        return Ok(Rest::Words);
    }
    let (kind, word) = cursor.peek().ok_or_else(|| refuse(FORM_OF_SET_RULE))?;
    let is_set = match kind {
        TokenKind::Variable => {
            cursor.next();
            let name = word.to_lowercase();
            if cursor.accept(".") {
                if !["@@session", "@@local"].contains(&name.as_str()) {
                    return Err(no_variables());
                }
                cursor.name();
            }
            true
        }
        // @'name'
        TokenKind::Punctuation if word == "@" => {
            cursor.next();
            cursor.name().or_else(|| cursor.value()).is_some()
        }
        _ => cursor.name().is_some_and(|name| {
            let known = || {
                SET_BY_CLIENTS
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(&name))
            };
            has_scope || known()
        }),
    };
    let is_assigned = (cursor.accept(":") && cursor.accept("=")) || cursor.accept("=");
    match is_set && is_assigned {
        true => Ok(Rest::Value),
        false => {
            let near = did_you_mean(word, ["RULE", "NAMES"].into_iter().chain(SET_BY_CLIENTS));
            Err(refuse(&format!(
                "SET {} is nothing that the console sets{near}; {FORM_OF_SET_RULE}; rules.yaml has the proxy's settings",
                cut(word)
            )))
        }
    }
}

/// Goes past a value, which must be there.
fn value(cursor: &mut Cursor<'_>) -> Result<(), Refusal> {
    let mut depth = 0_usize;
    let mut tokens = 0;
    while let Some((_, token)) = cursor.peek() {
        match token {
            "," if depth == 0 => break,
            ";" => return at_end(cursor, ()),
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        cursor.next();
        tokens += 1;
    }
    match tokens {
        0 => Err(refuse("SET wants a value")),
        _ => Ok(()),
    }
}

fn no_variables() -> Refusal {
    let why = "the console has no variables to set; rules.yaml has the proxy's settings";
    Refusal::new(Code::UnknownVariable, why)
}

/// Reads BEGIN, COMMIT and the like, and DO; whether it was one.
pub(super) fn transaction_control(cursor: &mut Cursor<'_>) -> Result<bool, Refusal> {
    if cursor.accept_all(&["START", "TRANSACTION"]) {
        let words = [
            "WITH",
            "CONSISTENT",
            "SNAPSHOT",
            "READ",
            "ONLY",
            "WRITE",
            ",",
        ];
        while cursor.accept_any(&words) {}
    } else if cursor.accept_any(&["BEGIN", "COMMIT", "ROLLBACK"]) {
        while cursor.accept_any(&["WORK", "AND", "NO", "CHAIN", "RELEASE"]) {}
    } else if cursor.accept("DO") {
        // Some ask so whether the connection is there.
        cursor.value();
    } else {
        return Ok(false);
    }
    at_end(cursor, true)
}

#[cfg(test)]
mod tests {
    use super::super::statement::Statement;
    use super::*;

    #[test]
    fn what_clients_set_is_taken() {
        for text in [
            "SET NAMES utf8mb4",
            "set names 'utf8mb4' collate 'utf8mb4_general_ci', @@session.sql_mode = ''",
            "SET CHARACTER SET utf8mb4",
            "SET CHARSET utf8mb4",
            "SET autocommit=1",
            "SET AUTOCOMMIT := 0;",
            "SET SQL_SAFE_UPDATES=1,SQL_SELECT_LIMIT=1000,MAX_JOIN_SIZE=1000000",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
            "SET TRANSACTION READ ONLY",
            "SET SESSION anything = 17",
            "SET LOCAL `anything` = DEFAULT",
            "SET @@anything = IF(1, 2, 3), @mine := 5, @`mine` = 6",
            "SET @@session.wait_timeout=28800",
            "SET character_set_results = NULL",
        ] {
            assert_eq!(Statement::parse(text), Ok(Statement::SmallTalk), "{text}");
        }
    }

    #[test]
    fn a_mistyped_set_rule_is_no_small_talk() {
        for text in [
            "SET RULES shop.posts MODE off",
            "SET RUEL shop.posts MODE off",
            "SET shop.posts MODE off",
            "SET shop.posts = off",
            "SET drain_timeout = 5s",
            "SET drain_timeout = '5s', autocommit = 1",
            "SET autocommit = 1, drain_timeout = '5s'",
            "SET autocommit 1",
            "SET SESSION RULE shop.posts MODE off",
            "SET @x",
            "SET",
        ] {
            let refusal = Statement::parse(text).expect_err(text);
            assert_eq!(refusal.code, Code::Syntax, "{text}");
            let message = refusal.message;
            assert!(
                message.contains("write SET RULE schema.table MODE"),
                "{text}: {message}"
            );
        }
        for text in ["SET RULES shop.posts MODE off", "SET RUEL x MODE off"] {
            let message = Statement::parse(text).expect_err(text).message;
            assert!(message.contains("did you mean `RULE`?"), "{message}");
        }
        for text in [
            "SET @@GLOBAL.max_connections = 1",
            "SET GLOBAL max_connections = 1",
            "SET @@persist.max_connections = 1",
            "SET autocommit = 1, PERSIST x = 1",
        ] {
            let refusal = Statement::parse(text).expect_err(text);
            assert_eq!(refusal.code, Code::UnknownVariable, "{text}");
        }
    }

    #[test]
    fn one_statement_at_a_time() {
        for text in [
            "SET NAMES utf8mb4; DRAIN",
            "SET TRANSACTION READ ONLY; DRAIN",
            "BEGIN; DRAIN",
            "START TRANSACTION; DRAIN",
            "DO 1; DRAIN",
        ] {
            let message = Statement::parse(text).expect_err(text).message;
            assert!(message.contains("nothing may stand here: ;"), "{message}");
        }
    }

    #[test]
    fn transactions_begin_and_end_and_nothing_else_does() {
        for text in [
            "BEGIN",
            "begin work",
            "START TRANSACTION",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            "COMMIT AND NO CHAIN",
            "ROLLBACK;",
            "DO 1",
        ] {
            assert_eq!(Statement::parse(text), Ok(Statement::SmallTalk), "{text}");
        }
        for text in [
            "START shop.posts",
            "START",
            "COMMIT x",
            "BEGIN x",
            "ROLLBACK TO x",
            "DO x",
        ] {
            let refusal = Statement::parse(text).expect_err(text);
            assert_eq!(refusal.code, Code::Syntax, "{text}");
        }
    }
}

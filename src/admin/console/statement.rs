//! What the console understands.

use super::cursor::{Cursor, at_end, cut, refuse};
use super::filter::Filter;
use super::set;
use super::show::{REPORTS, Report};
use super::table::Refusal;
use crate::config::did_you_mean;

/// A statement, understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement<'a> {
    /// SHOW of the proxy's state.
    Show(&'static Report, Filter),
    /// What the proxy would do with a statement.
    Explain(&'a str),
    /// Slots into base rows, of one table or all.
    RollUp(Option<Name>),
    /// Clients that connect wait from now on,
    Pause,
    /// or no longer.
    Resume,
    /// As SIGTERM.
    Shutdown,
    /// Closes a session.
    Kill(u32),
    /// What changes rules while the proxy runs.
    Order(Order),
    /// Another schema for the statements to explain.
    Use(String),
    /// Not a command of the console: clients send it to every server.
    SmallTalk,
}

/// What changes rules while the proxy runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `RELOAD`: reads rules.yaml again.
    Reload,
    /// `SET RULE table MODE mode`.
    SetMode {
        table: Name,
        /// `off`, `observe` or `enforce`, as it was written.
        mode: String,
    },
    /// `DRAIN [table]`: all slots into base rows, and the slot tables dropped.
    Drain(Option<Name>),
}

/// A table as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// `None`: the schema in force.
    pub(super) schema: Option<String>,
    pub(super) table: String,
}

/// The words that statements begin with.
const FIRST_WORDS: [&str; 14] = [
    "SHOW", "EXPLAIN", "ROLLUP", "KILL", "PAUSE", "RESUME", "SHUTDOWN", "RELOAD", "SET", "DRAIN",
    "USE", "HELP", "SELECT", "DESCRIBE",
];

/// What clients ask every server to show.
const SHOWN_TO_CLIENTS: [&str; 9] = [
    "WARNINGS",
    "ERRORS",
    "DATABASES",
    "SCHEMAS",
    "TABLES",
    "FULL",
    "VARIABLES",
    "STATUS",
    "GLOBAL",
];

impl<'a> Statement<'a> {
    /// Reads a statement.
    pub(super) fn parse(text: &'a str) -> Result<Self, Refusal> {
        let mut cursor = Cursor::new(text);
        if cursor.accept("SHOW") {
            return show(&mut cursor);
        }
        if cursor.accept_any(&["EXPLAIN", "DESCRIBE", "DESC"]) {
            return explain(cursor, text);
        }
        if cursor.accept("KILL") {
            return kill(&mut cursor);
        }
        if cursor.accept("USE") {
            let schema = cursor.name().ok_or_else(|| refuse("USE names a schema"))?;
            return at_end(&cursor, Self::Use(schema));
        }
        if cursor.accept_all(&["SET", "RULE"]) {
            return set_rule(&mut cursor);
        }
        if cursor.accept("ROLLUP") {
            let table = optional_name(&mut cursor)?;
            return at_end(&cursor, Self::RollUp(table));
        }
        if cursor.accept("DRAIN") {
            let table = optional_name(&mut cursor)?;
            return at_end(&cursor, Self::Order(Order::Drain(table)));
        }
        for (word, statement) in [
            ("PAUSE", Self::Pause),
            ("RESUME", Self::Resume),
            ("SHUTDOWN", Self::Shutdown),
            ("RELOAD", Self::Order(Order::Reload)),
        ] {
            if cursor.accept(word) {
                return at_end(&cursor, statement);
            }
        }
        if cursor.accept("HELP") {
            // `mysql` asks so for what its own HELP does not know.
            drop(cursor.value().or_else(|| cursor.name()));
            return at_end(&cursor, Self::Show(help_report(), Filter::All));
        }
        if cursor.is_at_end() {
            return Err(refuse("there is no statement"));
        }
        if cursor.accept("SET") {
            return set::set(&mut cursor).map(|()| Self::SmallTalk);
        }
        if cursor.accept("SELECT") || set::transaction_control(&mut cursor)? {
            return Ok(Self::SmallTalk);
        }
        let word = cursor.peek().map_or("", |(_, word)| word);
        let near = did_you_mean(word, FIRST_WORDS);
        Err(refuse(&format!(
            "{} is no statement of the console{near}",
            cut(word)
        )))
    }
}

fn show<'a>(cursor: &mut Cursor<'_>) -> Result<Statement<'a>, Refusal> {
    let is_session = cursor.accept("SESSION");
    if cursor.accept_all(&["FULL", "PROCESSLIST"])
        || cursor.accept("PROCESSLIST")
        || (is_session && cursor.is_at_end())
    {
        return Err(refuse("who is connected, SHOW SESSIONS tells"));
    }
    if is_session {
        return Ok(Statement::SmallTalk);
    }
    if cursor.accept_any(&SHOWN_TO_CLIENTS) {
        return Ok(Statement::SmallTalk);
    }
    let Some(report) = REPORTS.iter().find(|report| cursor.accept(report.name)) else {
        let word = cursor.peek().map_or("", |(_, word)| word);
        let near = did_you_mean(word, REPORTS.iter().map(|report| report.name));
        return Err(refuse(&format!(
            "SHOW {} is nothing that the console shows{near}",
            cut(word)
        )));
    };
    Ok(Statement::Show(report, Filter::parse(cursor)?))
}

/// The text after EXPLAIN, up to its last token; the format may be named, as a session of the proxy requires.
fn explain<'a>(mut cursor: Cursor<'a>, text: &'a str) -> Result<Statement<'a>, Refusal> {
    if cursor.accept_all(&["FORMAT", "="]) && !cursor.accept("COUNTERSINK") {
        return Err(refuse(
            "the console explains in one format; write EXPLAIN <statement>",
        ));
    }
    match cursor.position() {
        None => Err(refuse("EXPLAIN wants a statement behind it")),
        // Comments at its end belong to it.
        Some(start) => Ok(Statement::Explain(&text[start..])),
    }
}

fn kill<'a>(cursor: &mut Cursor<'_>) -> Result<Statement<'a>, Refusal> {
    if cursor.accept("QUERY") {
        return Err(refuse(
            "the console closes sessions, and ends no statement alone; write KILL <session id>",
        ));
    }
    cursor.accept("CONNECTION");
    let id = cursor.value().and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| refuse("KILL wants the id of a session, as SHOW SESSIONS has it"))?;
    at_end(cursor, Statement::Kill(id))
}

fn set_rule<'a>(cursor: &mut Cursor<'_>) -> Result<Statement<'a>, Refusal> {
    let form = || refuse(set::FORM_OF_SET_RULE);
    let table = optional_name(cursor)?.ok_or_else(form)?;
    let is_mode = cursor.accept("MODE");
    let mode = match cursor.accept("=") {
        _ if !is_mode => None,
        _ => cursor.name().or_else(|| cursor.value()),
    };
    let mode = mode.ok_or_else(form)?.to_lowercase();
    at_end(cursor, Statement::Order(Order::SetMode { table, mode }))
}

fn optional_name(cursor: &mut Cursor<'_>) -> Result<Option<Name>, Refusal> {
    if cursor.is_at_end() {
        return Ok(None);
    }
    let wrong = || refuse("a table is named as schema.table, in backticks where it must be");
    let first = cursor.name().ok_or_else(wrong)?;
    Ok(Some(match cursor.accept(".") {
        true => Name {
            schema: Some(first),
            table: cursor.name().ok_or_else(wrong)?,
        },
        false => Name {
            schema: None,
            table: first,
        },
    }))
}

fn help_report() -> &'static Report {
    REPORTS
        .iter()
        .find(|report| report.name == "HELP")
        .expect("it is among them")
}

#[cfg(test)]
mod tests {
    use super::super::table::Code;
    use super::*;

    fn parsed(text: &str) -> Statement<'_> {
        Statement::parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
    }

    fn refused(text: &str) -> String {
        let refusal = Statement::parse(text).expect_err(text);
        assert_eq!(refusal.code, Code::Syntax, "{text}");
        refusal.message
    }

    fn name(schema: &str, table: &str) -> Name {
        Name {
            schema: Some(schema.to_owned()),
            table: table.to_owned(),
        }
    }

    #[test]
    fn every_report_is_shown_in_any_letter_case() {
        for report in &REPORTS {
            let text = format!("show {};", report.name.to_lowercase());
            assert_eq!(parsed(&text), Statement::Show(report, Filter::All));
            let Statement::Show(_, filter) = parsed(&format!("SHOW {} LIKE 'a%'", report.name))
            else {
                panic!("{}", report.name);
            };
            assert_eq!(filter, Filter::Like("a%".to_owned()));
        }
        for text in ["HELP", "help 'SET RULE';", "HELP contents"] {
            assert_eq!(parsed(text), parsed("SHOW HELP"), "{text}");
        }
    }

    #[test]
    fn commands_are_understood() {
        let posts = || Some(name("shop", "posts"));
        for (text, expected) in [
            ("rollup", Statement::RollUp(None)),
            ("ROLLUP shop.posts;", Statement::RollUp(posts())),
            ("pause;", Statement::Pause),
            ("Resume", Statement::Resume),
            ("SHUTDOWN ; ", Statement::Shutdown),
            ("KILL 17", Statement::Kill(17)),
            ("kill connection 4294967295", Statement::Kill(u32::MAX)),
            ("RELOAD", Statement::Order(Order::Reload)),
            ("DRAIN", Statement::Order(Order::Drain(None))),
            (
                "drain `shop`.`posts`",
                Statement::Order(Order::Drain(posts())),
            ),
            ("use `a``b`", Statement::Use("a`b".to_owned())),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        for text in [
            "SET RULE shop.posts MODE Observe",
            "set rule shop.posts mode = 'observe';",
        ] {
            let order = Order::SetMode {
                table: name("shop", "posts"),
                mode: "observe".to_owned(),
            };
            assert_eq!(parsed(text), Statement::Order(order), "{text}");
        }
    }

    #[test]
    fn a_statement_to_explain_is_left_as_it_is() {
        for text in [
            "EXPLAIN UPDATE t SET a = 'é''x' -- y",
            "explain format=countersink UPDATE t SET a = 'é''x' -- y",
            " /* x */ DESC UPDATE t SET a = 'é''x' -- y ;",
        ] {
            let Statement::Explain(statement) = parsed(text) else {
                panic!("{text}");
            };
            let statement = statement.trim_end_matches([' ', ';']);
            assert_eq!(statement, "UPDATE t SET a = 'é''x' -- y", "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_comes_with_a_hint() {
        for (text, hint) in [
            ("SHOW RULLES", "did you mean `RULES`?"),
            ("SHW RULES", "did you mean `SHOW`?"),
            ("ROLUP", "did you mean `ROLLUP`?"),
            ("SHOW", "SHOW HELP"),
            ("SHOW SESSION", "SHOW SESSIONS tells"),
            ("show processlist;", "SHOW SESSIONS tells"),
            ("SHOW FULL PROCESSLIST", "SHOW SESSIONS tells"),
            ("HELP me out", "nothing may stand here: out"),
            ("", "SHOW HELP"),
            (";", "SHOW HELP"),
            ("KILL", "as SHOW SESSIONS has it"),
            ("KILL me", "as SHOW SESSIONS has it"),
            ("KILL -1", "as SHOW SESSIONS has it"),
            ("KILL 4294967296", "as SHOW SESSIONS has it"),
            ("KILL QUERY 5", "KILL <session id>"),
            ("KILL 5 6", "nothing may stand here: 6"),
            ("PAUSE now", "nothing may stand here: now"),
            ("PAUSE; RESUME", "nothing may stand here: ;"),
            ("SET RULE posts", "SET RULE schema.table MODE"),
            ("SET RULE shop.posts enforce", "SET RULE schema.table MODE"),
            ("EXPLAIN", "wants a statement"),
            ("EXPLAIN FORMAT=JSON SELECT 1", "EXPLAIN <statement>"),
            ("USE", "names a schema"),
            ("DROP TABLE posts", "SHOW HELP"),
            ("ROLLUP shop.", "schema.table"),
        ] {
            let message = refused(text);
            assert!(message.contains(hint), "{text}: {message}");
        }
        let long = "x".repeat(10_000);
        assert!(refused(&long).len() < 200);
    }

    #[test]
    fn what_clients_say_to_every_server_is_small_talk() {
        for text in [
            "SET NAMES utf8mb4",
            "select @@version_comment limit 1",
            "SHOW WARNINGS",
            "show session status",
            "BEGIN",
        ] {
            assert_eq!(parsed(text), Statement::SmallTalk, "{text}");
        }
    }
}

//! Statements that clients send to every server: its name and version, its variables, SET, BEGIN. The console has no
//! session state, so a SET is accepted and has no effect.

use super::console_session::Visit;
use super::cursor::Cursor;
use super::filter::Filter;
use super::login::SERVER_VERSION;
use super::table::{Answer, Code, Kind, Refusal, Table, Value};
use crate::sql::TokenKind;

/// The most expressions in one SELECT.
const MOST_EXPRESSIONS: usize = 64;

/// System variables that clients ask for, and what the console is in their terms.
const VARIABLES: [(&str, &str); 30] = [
    ("auto_increment_increment", "1"),
    ("autocommit", "1"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("init_connect", ""),
    ("interactive_timeout", "3600"),
    ("license", "MIT OR Apache-2.0"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "65536"),
    ("net_buffer_length", "16384"),
    ("net_write_timeout", "30"),
    ("performance_schema", "0"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("sql_mode", ""),
    ("system_time_zone", "UTC"),
    ("time_zone", "+00:00"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("transaction_read_only", "0"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("tx_read_only", "0"),
    ("version", SERVER_VERSION),
    (
        "version_comment",
        "Countersink console; SHOW HELP lists the statements",
    ),
    ("wait_timeout", "3600"),
];

/// Answers what is no statement of the console's.
pub(super) fn answer(text: &str, visit: &Visit) -> Result<Answer, Refusal> {
    let mut cursor = Cursor::new(text);
    if cursor.accept("SELECT") {
        return select(&mut cursor, text, visit).map(Answer::Rows);
    }
    if cursor.accept("SHOW") {
        return show(&mut cursor, visit).map(Answer::Rows);
    }
    // SET, BEGIN and the like.
    Ok(Answer::Done)
}

/// One row of expressions.
fn select(cursor: &mut Cursor<'_>, text: &str, visit: &Visit) -> Result<Table, Refusal> {
    let mut table = Table::default();
    let mut row = Vec::new();
    while row.len() < MOST_EXPRESSIONS {
        let expression = Expression::parse(cursor, text);
        let value = expression.value(visit)?;
        let kind = match value {
            Value::Integer(_) => Kind::Integer,
            _ => Kind::Text,
        };
        table.columns.push((expression.name, kind));
        row.push(value);
        if !cursor.accept(",") {
            break;
        }
    }
    cursor.accept_all(&["FROM", "DUAL"]);
    if cursor.accept("LIMIT") {
        cursor.value();
    }
    match cursor.is_at_end() {
        true => table.rows.push(row),
        false => return Err(no_query()),
    }
    Ok(table)
}

fn no_query() -> Refusal {
    let why = "the console answers no queries; SHOW HELP lists the statements that it has";
    Refusal::new(Code::Syntax, why)
}

/// One expression of a SELECT.
struct Expression {
    /// What heads its column: its alias, or it as it was written.
    name: String,
    /// Its tokens in lower case, without the space between them.
    written: String,
    /// Its one token, if it is a constant.
    constant: Option<Value>,
}

impl Expression {
    fn parse(cursor: &mut Cursor<'_>, text: &str) -> Self {
        let start = cursor.position().unwrap_or(text.len());
        let mut end = start;
        let mut written = String::new();
        let mut constant = None;
        let (mut depth, mut tokens) = (0_usize, 0_usize);
        while let Some((kind, token)) = cursor.peek() {
            let is_word = |word: &str| kind == TokenKind::Word && token.eq_ignore_ascii_case(word);
            let ends = token == "," || is_word("AS") || is_word("FROM") || is_word("LIMIT");
            if depth == 0 && ends {
                break;
            }
            match token {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            end = cursor.position().unwrap_or(end) + token.len();
            written.push_str(&token.to_lowercase());
            if tokens == 0 {
                constant = cursor
                    .peek_value()
                    .map(|value| match (kind, value.parse()) {
                        (TokenKind::Number, Ok(number)) => Value::Integer(number),
                        _ => Value::Text(value),
                    });
            }
            cursor.next();
            tokens += 1;
        }
        let name = match cursor.accept("AS") {
            true => cursor.name().or_else(|| cursor.value()),
            false => None,
        };
        let name = name.or_else(|| text.get(start..end).map(str::to_owned));
        Self {
            name: name.unwrap_or_default(),
            constant: constant.filter(|_| tokens == 1),
            written,
        }
    }

    fn value(&self, visit: &Visit) -> Result<Value, Refusal> {
        if let Some(variable) = self.written.strip_prefix("@@") {
            return variable_of(variable, &self.name);
        }
        // A user variable: nothing has been set.
        if self.written.starts_with('@') {
            return Ok(Value::Null);
        }
        Ok(match self.written.as_str() {
            "database()" | "schema()" => visit.schema().into(),
            "user()" | "current_user()" | "current_user" | "session_user()" | "system_user()" => {
                format!("{}@{}", visit.user, visit.client.ip()).into()
            }
            "version()" => SERVER_VERSION.into(),
            "connection_id()" => u64::from(visit.id).into(),
            "row_count()" | "last_insert_id()" | "found_rows()" => Value::Integer(0),
            _ => self.constant.clone().ok_or_else(no_query)?,
        })
    }
}

fn variable_of(written: &str, name: &str) -> Result<Value, Refusal> {
    let bare = ["session.", "global.", "local."]
        .iter()
        .find_map(|scope| written.strip_prefix(scope))
        .unwrap_or(written)
        .trim_matches('`');
    let found = VARIABLES.iter().find(|(variable, _)| *variable == bare);
    match (found, bare) {
        (Some((_, value)), _) => Ok(match value.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => (*value).into(),
        }),
        // A unix socket, which drivers would take instead.
        (None, "socket") => Ok(Value::Null),
        (None, _) => {
            let name: String = name.chars().take(64).collect();
            let message = format!("Unknown system variable '{name}': the console has few of them");
            Err(Refusal::new(Code::UnknownVariable, message))
        }
    }
}

/// What clients ask every server to show: their own states, and names to complete.
fn show(cursor: &mut Cursor<'_>, visit: &Visit) -> Result<Table, Refusal> {
    cursor.accept_any(&["SESSION", "GLOBAL"]);
    cursor.accept("FULL");
    let hot = visit.desk.shared.hot();
    let tables = hot.tables().map(|(table, _)| table);
    let row = |text: &str| vec![Value::from(text)];
    if cursor.accept_any(&["WARNINGS", "ERRORS"]) {
        let table = Table::of_texts(&["Level", "Code", "Message"], Vec::new());
        // LIMIT and the like change nothing of nothing.
        return Ok(table);
    }
    let table = if cursor.accept_any(&["DATABASES", "SCHEMAS"]) {
        let mut schemas: Vec<_> = tables.map(|table| table.schema.as_str()).collect();
        schemas.sort_unstable();
        schemas.dedup();
        Table::of_texts(&["Database"], schemas.into_iter().map(row).collect())
    } else if cursor.accept("TABLES") {
        let schema = match cursor.accept_any(&["FROM", "IN"]) {
            true => cursor.name(),
            false => visit.schema(),
        };
        let schema = schema.unwrap_or_default();
        let tables = tables.filter(|table| table.schema == schema);
        let heading = format!("Tables_in_{schema}");
        Table::of_texts(&[&heading], tables.map(|table| row(&table.name)).collect())
    } else if cursor.accept("VARIABLES") {
        let rows = VARIABLES
            .iter()
            .map(|(name, value)| vec![(*name).into(), (*value).into()]);
        Table::of_texts(&["Variable_name", "Value"], rows.collect())
    } else if cursor.accept("STATUS") {
        let uptime = visit.desk.started.elapsed().as_secs().to_string();
        let rows = [("Ssl_cipher", String::new()), ("Uptime", uptime)];
        let rows = rows.map(|(name, value)| vec![name.into(), value.into()]);
        Table::of_texts(&["Variable_name", "Value"], rows.to_vec())
    } else {
        return Err(no_query());
    };
    Filter::parse(cursor)?.apply(table)
}

//! The files of sessions.
//!
//! ```text
//! # A comment.
//! == name of the session [mysql] [fresh] [text]
//! UPDATE posts SET views = views + 1
//!  WHERE id = 1;
//! UPDATE posts SET views = views + ? WHERE id = ?; <- 2, '1'
//! [masked] SELECT CONNECTION_ID();
//! \ping
//! ```
//!
//! A statement ends with a semicolon at the end of a line, or with one that parameters follow; a second semicolon
//! there is the statement's own. `{schema}` is the schema, `{x:100}` a hundred times x. In front of a session's name's
//! end: `[mysql]` or `[mariadb]` restricts it to a family, `[text]` or `[prepared]` to a protocol, `[fresh]` makes
//! schema and proxy anew afterwards, `[slow]` says that it takes seconds (as a fresh one does). In front of a
//! statement: `[mysql]` and `[mariadb]` as well, `[masked]` says that its rows differ by nature, `[direct]` that it is
//! sent as text in every protocol, `[cursorless]` that it never has a cursor.

use std::collections::{HashMap, HashSet};
use std::fmt;

use countersink_sandbox::Flavour;

use crate::command::Command;
use crate::variant::{Protocol, Variant};

/// A session: steps on one or more connections.
pub struct Session {
    pub name: String,
    pub fresh: bool,
    slow: bool,
    pub steps: Vec<Step>,
    flavour: Option<Flavour>,
    text_only: bool,
    prepared_only: bool,
}

/// What is done.
pub struct Step {
    pub flavour: Option<Flavour>,
    pub action: Action,
}

/// A statement in the variant's protocol, or a command of its own.
pub enum Action {
    Statement(Statement),
    Command(Command),
}

/// A statement, with parameters for its placeholders.
pub struct Statement {
    pub text: String,
    pub parameters: Vec<Value>,
    /// The values of the rows differ by nature.
    pub masked: bool,
    /// Sent as text in every protocol.
    pub direct: bool,
    /// Executed without a cursor in every protocol.
    pub cursorless: bool,
}

/// A parameter.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Tiny(i8),
    Long(i32),
    LongLong(i64),
    Unsigned(u64),
    Double(f64),
    Decimal(String),
    Text(String),
    /// A year, a month and a day, as DATE.
    Date(String),
    /// A date and a time of day to the second, as DATETIME.
    Moment(String),
    /// Came by COM_STMT_SEND_LONG_DATA; the packet has its type alone.
    LongData,
    /// In bulk: the column's default value.
    Default,
    /// In bulk: the column stays as it is.
    Ignore,
}

impl Session {
    /// Made rather than read from a file.
    pub fn of(name: &str, steps: Vec<Step>) -> Self {
        Self {
            name: name.to_owned(),
            fresh: false,
            slow: false,
            steps,
            flavour: None,
            text_only: false,
            prepared_only: false,
        }
    }

    pub fn is_for(&self, flavour: Flavour) -> bool {
        self.flavour.is_none_or(|only| only == flavour)
    }

    /// Whether it inserts into a table with AUTO_INCREMENT.
    pub fn takes_ids(&self) -> bool {
        let inserts = |text: &str| text.contains("INTO articles") || text.contains("INTO comments");
        self.steps.iter().any(|step| match &step.action {
            Action::Statement(statement) => inserts(&statement.text),
            Action::Command(Command::Prepare(_, text)) => inserts(text),
            Action::Command(_) => false,
        })
    }

    /// The first statement that writes the time of day, which differs between the two sides: it writes the table that
    /// has a column with ON UPDATE CURRENT_TIMESTAMP, on a connection that has not set its `timestamp`.
    pub fn untimed(&self) -> Option<&str> {
        let writes =
            |text: &str| text.contains("UPDATE articles") || text.contains("INTO articles");
        let (mut connection, mut prepared, mut timed) = ("a", HashMap::new(), HashSet::new());
        for step in &self.steps {
            let text = match &step.action {
                Action::Command(Command::Connection(name)) => {
                    connection = name;
                    continue;
                }
                Action::Command(Command::Prepare(name, text)) => {
                    prepared.insert((connection, name), text);
                    continue;
                }
                Action::Command(Command::Execute { name, .. } | Command::Bulk { name, .. }) => {
                    prepared.get(&(connection, name)).copied()
                }
                Action::Command(_) => None,
                Action::Statement(statement) => Some(&statement.text),
            };
            match text {
                Some(text) if text.starts_with("SET timestamp = 1") => {
                    timed.insert(connection);
                }
                Some(text) if writes(text) && !timed.contains(connection) => return Some(text),
                _ => {}
            }
        }
        None
    }

    /// Whether it locks all tables of the server, or would not wait for another session that does: MariaDB's NOWAIT is
    /// answered by 1205 there.
    pub fn takes_turns(&self) -> bool {
        self.steps.iter().any(|step| match &step.action {
            Action::Statement(Statement { text, .. }) => {
                text.contains("FLUSH TABLES WITH READ LOCK") || text.contains("NOWAIT")
            }
            Action::Command(_) => false,
        })
    }

    /// Whether each variant of it takes seconds.
    pub fn is_slow(&self) -> bool {
        self.slow || self.fresh
    }

    pub fn wants(&self, variant: &Variant) -> bool {
        match variant.protocol {
            Protocol::Text => !self.prepared_only,
            Protocol::Binary | Protocol::Cursor => !self.text_only,
        }
    }
}

/// As it stands in a file of cases.
impl fmt::Display for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "== {}", self.name)?;
        for step in &self.steps {
            match &step.action {
                Action::Command(command) => writeln!(formatter, "\\{command}")?,
                Action::Statement(statement) => {
                    let flag = if statement.direct { "[direct] " } else { "" };
                    write!(formatter, "{flag}{};", statement.text)?;
                    if !statement.parameters.is_empty() {
                        write!(formatter, " <- {}", list(&statement.parameters))?;
                    }
                    writeln!(formatter)?;
                }
            }
        }
        Ok(())
    }
}

/// Parameters, as a file of cases has them.
pub fn list(values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(Value::to_string).collect();
    values.join(", ")
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tiny(number) => write!(formatter, "{number}t"),
            Self::Long(number) => write!(formatter, "{number}l"),
            Self::Unsigned(number) => write!(formatter, "{number}u"),
            Self::LongData => formatter.write_str("LONG_DATA"),
            Self::Ignore => formatter.write_str("IGNORE"),
            other => formatter.write_str(&other.literal()),
        }
    }
}

impl Step {
    pub fn is_for(&self, flavour: Flavour) -> bool {
        self.flavour.is_none_or(|only| only == flavour)
    }
}

/// Reads a file.
pub fn parse(topic: &str, text: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut statement = String::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{topic}.sql:{}", index + 1);
        if let Some(title) = line.strip_prefix("== ") {
            assert!(
                statement.is_empty(),
                "{place}: the statement before has no end"
            );
            sessions.push(session(title));
            continue;
        }
        let is_comment = line.starts_with('#') || line.starts_with("-- ");
        if statement.is_empty() && (line.trim().is_empty() || is_comment) {
            continue;
        }
        if sessions.is_empty() {
            // An ordinary file of SQL.
            sessions.push(session(topic));
        }
        let steps = &mut sessions.last_mut().expect("there is one").steps;
        let (flags, rest) = match statement.is_empty() {
            true => flags(line),
            false => (Vec::new(), line),
        };
        if let Some(command) = rest.strip_prefix('\\').filter(|_| statement.is_empty()) {
            let command = Command::parse(command).unwrap_or_else(|| panic!("{place}: {line}"));
            steps.push(Step {
                flavour: flavour(&flags),
                action: Action::Command(command),
            });
            continue;
        }
        statement.push_str(line);
        if let Some((text, parameters)) = ended(&statement) {
            let (flags, text) = self::flags(text);
            steps.push(Step {
                flavour: flavour(&flags),
                action: Action::Statement(Statement {
                    text: text.to_owned(),
                    parameters: values(parameters)
                        .unwrap_or_else(|| panic!("{place}: {parameters}")),
                    masked: flags.contains(&"masked"),
                    direct: flags.contains(&"direct"),
                    cursorless: flags.contains(&"cursorless"),
                }),
            });
            statement.clear();
        } else {
            statement.push('\n');
        }
    }
    assert!(
        statement.is_empty(),
        "{topic}.sql: the last statement has no end"
    );
    sessions
}

fn session(title: &str) -> Session {
    let (name, rest) = title.split_once('[').unwrap_or((title, ""));
    let flags: Vec<_> = rest
        .split(['[', ']'])
        .map(str::trim)
        .filter(|flag| !flag.is_empty())
        .collect();
    let known = ["mysql", "mariadb", "text", "prepared", "fresh", "slow"];
    assert!(flags.iter().all(|flag| known.contains(flag)), "{title}");
    Session {
        name: name.trim().to_owned(),
        fresh: flags.contains(&"fresh"),
        slow: flags.contains(&"slow"),
        steps: Vec::new(),
        flavour: flavour(&flags),
        text_only: flags.contains(&"text"),
        prepared_only: flags.contains(&"prepared"),
    }
}

/// The flags in front of a statement or command.
fn flags(line: &str) -> (Vec<&str>, &str) {
    let mut flags = Vec::new();
    let mut rest = line;
    while let Some((flag, after)) = rest
        .strip_prefix('[')
        .and_then(|inside| inside.split_once("] "))
    {
        flags.push(flag);
        rest = after;
    }
    (flags, rest)
}

fn flavour(flags: &[&str]) -> Option<Flavour> {
    match (flags.contains(&"mysql"), flags.contains(&"mariadb")) {
        (true, false) => Some(Flavour::MySql),
        (false, true) => Some(Flavour::MariaDb),
        _ => None,
    }
}

/// Statement and parameters, when the text is complete.
fn ended(text: &str) -> Option<(&str, &str)> {
    if let Some((statement, parameters)) = text.rsplit_once("; <-") {
        return Some((statement, parameters));
    }
    text.trim_end()
        .strip_suffix(';')
        .map(|statement| (statement, ""))
}

/// What a text in quotes is.
type Quoted = fn(String) -> Value;

/// Parameters, parted by commas.
pub fn values(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let quoted: [(&str, Quoted); 3] = [
            ("'", Value::Text),
            ("DATE'", Value::Date),
            ("TIMESTAMP'", Value::Moment),
        ];
        let mut quoted = quoted.iter();
        let begun = quoted.find_map(|(begin, of)| Some((rest.strip_prefix(begin)?, of)));
        let (value, after) = match begun {
            Some((inside, of)) => {
                let (string, after) = inside.split_once('\'')?;
                (of(string.to_owned()), after)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (number(rest[..end].trim())?, &rest[end..])
            }
        };
        values.push(value);
        rest = after.trim_start().strip_prefix(',').unwrap_or(after).trim();
    }
    Some(values)
}

/// `NULL`, `LONG_DATA`, `DEFAULT`, `IGNORE`, `1`, `1t` (TINYINT), `1l` (INT), `1u` (unsigned BIGINT), `1.5` (DECIMAL),
/// `1.5e0` (DOUBLE).
fn number(word: &str) -> Option<Value> {
    let digits = &word[..word.len().checked_sub(1)?];
    Some(match word {
        "NULL" => Value::Null,
        "LONG_DATA" => Value::LongData,
        "DEFAULT" => Value::Default,
        "IGNORE" => Value::Ignore,
        _ if word.ends_with('t') => Value::Tiny(digits.parse().ok()?),
        _ if word.ends_with('l') => Value::Long(digits.parse().ok()?),
        _ if word.ends_with('u') => Value::Unsigned(digits.parse().ok()?),
        _ if word.contains('e') => Value::Double(word.parse().ok()?),
        _ if word.contains('.') => Value::Decimal(word.to_owned()),
        _ => Value::LongLong(word.parse().ok()?),
    })
}

impl Statement {
    /// The text with its parameters as literals.
    pub fn with_literals(&self) -> String {
        let mut parts = self.text.split('?');
        if self.parameters.is_empty() {
            return self.text.clone();
        }
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (part, value) in parts.zip(&self.parameters) {
            text.push_str(&value.literal());
            text.push_str(part);
        }
        text
    }
}

impl Value {
    /// As SQL.
    pub fn literal(&self) -> String {
        match self {
            Self::Null | Self::LongData | Self::Ignore => "NULL".to_owned(),
            Self::Default => "DEFAULT".to_owned(),
            Self::Tiny(number) => number.to_string(),
            Self::Long(number) => number.to_string(),
            Self::LongLong(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Double(number) => format!("{number:e}"),
            Self::Decimal(digits) => digits.clone(),
            Self::Text(text) => format!("'{text}'"),
            Self::Date(date) => format!("DATE'{date}'"),
            Self::Moment(moment) => format!("TIMESTAMP'{moment}'"),
        }
    }
}

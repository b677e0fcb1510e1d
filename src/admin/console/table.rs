//! What the console answers: tables of typed columns, and words.

/// A column of a report, as docs/admin.md has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it means, in a few words.
    pub(super) about: &'static str,
}

/// What the values of a column are; each may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Not negative.
    Integer,
    /// A time, to the millisecond.
    Seconds,
}

impl Kind {
    /// As docs/admin.md calls it.
    #[cfg(test)]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Seconds => "seconds",
        }
    }
}

/// A column of text.
pub(super) const fn text(name: &'static str, about: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Text,
        about,
    }
}

/// A column of whole numbers.
pub(super) const fn integer(name: &'static str, about: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Integer,
        about,
    }
}

/// A column of times in seconds.
pub(super) const fn seconds(name: &'static str, about: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Seconds,
        about,
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Text(String),
    Integer(u64),
    /// In seconds.
    Seconds(f64),
}

impl Value {
    /// As a client sees it.
    pub(super) fn shown(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Seconds(seconds) => Some(seconds.to_string()),
        }
    }

    /// Yes or no, as MySQL says it.
    pub(super) fn truth(is_so: bool) -> Self {
        Self::Integer(u64::from(is_so))
    }

    /// How many.
    pub(super) fn count(count: usize) -> Self {
        Self::Integer(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Integer(u64::from(number))
    }
}

impl From<std::time::Duration> for Value {
    fn from(duration: std::time::Duration) -> Self {
        Self::Seconds((duration.as_secs_f64() * 1000.0).round() / 1000.0)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Rows under their headings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<(String, Kind)>,
    pub(super) rows: Vec<Vec<Value>>,
}

impl Table {
    /// Rows of a report.
    pub(super) fn of(columns: &[Column], rows: Vec<Vec<Value>>) -> Self {
        let columns = columns
            .iter()
            .map(|column| (column.name.to_owned(), column.kind));
        Self {
            columns: columns.collect(),
            rows,
        }
    }

    /// Rows of text that clients ask a server for.
    pub(super) fn of_texts(columns: &[&str], rows: Vec<Vec<Value>>) -> Self {
        let columns = columns.iter().map(|name| ((*name).to_owned(), Kind::Text));
        Self {
            columns: columns.collect(),
            rows,
        }
    }
}

/// What a statement is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Rows(Table),
    /// OK.
    Done,
}

/// What a statement is refused with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) message: String,
}

/// The server error that says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// ER_PARSE_ERROR
    Syntax,
    /// ER_NO_SUCH_THREAD
    NoSuchThread,
    /// ER_UNKNOWN_ERROR
    Failed,
    /// ER_NO_SUCH_TABLE
    NoSuchTable,
    /// ER_UNKNOWN_SYSTEM_VARIABLE
    UnknownVariable,
}

impl Refusal {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

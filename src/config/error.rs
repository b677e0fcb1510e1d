//! What can be wrong with rules.yaml, and where.

use std::fmt;

/// A place in rules.yaml.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The rule: its position and the table it names (empty when it names none).
    pub rule: Option<(usize, String)>,
    /// The field, dotted (`control.user`).
    pub field: Option<String>,
    /// The line, from 1; 0 when it is not known.
    pub line: u64,
}

impl Place {
    /// The field `name` outside the rules.
    pub fn field(name: &str) -> Self {
        Self {
            field: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// The same place, on `line`.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for Place {
    /// The text before the problem: `counters[0] (shop.posts): columns: `.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some((index, table)) if table.is_empty() => write!(formatter, "counters[{index}]: ")?,
            Some((index, table)) => write!(formatter, "counters[{index}] ({table}): ")?,
            None => {}
        }
        match &self.field {
            Some(field) => write!(formatter, "{field}: "),
            None => Ok(()),
        }
    }
}

/// What is wrong with rules.yaml.
#[derive(Debug, thiserror::Error)]
#[error("{place}{problem}{}", line_suffix(place.line))]
pub struct Error {
    /// Where.
    pub place: Box<Place>,
    /// What, with the remedy.
    pub problem: Problem,
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self {
            place: Box::default(),
            problem,
        }
    }
}

/// ` (line 7)`, or nothing when the line is not known.
pub(crate) fn line_suffix(line: u64) -> String {
    match line {
        0 => String::new(),
        line => format!(" (line {line})"),
    }
}

/// What is wrong, with the remedy. Values are shown as the file writes them, never as the environment fills them in.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {source}; name the rules file with --rules")]
    Unreadable {
        /// Why.
        source: std::io::Error,
    },
    /// Not the YAML that is expected.
    #[error("{message}")]
    Yaml {
        /// The YAML crate's words.
        message: String,
    },
    /// A required field is not there.
    #[error("is missing; {remedy}")]
    Missing {
        /// What to write.
        remedy: &'static str,
    },
    /// An empty text where there must be one.
    #[error("is empty; {remedy}")]
    Empty {
        /// What to write.
        remedy: &'static str,
    },
    /// `${NAME}` names a variable that is not set.
    #[error("the environment variable {name} is not set; set it, or write ${{{name}:-default}}")]
    Unset {
        /// The variable.
        name: String,
    },
    /// `${` without an end, or with something else than a name in it.
    #[error(
        "`${{` begins an environment variable, but no name and `}}` follow; write ${{NAME}} or ${{NAME:-default}}, and $$ for a dollar sign"
    )]
    Substitution,
    /// Not an address.
    #[error("{value} is not an address: {why}; write {example}")]
    Address {
        /// As written.
        value: String,
        /// What is wrong with it.
        why: &'static str,
        /// What would be right.
        example: &'static str,
    },
    /// Not a duration.
    #[error("{value} is not a duration; write a whole number with its unit: 500ms, 1s, 2m or 1h")]
    Duration {
        /// As written.
        value: String,
    },
    /// Not a size.
    #[error("{value} is not a size; write a whole number with its unit: 64KiB, 4MiB or 1GiB")]
    Size {
        /// As written.
        value: String,
    },
    /// A size outside its range.
    #[error("{value} is too {which}; choose a size from {low} to {high}")]
    SizeRange {
        /// As written.
        value: String,
        /// `small` or `large`.
        which: &'static str,
        /// Smallest.
        low: &'static str,
        /// Largest.
        high: &'static str,
    },
    /// A duration outside its range.
    #[error("{value} is too {which}; choose a duration from {low} to {high}")]
    DurationRange {
        /// As written.
        value: String,
        /// `short` or `long`.
        which: &'static str,
        /// Smallest.
        low: &'static str,
        /// Largest.
        high: &'static str,
    },
    /// Not a number in its range.
    #[error("{value} is not a whole number from {low} to {high}; {remedy}")]
    Number {
        /// As written.
        value: String,
        /// Smallest.
        low: u32,
        /// Largest.
        high: u32,
        /// What to write.
        remedy: &'static str,
    },
    /// Not one of the words that are allowed here.
    #[error("{value} is not known here; write {choices}")]
    Choice {
        /// As written.
        value: String,
        /// The words.
        choices: &'static str,
    },
    /// Not `schema.table`.
    #[error(
        "{value} does not name a table with its schema; write schema.table (quote a name that has a dot in it: `my.schema`.`table`)"
    )]
    TableName {
        /// As written.
        value: String,
    },
    /// A name that no MySQL object can have.
    #[error(
        "{value} cannot be a name in MySQL; a name has 1 to 64 characters and does not end with a space"
    )]
    Name {
        /// As written.
        value: String,
    },
    /// A table of the server itself.
    #[error("{schema} belongs to the server itself; only tables of your own schemas can be hot")]
    SystemSchema {
        /// The schema.
        schema: String,
    },
    /// Two rules for one table.
    #[error(
        "counters[{first}] is a rule for the same table; put the columns of both into one rule"
    )]
    DuplicateRule {
        /// The earlier rule.
        first: usize,
    },
    /// The same column twice.
    #[error("{value} is named twice; delete one of them")]
    DuplicateColumn {
        /// As written.
        value: String,
    },
    /// A counter as touch column.
    #[error("{value} is also one of the columns; a column either counts or is touched")]
    TouchIsCounter {
        /// As written.
        value: String,
    },
    /// Hand-written slots of two rules.
    #[error(
        "counters[{first}] adopts the same slots; give each rule the record_type of its own rows"
    )]
    AdoptedTwice {
        /// The earlier rule.
        first: usize,
    },
    /// A pattern that names all slot tables alike.
    #[error(
        "{value} would give every slot table the same name; put {{table}} into it, as in {{table}}_slots"
    )]
    Pattern {
        /// As written.
        value: String,
    },
    /// A pattern with braces that mean nothing.
    #[error(
        "{value} has a brace that belongs neither to {{table}} nor to {{schema}}; these two may stand in the name"
    )]
    PatternBrace {
        /// As written.
        value: String,
    },
    /// A slot table's name is too long.
    #[error(
        "the name of the slot table, {name}, is longer than 64 characters; choose a shorter one with slot_table in this rule"
    )]
    SlotTableLong {
        /// The name.
        name: String,
    },
    /// The slot table would be a hot table, or the slot table of another.
    #[error("the slot table {name} is also {other}; give this rule a slot_table of its own")]
    SlotTableTaken {
        /// The slot table.
        name: String,
        /// What has this name already.
        other: String,
    },
    /// Two settings that exclude each other, or need each other.
    #[error("{0}")]
    Together(&'static str),
    /// Neither a network nor an address.
    #[error("{value} is no network; write it as 10.0.0.0/8, or one address as 10.0.0.7")]
    Network {
        /// As the file has it.
        value: String,
    },
    /// A file named here cannot be used.
    #[error("{path} {why}; {remedy}")]
    File {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
}

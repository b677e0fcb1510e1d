//! Commands that a session gives beside its statements: lines with a backslash.

use std::fmt;

use crate::case::{Value, list, values};

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    /// `\connection b`: what follows goes to that connection, which is made if need be.
    Connection(String),
    /// `\ping`, `\statistics`, `\reset`, `\empty`, `\init_db name`, `\field_list table wildcard`, `\set_option 0`,
    /// `\process_kill 1`, `\raw 0e ff`: a payload, and the name to show.
    Packet(String, Vec<u8>),
    /// `\prepare a: text`.
    Prepare(String, String),
    /// `\execute a [cursor] [again] [<- parameters]`; `again` sends no types.
    Execute {
        name: String,
        cursor: bool,
        again: bool,
        parameters: Vec<Value>,
    },
    /// `\bulk a [again] [<- parameters; parameters ..]`: COM_STMT_BULK_EXECUTE; `again` sends no types. `DEFAULT` and
    /// `IGNORE` are parameters too.
    Bulk {
        name: String,
        again: bool,
        rows: Vec<Vec<Value>>,
    },
    /// `\fetch a 2`.
    Fetch(String, u32),
    /// `\long_data a 0 text`.
    LongData(String, u16, String),
    /// `\reset_statement a`.
    ResetStatement(String),
    /// `\close a`.
    Close(String),
    /// `\pipeline` .. `\end`: the statements between are sent as text, all in one write.
    Pipeline,
    /// The end of a pipeline.
    End,
    /// `\at_once 4 3: text [|| text ..]`: so many connections of their own, in autocommit mode, send one of the texts
    /// each, by turns, so often, all at the same time. Their answers are compared whoever of them got which.
    AtOnce {
        connections: usize,
        times: usize,
        texts: Vec<String>,
    },
    /// `\infile text`: the file to send when the server asks for one; `\n` ends its lines.
    Infile(Vec<u8>),
    /// `\roll_up`: the proxy rolls up every slot table now. Does nothing on the plain side.
    RollUp,
    /// `\quit`.
    Quit,
}

impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(name) => write!(formatter, "connection {name}"),
            Self::Packet(line, _) => formatter.write_str(line),
            Self::Prepare(name, text) => write!(formatter, "prepare {name}: {text}"),
            Self::Execute {
                name,
                cursor,
                again,
                parameters,
            } => {
                write!(formatter, "execute {name}")?;
                formatter.write_str(if *cursor { " cursor" } else { "" })?;
                formatter.write_str(if *again { " again" } else { "" })?;
                match parameters.as_slice() {
                    [] => Ok(()),
                    some => write!(formatter, " <- {}", list(some)),
                }
            }
            Self::Bulk { name, again, rows } => {
                write!(formatter, "bulk {name}")?;
                formatter.write_str(if *again { " again" } else { "" })?;
                let rows: Vec<_> = rows.iter().map(|row| list(row)).collect();
                write!(formatter, " <- {}", rows.join("; "))
            }
            Self::Fetch(name, rows) => write!(formatter, "fetch {name} {rows}"),
            Self::LongData(name, position, text) => {
                write!(formatter, "long_data {name} {position} {text}")
            }
            Self::ResetStatement(name) => write!(formatter, "reset_statement {name}"),
            Self::Close(name) => write!(formatter, "close {name}"),
            Self::Pipeline => formatter.write_str("pipeline"),
            Self::End => formatter.write_str("end"),
            Self::AtOnce {
                connections,
                times,
                texts,
            } => {
                let texts = texts.join(" || ");
                write!(formatter, "at_once {connections} {times}: {texts}")
            }
            Self::Infile(file) => {
                let file = String::from_utf8_lossy(file).replace('\n', "\\n");
                write!(formatter, "infile {file}")
            }
            Self::RollUp => formatter.write_str("roll_up"),
            Self::Quit => formatter.write_str("quit"),
        }
    }
}

impl Command {
    /// Reads what stands behind the backslash.
    pub fn parse(line: &str) -> Option<Self> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let packet = |command_byte: u8, tail: &[u8]| {
            let payload = [&[command_byte], tail].concat();
            Some(Self::Packet(line.to_owned(), payload))
        };
        let name = rest.to_owned();
        match verb {
            "connection" => Some(Self::Connection(name)),
            "ping" => packet(0x0E, b""),
            "statistics" => packet(0x09, b""),
            "reset" => packet(0x1F, b""),
            "empty" => Some(Self::Packet(line.to_owned(), Vec::new())),
            "init_db" => packet(0x02, rest.as_bytes()),
            "field_list" => {
                let (table, wildcard) = rest.split_once(' ').unwrap_or((rest, ""));
                packet(0x04, format!("{table}\0{wildcard}").as_bytes())
            }
            "set_option" => packet(0x1B, &rest.parse::<u16>().ok()?.to_le_bytes()),
            "process_kill" => packet(0x0C, &rest.parse::<u32>().ok()?.to_le_bytes()),
            "raw" => {
                let bytes = rest.split(' ').map(|hex| u8::from_str_radix(hex, 16).ok());
                Some(Self::Packet(line.to_owned(), bytes.collect::<Option<_>>()?))
            }
            "prepare" => {
                let (name, text) = rest.split_once(": ")?;
                Some(Self::Prepare(name.to_owned(), text.to_owned()))
            }
            "execute" => {
                let (words, parameters) = rest.split_once("<-").unwrap_or((rest, ""));
                let mut words = words.split_whitespace();
                let name = words.next()?.to_owned();
                let words: Vec<_> = words.collect();
                Some(Self::Execute {
                    name,
                    cursor: words.contains(&"cursor"),
                    again: words.contains(&"again"),
                    parameters: values(parameters)?,
                })
            }
            "bulk" => {
                let (words, rows) = rest.split_once("<-").unwrap_or((rest, ""));
                let (name, again) = words.trim().split_once(' ').unwrap_or((words.trim(), ""));
                Some(Self::Bulk {
                    name: name.to_owned(),
                    again: again.trim() == "again",
                    rows: rows.split(';').map(values).collect::<Option<_>>()?,
                })
            }
            "fetch" => {
                let (name, rows) = rest.split_once(' ')?;
                Some(Self::Fetch(name.to_owned(), rows.parse().ok()?))
            }
            "long_data" => {
                let mut words = rest.splitn(3, ' ');
                let (name, position) = (words.next()?, words.next()?.parse().ok()?);
                Some(Self::LongData(
                    name.to_owned(),
                    position,
                    words.next()?.to_owned(),
                ))
            }
            "reset_statement" => Some(Self::ResetStatement(name)),
            "close" => Some(Self::Close(name)),
            "pipeline" => Some(Self::Pipeline),
            "end" => Some(Self::End),
            "at_once" => {
                let (numbers, texts) = rest.split_once(": ")?;
                let (connections, times) = numbers.split_once(' ')?;
                Some(Self::AtOnce {
                    connections: connections.parse().ok()?,
                    times: times.parse().ok()?,
                    texts: texts.split(" || ").map(str::to_owned).collect(),
                })
            }
            "infile" => Some(Self::Infile(rest.replace("\\n", "\n").into_bytes())),
            "roll_up" => Some(Self::RollUp),
            "quit" => Some(Self::Quit),
            _ => None,
        }
    }
}

//! Files of captured responses, `tests/cases/responses/*.txt`: how to obtain them, their packets, and what the tracker
//! reports.
//!
//! A file begins with comments that say what it is about. Lines with a key and a value follow, in the order in which
//! `tests/proxy/golden/responses.rs` processes them:
//!
//! | key | value |
//! |---|---|
//! | `on` | the only server that is asked, `MySQL` or `MariaDB` |
//! | `with` | a further capability that the client has |
//! | `query` | a statement that is run first |
//! | `prepare` | a statement that is prepared first; `{id}` stands for its id from then on |
//! | `send` | the payload of a command that is sent first |
//! | `command` | the payload of the command whose response is captured |
//! | `file` | the content of the local file that the server asks for |
//!
//! Then the responses follow. Each begins with a heading that names the server and the sets of capabilities under which
//! its response is the same. A line for each packet has its sequence id, kind and payload. A last line has what the
//! tracker knows at the end. Bytes outside ASCII are escaped as in Rust.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::wire::capability;
use crate::wire::packet::Header;
use crate::wire::response::ResponseKind;

use super::replay::{Told, told_whole};

/// The capabilities that vary between responses, by name.
const CAPABILITIES: [(&str, u64); 5] = [
    ("DEPRECATE_EOF", capability::DEPRECATE_EOF),
    ("SESSION_TRACK", capability::SESSION_TRACK),
    ("MARIADB_PROGRESS", capability::MARIADB_PROGRESS),
    ("MARIADB_STMT_BULK", capability::MARIADB_STMT_BULK),
    (
        "OPTIONAL_RESULTSET_METADATA",
        capability::OPTIONAL_RESULTSET_METADATA,
    ),
];

/// Stands for an empty set of capabilities.
const NONE: &str = "none";

/// One file.
#[derive(Debug)]
pub struct Case {
    /// Its path.
    pub path: PathBuf,
    /// Comments and keys, line by line.
    head: Vec<String>,
    /// The responses, one for each server and set of capabilities.
    pub responses: Vec<Response>,
}

/// The response of one server.
#[derive(Debug)]
pub struct Response {
    /// The server and its version.
    pub server: String,
    /// The sets of [`CAPABILITIES`] under which clients get this response.
    pub capabilities: Vec<u64>,
    /// Sequence id and payload of each packet.
    pub packets: Vec<(u8, Vec<u8>)>,
    /// The packets and the summary, as the file has them.
    pub expected: String,
}

/// The files of this package, sorted by name.
pub fn cases() -> Vec<Case> {
    cases_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/responses"))
}

/// The files in a folder, sorted by name.
pub fn cases_in(folder: &Path) -> Vec<Case> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths.into_iter().map(Case::read).collect()
}

impl Case {
    fn read(path: PathBuf) -> Self {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut sections = text.split("\n== ");
        let head = sections.next().unwrap_or_default();
        Self {
            head: head.trim().lines().map(str::to_owned).collect(),
            responses: sections.map(Response::parse).collect(),
            path,
        }
    }

    /// The file's name, without its extension.
    pub fn name(&self) -> String {
        let name = self.path.file_stem().unwrap_or_default();
        name.display().to_string()
    }

    /// The keys of the head, with their values.
    pub fn steps(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.iter().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(' '))
    }

    /// The value of a key that occurs at most once.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.steps()
            .find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The payload of the command whose response is captured.
    pub fn command(&self, statement_id: u32) -> Vec<u8> {
        let command = self.value("command").expect("a case has a command");
        payload(command, statement_id)
    }

    /// The kind of the responses.
    pub fn response_kind(&self) -> ResponseKind {
        ResponseKind::of(&self.command(1))
    }

    /// Writes the file, with what the tracker reports of the responses.
    pub fn write(&self) {
        let mut text = self.head.join("\n");
        text.push('\n');
        for response in &self.responses {
            let sets: Vec<_> = response
                .capabilities
                .iter()
                .map(|set| names(*set))
                .collect();
            let described = response.described(self.response_kind(), response.capabilities[0]);
            let (server, sets) = (&response.server, sets.join(" | "));
            write!(text, "\n== {server}: {sets}\n{described}").expect("a String takes all");
        }
        std::fs::write(&self.path, text).expect("cases can be written");
    }
}

impl Response {
    fn parse(section: &str) -> Self {
        let (title, expected) = section.split_once('\n').expect("a heading, and packets");
        let (server, names) = title.split_once(": ").expect("a server, and capabilities");
        let lines = expected.lines().filter(|line| !line.starts_with('='));
        let packets = lines.filter(|line| !line.is_empty()).map(|line| {
            let mut fields = line.splitn(3, ' ');
            let sequence_id = fields.next().and_then(|field| field.parse().ok());
            let payload = unescaped(fields.nth(1).unwrap_or_default());
            (sequence_id.expect("a sequence id"), payload)
        });
        Self {
            server: server.to_owned(),
            capabilities: names.split('|').map(flags).collect(),
            packets: packets.collect(),
            expected: format!("{}\n", expected.trim_end()),
        }
    }

    /// The packets as one stream of bytes.
    pub fn stream(&self) -> Vec<u8> {
        let mut stream = Vec::new();
        for (sequence_id, payload) in &self.packets {
            let header = Header {
                length: payload.len(),
                sequence_id: *sequence_id,
            };
            stream.extend_from_slice(&header.encode());
            stream.extend_from_slice(payload);
        }
        stream
    }

    /// The packets and what the tracker reports of them, as a file should have them.
    pub fn described(&self, response_kind: ResponseKind, capabilities: u64) -> String {
        let stream = self.stream();
        let told = told_whole(response_kind, capabilities, &stream);
        let told = told.unwrap_or_else(|error| panic!("{}: {error}", self.server));
        let mut text = String::new();
        for ((sequence_id, payload), role) in self.packets.iter().zip(&told.roles) {
            let line = format!("{sequence_id} {role:?} {}", escaped(payload));
            writeln!(text, "{}", line.trim_end()).expect("a String takes all");
        }
        let summary = format!("= {}", summary(&told));
        writeln!(text, "{}", summary.trim_end()).expect("a String takes all");
        text
    }
}

/// What the tracker knows at the end of a response.
fn summary(told: &Told) -> String {
    let mut parts = Vec::new();
    parts.extend(told.status.map(|status| format!("status {status:#06x}")));
    parts.extend(told.error.map(|code| format!("error {code}")));
    parts.extend(told.prepared.map(|_| "prepared".to_owned()));
    let flags = [
        (told.is_multi_result, "several results"),
        (told.sends_rows, "rows"),
        (told.is_ended_by_eof, "ended by EOF"),
        (told.has_no_warnings == Some(true), "quiet"),
        (told.has_no_warnings == Some(false), "warnings"),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set);
    parts.extend(flags.map(|(_, name)| (*name).to_owned()));
    parts.extend(told.transaction_state.map(|state| {
        let (_, change) = state.change();
        format!("transaction {}", String::from_utf8_lossy(&change[1..]))
    }));
    parts.join(", ")
}

/// The capabilities with these names, which are separated by spaces.
pub fn flags(names: &str) -> u64 {
    let flag = |name: &str| {
        let found = CAPABILITIES.iter().find(|(known, _)| *known == name);
        found
            .unwrap_or_else(|| panic!("{name} is no capability of a case"))
            .1
    };
    let names = names.split_whitespace().filter(|name| *name != NONE);
    names.map(flag).sum()
}

fn names(flags: u64) -> String {
    let names = CAPABILITIES.iter().filter(|(_, flag)| flags & flag != 0);
    let names: Vec<_> = names.map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => NONE.to_owned(),
        false => names.join(" "),
    }
}

/// Decodes a payload as a case writes it.
pub fn payload(text: &str, statement_id: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    for (index, part) in text.split("{id}").enumerate() {
        if index > 0 {
            payload.extend_from_slice(&statement_id.to_le_bytes());
        }
        payload.extend(unescaped(part));
    }
    payload
}

/// A payload on one line, without a space at its end.
fn escaped(payload: &[u8]) -> String {
    let mut text = payload.escape_ascii().to_string();
    if text.ends_with(' ') {
        text.truncate(text.len() - 1);
        text.push_str("\\x20");
    }
    text
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        let letter = match letter {
            '\\' => match rest.next() {
                Some('t') => '\t',
                Some('r') => '\r',
                Some('n') => '\n',
                Some('x') => {
                    let mut digit = || rest.next()?.to_digit(16);
                    let code = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                    char::from_u32(code.expect("two digits")).expect("a byte")
                }
                other => other.expect("an escape"),
            },
            letter => letter,
        };
        bytes.push(u8::try_from(u32::from(letter)).expect("ASCII, or an escape"));
    }
    bytes
}

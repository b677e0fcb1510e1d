//! tests/cases/orm.yaml: what the libraries were seen to send.

use std::fs;

use countersink::wire::column::field_type;
use serde::{Deserialize, Serialize};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/orm.yaml");

const HEAD: &str = "\
# Increments as libraries sent them through Countersink; written by tests/clients/orm/capture, replayed by `cargo test --test clients orm`.
#
# `code` is what the application says, `statement` what reached the wire; with `parameters` (type and value) it was a
# prepared statement of the binary protocol, else COM_QUERY. `at` is the server's clock then, in seconds since 1970: a
# time in a statement was the present. `plan` is the reason that the proxy counted, `adds` what became of the counters.
";

/// A library, and the table that it was pointed at.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    pub library: String,
    pub version: String,
    pub language: String,
    pub driver: String,
    /// CREATE TABLE, as the library would have it.
    pub table: String,
    pub counters: Vec<String>,
    pub touch: Vec<String>,
    /// What the library tells its sessions of their time zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<String>,
    #[serde(default)]
    pub increments: Vec<Increment>,
}

/// One increment.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Increment {
    pub code: String,
    pub statement: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    pub at: String,
    pub plan: String,
    /// The library read the row again in the same transaction, which folded what was slotted.
    #[serde(
        default,
        skip_serializing_if = "std::ops::Not::not",
        rename = "read_again"
    )]
    pub is_read_again: bool,
    pub adds: String,
}

/// A parameter of a prepared statement.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Field type, as the manual names it.
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
}

impl Library {
    /// Name of the schema that its table is in; statements may name it.
    pub fn schema(&self) -> String {
        let letters = self.library.chars().chain(self.driver.chars());
        let name: String = letters
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        format!("cs_orm_{name}")
    }

    /// Its rule for the proxy.
    pub fn rule(&self) -> String {
        let touch = match self.touch.is_empty() {
            true => String::new(),
            false => format!("  touch: [{}]\n", self.touch.join(", ")),
        };
        format!(
            "- table: {}.posts\n  columns: [{}]\n  rollup: 1h\n{touch}",
            self.schema(),
            self.counters.join(", ")
        )
    }

    /// Statements that make its schema anew, with the rows 1 to 3 of long ago.
    pub fn setup(&self) -> String {
        let schema = self.schema();
        let columns: Vec<&str> = ["title"]
            .into_iter()
            .chain(self.counters.iter().map(String::as_str))
            .chain(self.touch.iter().map(String::as_str))
            .collect();
        let row = |id: u8| {
            let counters = self.counters.iter().map(|_| "10".to_owned());
            let times = self
                .touch
                .iter()
                .map(|_| "'2026-01-02 03:04:05'".to_owned());
            let values: Vec<String> = counters.chain(times).collect();
            format!("({id}, 'post {id}', {})", values.join(", "))
        };
        format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema}; {}; \
             SET timestamp = 1767323045; INSERT INTO posts (id, {}) VALUES {}; SET timestamp = DEFAULT",
            self.table,
            columns.join(", "),
            [1, 2, 3].map(row).join(", ")
        )
    }
}

/// Reads the file.
pub fn read() -> Vec<Library> {
    let text = fs::read_to_string(FILE).expect("tests/cases/orm.yaml can be read");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{FILE}: {error}"))
}

/// Writes the file.
pub fn write(libraries: &[Library]) {
    // A statement stays on one line.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 10_000 };
    let text = serde_saphyr::to_string_with_options(&libraries, options).expect("plain data");
    fs::write(FILE, format!("{HEAD}\n{text}")).expect("tests/cases/orm.yaml can be written");
}

/// The field types that clients send parameters in, by the manual's names.
pub const KINDS: [(&str, u8); 11] = [
    ("TINY", field_type::TINY),
    ("SHORT", field_type::SHORT),
    ("LONG", field_type::LONG),
    ("LONGLONG", field_type::LONGLONG),
    ("DOUBLE", field_type::DOUBLE),
    ("NEWDECIMAL", field_type::NEWDECIMAL),
    ("DATETIME", field_type::DATETIME),
    ("TIMESTAMP", field_type::TIMESTAMP),
    ("VARCHAR", field_type::VARCHAR),
    ("VAR_STRING", field_type::VAR_STRING),
    ("STRING", field_type::STRING),
];

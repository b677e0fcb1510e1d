//! The table in docs/orms.md, made of what was captured.

use std::fs;

use crate::orm::golden::{Increment, Library};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/orms.md");
const HEAD: &str = "| library | you write | on the wire | becomes |\n|---|---|---|---|\n";

/// Puts the table of these libraries in place of the one in the file.
pub fn write(libraries: &[Library]) {
    let text = read();
    let (before, behind) = text.split_once(HEAD).expect("docs/orms.md has the table");
    let end = behind.find("\n\n").map_or("", |end| &behind[end + 1..]);
    fs::write(FILE, format!("{before}{}{end}", table(libraries))).expect("docs/orms.md");
}

/// The page.
pub fn read() -> String {
    fs::read_to_string(FILE).expect("docs/orms.md can be read")
}

/// The table.
pub fn table(libraries: &[Library]) -> String {
    let mut table = HEAD.to_owned();
    let mut before = Vec::new();
    for library in libraries {
        let Library {
            library: name,
            version,
            language,
            driver,
            ..
        } = library;
        let rows: Vec<String> = library.increments.iter().map(row).collect();
        table += &format!("| **{name} {version}**, {language}, {driver} | ");
        table += &match rows == before {
            true => "the same | | |\n".to_owned(),
            false => rows.join("| | "),
        };
        before = rows;
    }
    table
}

/// All but the first column.
fn row(increment: &Increment) -> String {
    format!(
        "{} | {} | {} |\n",
        span(&increment.code.replace('\n', " ⏎ ")),
        wire(increment),
        plan(increment)
    )
}

fn wire(increment: &Increment) -> String {
    let statement = span(&without_times(&increment.statement));
    match &increment.parameters {
        None => statement,
        Some(parameters) => {
            let kinds: Vec<&str> = parameters.iter().map(|one| one.kind.as_str()).collect();
            format!("{statement} with {}", kinds.join(", "))
        }
    }
}

fn plan(increment: &Increment) -> String {
    match (increment.plan.as_str(), increment.is_read_again) {
        ("Slotted", false) => "slot".to_owned(),
        ("Slotted", true) => "slot, folded as it is read again at once".to_owned(),
        (reason, _) => format!("exact path: {reason}"),
    }
}

/// A code span on one line of a table.
fn span(code: &str) -> String {
    let words: Vec<&str> = code.split_whitespace().collect();
    format!("`` {} ``", words.join(" ").replace('|', "\\|"))
}

/// With `<now>` in place of each time, so that a later capture gives the same.
fn without_times(statement: &str) -> String {
    let is_time = |part: &str| {
        part.len() >= 19 && part.starts_with("20") && part[4..].starts_with('-') && part.is_ascii()
    };
    let parts = statement.split('\'');
    let shown: Vec<&str> = parts
        .map(|part| if is_time(part) { "<now>" } else { part })
        .collect();
    shown.join("'")
}

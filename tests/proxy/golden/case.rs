//! Files of cases: read by serde, and written anew by hand, so that a regenerated file is laid out as people read it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What the file is about.
    pub about: String,
    /// CREATE TABLE statements in schema `shop`.
    pub schema: String,
    /// The part of rules.yaml behind the server's address.
    pub rules: String,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// One statement and its plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The statement or situation, in words.
    pub comment: String,
    /// Of a limit: what the proxy does.
    pub does: Option<String>,
    /// Of a limit: what a client may see that MySQL would not have shown.
    pub differs: Option<String>,
    /// Of a limit: why it is one.
    pub why: Option<String>,
    /// Of a limit: what an operator or application can do.
    pub remedy: Option<String>,
    /// Of a limit: the error that the proxy gives where the server gives none.
    pub error: Option<u16>,
    /// What the session has run before, through the proxy.
    #[serde(default)]
    pub before: Vec<String>,
    /// The statement; a limit may be one of a situation instead.
    pub statement: Option<String>,
    /// What explains it.
    pub plan: Option<String>,
    /// The same on MariaDB, where that is another.
    pub mariadb: Option<String>,
}

/// The file of this topic.
pub fn path(topic: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{topic}.yaml"))
}

/// Reads the file of this topic.
pub fn read(topic: &str) -> File {
    let path = path(topic);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The file's text.
pub fn written(file: &File) -> String {
    let mut text = String::new();
    field(&mut text, "", "about", Some(&file.about));
    text.push('\n');
    field(&mut text, "", "schema", Some(&file.schema));
    text.push('\n');
    field(&mut text, "", "rules", Some(&file.rules));
    text.push_str("\ncases:\n");
    for case in &file.cases {
        let mut entry = String::new();
        let mut put = |name: &str, value: &Option<String>| {
            field(&mut entry, "    ", name, value.as_deref());
        };
        put("comment", &Some(case.comment.clone()));
        put("does", &case.does);
        put("differs", &case.differs);
        put("why", &case.why);
        put("remedy", &case.remedy);
        if !case.before.is_empty() {
            entry.push_str("    before:\n");
            for statement in &case.before {
                writeln!(entry, "      - {}", quoted(statement)).expect("a String takes all");
            }
        }
        let mut put = |name: &str, value: &Option<String>| {
            field(&mut entry, "    ", name, value.as_deref());
        };
        put("statement", &case.statement);
        put("error", &case.error.map(|code| code.to_string()));
        put("plan", &case.plan);
        put("mariadb", &case.mariadb);
        text.push_str("\n  - ");
        text.push_str(entry.trim_start());
    }
    text
}

/// `name: value`, in a block of its own where it does not fit a plain line.
fn field(text: &mut String, indent: &str, name: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    match value.contains('\n') {
        false => writeln!(text, "{indent}{name}: {}", quoted(value)).expect("a String takes all"),
        true => {
            let chomp = if value.ends_with('\n') { "" } else { "-" };
            writeln!(text, "{indent}{name}: |{chomp}").expect("a String takes all");
            for line in value.lines() {
                let line = format!("{indent}  {line}");
                writeln!(text, "{}", line.trim_end()).expect("a String takes all");
            }
        }
    }
}

/// A scalar on one line: plain where YAML reads it back as it is.
fn quoted(value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = (is_number || value.starts_with(|first: char| first.is_ascii_alphabetic()))
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.ends_with([':', ' '])
        && !value.contains('\t');
    match is_plain {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', "''")),
    }
}

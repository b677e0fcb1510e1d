//! The tables as docs/logins.md has them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use super::case::{Column, Way};
use super::difference::Difference;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/logins.md");

/// What was told through one door.
pub struct Table {
    title: &'static str,
    columns: Vec<Column>,
    rows: Vec<[String; 3]>,
}

impl Table {
    pub fn new(title: &'static str, columns: &[(Column, u16)]) -> Self {
        Self {
            title,
            columns: columns.iter().map(|(column, _)| *column).collect(),
            rows: Vec::new(),
        }
    }

    /// A case: what a plain client and one with TLS were told directly, and a letter for each column.
    pub fn row(&mut self, name: &str, direct: &[String], cells: Vec<char>) {
        let direct = match direct {
            [plain, tls] if plain != tls => format!("{plain}; over TLS {tls}"),
            _ => direct[0].clone(),
        };
        let cells: Vec<_> = cells.into_iter().map(String::from).collect();
        self.rows.push([name.to_owned(), direct, cells.join(" | ")]);
    }

    fn text(&self) -> String {
        let mut text = format!(
            "#### {}\n\n| account, and who logs in | directly |",
            self.title
        );
        for column in &self.columns {
            let client = if column.tls { "TLS" } else { "plain" };
            let way = match column.way {
                Way::Plain => "plain",
                Way::Key => "plain, key",
                Way::Tls => "TLS",
                Way::Socket => "socket",
            };
            write!(text, " {client} → {way} |").expect("a String takes everything");
        }
        text.push_str("\n|---|---|");
        text.push_str(&"---|".repeat(self.columns.len()));
        for [name, direct, cells] in &self.rows {
            write!(text, "\n| {name} | {direct} | {cells} |").expect("a String takes everything");
        }
        text.push('\n');
        text
    }
}

/// The tables of a family, and what their letters mean.
pub fn text(tables: &[Table], differences: &BTreeMap<char, &Difference>) -> String {
    let mut text: Vec<_> = tables.iter().map(Table::text).collect();
    let reasons = differences.values();
    let reasons: Vec<_> = reasons
        .map(|one| format!("- **{}**: {}", one.letter, one.why))
        .collect();
    text.push(format!("{}\n", reasons.join("\n")));
    text.join("\n")
}

/// Compares the page's part of this name with `text`; or writes it, with COUNTERSINK_REGENERATE=1.
pub fn hold(part: &str, text: &str) {
    let page = fs::read_to_string(FILE).expect("docs/logins.md");
    let begin = format!("<!-- {part}: what follows is written by the test -->\n\n");
    let end = format!("\n<!-- {part}: to here -->");
    let (before, rest) = page.split_once(&begin).expect("the page has a part for it");
    let (found, after) = rest.split_once(&end).expect("the part has an end");
    if std::env::var("COUNTERSINK_REGENERATE").is_ok_and(|value| value == "1") {
        let page = format!("{before}{begin}{text}{end}{after}");
        return fs::write(FILE, page).expect("docs/logins.md");
    }
    assert!(
        found == text,
        "docs/logins.md is not what is so; COUNTERSINK_REGENERATE=1 writes it"
    );
}

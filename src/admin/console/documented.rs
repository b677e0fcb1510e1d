//! docs/admin.md has every statement and every column, and no other.

use std::collections::BTreeMap;

use super::act::ROLLUP_COLUMNS;
use super::explain;
use super::help::HELP;
use super::orders::ORDER_COLUMNS;
use super::show::REPORTS;
use super::table::Column;

const PAGE: &str = include_str!("../../../docs/admin.md");

/// The tables of a page by their headings: the cells of each row.
type Tables = BTreeMap<String, Vec<Vec<String>>>;

fn tables() -> Tables {
    let mut tables = Tables::new();
    let mut heading = String::new();
    for line in PAGE.lines() {
        if let Some(text) = line.strip_prefix("### ") {
            heading = text.to_owned();
        } else if let Some(cells) = line.strip_prefix("| `") {
            let cells = format!("`{cells}");
            let cells = cells.trim_end_matches(" |").split(" | ");
            let row = cells.map(str::to_owned).collect();
            tables.entry(heading.clone()).or_default().push(row);
        } else if line.starts_with("## ") {
            heading.clear();
        }
    }
    tables
}

fn rows(columns: &[Column]) -> Vec<Vec<String>> {
    let row = |column: &Column| {
        vec![
            format!("`{}`", column.name),
            column.kind.name().to_owned(),
            column.about.to_owned(),
        ]
    };
    columns.iter().map(row).collect()
}

#[test]
fn every_column_is_documented_and_no_other() {
    let mut expected: Tables = REPORTS
        .iter()
        .map(|report| (format!("SHOW {}", report.name), rows(report.columns)))
        .collect();
    expected.insert("EXPLAIN".to_owned(), rows(&explain::COLUMNS));
    expected.insert("ROLLUP".to_owned(), rows(&ROLLUP_COLUMNS));
    expected.insert("RELOAD".to_owned(), rows(&ORDER_COLUMNS));
    let mut told = tables();
    told.remove("Statements");
    for (heading, rows) in &expected {
        assert_eq!(told.get(heading), Some(rows), "{heading}; {}", shown(rows));
    }
    let headings = |tables: &Tables| tables.keys().cloned().collect::<Vec<_>>();
    assert_eq!(headings(&told), headings(&expected));
}

#[test]
fn every_statement_is_documented_and_no_other() {
    let shown_by_show = REPORTS
        .iter()
        .map(|report| (format!("SHOW {}", report.name), report.about));
    let others = HELP
        .iter()
        .map(|help| (help.statement.to_owned(), help.about));
    let expected: Vec<_> = shown_by_show
        .chain(others)
        .map(|(statement, about)| vec![format!("`{statement}`"), about.to_owned()])
        .collect();
    let told = tables().remove("Statements");
    assert_eq!(told.as_ref(), Some(&expected), "{}", shown(&expected));
}

/// The rows as the page must have them.
fn shown(rows: &[Vec<String>]) -> String {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| format!("| {} |", row.join(" | ")))
        .collect();
    format!("write\n{}\n", lines.join("\n"))
}

//! SHOW: the state of the proxy, as tables.

mod config;
mod proxy;
mod tables;

use super::handles::Desk;
use super::help::HELP;
use super::table::{Column, Table, Value, text};

/// Something to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// The word after SHOW.
    pub(super) name: &'static str,
    /// What it shows, for SHOW HELP.
    pub(super) about: &'static str,
    pub(super) columns: &'static [Column],
    /// The rows, each with a value for each column.
    rows: fn(&Desk) -> Vec<Vec<Value>>,
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Report {
    /// As it is now.
    pub(super) fn table(&self, desk: &Desk) -> Table {
        Table::of(self.columns, (self.rows)(desk))
    }
}

/// All of them. docs/admin.md has them too; a test compares.
pub(super) static REPORTS: [Report; 13] = [
    tables::RULES,
    tables::COUNTERS,
    tables::SLOTS,
    tables::ROLLUP,
    proxy::SESSIONS,
    proxy::PLANS,
    proxy::REASONS,
    proxy::STATS,
    proxy::LOG,
    proxy::SENTINEL,
    config::UPSTREAMS,
    config::CONFIG,
    Report {
        name: "HELP",
        about: "this list",
        columns: &[
            text("statement", "what to write, in any letter case"),
            text("about", "what it does"),
        ],
        rows: |_| help(),
    },
];

fn help() -> Vec<Vec<Value>> {
    let shown = REPORTS
        .iter()
        .map(|report| (format!("SHOW {}", report.name), report.about));
    let others = HELP
        .iter()
        .map(|help| (help.statement.to_owned(), help.about));
    shown
        .chain(others)
        .map(|(statement, about)| vec![statement.into(), about.into()])
        .collect()
}

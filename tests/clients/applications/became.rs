//! What the statements of a step became, and the table of it in docs/applications.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use countersink::metrics::Metrics;
use countersink::reason::Reason;
use countersink_sandbox::Flavour;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/applications.md");
const HEAD: &str = "| application | step | at rest | in motion |\n|---|---|---|---|\n";
/// Between what is of MySQL and what is of MariaDB, where they differ.
const ON_MARIADB: &str = "; on MariaDB ";
/// In place of what statements became while the tables came to use slots, which no two runs do at the same moment.
const MOVES: &str = "(transactions wait, and slots come into use)";
/// Behind increments with times of several clocks: see `Application::has_its_own_clock`.
const OR_LATE: &str = " (or folded:fallback, if late)";

/// Steps that are of no interest there.
const UNTOLD: [&str; 2] = ["errors", "reconnect"];
/// What says nothing of counters.
const UNCOUNTED: [Reason; 3] = [Reason::NotHot, Reason::NoCounter, Reason::Metadata];

/// How many statements had which plan.
pub type Counts = BTreeMap<Reason, u64>;

/// What is counted at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    counts: Counts,
    changeovers: u64,
}

impl Moment {
    pub fn of(metrics: &Metrics, schema: &str, tables: &[&str]) -> Self {
        let changeovers = |table: &&str| metrics.table(schema, table).counted().changeovers;
        Self {
            counts: metrics.statements(),
            changeovers: tables.iter().map(changeovers).sum(),
        }
    }

    /// What has come between. With `any_order`, increments that come behind one with a later time are counted as
    /// what they would have been before it.
    pub fn until(&self, later: &Self, any_order: bool) -> String {
        if later.changeovers > 0 || later.counts.contains_key(&Reason::ChangingOver) {
            return MOVES.to_owned();
        }
        let of = |counts: &Counts, reason| counts.get(reason).copied().unwrap_or(0);
        let gained = later.counts.keys().map(|reason| {
            let gained = of(&later.counts, reason) - of(&self.counts, reason);
            (*reason, gained)
        });
        let is_counted = |(reason, _): &(Reason, u64)| !UNCOUNTED.contains(reason);
        let mut gained: Counts = gained.filter(is_counted).collect();
        let late = gained.get(&Reason::Fallback).copied().unwrap_or(0);
        let mut or = "";
        if any_order && gained.contains_key(&Reason::Slotted) {
            *gained.entry(Reason::Slotted).or_default() += late;
            gained.remove(&Reason::Fallback);
            or = OR_LATE;
        }
        let gained = gained.iter().filter(|(_, count)| **count > 0);
        let gained = gained.map(|(reason, count)| match reason {
            Reason::Slotted => format!("{count} {reason}{or}"),
            _ => format!("{count} {reason}"),
        });
        let gained: Vec<_> = gained.collect();
        match gained.is_empty() {
            true => "-".to_owned(),
            false => gained.join(", "),
        }
    }
}

/// What the statements of one step became on one server, at rest and in motion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub step: String,
    pub became: [String; 2],
}

/// Those of one application, on one server.
pub type Rows = Vec<Row>;

/// An application's row head, and its rows on each server.
pub struct Section {
    pub head: String,
    pub by_flavour: [Rows; 2],
}

/// Whether a step's row is in the table.
pub fn is_told(step: &str) -> bool {
    !UNTOLD.contains(&step)
}

/// Where the table says otherwise than what was seen.
pub fn faults(name: &str, flavour: Flavour, seen: &Rows) -> Vec<String> {
    let expected = expected(name, flavour);
    let mut faults = Vec::new();
    let steps: BTreeSet<_> = expected.iter().chain(seen).map(|row| &row.step).collect();
    for step in steps {
        let [expected, seen] =
            [&expected, seen].map(|rows| rows.iter().find(|row| &row.step == step));
        let (Some(expected), Some(seen)) = (expected, seen) else {
            faults.push(format!("{step}: {seen:?}, but the page has {expected:?}"));
            continue;
        };
        for (expected, seen) in expected.became.iter().zip(&seen.became) {
            // Whether transactions come to wait for each other is a matter of chance.
            let has_moved = seen == MOVES || expected == MOVES;
            if !has_moved && expected != seen {
                faults.push(format!(
                    "{step}: {seen}, but the page has {expected} (COUNTERSINK_REGENERATE=1 writes it)"
                ));
            }
        }
    }
    faults
}

/// The rows that the page has of an application.
fn expected(name: &str, flavour: Flavour) -> Rows {
    let text = fs::read_to_string(FILE).expect("docs/applications.md");
    let (_, table) = text.split_once(HEAD).expect("the page has the table");
    let mut is_ours = false;
    let mut rows = Vec::new();
    for line in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [head, step, at_rest, in_motion] = cells[..] else {
            panic!("{line}");
        };
        if !head.is_empty() {
            is_ours = head.starts_with(&format!("**{name}**"));
        }
        if is_ours {
            let ours = |cell: &str| match (cell.split_once(ON_MARIADB), flavour) {
                (None, _) => cell.to_owned(),
                (Some((mysql, _)), Flavour::MySql) => mysql.to_owned(),
                (Some((_, mariadb)), Flavour::MariaDb) => mariadb.to_owned(),
            };
            rows.push(Row {
                step: step.to_owned(),
                became: [ours(at_rest), ours(in_motion)],
            });
        }
    }
    rows
}

/// Writes the table.
pub fn write(sections: &[Section]) {
    let text = fs::read_to_string(FILE).expect("docs/applications.md");
    let (before, behind) = text.split_once(HEAD).expect("the page has the table");
    let end = behind
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.len() + 1)
        .sum();
    let table: String = sections.iter().map(section).collect();
    let text = format!("{before}{HEAD}{table}{}", &behind[end..]);
    fs::write(FILE, text).expect("docs/applications.md");
}

fn section(section: &Section) -> String {
    let [mysql, mariadb] = &section.by_flavour;
    let mut text = String::new();
    for (mysql, mariadb) in mysql.iter().zip(mariadb) {
        assert_eq!(mysql.step, mariadb.step);
        let cell = |index: usize| match (&mysql.became[index], &mariadb.became[index]) {
            (mysql, mariadb) if mysql == MOVES || mariadb == MOVES => MOVES.to_owned(),
            (mysql, mariadb) if mysql == mariadb => mysql.clone(),
            (mysql, mariadb) => format!("{mysql}{ON_MARIADB}{mariadb}"),
        };
        let head = match text.is_empty() {
            true => format!(" {} ", section.head),
            false => " ".to_owned(),
        };
        text += &format!("|{head}| {} | {} | {} |\n", mysql.step, cell(0), cell(1));
    }
    text
}

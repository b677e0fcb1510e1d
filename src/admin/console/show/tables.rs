//! SHOW RULES, COUNTERS, SLOTS, ROLLUP: a row for each rule or hot table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::desk::Desk;
use super::super::table::{Value, integer, seconds, text};
use super::Report;
use crate::catalog::HotTable;
use crate::config::{Mode, Rule};

pub(super) const RULES: Report = Report {
    name: "RULES",
    about: "the rules, in the order of rules.yaml",
    columns: &[
        text("schema", "schema of the table, as the rule names it"),
        text("table", "the table"),
        text("columns", "the counters, with commas between them"),
        text(
            "touch",
            "other columns that an increment may set to the present time",
        ),
        text("mode", "`off`, `observe` or `enforce`"),
        integer(
            "slots",
            "most slots of a row; 0: the row itself takes the increments",
        ),
        seconds("rollup", "how often slots are moved into the rows"),
        text(
            "slot_table",
            "schema and name of the slot table; NULL without slots",
        ),
        integer(
            "in_force",
            "1 when the table's statements are rewritten, 0 when they are forwarded: the mode says so, or the table does not fit its rule any more, and the log says why",
        ),
    ],
    rows: |desk| {
        let rules = desk.config.rules.iter();
        rules.map(|rule| rule_row(desk, rule)).collect()
    },
};

fn rule_row(desk: &Desk, rule: &Rule) -> Vec<Value> {
    let catalog = &desk.shared.hot().catalog;
    // The server may spell it otherwise.
    let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
    let in_force = catalog
        .tables
        .iter()
        .chain(&catalog.without_slots)
        .any(|table| {
            same(&table.schema, &rule.table.schema) && same(&table.name, &rule.table.name)
        });
    let mode = match rule.mode {
        Mode::Off => "off",
        Mode::Observe => "observe",
        Mode::Enforce => "enforce",
    };
    vec![
        rule.table.schema.as_str().into(),
        rule.table.name.as_str().into(),
        rule.columns.join(",").into(),
        rule.touch.join(",").into(),
        mode.into(),
        rule.slots.into(),
        rule.rollup.into(),
        (rule.slots > 0).then(|| rule.slot_table.to_string()).into(),
        Value::truth(in_force),
    ]
}

pub(super) const COUNTERS: Report = Report {
    name: "COUNTERS",
    about: "what was done to each hot table since the proxy has started",
    columns: &[
        text("schema", "schema of the table, as the server spells it"),
        text("table", "the table"),
        text("columns", "its counters, with commas between them"),
        integer(
            "increments",
            "statements that add constants to counters, however they were written",
        ),
        integer("reads", "statements that read counters as row + slots"),
        integer(
            "folds",
            "statements before which slots were moved into rows",
        ),
        integer("slots_in_use", "slots that sessions hold now"),
        seconds(
            "waiting",
            "for how long the oldest increment has waited for its roll-up; NULL when none waits",
        ),
    ],
    rows: |desk| {
        let (hot, now) = (desk.shared.hot(), Instant::now());
        let tables = hot.tallies().iter().map(|(table, tally)| {
            let names = table.counters.iter().filter_map(|counter| {
                let column = table.columns.get(counter.column)?;
                Some(column.name.as_str())
            });
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                names.collect::<Vec<_>>().join(",").into(),
                tally.increments().into(),
                tally.reads().into(),
                tally.folds().into(),
                Value::count(desk.shared.slots.leased(table).len()),
                waiting(desk, table, now).into(),
            ]
        });
        tables.collect()
    },
};

pub(super) const SLOTS: Report = Report {
    name: "SLOTS",
    about: "which slots of each hot table sessions hold now",
    columns: &[
        text("schema", "schema of the table"),
        text("table", "the table"),
        text("slot_table", "schema and name of its slot table"),
        integer("slots", "most slots of a row"),
        integer(
            "first",
            "the lowest slot of this proxy: several in front of one server take ranges of their own",
        ),
        integer("in_use", "how many slots sessions hold now"),
        integer(
            "highest_in_use",
            "the highest of them; NULL when there is none",
        ),
    ],
    rows: |desk| {
        let hot = desk.shared.hot();
        let tables = hot.catalog.tables.iter().map(|table| {
            let leased = desk.shared.slots.leased(table);
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                format!("{}.{}", table.slot_schema, table.slot_name).into(),
                table.slots.into(),
                desk.shared.slots.first(table).into(),
                Value::count(leased.len()),
                leased.last().copied().into(),
            ]
        });
        tables.collect()
    },
};

pub(super) const ROLLUP: Report = Report {
    name: "ROLLUP",
    about: "how far the roll-up of each hot table is behind",
    columns: &[
        text("schema", "schema of the table"),
        text("table", "the table"),
        seconds("rollup", "how often slots are moved into the rows"),
        seconds(
            "waiting",
            "for how long the oldest increment has waited; NULL when none waits",
        ),
    ],
    rows: |desk| {
        let (hot, now) = (desk.shared.hot(), Instant::now());
        let tables = hot.catalog.tables.iter().map(|table| {
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                table.rollup.into(),
                waiting(desk, table, now).into(),
            ]
        });
        tables.collect()
    },
};

fn waiting(desk: &Desk, table: &Arc<HotTable>, now: Instant) -> Option<Duration> {
    let oldest = desk.shared.slots.dirty().oldest();
    let same = |other: &HotTable| other.schema == table.schema && other.name == table.name;
    let (_, since) = oldest.iter().find(|(other, _)| same(other))?;
    Some(now.saturating_duration_since(*since))
}

//! SHOW RULES, COUNTERS, SLOTS, ROLLUP: a row for each rule or hot table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::handles::Desk;
use super::super::table::{Value, integer, seconds, text};
use super::Report;
use crate::catalog::HotTable;
use crate::server::RuleStatus;

pub(super) const RULES: Report = Report {
    name: "RULES",
    about: "the rules, in the order of rules.yaml; behind them those that it has no more, until they are out of force",
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
            "rest",
            "`auto`: slots are used only while they are needed; or `never`",
        ),
        text(
            "slot_table",
            "schema and name of the slot table; NULL without slots",
        ),
        text(
            "stage",
            "how far it is in force: `enforced`, `at rest`, `observed`, `off`, `drained`; `waiting` for a table that fits it; or `changing over`, `switching on` and `switching off`",
        ),
        text(
            "waits_for",
            "what it waits for on its way; NULL when it has arrived",
        ),
    ],
    rows: |desk| {
        let standings = desk.rules.show();
        standings.iter().map(rule_row).collect()
    },
};

fn rule_row(status: &RuleStatus) -> Vec<Value> {
    let rule = &status.rule;
    vec![
        rule.table.schema.as_str().into(),
        rule.table.name.as_str().into(),
        rule.columns.join(",").into(),
        rule.touch.join(",").into(),
        rule.mode.name().into(),
        rule.slots.into(),
        rule.rollup.into(),
        rule.rest.name().into(),
        (rule.slots > 0).then(|| rule.slot_table.to_string()).into(),
        status.stage.into(),
        status.waits_for.clone().into(),
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
            "increments that went to slots, or to the row of a table without slots",
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
        let tables = hot.tables().map(|(table, counts)| {
            let counted = counts.counted();
            let names = table.counters.iter().filter_map(|counter| {
                let column = table.columns.get(counter.column)?;
                Some(column.name.as_str())
            });
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                names.collect::<Vec<_>>().join(",").into(),
                counted.increments.into(),
                counted.reads.into(),
                counted.folds.into(),
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
        integer("slots", "most slots of a row; 0 while the table is at rest"),
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
        let tables = hot.catalog.with_slot_tables().map(|table| {
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
        let tables = hot.catalog.with_slot_tables().map(|table| {
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

//! SHOW RULES, COUNTERS, SLOTS, ROLLUP: a row for each rule or hot table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::desk::Desk;
use super::super::orders::Standing;
use super::super::table::{Value, integer, seconds, text};
use super::Report;
use crate::catalog::HotTable;
use crate::config::Rule;

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
        text(
            "mode",
            "`off`, `observe` or `enforce`, by rules.yaml or by SET RULE since it was read",
        ),
        text(
            "stage",
            "how far it is in force; `forwarded` when the table does not fit its rule, and the log says why",
        ),
        text(
            "waits_for",
            "what keeps it from being further; NULL when nothing does",
        ),
        integer(
            "slots",
            "most slots of a row; 0: the row itself takes the increments",
        ),
        seconds("rollup", "how often slots are moved into the rows"),
        text(
            "slot_table",
            "schema and name of the slot table; NULL without slots",
        ),
    ],
    rows: |desk, standings| {
        let config = desk.config();
        let rules = config.rules.iter();
        rules.map(|rule| rule_row(rule, standings)).collect()
    },
};

fn rule_row(rule: &Rule, standings: &[Standing]) -> Vec<Value> {
    let name = rule.table.to_string();
    let standing = standings.iter().find(|standing| standing.table == name);
    vec![
        rule.table.schema.as_str().into(),
        rule.table.name.as_str().into(),
        rule.columns.join(",").into(),
        rule.touch.join(",").into(),
        standing
            .map_or(rule.mode, |standing| standing.mode)
            .name()
            .into(),
        standing.map(|standing| standing.stage).into(),
        standing
            .and_then(|standing| standing.waits_for.clone())
            .into(),
        rule.slots.into(),
        rule.rollup.into(),
        (rule.slots > 0).then(|| rule.slot_table.to_string()).into(),
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
        integer("batches", "writes with increments of several clients"),
        integer("combined", "the increments in them"),
        integer("slots_in_use", "slots that sessions hold now"),
        seconds(
            "waiting",
            "for how long the oldest increment has waited for its roll-up; NULL when none waits",
        ),
    ],
    rows: |desk, _| {
        let (hot, now) = (desk.shared.hot(), Instant::now());
        let tables = hot.tables().map(|(table, counts)| {
            let names = table.counters.iter().filter_map(|counter| {
                let column = table.columns.get(counter.column)?;
                Some(column.name.as_str())
            });
            let counted = counts.counted();
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                names.collect::<Vec<_>>().join(",").into(),
                counted.increments.into(),
                counted.reads.into(),
                counted.folds.into(),
                counted.batches.into(),
                counted.combined.into(),
                Value::count(held(desk, table).len()),
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
    rows: |desk, _| {
        let hot = desk.shared.hot();
        let tables = hot.catalog.tables.iter().map(|table| {
            let held = held(desk, table);
            vec![
                table.schema.as_str().into(),
                table.name.as_str().into(),
                format!("{}.{}", table.slot_schema, table.slot_name).into(),
                table.slots.into(),
                desk.shared.slots.first(table).into(),
                Value::count(held.len()),
                held.last().copied().into(),
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
    rows: |desk, _| {
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

/// The slots that sessions hold now, lowest first.
fn held(desk: &Desk, table: &HotTable) -> Vec<u16> {
    let slots = desk.shared.slots.in_use(table).into_iter();
    let held = slots.filter(|slot| slot.is_held);
    held.map(|slot| slot.slot).collect()
}

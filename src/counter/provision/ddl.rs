//! The statements that make a slot table, pure; they read the same on MySQL and MariaDB.

use crate::catalog::{Counter, Domain, HotTable};
use crate::config::TableName;
use crate::counter::quote;

/// What a slot table's comment begins with: how the proxy knows its own.
pub(super) const MARK: &str = "countersink slots of ";

/// The comment of `table`'s slot table.
pub(super) fn comment(table: &HotTable) -> String {
    format!("{MARK}{}.{}", table.schema, table.name)
}

/// The slot table's name.
pub(super) fn slot_table(table: &HotTable) -> TableName {
    TableName {
        schema: table.slot_schema.clone(),
        name: table.slot_name.clone(),
    }
}

/// CREATE TABLE of the slot table.
pub(super) fn create(table: &HotTable) -> String {
    let slot = quote::name(table.slot_column());
    let key = table.primary_key.iter().map(|position| {
        let column = &table.columns[*position];
        let definition = &column.definition;
        format!(
            "{} {definition} NOT NULL{}",
            quote::name(&column.name),
            no_now(definition)
        )
    });
    let own = [
        format!("{slot} SMALLINT UNSIGNED NOT NULL"),
        format!(
            "{} TINYINT NOT NULL DEFAULT 1",
            quote::name(table.open_column())
        ),
    ];
    let counters = table.counters.iter().map(|counter| column(table, counter));
    let touches = table.touches.iter().map(|position| touch(table, *position));
    let names = table
        .primary_key
        .iter()
        .map(|position| quote::name(&table.columns[*position].name));
    let names: Vec<String> = names.chain([slot.clone()]).collect();
    let primary_key = format!("PRIMARY KEY ({})", names.join(", "));
    // Unnamed: MySQL wants the names of CHECKs unique in a schema, and makes such names by itself.
    let checks = table
        .counters
        .iter()
        .filter_map(|counter| check(table, counter));
    let lines: Vec<String> = key
        .chain(own)
        .chain(counters)
        .chain(touches)
        .chain([primary_key])
        .chain(checks)
        .collect();
    format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  {}\n) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = {}",
        quote::table(&slot_table(table)),
        lines.join(",\n  "),
        quote::text(&comment(table)),
    )
}

/// ALTER TABLE that adds counters and touch columns which a rule names newly.
pub(super) fn add(table: &HotTable, counters: &[&Counter], touches: &[usize]) -> String {
    let columns = counters.iter().map(|counter| column(table, counter));
    let touches = touches.iter().map(|position| touch(table, *position));
    let columns = columns
        .chain(touches)
        .map(|column| format!("ADD COLUMN {column}"));
    let checks = counters
        .iter()
        .filter_map(|counter| check(table, counter))
        .map(|check| format!("ADD {check}"));
    let changes: Vec<String> = columns.chain(checks).collect();
    format!(
        "ALTER TABLE {} {}",
        quote::table(&slot_table(table)),
        changes.join(", ")
    )
}

/// ALTER TABLE that fails unless the slot table is empty, and keeps it empty from then on: slot numbers begin at 0.
pub(super) fn seal(slot_table: &TableName, slot_column: &str) -> String {
    format!(
        "ALTER TABLE {} ADD CHECK ({} < 0)",
        quote::table(slot_table),
        quote::name(slot_column)
    )
}

fn column(table: &HotTable, counter: &Counter) -> String {
    let name = quote::name(&table.columns[counter.column].name);
    format!("{name} {} NOT NULL DEFAULT 0", kind(counter.domain))
}

/// NULL: no increment in this slot has touched the row.
fn touch(table: &HotTable, position: usize) -> String {
    let column = &table.columns[position];
    let name = quote::name(&column.name);
    format!("{name} {} NULL DEFAULT NULL", column.definition)
}

/// The type of a counter's slots: signed, and wider than what one slot may hold.
pub(super) fn kind(domain: Domain) -> String {
    match domain {
        Domain::Integer { .. } => "BIGINT".to_owned(),
        Domain::Decimal {
            precision, scale, ..
        } => format!("DECIMAL({},{scale})", precision.saturating_add(3).min(65)),
    }
}

/// The CHECK that keeps one slot within its share, and at zero while it is not open; none when nothing is slotted.
fn check(table: &HotTable, counter: &Counter) -> Option<String> {
    Some(format!("CHECK ({})", check_clause(table, counter)?))
}

/// The condition of that CHECK.
pub(super) fn check_clause(table: &HotTable, counter: &Counter) -> Option<String> {
    let name = quote::name(&table.columns[counter.column].name);
    let slot = &counter.bounds.as_ref()?.slot;
    let open = quote::name(table.open_column());
    Some(format!(
        "{name} BETWEEN -{slot} * {open} AND {slot} * {open}"
    ))
}

/// Without explicit_defaults_for_timestamp, the first TIMESTAMP of a table changes by itself at every UPDATE.
fn no_now(definition: &str) -> &'static str {
    match definition.to_lowercase().starts_with("timestamp") {
        true => " DEFAULT '2000-01-01 00:00:00'",
        false => "",
    }
}

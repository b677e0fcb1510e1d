//! Gates: rows of a slot table that hold nothing. In a cluster with several writers, row locks are of one member: while
//! one member deletes a base row, or takes it to the limit of its type, another may open a slot of it, and both would
//! be committed. So both *pass a gate*: they write one more row, and of two transactions that write the same row on
//! different members the cluster commits one only.
//!
//! Each base row has a gate, for those who know which rows they write, and the slot table has one for the others. Who
//! opens slots passes both. A gate is written by having it change between open and closed, as a server writes no row
//! that stays as it is.

use super::key::KeyForm;
use super::quote;
use crate::catalog::HotTable;

/// The gate of a base row, as the number of a slot.
const OF_ROW: u16 = u16::MAX;

/// The gate of the slot table, as the number of a slot. Its key is one that any table may have.
const OF_TABLE: u16 = HotTable::FIRST_GATE;

/// Passes the gate of the slot table. `None` where there are no gates: on a server alone, and where keys have a type
/// of which no value can be named; nobody opens slots there.
pub(super) fn of_table(table: &HotTable) -> Option<String> {
    let form = KeyForm::of(table).filter(|_| table.is_gated)?;
    let values: String = form.any().iter().map(|key| format!("{key}, ")).collect();
    Some(format!(
        "{} VALUES ({values}{OF_TABLE}, 1) {}",
        insert(table),
        change(table)
    ))
}

/// Passes the gates of the base rows under `predicate` (unqualified columns).
pub(super) fn of_rows(table: &HotTable, predicate: &[u8]) -> Vec<u8> {
    let base = quote::pair(&table.schema, &table.name);
    let start = format!(
        "{} SELECT {}, {OF_ROW}, 1 FROM {base} WHERE (",
        insert(table),
        quote::keys(table).join(", "),
    );
    let end = format!(") {}", change(table));
    [start.as_bytes(), predicate, end.as_bytes()].concat()
}

/// Opens this slot of the base rows under `predicate`, where they satisfy `guard`, and passes their gates. Rows that
/// others have locked are left out. Affects no row if there is none.
pub(super) fn open(
    table: &HotTable,
    mariadb: bool,
    slot: u16,
    predicate: &[u8],
    guard: &str,
) -> Vec<u8> {
    let base = quote::pair(&table.schema, &table.name);
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let (number, open) = (
        quote::name(table.slot_column()),
        quote::name(table.open_column()),
    );
    let start = format!(
        "{} SELECT {}, countersink_n, 1 FROM \
         (SELECT {slot} AS countersink_n UNION ALL SELECT {OF_ROW}) AS countersink_e STRAIGHT_JOIN {base} WHERE (",
        insert(table),
        quote::keys(table).join(", "),
    );
    let lock = match mariadb {
        true => "LOCK IN SHARE MODE",
        false => "FOR SHARE",
    };
    let end = format!(
        "){guard} {lock} SKIP LOCKED ON DUPLICATE KEY UPDATE \
         {open} = IF({slots}.{number} = {OF_ROW}, 1 - {slots}.{open}, 1)"
    );
    [start.as_bytes(), predicate, end.as_bytes()].concat()
}

fn insert(table: &HotTable) -> String {
    format!(
        "INSERT INTO {} ({}, {}, {})",
        quote::pair(&table.slot_schema, &table.slot_name),
        quote::keys(table).join(", "),
        quote::name(table.slot_column()),
        quote::name(table.open_column()),
    )
}

fn change(table: &HotTable) -> String {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let open = quote::name(table.open_column());
    format!("ON DUPLICATE KEY UPDATE {open} = 1 - {slots}.{open}")
}

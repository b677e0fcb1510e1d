//! The statements of a roll-up, beside those of a fold.

use std::fmt::Write;

use super::dirty::Marks;
use super::values::Sums;
use crate::catalog::HotTable;
use crate::counter::fold::OpenRow;
use crate::counter::quote;
use crate::counter::{Key, KeyForm};

/// Begins a transaction. In a cluster it may be lost whenever another member is first, perhaps between two statements
/// of one packet. What comes behind must not be committed by itself then.
pub(super) const BEGIN: &str = "SET SESSION autocommit = 0; START TRANSACTION";

/// Ends it.
pub(super) const END: &str = "COMMIT AND NO CHAIN NO RELEASE; SET SESSION autocommit = 1";

/// Ends it, if it has not been lost, and takes back what it has done.
pub(super) const ROLL_BACK: &str = "ROLLBACK AND NO CHAIN NO RELEASE; SET SESSION autocommit = 1";

/// Whether others wait when a statement finds a row locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Nothing is locked: what has been committed.
    None,
    /// What is locked by others is left out.
    SkipLocked,
    /// What is locked by others is waited for.
    Wait,
}

impl Lock {
    pub(super) fn clause(self) -> &'static str {
        match self {
            Self::None => "",
            Self::SkipLocked => " FOR UPDATE SKIP LOCKED",
            Self::Wait => " FOR UPDATE",
        }
    }
}

/// Slot rows under a condition, as `SlotRow::read` reads them.
pub(super) fn slot_rows(table: &HotTable, form: &KeyForm, which: &str, lock: Lock) -> String {
    format!(
        "SELECT {}, {}{} FROM {} WHERE {which}{}",
        form.select_list(),
        quote::name(table.slot_column()),
        hot_columns(table),
        slot_table(table),
        lock.clause(),
    )
}

/// Base rows of these keys: the key, then its counters and touch columns.
pub(super) fn base_rows(table: &HotTable, form: &KeyForm, keys: &[Key], lock: Lock) -> String {
    format!(
        "SELECT {}{} FROM {} WHERE {}{}",
        form.select_list(),
        hot_columns(table),
        quote::pair(&table.schema, &table.name),
        form.any_of(keys),
        lock.clause(),
    )
}

/// Adds to a base row. A touch column gets the time if that is later than its own; named, none sets itself to the
/// present.
pub(super) fn add(table: &HotTable, form: &KeyForm, key: &Key, moved: &Sums) -> String {
    let counters = table.counters.iter().zip(&moved.amounts);
    let counters = counters.map(|(counter, amount)| {
        let name = name(table, counter.column);
        format!("{name} = {name} {amount}")
    });
    let touches = table.touches.iter().zip(&moved.touches);
    let touches = touches.map(|(&column, time)| {
        let name = name(table, column);
        match time {
            Some(time) => format!("{name} = COALESCE(GREATEST({name}, '{time}'), {name})"),
            None => format!("{name} = {name}"),
        }
    });
    format!(
        "UPDATE {} SET {} WHERE {}",
        quote::pair(&table.schema, &table.name),
        counters.chain(touches).collect::<Vec<_>>().join(", "),
        form.condition("", key)
    )
}

/// Empties a slot row. It stays open, for base has been seen to leave room for what may come; where there are touch
/// columns it is closed, because an increment may not set a time before base's.
pub(super) fn empty(table: &HotTable, form: &KeyForm, row: &OpenRow) -> String {
    let counters = table.counters.iter();
    let counters = counters.map(|counter| format!("{} = 0", name(table, counter.column)));
    let touches = table.touches.iter();
    let touches = touches.map(|&column| format!("{} = NULL", name(table, column)));
    let closed =
        (!table.touches.is_empty()).then(|| format!("{} = 0", quote::name(table.open_column())));
    format!(
        "UPDATE {} SET {} WHERE {} AND {} = {}",
        slot_table(table),
        counters
            .chain(touches)
            .chain(closed)
            .collect::<Vec<_>>()
            .join(", "),
        form.condition("", &row.key),
        quote::name(table.slot_column()),
        row.slot
    )
}

/// Takes away slot rows, which hold nothing or belong to no base row.
pub(super) fn delete(table: &HotTable, form: &KeyForm, rows: &[OpenRow]) -> String {
    format!(
        "DELETE FROM {} WHERE {}",
        slot_table(table),
        named(table, form, rows)
    )
}

/// Holds for these slot rows.
pub(super) fn named(table: &HotTable, form: &KeyForm, rows: &[OpenRow]) -> String {
    let slot = quote::name(table.slot_column());
    let rows = rows.iter().map(|row| {
        format!(
            "({} AND {slot} = {})",
            form.condition("", &row.key),
            row.slot
        )
    });
    rows.collect::<Vec<_>>().join(" OR ")
}

/// Holds for the slot rows that are marked.
pub(super) fn marked(table: &HotTable, marks: &Marks) -> String {
    let slot = quote::name(table.slot_column());
    let rows = marks.rows.iter().map(|(predicate, slots)| {
        let mut slots: Vec<_> = slots.iter().copied().collect();
        slots.sort_unstable();
        let slots: Vec<_> = slots.iter().map(u16::to_string).collect();
        // Only what is plain ASCII is marked by name.
        let predicate = String::from_utf8_lossy(predicate);
        format!("({predicate} AND {slot} IN ({}))", slots.join(", "))
    });
    rows.collect::<Vec<_>>().join(" OR ")
}

/// Holds for slot rows with something to be moved.
pub(super) fn holds_something(table: &HotTable) -> String {
    let counters = table.counters.iter().map(|counter| counter.column);
    let counters = counters.map(|column| format!("{} <> 0", name(table, column)));
    let touches = table.touches.iter();
    let touches = touches.map(|&column| format!("{} IS NOT NULL", name(table, column)));
    counters.chain(touches).collect::<Vec<_>>().join(" OR ")
}

/// How many slot rows hold something.
pub(in crate::counter) fn count(table: &HotTable) -> String {
    format!(
        "SELECT COUNT(*) FROM {} WHERE {}",
        slot_table(table),
        holds_something(table)
    )
}

/// The same; it waits for transactions that have slot rows locked, for what they put there is not to be seen yet.
pub(super) fn count_committed(table: &HotTable) -> String {
    format!("{} LOCK IN SHARE MODE", count(table))
}

fn hot_columns(table: &HotTable) -> String {
    let counters = table.counters.iter().map(|counter| counter.column);
    let mut list = String::new();
    for column in counters.chain(table.touches.iter().copied()) {
        write!(list, ", {}", name(table, column)).expect("a String takes all");
    }
    list
}

fn name(table: &HotTable, column: usize) -> String {
    quote::name(&table.columns[column].name)
}

fn slot_table(table: &HotTable) -> String {
    quote::pair(&table.slot_schema, &table.slot_name)
}

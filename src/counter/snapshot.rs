//! The statements that have the open transaction see rows of a hot table as its snapshot adds them up: base +
//! SUM(slots).
//!
//! A consistent read shows base and slots as they were, apart. A query that cannot be rewritten reads base alone. So
//! the rows that had slots in the snapshot are written with the sum of that time, the query runs, and a savepoint
//! takes the writes back. That is right where nothing but counters has changed since, which a digest of the other
//! columns tells.

use std::fmt::Write;

use super::fold::ALL_ROWS;
use super::key::{Key, KeyForm};
use super::{quote, row_digest};
use crate::catalog::HotTable;
use crate::sql::interrupted::Around;

/// The most rows that are written for one query.
pub const MOST_ROWS: usize = 1024;

/// A row as the snapshot adds it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its key.
    pub key: Key,
    /// Literals for counters, then touch columns, each in the table's order.
    values: Vec<String>,
    /// A digest of all other columns.
    digest: Vec<u8>,
}

/// A consistent read of the rows under `predicate` (all without one) whose slots hold something, but for those under
/// one of the `left_out`: key, counters, touch columns, digest of the others.
pub fn rows(
    table: &HotTable,
    form: &KeyForm,
    predicate: Option<&[u8]>,
    left_out: &[Vec<u8>],
) -> Vec<u8> {
    let base = quote::pair(&table.schema, &table.name);
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    let keys = keys(table);
    let same: Vec<_> = keys
        .iter()
        .map(|key| format!("countersink_s.{key} = countersink_b.{key}"))
        .collect();
    let of_slots = format!(
        " FROM {slots} AS countersink_s WHERE {}",
        same.join(" AND ")
    );
    let added = |around: Around| {
        let text = [&around.head[..], of_slots.as_bytes(), &around.tail].concat();
        String::from_utf8_lossy(&text).into_owned()
    };
    let mut list = form.select_list();
    let mut holds = Vec::new();
    for column in counters(table) {
        let base = format!("countersink_b.{column}");
        let around = Around::counter(base.as_bytes(), &format!("countersink_s.{column}"));
        write!(list, ", {}", added(around)).expect("a String takes all");
        holds.push(format!("{column} <> 0"));
    }
    for &position in &table.touches {
        let column = quote::name(&table.columns[position].name);
        let base = format!("countersink_b.{column}");
        let fraction = table.columns[position].fraction();
        let in_slots = format!("countersink_s.{column}");
        let around = Around::touch(base.as_bytes(), &in_slots, fraction);
        write!(list, ", {}", added(around)).expect("a String takes all");
        holds.push(format!("{column} IS NOT NULL"));
    }
    let keys = keys.join(", ");
    let mut text = format!(
        "SELECT {ALL_ROWS} {list}, {} FROM {base} AS countersink_b WHERE ({keys}) IN (SELECT {keys} FROM {slots} WHERE {})",
        digest(table),
        holds.join(" OR ")
    )
    .into_bytes();
    if let Some(predicate) = predicate {
        text.extend([b" AND (", predicate, b")"].concat());
    }
    for predicate in left_out {
        text.extend([b" AND (", &predicate[..], b") IS NOT TRUE"].concat());
    }
    text.extend(format!(" LIMIT {}", MOST_ROWS + 1).bytes());
    text
}

/// Locks these rows. Gives the same columns as [`rows`], of base as it is now.
pub fn lock(table: &HotTable, form: &KeyForm, rows: &[SnapshotRow]) -> Vec<u8> {
    let keys: Vec<Key> = rows.iter().map(|row| row.key.clone()).collect();
    let hot: Vec<_> = counters(table).chain(touches(table)).collect();
    format!(
        "SELECT {}, {}, {} FROM {} WHERE {} LIMIT {} FOR UPDATE",
        form.select_list(),
        hot.join(", "),
        digest(table),
        quote::pair(&table.schema, &table.name),
        form.any_of(&keys),
        MOST_ROWS + 1
    )
    .into_bytes()
}

impl SnapshotRow {
    /// Reads a row of [`rows`] or [`lock`]. `None`: a value is nothing that the server would show.
    pub fn read(table: &HotTable, form: &KeyForm, row: &[Option<Vec<u8>>]) -> Option<Self> {
        let (key, rest) = row.split_at_checked(form.width())?;
        let (digest, values) = rest.split_last()?;
        let are_counters = std::iter::repeat_n(true, table.counters.len());
        let are_counters = are_counters.chain(std::iter::repeat(false));
        let literals = values.iter().zip(are_counters);
        Some(Self {
            key: form.read(key)?,
            values: literals
                .map(|(value, is_counter)| literal(value.as_deref(), is_counter))
                .collect::<Option<_>>()?,
            digest: digest.clone()?,
        })
    }

    /// Whether `locked` is the same row, of which nothing but counters and touch columns can have changed.
    pub fn is_still(&self, locked: &Self) -> bool {
        self.key == locked.key && self.digest == locked.digest
    }

    /// Writes the row: first with other counters, since a server writes no row whose values stay as they are.
    pub fn writes(&self, table: &HotTable, form: &KeyForm) -> [Vec<u8>; 2] {
        let (sums, times) = self.values.split_at(table.counters.len());
        let units = table.counters.iter().map(|counter| counter.domain.unit());
        let others = sums
            .iter()
            .zip(units)
            .map(|(sum, unit)| format!("IF({sum} >= {unit}, {sum} - {unit}, {sum} + {unit})"));
        let others: Vec<_> = others.chain(times.iter().cloned()).collect();
        [&others, &self.values].map(|values| self.assigning(table, form, values))
    }

    /// Writes back what [`SnapshotRow::writes`] has replaced, which was `locked`, and keeps what has been added since.
    pub fn restores(&self, locked: &Self, table: &HotTable, form: &KeyForm) -> Vec<u8> {
        let (sums, _) = self.values.split_at(table.counters.len());
        let (before, times) = locked.values.split_at(table.counters.len());
        let values = counters(table).zip(sums.iter().zip(before));
        let values = values.map(|(column, (sum, before))| match (&**sum, &**before) {
            ("NULL", _) | (_, "NULL") => before.clone(),
            _ => format!("{column} + ({before} - ({sum}))"),
        });
        let values: Vec<_> = values.chain(times.iter().cloned()).collect();
        self.assigning(table, form, &values)
    }

    /// Sets counters and touch columns.
    fn assigning(&self, table: &HotTable, form: &KeyForm, values: &[String]) -> Vec<u8> {
        let columns = counters(table).chain(touches(table));
        let sets = columns.zip(values);
        let sets = sets.map(|(column, value)| format!("{column} = {value}"));
        format!(
            "UPDATE {} SET {} WHERE {}",
            quote::pair(&table.schema, &table.name),
            sets.collect::<Vec<_>>().join(", "),
            form.condition("", &self.key)
        )
        .into_bytes()
    }
}

/// A value as a literal: a number, or a time in quotes.
fn literal(value: Option<&[u8]>, is_number: bool) -> Option<String> {
    let Some(value) = value else {
        return Some("NULL".to_owned());
    };
    let allowed: &[u8] = match is_number {
        true => b"0123456789-.",
        false => b"0123456789-.: ",
    };
    let is_plain = !value.is_empty() && value.iter().all(|byte| allowed.contains(byte));
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
    Some(match is_number {
        true => text.to_owned(),
        false => format!("'{text}'"),
    })
}

/// A digest of the columns whose values lie in base alone.
fn digest(table: &HotTable) -> String {
    let columns = table.columns.iter().enumerate();
    let of_base = columns.filter(|(position, _)| !table.is_hot(*position));
    row_digest::digest(of_base.map(|(_, column)| column))
}

/// Names of the key columns, quoted.
fn keys(table: &HotTable) -> Vec<String> {
    let columns = table.primary_key.iter();
    columns
        .map(|&position| quote::name(&table.columns[position].name))
        .collect()
}

/// Names of the counters, quoted.
fn counters(table: &HotTable) -> impl Iterator<Item = String> {
    let counters = table.counters.iter();
    counters.map(|counter| quote::name(&table.columns[counter.column].name))
}

/// Names of the touch columns, quoted.
fn touches(table: &HotTable) -> impl Iterator<Item = String> {
    let touches = table.touches.iter();
    touches.map(|&position| quote::name(&table.columns[position].name))
}

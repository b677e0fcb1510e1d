//! Whether a slot table that exists is the one that is needed, pure.

use super::ddl;
use crate::catalog::read::{ColumnFacts, Facts};
use crate::catalog::{Counter, HotTable, definition};

/// How an existing slot table differs from the one that is needed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference<'a> {
    /// Not at all; it may have counters that no rule names any more.
    None {
        /// Those counters.
        extra: Vec<String>,
    },
    /// It lacks these columns and is right otherwise.
    Lacks {
        /// Counters.
        counters: Vec<&'a Counter>,
        /// Touch columns.
        touches: Vec<usize>,
    },
    /// It is another table.
    Drift {
        /// What it is about.
        what: String,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
}

/// Compares `slots` with what `table` needs.
pub(super) fn compare<'a>(table: &'a HotTable, slots: &Facts) -> Difference<'a> {
    if let Some(drift) = primary_key(table, slots).or_else(|| kinds(table, slots)) {
        return drift;
    }
    let there = |counter: &&Counter| {
        let name = &table.columns[counter.column].name;
        find(slots, name).is_some()
    };
    let (present, lacking): (Vec<_>, Vec<_>) = table.counters.iter().partition(there);
    if let Some(drift) = present
        .into_iter()
        .find_map(|counter| counter_drift(table, counter, slots))
    {
        return drift;
    }
    if let Some(drift) = unknown_checks(table, slots) {
        return drift;
    }
    let touches = table.touches.iter().copied();
    let lacking_touches: Vec<_> = touches
        .filter(|position| find(slots, &table.columns[*position].name).is_none())
        .collect();
    match lacking.is_empty() && lacking_touches.is_empty() {
        false => Difference::Lacks {
            counters: lacking,
            touches: lacking_touches,
        },
        true => Difference::None {
            extra: extra(table, slots),
        },
    }
}

fn drift<'a>(what: String, found: String, expected: String) -> Option<Difference<'a>> {
    Some(Difference::Drift {
        what,
        found,
        expected,
    })
}

fn find<'a>(slots: &'a Facts, name: &str) -> Option<&'a ColumnFacts> {
    slots
        .columns
        .iter()
        .find(|column| column.name.to_lowercase() == name.to_lowercase())
}

/// The key's columns, by name and order.
fn primary_key<'a>(table: &HotTable, slots: &Facts) -> Option<Difference<'a>> {
    let list = |names: Vec<String>| format!("({})", names.join(", "));
    let key = table.primary_key.iter();
    let expected = key
        .map(|position| table.columns[*position].name.clone())
        .chain([table.slot_column().to_owned()])
        .collect();
    let found = slots
        .primary_key()
        .map(|key| key.column.clone().unwrap_or_default())
        .collect();
    let (expected, found) = (list(expected), list(found));
    match found.to_lowercase() == expected.to_lowercase() {
        true => None,
        false => drift("the primary key".to_owned(), found, expected),
    }
}

/// The types of the columns that are as in the hot table; the server prints both tables' in the same way.
fn kinds<'a>(table: &HotTable, slots: &Facts) -> Option<Difference<'a>> {
    let differs = |position: &usize| {
        let column = &table.columns[*position];
        let found = find(slots, &column.name).map(definition);
        let is_touch = table.touches.contains(position);
        match found {
            // It can be added.
            None if is_touch => None,
            Some(found) if found == column.definition => None,
            found => drift(
                format!("column `{}`", column.name),
                found.unwrap_or_default(),
                column.definition.clone(),
            ),
        }
    };
    let mut alike = table.primary_key.iter().chain(&table.touches);
    let key = alike.find_map(differs);
    let own = [
        (table.slot_column(), "smallint", " unsigned"),
        (table.open_column(), "tinyint", ""),
    ];
    key.or_else(|| {
        own.into_iter().find_map(|(name, kind, sign)| {
            let found = find(slots, name);
            let right = |column: &&ColumnFacts| {
                column.data_type == kind
                    && column.column_type.contains("unsigned") != sign.is_empty()
            };
            match found.filter(right) {
                Some(_) => None,
                None => drift(
                    format!("column `{name}`"),
                    found.map(definition).unwrap_or_default(),
                    format!("{kind}{sign}"),
                ),
            }
        })
    })
}

/// The type and the CHECK of a counter.
fn counter_drift<'a>(table: &HotTable, counter: &Counter, slots: &Facts) -> Option<Difference<'a>> {
    let name = &table.columns[counter.column].name;
    let column = find(slots, name)?;
    let expected = ddl::kind(counter.domain).to_lowercase();
    let same = match expected.as_str() {
        // MariaDB prints a display width.
        "bigint" => column.data_type == "bigint" && !column.column_type.contains("unsigned"),
        expected => column.column_type == expected,
    };
    if !same || column.nullable {
        let null = if column.nullable { " null" } else { "" };
        return drift(
            format!("column `{name}`"),
            format!("{}{null}", column.column_type),
            format!("{expected} not null"),
        );
    }
    let clause = ddl::check_clause(table, counter)?;
    match slots
        .checks
        .iter()
        .any(|found| plain(found) == plain(&clause))
    {
        true => None,
        false => drift(
            format!("the CHECK of `{name}`"),
            match slots.checks.is_empty() {
                true => "none".to_owned(),
                false => slots.checks.join(", "),
            },
            clause,
        ),
    }
}

/// A foreign CHECK could refuse a slot; one of the proxy's own, on a counter that has lost its bounds, could refuse a
/// fold.
fn unknown_checks<'a>(table: &HotTable, slots: &Facts) -> Option<Difference<'a>> {
    let gone = extra(table, slots);
    let ours: Vec<String> = table
        .counters
        .iter()
        .filter_map(|counter| ddl::check_clause(table, counter))
        .map(|clause| plain(&clause))
        .collect();
    let of_gone = |clause: &str| {
        gone.iter()
            .any(|name| clause.contains(&plain(&format!("`{name}`"))))
    };
    let unknown = slots
        .checks
        .iter()
        .find(|clause| !ours.contains(&plain(clause)) && !of_gone(&plain(clause)))?;
    drift("a CHECK".to_owned(), unknown.clone(), "none".to_owned())
}

/// A CHECK clause without what the two servers print differently.
fn plain(clause: &str) -> String {
    clause
        .chars()
        .filter(|c| !c.is_whitespace() && !"()".contains(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Columns of the slot table that nothing needs.
pub(super) fn extra(table: &HotTable, slots: &Facts) -> Vec<String> {
    let key = table.primary_key.iter().copied();
    let counters = table.counters.iter().map(|counter| counter.column);
    let mut known: Vec<String> = key
        .chain(counters)
        .chain(table.touches.iter().copied())
        .map(|position| table.columns[position].name.to_lowercase())
        .collect();
    known.extend([table.slot_column(), table.open_column()].map(str::to_owned));
    slots
        .columns
        .iter()
        .filter(|column| !known.contains(&column.name.to_lowercase()))
        .map(|column| column.name.clone())
        .collect()
}

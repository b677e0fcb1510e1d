//! The statements of a fold: lock base and slots, move the slots into base.
//!
//! The move is one statement, so that nothing (a KILL QUERY, a lost connection) can come between adding to base
//! and taking from the slots. It closes the slot rows: whoever increments next goes through the base row again, where
//! the guard against overflow stands. They are deleted only when base rows may go: an UPDATE that misses its slot row
//! locks the gap where it would be, and two transactions that do so and then insert deadlock. Measured on MySQL 9.7
//! and MariaDB 10.11: the derived table is materialised before the first row is changed, and a base row that joins
//! with several slot rows is changed once.

use std::fmt::Write;

use super::quote;
use crate::catalog::HotTable;
use crate::sql::plan::LockTables;

/// Ends the transaction around a fold in autocommit; says what it means whatever `completion_type` is.
pub const COMMIT: &str = "COMMIT AND NO CHAIN NO RELEASE";

/// Before the statements of a fold in a session that has `sql_safe_updates` on.
pub const UNSAFE_UPDATES: &str = "SET SESSION sql_safe_updates = 0";

/// Behind them.
pub const SAFE_UPDATES: &str = "SET SESSION sql_safe_updates = 1";

/// The question whether a name is that of a temporary table.
pub fn show_create(table: &HotTable) -> String {
    format!(
        "SHOW CREATE TABLE {}",
        quote::pair(&table.schema, &table.name)
    )
}

/// The statement that empties a slot table.
pub fn empty(table: &HotTable) -> String {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    format!("DELETE FROM {slots}")
}

/// LOCK TABLES as it is sent: under a WRITE lock the hot tables are folded, so the names of that are locked as well.
pub fn lock_tables(lock: &LockTables) -> Vec<u8> {
    let mut text = lock.text.clone();
    if lock.write {
        for (number, table) in lock.tables.iter().enumerate() {
            // On a line of its own: the client's text may end in a comment.
            text.extend_from_slice(b"\n, ");
            text.extend_from_slice(locks(number, table).as_bytes());
        }
    }
    text
}

/// What moves everything into the rows under LOCK TABLES .. WRITE, table by table.
pub fn under_locks(lock: &LockTables) -> impl Iterator<Item = Vec<u8>> {
    let tables = lock.tables.iter().enumerate().filter(|_| lock.write);
    tables.flat_map(|(number, table)| {
        let statements = FoldStatements::numbered(number, table, None);
        [Some(statements.fold), statements.purge]
            .into_iter()
            .flatten()
    })
}

/// What LOCK TABLES .. WRITE must also lock for the fold of this number to run under it.
fn locks(number: usize, table: &HotTable) -> String {
    let slots = quote::pair(&table.slot_schema, &table.slot_name);
    format!(
        "{} AS {} WRITE, {slots} AS {} WRITE, {slots} WRITE",
        quote::pair(&table.schema, &table.name),
        base_alias(number),
        slots_alias(number)
    )
}

fn base_alias(number: usize) -> String {
    format!("countersink_b{number}")
}

fn slots_alias(number: usize) -> String {
    format!("countersink_f{number}")
}

/// Statements that fold some keys, to be run in this order within one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldStatements {
    /// Locks base rows, then slot rows: one row with a count.
    pub lock: Vec<u8>,
    /// Adds the slots to base, zeroes and closes them.
    pub fold: Vec<u8>,
    /// Deletes the slot rows, where base rows may go with what follows.
    pub purge: Option<Vec<u8>>,
}

impl FoldStatements {
    /// For the keys under `predicate` (unqualified key columns), or for the whole table. `purge` deletes the slot
    /// rows as well.
    pub fn new(table: &HotTable, predicate: Option<&[u8]>, purge: bool) -> Self {
        let numbered = Self::numbered(0, table, predicate);
        Self {
            purge: numbered.purge.filter(|_| purge),
            ..numbered
        }
    }

    /// In the order in which they are to be run.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        let purge = self.purge.as_deref();
        [&*self.lock, &*self.fold].into_iter().chain(purge)
    }

    /// As [`FoldStatements::new`]; under LOCK TABLES, which wants a lock for each alias, `number` tells the tables
    /// apart. See [`locks`].
    fn numbered(number: usize, table: &HotTable, predicate: Option<&[u8]>) -> Self {
        let (b, s, d) = (base_alias(number), slots_alias(number), "countersink_d");
        let base = quote::pair(&table.schema, &table.name);
        let slots = quote::pair(&table.slot_schema, &table.slot_name);
        let condition = |start: &str| match predicate {
            Some(predicate) => [start.as_bytes(), b"(", predicate, b")"].concat(),
            None => Vec::new(),
        };
        let keys: Vec<_> = table
            .primary_key
            .iter()
            .map(|&position| quote::name(&table.columns[position].name))
            .collect();
        let join = |left: &str, right: &str| {
            let pairs = keys
                .iter()
                .map(|key| format!("{left}.{key} = {right}.{key}"));
            pairs.collect::<Vec<_>>().join(" AND ")
        };
        let mut sums = String::new();
        let mut base_sets = Vec::new();
        let mut slot_sets = Vec::new();
        for counter in &table.counters {
            let column = quote::name(&table.columns[counter.column].name);
            write!(sums, ", SUM({column}) AS {column}").expect("a String takes all");
            base_sets.push(format!("{b}.{column} = {b}.{column} + {d}.{column}"));
            slot_sets.push(format!("{s}.{column} = 0"));
        }
        // Named, an ON UPDATE CURRENT_TIMESTAMP column does not set itself: the fold changes no value that anyone sees.
        for &position in &table.touches {
            let column = quote::name(&table.columns[position].name);
            write!(sums, ", MAX({column}) AS {column}").expect("a String takes all");
            base_sets.push(format!(
                "{b}.{column} = COALESCE(GREATEST({b}.{column}, {d}.{column}), {b}.{column})"
            ));
            slot_sets.push(format!("{s}.{column} = NULL"));
        }
        slot_sets.push(format!("{s}.{} = 0", quote::name(table.open_column())));
        base_sets.append(&mut slot_sets);
        let keys = keys.join(", ");
        // USING merges the key columns, so that the predicate's unqualified names are not ambiguous; the left join
        // keeps the order of locks: base first.
        let lock = [
            format!("SELECT COUNT(*) FROM {base} AS {b} LEFT JOIN {slots} AS {s} USING ({keys})")
                .into_bytes(),
            condition(" WHERE "),
            b" FOR UPDATE".to_vec(),
        ];
        let fold = [
            format!("UPDATE {base} AS {b} JOIN (SELECT {keys}{sums} FROM {slots}").into_bytes(),
            condition(" WHERE "),
            format!(
                " GROUP BY {keys}) AS {d} ON {} JOIN {slots} AS {s} ON {} SET {}",
                join(d, &b),
                join(&s, &b),
                base_sets.join(", ")
            )
            .into_bytes(),
        ];
        // Only rows at zero: whatever became of the statements before, this one can lose nothing.
        let zeros = table
            .counters
            .iter()
            .map(|counter| format!("{} = 0", quote::name(&table.columns[counter.column].name)));
        let purge = [
            format!(
                "DELETE FROM {slots} WHERE {}",
                zeros.collect::<Vec<_>>().join(" AND ")
            )
            .into_bytes(),
            condition(" AND "),
        ];
        Self {
            lock: lock.concat(),
            fold: fold.concat(),
            purge: Some(purge.concat()),
        }
    }
}

//! What the open transaction has done to rows of hot tables, so that its reads see what MySQL would show them.
//!
//! A consistent read shows a row as the snapshot has it, unless the transaction has changed it: then it shows the row
//! as the transaction left it. A counter is read as base + SUM(slots), and both parts must be of the same time. So
//! before a read, the slots of rows that the transaction has changed are folded into base, which is then the value.
//! The read leaves the slots of these rows out, because the snapshot may still show what they held before.

use std::sync::Arc;

use super::savepoints::Savepoints;
use crate::catalog::HotTable;
use crate::counter::fold::Look;
use crate::counter::motion::Held;
use crate::counter::{Key, SlotLease};

/// How many shapes of increments a transaction remembers.
const MOST_SHAPES: usize = 64;

/// The longest predicate that is remembered, in bytes, of keys that need no fold, or of literals that name the rows
/// which keys have locked.
const LONGEST_PREDICATE: usize = 4 * 1024;

/// How long the predicates of changed rows may be together, in bytes: each read contains them.
const MOST_PREDICATES: usize = 256 * 1024;

/// How many keys are remembered of a transaction's increments. Beyond that, whole tables are.
const MOST_KEYS: usize = 256;

/// The open transaction.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// What it has done to rows until now, if it has done anything.
    rows: Kept,
    /// What it had done when each of its savepoints was set.
    pub savepoints: Savepoints,
    /// It has just been begun, by a statement that says nothing more, and nothing has been done in it.
    pub is_untouched: bool,
    /// It may have read a table without locks, so that its snapshot may be older than what it locks now.
    pub may_have_snapshot: bool,
    /// It has certainly read a table without locks.
    pub has_snapshot: bool,
    /// Shapes of its increments, in slots or not.
    pub shapes: Vec<u64>,
    /// It has done more than increment, or something went wrong in it, so it does not show that its shapes only
    /// increment.
    pub proves_nothing: bool,
    /// Tables whose slot tables were gone when it made its snapshot: the snapshot has only base of them.
    pub without_slots: Vec<Arc<HotTable>>,
    /// Rows that it has incremented in tables without slots.
    pub held: Vec<Held>,
    /// The slots that the transaction's increments go to, one per table.
    pub leases: Vec<(Arc<HotTable>, SlotLease)>,
}

/// What a transaction had done to rows at some time; `None` if nothing.
pub(crate) type Kept = Option<Arc<Rows>>;

/// What a transaction has done to rows of hot tables. Savepoints share it until it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Keys incremented in slots: a read of their table folds them first.
    pub incremented: Vec<Keys>,
    /// Keys whose base row the transaction has changed while their slots may hold something: a read of their table
    /// folds them first.
    pub written: Vec<Keys>,
    /// Rows of which a statement has changed some, as they were before it.
    pub suspects: Vec<Suspects>,
    /// Keys whose base row is locked and that have no open slots: base is their value now, and they need no fold. With
    /// the number of rows, if that is known.
    pub settled: Vec<(Keys, Option<usize>)>,
    /// Keys whose base row the transaction has changed and whose slots it has folded: its reads see that row, and
    /// leave out the slots, which its snapshot may show as they were with an older base row.
    pub folded: Vec<Keys>,
    /// Keys that were among `folded` when something happened that may have undone the fold.
    doubted: Vec<Keys>,
    /// Predicates of literals for the rows that these keys locked. The client's own predicate may raise warnings, and
    /// would raise them again in every read that leaves slots out.
    locked: Vec<(Keys, Vec<u8>)>,
}

/// Keys of a hot table, with parameters filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub table: Arc<HotTable>,
    /// Predicate over unqualified key columns; `None` for the whole table.
    pub predicate: Option<Vec<u8>>,
}

/// Rows that a statement was about to write, each with a digest of all its columns.
#[derive(Clone, Debug)]
pub(crate) struct Suspects {
    pub table: Arc<HotTable>,
    /// The rows as they were.
    pub before: Vec<(Key, Option<Vec<u8>>)>,
    /// How they were read.
    pub look: Look,
    /// The key of a row that the statement may have inserted.
    pub inserted: Option<Vec<u8>>,
}

impl Keys {
    pub(crate) fn whole(table: Arc<HotTable>) -> Self {
        Self {
            table,
            predicate: None,
        }
    }

    /// The length of the predicate, in bytes.
    fn length(&self) -> usize {
        self.predicate.as_ref().map_or(0, Vec::len)
    }

    /// Whether these are among the others.
    fn are_in(&self, others: &[Self]) -> bool {
        others.iter().any(|other| {
            other.table == self.table
                && (other.predicate.is_none() || other.predicate == self.predicate)
        })
    }
}

impl Transaction {
    /// What it has done to rows.
    pub(crate) fn rows(&self) -> &Rows {
        static NOTHING: Rows = Rows::new();
        self.rows.as_deref().unwrap_or(&NOTHING)
    }

    /// What it has done to rows, to be changed.
    pub(crate) fn rows_mut(&mut self) -> &mut Rows {
        Arc::make_mut(self.rows.get_or_insert_default())
    }

    /// What it has done to rows so far, to be kept.
    pub(crate) fn kept_rows(&self) -> Kept {
        self.rows.clone()
    }

    /// Goes back to this record: what the transaction has done since then is undone.
    pub(crate) fn restore(&mut self, rows: Kept) {
        self.rows = rows;
    }

    pub(crate) fn remember_shape(&mut self, shape: u64) {
        if self.shapes.len() < MOST_SHAPES && !self.shapes.contains(&shape) {
            self.shapes.push(shape);
        }
    }

    /// Takes in that locks may be gone or folds undone: the next read folds again. To fold twice is exact; to trust a
    /// fold that was undone would not be.
    pub(crate) fn distrust_folds(&mut self) {
        let rows = self.rows();
        if !rows.settled.is_empty() || !rows.folded.is_empty() {
            self.rows_mut().distrust_folds();
        }
    }
}

impl Rows {
    const fn new() -> Self {
        Self {
            incremented: Vec::new(),
            written: Vec::new(),
            suspects: Vec::new(),
            settled: Vec::new(),
            folded: Vec::new(),
            doubted: Vec::new(),
            locked: Vec::new(),
        }
    }

    fn distrust_folds(&mut self) {
        self.settled.clear();
        for keys in std::mem::take(&mut self.folded) {
            remember(&mut self.doubted, keys.clone());
            remember(&mut self.written, keys);
        }
    }

    /// Remembers that an increment went to slots of these keys.
    pub(crate) fn remember_increment(&mut self, keys: Keys) {
        // The same key may have been settled by another predicate.
        self.settled.retain(|(other, _)| other.table != keys.table);
        remember(&mut self.incremented, keys);
    }

    /// Remembers that a statement has changed the base rows of these keys.
    pub(crate) fn remember_written(&mut self, keys: Keys) {
        if !self.has_folded(&keys) {
            remember(&mut self.written, keys);
        }
    }

    /// Whether rows of this table have been read to find out what changes out of sight.
    pub(crate) fn is_watched(&self, table: &Arc<HotTable>) -> bool {
        let mut suspects = self.suspects.iter();
        suspects.any(|some| some.look == Look::Consistent && some.table == *table)
    }

    /// Remembers that a statement may have changed some of these rows.
    pub(crate) fn remember_suspects(&mut self, suspects: Suspects) {
        /// With their digests, this many rows take a megabyte or two.
        const MOST_SUSPECTS: usize = 8 * 1024;
        let held: usize = self.suspects.iter().map(|other| other.before.len()).sum();
        match held + suspects.before.len() <= MOST_SUSPECTS {
            true => self.suspects.push(suspects),
            false => remember(&mut self.written, Keys::whole(suspects.table)),
        }
    }

    /// Remembers that the base rows of these keys are locked and have no open slots.
    pub(crate) fn remember_settled(&mut self, keys: Keys, rows: Option<usize>) {
        let is_short = keys.length() <= LONGEST_PREDICATE;
        let is_new = !self.settled.iter().any(|(other, _)| *other == keys);
        if is_short && self.settled.len() < MOST_KEYS && is_new {
            self.settled.push((keys, rows));
        }
    }

    /// Remembers that the transaction has changed the base rows of these keys, and that their slots are folded.
    pub(crate) fn remember_fold(&mut self, keys: Keys) {
        let covered = |other: &Keys| {
            other.table == keys.table
                && (keys.predicate.is_none() || keys.predicate == other.predicate)
        };
        self.incremented.retain(|other| !covered(other));
        self.written.retain(|other| !covered(other));
        self.doubted.retain(|other| !covered(other));
        let held: usize = self.folded.iter().map(Keys::length).sum();
        let has_room = self.folded.len() < MOST_KEYS && held + keys.length() <= MOST_PREDICATES;
        if has_room || keys.predicate.is_none() {
            remember(&mut self.folded, keys);
            return;
        }
        // There are too many to remember one by one, so the next read folds the whole table.
        let table = Arc::clone(&keys.table);
        self.folded.retain(|other| other.table != table);
        self.settled.retain(|(other, _)| other.table != table);
        let whole = Keys::whole(table);
        remember(&mut self.doubted, whole.clone());
        remember(&mut self.written, whole);
    }

    /// What reads of `table` find by their base row alone: predicates over unqualified key columns.
    pub(crate) fn predicates_of_folded(&self, table: &Arc<HotTable>) -> Vec<Vec<u8>> {
        let of_table = self.folded.iter().filter(|keys| keys.table == *table);
        let predicates = of_table.map(|keys| {
            let locked = self.locked.iter().find(|(other, _)| other == keys);
            match (locked, &keys.predicate) {
                (Some((_, literals)), _) => literals.clone(),
                (None, Some(predicate)) => predicate.clone(),
                (None, None) => b"TRUE".to_vec(),
            }
        });
        predicates.collect()
    }

    /// Remembers that these keys have locked the rows for which `literals` holds. `None` if they have locked none, or
    /// if the rows could not be named.
    pub(crate) fn remember_locked(&mut self, keys: &Keys, literals: Option<Vec<u8>>) {
        self.locked.retain(|(other, _)| other != keys);
        let is_short = |literals: &Vec<u8>| literals.len() <= LONGEST_PREDICATE;
        let has_room = self.locked.len() < MOST_KEYS;
        if let Some(literals) = literals.filter(|literals| has_room && is_short(literals)) {
            self.locked.push((keys.clone(), literals));
        }
    }

    /// What a read of these tables must fold first: keys, and whether the transaction has incremented them in slots.
    pub(crate) fn unfolded(&self, tables: &[Arc<HotTable>]) -> Vec<(Keys, bool)> {
        let incremented = self.incremented.iter().map(|keys| (keys, true));
        let written = self.written.iter().map(|keys| (keys, false));
        let of_tables = incremented
            .chain(written)
            .filter(|(keys, _)| tables.contains(&keys.table));
        of_tables.map(|(keys, own)| (keys.clone(), own)).collect()
    }

    /// Whether a read of these tables has something to fold first, or to leave out.
    pub(crate) fn concern(&self, tables: &[Arc<HotTable>]) -> bool {
        let keys = self
            .incremented
            .iter()
            .chain(&self.written)
            .chain(&self.folded);
        let tables_of = keys.map(|keys| &keys.table);
        tables_of
            .chain(self.suspects.iter().map(|suspects| &suspects.table))
            .any(|table| tables.contains(table))
    }

    /// Whether the transaction holds a slot of this table.
    pub(crate) fn has_incremented(&self, table: &Arc<HotTable>) -> bool {
        self.incremented.iter().any(|keys| keys.table == *table)
    }

    /// Whether these keys need no fold.
    pub(crate) fn has_settled(&self, keys: &Keys) -> bool {
        self.rows_settled(keys).is_some()
    }

    /// `Some` if these keys need no fold, with the number of their rows if that is known.
    pub(crate) fn rows_settled(&self, keys: &Keys) -> Option<Option<usize>> {
        let mut settled = self.settled.iter();
        let found = settled.find(|(other, _)| keys.are_in(std::slice::from_ref(other)));
        found.map(|(other, rows)| rows.filter(|_| other == keys))
    }

    /// Whether reads of these keys leave slots out.
    fn has_folded(&self, keys: &Keys) -> bool {
        keys.are_in(&self.folded)
    }

    /// Whether these keys were folded once, and perhaps still are.
    pub(crate) fn has_doubted(&self, keys: &Keys) -> bool {
        keys.are_in(&self.doubted)
    }
}

fn remember(list: &mut Vec<Keys>, keys: Keys) {
    if list.contains(&keys) {
        return;
    }
    if list.len() < MOST_KEYS {
        list.push(keys);
        return;
    }
    let table = Arc::clone(&keys.table);
    list.retain(|other| other.table != table);
    list.push(Keys::whole(table));
}

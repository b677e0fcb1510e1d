//! Which slot rows have been incremented since the last roll-up.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::catalog::HotTable;
use crate::counter::fold::OpenRow;
use crate::counter::{KeyForm, unpoisoned};

/// How many keys of a table are remembered one by one; beyond, the slot table is searched for its rows. One costs some
/// 100 bytes.
const MOST_KEYS: usize = 16 * 1024;

/// The longest predicate, in bytes, by which a key is remembered.
const LONGEST_PREDICATE: usize = 1024;

/// What this proxy has put into slots since it was last rolled up.
#[derive(Debug, Default)]
pub struct Dirty {
    /// Few: one for each hot table.
    tables: Mutex<Vec<(Arc<HotTable>, Marks)>>,
    marked: Notify,
    /// Where this proxy looks after what others have left.
    leads: Mutex<Vec<Arc<HotTable>>>,
}

/// Slot rows of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Slot numbers by a predicate over the key columns.
    pub(super) rows: HashMap<Box<[u8]>, HashSet<u16>>,
    /// There are others, which are not known by name.
    pub(super) others: bool,
    /// When the oldest of them was incremented.
    pub(super) since: Option<Instant>,
    /// When they are to be rolled up.
    due: Option<Instant>,
}

impl Marks {
    /// Marks a slot row that the server has reported.
    pub(super) fn add(&mut self, form: &KeyForm, row: &OpenRow) {
        let predicate = form.condition("", &row.key).into_bytes();
        self.mark(Some(&predicate), row.slot);
    }

    /// The rows that are known by name, which are here no more.
    pub(super) fn take_rows(&mut self) -> Self {
        Self {
            rows: std::mem::take(&mut self.rows),
            ..Self::default()
        }
    }

    /// In parts of this many keys.
    pub(super) fn parts(self, keys: usize) -> Vec<Self> {
        let mut parts = Vec::with_capacity(self.rows.len().div_ceil(keys));
        let mut rows = self.rows.into_iter().peekable();
        while rows.peek().is_some() {
            parts.push(Self {
                rows: rows.by_ref().take(keys).collect(),
                ..Self::default()
            });
        }
        parts
    }

    fn mark(&mut self, predicate: Option<&[u8]>, slot: u16) {
        let Some(predicate) = predicate.filter(|predicate| reads_the_same_everywhere(predicate))
        else {
            self.others = true;
            return;
        };
        if let Some(slots) = self.rows.get_mut(predicate) {
            slots.insert(slot);
        } else if self.rows.len() < MOST_KEYS {
            self.rows.insert(predicate.into(), HashSet::from([slot]));
        } else {
            self.others = true;
        }
    }
}

/// Whether a client's predicate, whose constants are numbers and strings without quotes in them, means the same on the
/// control connection, which may have another sql_mode and character set. The rows that it finds there are rolled up,
/// which is right whatever rows they are; but it must not become another statement.
fn reads_the_same_everywhere(predicate: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'"');
    predicate.len() <= LONGEST_PREDICATE && predicate.iter().all(is_plain)
}

impl Dirty {
    /// An increment of the keys under `predicate` (unqualified key columns, or `None` when they are not known) is
    /// committed in this slot. Calling it twice, or for one that was rolled back, does no harm.
    pub fn mark(&self, table: &Arc<HotTable>, predicate: Option<&[u8]>, slot: u16) {
        self.change(table, |marks| {
            marks.since.get_or_insert_with(Instant::now);
            marks.mark(predicate, slot);
        });
    }

    /// What could not be rolled up of what was taken is tried again after another interval, or a longer time.
    pub(super) fn put_back(&self, table: &Arc<HotTable>, left: &Marks, wait: Duration) {
        self.change(table, |marks| {
            for (predicate, slots) in &left.rows {
                for &slot in slots {
                    marks.mark(Some(predicate), slot);
                }
            }
            marks.others |= left.others;
            marks.since = left.since.or(marks.since);
            marks.due = Some(Instant::now() + wait);
        });
    }

    /// In these tables this proxy is the one that looks after what others have left. Where it newly is, all slots are
    /// to be looked through.
    pub fn lead(&self, tables: &[Arc<HotTable>]) {
        let before = std::mem::replace(&mut *unpoisoned(&self.leads), tables.to_vec());
        let news = tables.iter().filter(|table| !is_among(&before, table));
        news.for_each(|table| self.mark(table, None, 0));
    }

    pub(super) fn leads(&self, table: &HotTable) -> bool {
        is_among(&unpoisoned(&self.leads), table)
    }

    fn change(&self, table: &Arc<HotTable>, change: impl FnOnce(&mut Marks)) {
        let mut tables = unpoisoned(&self.tables);
        let is_it = |marked: &(Arc<HotTable>, Marks)| Arc::ptr_eq(&marked.0, table);
        let index = tables.iter().position(is_it).unwrap_or_else(|| {
            tables.push((Arc::clone(table), Marks::default()));
            tables.len() - 1
        });
        let marks = &mut tables[index].1;
        let is_first = marks.due.is_none();
        change(marks);
        if is_first {
            marks
                .due
                .get_or_insert_with(|| Instant::now() + table.rollup);
            drop(tables);
            self.marked.notify_one();
        }
    }

    /// Returns when something has been marked since it last returned. Cancel safe.
    pub(super) async fn wait(&self) {
        self.marked.notified().await;
    }

    /// Tables with marks, and when each is due.
    pub(super) fn due(&self) -> Vec<(Arc<HotTable>, Instant)> {
        let tables = unpoisoned(&self.tables);
        let due = tables
            .iter()
            .filter_map(|(table, marks)| Some((Arc::clone(table), marks.due?)));
        due.collect()
    }

    /// Takes what is marked of a table.
    pub(super) fn take(&self, table: &Arc<HotTable>) -> Marks {
        let mut tables = unpoisoned(&self.tables);
        let marked = tables
            .iter()
            .position(|(marked, _)| Arc::ptr_eq(marked, table));
        match marked {
            // A table that DDL has changed is another one, so that this one would be kept for good.
            Some(index) => tables.swap_remove(index).1,
            None => Marks::default(),
        }
    }

    /// Tables with marks, and since when the oldest increment of each has waited.
    pub fn oldest(&self) -> Vec<(Arc<HotTable>, Instant)> {
        let tables = unpoisoned(&self.tables);
        let oldest = tables
            .iter()
            .filter_map(|(table, marks)| Some((Arc::clone(table), marks.since?)));
        oldest.collect()
    }
}

/// Whether a table's slots are those of one of these, which may be of an earlier catalog.
fn is_among(tables: &[Arc<HotTable>], table: &HotTable) -> bool {
    let name = |table: &HotTable| (table.slot_schema.clone(), table.slot_name.clone());
    tables.iter().any(|other| name(other) == name(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_key_are_remembered_once() {
        let (dirty, table) = (Dirty::default(), crate::sql::posts_in_fixture());
        dirty.mark(&table, Some(b"`id` = 42"), 0);
        dirty.mark(&table, Some(b"`id` = 42"), 3);
        dirty.mark(&table, Some(b"`id` = 42"), 3);
        let marks = dirty.take(&table);
        let slots: HashSet<u16> = [0, 3].into();
        assert_eq!(marks.rows.len(), 1);
        assert_eq!(marks.rows[&b"`id` = 42"[..]], slots);
        assert!(!marks.others && marks.since.is_some());
        assert_eq!(dirty.take(&table), Marks::default());
    }

    #[test]
    fn what_another_session_could_take_for_something_else_is_not_kept() {
        for predicate in [
            &b"`token` = 'a\\'"[..],
            b"`token` = \"a\"",
            b"`token` = '\xE9'",
            b"`token` = 'a\0'",
        ] {
            let (dirty, table) = (Dirty::default(), crate::sql::posts_in_fixture());
            dirty.mark(&table, Some(predicate), 0);
            let marks = dirty.take(&table);
            assert!(marks.rows.is_empty() && marks.others, "{predicate:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (dirty, table) = (Dirty::default(), crate::sql::posts_in_fixture());
        for id in 0..MOST_KEYS + 5 {
            dirty.mark(&table, Some(format!("`id` = {id}").as_bytes()), 0);
        }
        let marks = dirty.take(&table);
        assert_eq!(marks.rows.len(), MOST_KEYS);
        assert!(marks.others);
    }

    #[tokio::test]
    async fn the_first_mark_wakes_the_roll_up() {
        let (dirty, table) = (Dirty::default(), crate::sql::posts_in_fixture());
        dirty.mark(&table, Some(b"`id` = 1"), 0);
        dirty.wait().await;
        dirty.mark(&table, Some(b"`id` = 2"), 0);
        let again = tokio::time::timeout(std::time::Duration::from_millis(20), dirty.wait());
        assert!(again.await.is_err());
    }
}

//! Which of the earlier catalogs sessions still act by.

use crate::session::Replaced;

/// Catalogs that were replaced, and may still be in use somewhere.
#[derive(Debug, Default)]
pub(super) struct History {
    past: Vec<Entry>,
    /// Number of the catalog in force: they are counted from 0.
    number: u64,
    /// The tables that it names.
    names: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    names: Vec<String>,
    replaced: Replaced,
}

impl History {
    /// The first catalog, which names these tables.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Number of the catalog in force.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Another catalog, which names these tables, has taken the place of `replaced`.
    pub(super) fn add(&mut self, replaced: Replaced, names: Vec<String>) {
        self.past
            .retain(|entry| !(entry.replaced.is_released() && entry.replaced.has_no_prepared()));
        self.past.push(Entry {
            number: self.number,
            names: std::mem::replace(&mut self.names, names),
            replaced,
        });
        self.number += 1;
    }

    /// Whether no session acts by a catalog before this one.
    pub(super) fn is_released_before(&self, number: u64) -> bool {
        let mut before = self.past.iter().filter(|entry| entry.number < number);
        before.all(|entry| entry.replaced.is_released())
    }

    /// Whether no session may have a statement on this table that it has prepared under a catalog that did not name it.
    pub(super) fn is_seen_by_all(&self, table: &str) -> bool {
        let mut blind = self
            .past
            .iter()
            .filter(|entry| !entry.names.iter().any(|name| name == table));
        blind.all(|entry| entry.replaced.has_no_prepared())
    }
}

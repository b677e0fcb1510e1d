//! Which slot an increment goes to: the lowest that no other session holds.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::RngExt;

use super::rollup::Dirty;
use super::unpoisoned;
use crate::catalog::{Bounds, HotTable};

/// How many (key, slot) pairs are remembered to have a slot row. One costs some 50 bytes.
const MOST_KNOWN: usize = 64 * 1024;

/// How many keys a lease remembers.
const MOST_INCREMENTED: usize = 64;

/// Slots of all hot tables, shared by all sessions.
#[derive(Debug)]
pub struct Slots {
    /// By hash of the slot table's name. If two hashes are equal, the tables share slots, which does no harm to
    /// correctness.
    pools: Mutex<HashMap<u64, Arc<Pool>>>,
    /// Hashes of (slot table, key, slot) whose slot row existed, and the columns for which it was opened last. A fold
    /// by another proxy may have closed the row, and later statements may have left base without room, or NULL. That
    /// costs one UPDATE that is refused, because a row is known to be open for some columns only: a session that opens
    /// it for others forgets these.
    known: quick_cache::sync::Cache<u64, Opened>,
    hasher: RandomState,
    /// Number of this proxy among those in front of the server.
    node: AtomicU16,
    /// How many ranges there are to be, a power of two: by the highest number that a proxy has, as far as is known.
    ranges: AtomicU16,
    /// What is to be rolled up.
    dirty: Arc<Dirty>,
}

/// What identifies a slot row, besides its table and slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRow {
    /// Its key, as a predicate.
    pub predicate: Vec<u8>,
    /// The predicate is the only text of this key: `` `id` = 42 ``. Of others ('a', 'A') there may be several for one
    /// row.
    pub has_one_text: bool,
    /// The counters and touch columns for which base has been asked: whether it has room, and no later time.
    pub guarded: Vec<usize>,
    /// The server that has the row, hashed: the upstream's address may lead to another.
    pub server: u64,
}

impl SlotRow {
    /// For a row of a table without slots, known by its key to the sessions of one server.
    pub fn of_base(predicate: Vec<u8>) -> Self {
        Self {
            predicate,
            ..Self::default()
        }
    }
}

/// What rows of a slot may have been opened, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Opening {
    /// Hash of the columns.
    guarded: u64,
    /// It was one row, whose key has no other text.
    is_of_one_text: bool,
}

/// For what a slot row has been opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opened {
    /// Hash of the columns for which base was asked.
    guarded: u64,
    /// How often rows that may be this one had been opened for other columns, and are not forgotten by their key.
    by_others: u64,
}

/// The slots of one table.
#[derive(Debug, Default)]
struct Pool {
    places: Mutex<Vec<Place>>,
    /// What is known of slot rows is known of this generation.
    generation: AtomicU64,
    /// How often rows of a slot may have been opened, of a table with several counters and touch columns.
    openings: Mutex<HashMap<u16, HashMap<Opening, u64>>>,
}

/// A slot of a pool.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Since when a session holds it.
    held: Option<Instant>,
    /// For how long it was held before.
    before: Duration,
}

impl Place {
    /// Holds it, unless another session does.
    fn take(&mut self) -> bool {
        let is_free = self.held.is_none();
        self.held.get_or_insert_with(Instant::now);
        is_free
    }

    fn give_back(&mut self) {
        if let Some(since) = self.held.take() {
            self.before += since.elapsed();
        }
    }
}

/// The use of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotUse {
    /// Its number.
    pub slot: u16,
    /// A session holds it now.
    pub is_held: bool,
    /// For how long sessions have held it, all together.
    pub busy: Duration,
}

/// A slot that a session holds until the lease is dropped, which is when what it has put there is committed or rolled
/// back.
#[derive(Debug)]
pub struct SlotLease {
    table: Arc<HotTable>,
    dirty: Arc<Dirty>,
    /// Predicates of the keys that it has incremented there; `None` for keys that are not known.
    incremented: Vec<Option<Box<[u8]>>>,
    pool: Arc<Pool>,
    /// Its place in the range of this proxy.
    place: usize,
    slot: u16,
    /// All slots were held, so this one is shared, and this lease must not give it back.
    shared: bool,
}

impl SlotLease {
    /// Number of the slot.
    pub fn slot(&self) -> u16 {
        self.slot
    }

    /// Whether another session may hold it as well: all were taken.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The keys under `predicate` (unqualified key columns; `None` if they are not known) have been incremented in this
    /// slot. When the lease ends, they are marked for the roll-up.
    pub fn incremented(&mut self, predicate: Option<&[u8]>) {
        let predicate = predicate.filter(|_| self.incremented.len() < MOST_INCREMENTED);
        if !self
            .incremented
            .iter()
            .any(|known| known.as_deref() == predicate)
        {
            self.incremented.push(predicate.map(Box::from));
        }
    }
}

impl Drop for SlotLease {
    fn drop(&mut self) {
        for predicate in &self.incremented {
            self.dirty
                .mark(&self.table, predicate.as_deref(), self.slot);
        }
        if !self.shared {
            unpoisoned(&self.pool.places)[self.place].give_back();
        }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            pools: Mutex::default(),
            known: quick_cache::sync::Cache::new(MOST_KNOWN),
            hasher: RandomState::new(),
            node: AtomicU16::new(0),
            ranges: AtomicU16::new(1),
            dirty: Arc::default(),
        }
    }
}

/// How many ranges there are to be where this is the highest number of a proxy.
fn ranges_for(highest: u16) -> u16 {
    (highest.min(Bounds::MAX_SLOTS - 1) + 1).next_power_of_two()
}

impl Slots {
    /// Leases the lowest free slot of a table, so that the number of slot rows follows the number of sessions
    /// that increment at one time. When all are taken, one is shared by chance.
    pub fn lease(&self, table: &Arc<HotTable>) -> SlotLease {
        let pool = self.pool(table);
        let (first, width) = self.span(table);
        let most = usize::from(width);
        let mut places = unpoisoned(&pool.places);
        if places.len() < most {
            places.resize(most, Place::default());
        }
        let free = places[..most].iter_mut().position(Place::take);
        drop(places);
        let place = free.unwrap_or_else(|| rand::rng().random_range(0..most));
        let offset = u16::try_from(place).expect("a table has at most 256 slots");
        let slot = first + offset;
        self.lease_in(table, pool, place, slot, free.is_none())
    }

    /// The slots of this proxy's range; none where the table has no slots.
    pub(super) fn range(&self, table: &HotTable) -> Range<u16> {
        let (first, width) = self.span(table);
        first..first + width.min(table.slots)
    }

    /// The slots of this proxy's range that are leased now, lowest first.
    pub fn leased(&self, table: &HotTable) -> Vec<u16> {
        let used = self.in_use(table).into_iter();
        used.filter(|used| used.is_held)
            .map(|used| used.slot)
            .collect()
    }

    /// Leases this slot, unless a session holds it.
    pub(super) fn lease_of(&self, table: &Arc<HotTable>, slot: u16) -> Option<SlotLease> {
        let place = usize::from(slot.checked_sub(self.first(table))?);
        let pool = self.pool(table);
        let mut places = unpoisoned(&pool.places);
        if places.len() <= place {
            places.resize(place + 1, Place::default());
        }
        if !places[place].take() {
            return None;
        }
        drop(places);
        Some(self.lease_in(table, pool, place, slot, false))
    }

    fn lease_in(
        &self,
        table: &Arc<HotTable>,
        pool: Arc<Pool>,
        place: usize,
        slot: u16,
        shared: bool,
    ) -> SlotLease {
        SlotLease {
            table: Arc::clone(table),
            dirty: Arc::clone(&self.dirty),
            incremented: Vec::new(),
            pool,
            place,
            slot,
            shared,
        }
    }

    /// The use of each slot of this proxy's range.
    pub fn in_use(&self, table: &HotTable) -> Vec<SlotUse> {
        let places = unpoisoned(&self.pool(table).places).clone();
        let now = Instant::now();
        let places = places
            .into_iter()
            .chain(std::iter::repeat(Place::default()));
        let used = self.range(table).zip(places).map(|(slot, place)| {
            let since = |since| now.saturating_duration_since(since);
            SlotUse {
                slot,
                is_held: place.held.is_some(),
                busy: place.before + place.held.map_or(Duration::ZERO, since),
            }
        });
        used.collect()
    }

    /// What has been put into slots and is to be rolled up.
    pub fn dirty(&self) -> &Arc<Dirty> {
        &self.dirty
    }

    /// This proxy is the one of this number among several: it leases slots of a range of its own.
    pub fn set_node(&self, number: u16) {
        self.change(&self.node, number);
    }

    /// Another proxy has this number, and none has a higher one. Where proxies differ in that for a while, their ranges
    /// overlap, which costs waits.
    pub fn set_highest(&self, number: u16) {
        self.change(&self.ranges, ranges_for(number));
    }

    fn change(&self, one: &AtomicU16, to: u16) {
        if one.swap(to, Ordering::Relaxed) != to {
            // Slots that come to this range have been another proxy's.
            self.known.clear();
        }
    }

    /// The first slot of this proxy's range, and how many it has: as many as the table's rule says, or fewer where that
    /// would leave none for other proxies. No slot is beyond [`Bounds::MAX_SLOTS`], whatever changes meanwhile, so both
    /// are by one look at the numbers.
    fn span(&self, table: &HotTable) -> (u16, u16) {
        let node = self.node.load(Ordering::Relaxed);
        let ranges = ranges_for(node).max(self.ranges.load(Ordering::Relaxed));
        let width = table.slots.min(Bounds::MAX_SLOTS / ranges).max(1);
        (node % (Bounds::MAX_SLOTS / width) * width, width)
    }

    /// The first slot of this proxy's range, which is leased first.
    pub fn first(&self, table: &HotTable) -> u16 {
        self.span(table).0
    }

    /// Whether this slot row has been seen, and is open for its columns if it is open at all.
    pub fn knows(&self, table: &HotTable, row: &SlotRow, slot: u16) -> bool {
        let pool = self.pool(table);
        let opened = self.opened(table, &pool, row, slot);
        self.known.get(&self.hash(table, &pool, row, slot)) == Some(opened)
    }

    /// Remembers that this slot row is there, unless it is known to be open for other columns.
    pub fn learn(&self, table: &HotTable, row: &SlotRow, slot: u16) {
        let pool = self.pool(table);
        let opened = self.opened(table, &pool, row, slot);
        let hash = self.hash(table, &pool, row, slot);
        let stands = self.known.get(&hash);
        if stands.is_none_or(|stands| stands.guarded == opened.guarded) {
            self.known.insert(hash, opened);
        }
    }

    /// Slot rows of this slot may be opened for these columns: this row, or if there is none, any of them. What was
    /// known about them for other columns is forgotten. Call this before they are opened.
    pub fn open(&self, table: &HotTable, row: Option<&SlotRow>, guarded: &[usize], slot: u16) {
        let pool = self.pool(table);
        if let Some(row) = row {
            self.known.remove(&self.hash(table, &pool, row, slot));
        }
        if may_differ(table) {
            let opening = Opening {
                guarded: self.hash_of(&guarded),
                is_of_one_text: row.is_some_and(|row| row.has_one_text),
            };
            let mut openings = unpoisoned(&pool.openings);
            *openings
                .entry(slot)
                .or_default()
                .entry(opening)
                .or_default() += 1;
        }
    }

    /// For what this slot row is open, if it is opened now.
    fn opened(&self, table: &HotTable, pool: &Pool, row: &SlotRow, slot: u16) -> Opened {
        let guarded = self.hash_of(&row.guarded);
        if !may_differ(table) {
            return Opened {
                guarded,
                by_others: 0,
            };
        }
        let openings = unpoisoned(&pool.openings);
        let may_be_its = |opening: &Opening| {
            opening.guarded != guarded && !(row.has_one_text && opening.is_of_one_text)
        };
        let of_slot = openings.get(&slot).into_iter().flatten();
        let by_others = of_slot.filter(|(opening, _)| may_be_its(opening));
        Opened {
            guarded,
            by_others: by_others.map(|(_, count)| count).sum(),
        }
    }

    /// Forgets all slot rows of a table.
    pub fn forget_all(&self, table: &HotTable) {
        self.pool(table).generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets this slot row, for whatever columns it was open.
    pub fn forget(&self, table: &HotTable, row: &SlotRow, slot: u16) {
        self.known
            .remove(&self.hash(table, &self.pool(table), row, slot));
    }

    /// A hash that holds as long as this process.
    pub fn hash_of(&self, value: &impl std::hash::Hash) -> u64 {
        self.hasher.hash_one(value)
    }

    fn name(&self, table: &HotTable) -> u64 {
        self.hasher.hash_one((&table.slot_schema, &table.slot_name))
    }

    fn pool(&self, table: &HotTable) -> Arc<Pool> {
        let mut pools = unpoisoned(&self.pools);
        Arc::clone(pools.entry(self.name(table)).or_default())
    }

    fn hash(&self, table: &HotTable, pool: &Pool, row: &SlotRow, slot: u16) -> u64 {
        let generation = pool.generation.load(Ordering::Relaxed);
        let key = (&row.predicate, row.server);
        self.hasher
            .hash_one((self.name(table), generation, key, slot))
    }
}

/// Whether increments of a table may differ in what base must be asked about.
fn may_differ(table: &HotTable) -> bool {
    table.counters.len() + table.touches.len() > 1
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn table(slots: u16) -> Arc<HotTable> {
        Arc::new(HotTable {
            slots,
            ..HotTable::clone(&crate::sql::posts_in_fixture())
        })
    }

    #[test]
    fn the_lowest_free_slot_is_leased_first() {
        let (slots, table) = (Slots::default(), table(3));
        let leases = [0, 1, 2].map(|_| slots.lease(&table));
        assert_eq!(leases.each_ref().map(SlotLease::slot), [0, 1, 2]);
        let shared = slots.lease(&table);
        assert!(shared.is_shared() && shared.slot() < 3);
        let [_first, second, _third] = leases;
        drop((shared, second));
        assert_eq!(slots.lease(&table).slot(), 1);
    }

    /// A row that another proxy has closed is opened again for one counter, which says nothing of the room for the
    /// others.
    #[test]
    fn a_slot_row_is_known_for_the_counters_that_opened_it_last() {
        let (slots, table) = (Slots::default(), table(3));
        assert!(table.counters.len() > 1);
        let row = |predicate: &str, counter: usize| SlotRow {
            predicate: predicate.as_bytes().to_vec(),
            has_one_text: !predicate.contains('\''),
            guarded: vec![counter],
            server: 1,
        };
        let learn = |row: &SlotRow| {
            slots.open(&table, Some(row), &row.guarded, 0);
            slots.learn(&table, row, 0);
        };
        let knows = |row: &SlotRow| slots.knows(&table, row, 0);
        let [views, likes] = [3, 4].map(|counter| row("`id` = 1", counter));
        learn(&views);
        assert!(knows(&views) && !knows(&likes) && !slots.knows(&table, &views, 1));
        // The same row, another, and the same in other words.
        slots.open(&table, Some(&likes), &likes.guarded, 0);
        assert!(!knows(&views));
        slots.learn(&table, &likes, 0);
        slots.learn(&table, &views, 0);
        assert!(knows(&likes) && !knows(&views));
        let [other, in_words] = ["`id` = 2", "`id` = '1'"].map(|predicate| row(predicate, 3));
        learn(&other);
        assert!(knows(&likes) && knows(&other));
        learn(&in_words);
        assert!(!knows(&likes) && knows(&other) && knows(&in_words));
        learn(&likes);
        assert!(knows(&likes) && knows(&other) && !knows(&in_words));
        // It is not known which row, of another slot and of this one.
        slots.open(&table, None, &views.guarded, 1);
        assert!(knows(&likes));
        slots.open(&table, None, &views.guarded, 0);
        assert!(!knows(&likes) && knows(&other));
        learn(&likes);
        slots.forget_all(&table);
        assert!(!knows(&likes) && !knows(&other));
    }

    #[test]
    fn what_becomes_of_slots_is_told() {
        let (slots, table) = (Slots::default(), table(3));
        let used = |slot: usize| slots.in_use(&table)[slot];
        assert_eq!(slots.in_use(&table).len(), 3);
        let leases = [0, 1].map(|_| slots.lease(&table));
        assert!(used(0).is_held && used(1).is_held && !used(2).is_held);
        drop(leases);
        let (first, second) = (used(0), used(0));
        assert!(!first.is_held && first.busy > Duration::ZERO);
        assert_eq!(first.busy, second.busy, "nobody holds it");
        assert_eq!(used(2).busy, Duration::ZERO);
    }

    #[test]
    fn proxies_lease_from_ranges_of_their_own() {
        let slots = Slots::default();
        for (most, node, expected) in [
            (64, 0, 0),
            (64, 1, 64),
            (64, 3, 192),
            (64, 4, 128),
            (256, 1, 128),
            (1, 255, 255),
        ] {
            slots.set_node(node);
            assert_eq!(
                slots.lease(&table(most)).slot(),
                expected,
                "{most} slots, node {node}"
            );
        }
    }

    #[test]
    fn however_many_proxies_there_are_their_ranges_are_apart() {
        for most in [1, 3, 64, 100, 256] {
            for proxies in [1, 2, 4, 5, 16, 64, 255, 256] {
                let mut taken = HashSet::new();
                for node in 0..proxies {
                    let slots = Slots::default();
                    slots.set_node(node);
                    slots.set_highest(if node == proxies - 1 { 0 } else { proxies - 1 });
                    let range = slots.range(&table(most));
                    assert!(
                        !range.is_empty() && range.end <= Bounds::MAX_SLOTS,
                        "{range:?}"
                    );
                    for slot in range {
                        assert!(
                            taken.insert(slot),
                            "{proxies} proxies, {most} slots: {slot}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_range_shrinks_and_grows_with_the_number_of_proxies() {
        let (slots, table) = (Slots::default(), table(64));
        let early: Vec<_> = (0..64).map(|_| slots.lease(&table)).collect();
        slots.set_highest(15);
        assert_eq!(slots.range(&table), 0..16);
        assert!(slots.lease(&table).is_shared(), "they are all taken");
        drop(early);
        let later: Vec<_> = (0..16).map(|_| slots.lease(&table)).collect();
        assert!(later.iter().all(|lease| !lease.is_shared()));
        assert!(slots.lease(&table).is_shared());
        slots.set_highest(0);
        assert_eq!(slots.lease(&table).slot(), 16);
    }
}

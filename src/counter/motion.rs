//! Which tables need slots now: those in which transactions come to rows that other open transactions have incremented.
//!
//! Without slots, an increment in autocommit waits for others of its row only in the proxy, which combines them. One in
//! a transaction holds the row until the transaction ends, and there slots are worth what they cost: until they are
//! folded back, each read of the table adds them up. So a table rests without slots until increments meet such a row
//! again and again, and rests again when no transaction has put anything into slots for a while.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::unpoisoned;
use crate::catalog::HotTable;

/// How many meetings within [`WINDOW`] set a table in motion.
const MEETINGS: u32 = 16;

/// The time within which meetings are counted together.
const WINDOW: Duration = Duration::from_secs(1);

/// A transaction that waits this long for a row has met another one there, and one that waits twice as long has met
/// two: transactions of other proxies are not counted here otherwise.
const WAIT: Duration = Duration::from_millis(10);

/// The longest that a change to slots waits for transactions that wait for each other.
const LONGEST_PATIENCE: Duration = Duration::from_secs(10);

/// For how long slots are kept after the last use by a transaction.
const LINGER: Duration = Duration::from_secs(10);

/// After a change that could not be made, the next one waits for this long, and for twice as long each time.
const PAUSE: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(320);

/// How many rows a table remembers as held by transactions.
const MOST_HELD: usize = 16 * 1024;

/// Which tables need slots, as far as the sessions of this proxy show.
#[derive(Debug, Default)]
pub struct Motion {
    tables: Mutex<HashMap<u64, Table>>,
    /// A table has come to need slots.
    needed: Notify,
}

/// What sessions show of one table.
#[derive(Debug)]
struct Table {
    /// How many open transactions have incremented a row without slots, by the hash of its key.
    held: HashMap<u64, u32>,
    /// Meetings since `window` began.
    meetings: u32,
    window: Instant,
    /// The last long wait, and when it ended.
    waited: Option<(Duration, Instant)>,
    /// When slots were last needed: for so many meetings, or by a transaction that used one.
    needed: Option<Instant>,
    /// What a test has said instead.
    forced: Option<bool>,
    /// It is not set in motion before this time.
    not_before: Option<Instant>,
    pause: Duration,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            held: HashMap::new(),
            meetings: 0,
            window: Instant::now(),
            waited: None,
            needed: None,
            forced: None,
            not_before: None,
            pause: PAUSE,
        }
    }
}

/// A row without slots that an open transaction has incremented, until this is dropped.
#[derive(Debug)]
pub struct Held {
    motion: Arc<Motion>,
    table: u64,
    key: u64,
}

impl Held {
    /// Whether it is this row.
    pub fn is(&self, table: &HotTable, predicate: &[u8]) -> bool {
        self.table == name_of(table) && self.key == hash(predicate)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut tables = unpoisoned(&self.motion.tables);
        let Some(table) = tables.get_mut(&self.table) else {
            return;
        };
        if let Some(count) = table.held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                table.held.remove(&self.key);
            }
        }
    }
}

impl Motion {
    /// A transaction is about to increment this row without slots. `None` if too many rows are held.
    pub fn hold(self: &Arc<Self>, table: &HotTable, predicate: &[u8]) -> Option<Held> {
        let (name, key) = (name_of(table), hash(predicate));
        let mut tables = unpoisoned(&self.tables);
        let table = tables.entry(name).or_default();
        if table.held.contains_key(&key) {
            self.count(table, 1, Instant::now());
        } else if table.held.len() >= MOST_HELD {
            return None;
        }
        *table.held.entry(key).or_default() += 1;
        Some(Held {
            motion: Arc::clone(self),
            table: name,
            key,
        })
    }

    /// An increment in autocommit is about to be written to this row.
    pub fn pass(&self, table: &HotTable, predicate: &[u8]) {
        let mut tables = unpoisoned(&self.tables);
        if !tables.is_empty()
            && let Some(table) = tables.get_mut(&name_of(table))
            && table.held.contains_key(&hash(predicate))
        {
            self.count(table, 1, Instant::now());
        }
    }

    /// A transaction has waited this long until it could increment a row without slots.
    pub fn waited(&self, table: &HotTable, wait: Duration) {
        let meetings = wait.as_nanos() / WAIT.as_nanos();
        let meetings = u32::try_from(meetings).unwrap_or(MEETINGS).min(MEETINGS);
        if meetings > 0 {
            let mut tables = unpoisoned(&self.tables);
            let table = tables.entry(name_of(table)).or_default();
            let now = Instant::now();
            table.waited = Some((wait, now));
            self.count(table, meetings, now);
        }
    }

    /// How long transactions that increment the table may last now, by their waits: those that are under way should end
    /// within twice the last one. Zero if they do not wait.
    pub fn patience(&self, table: &HotTable) -> Duration {
        let tables = unpoisoned(&self.tables);
        let table = tables.get(&name_of(table));
        let waited = table.and_then(|table| table.waited);
        let waited = waited.filter(|(_, ended)| ended.elapsed() < LINGER);
        waited.map_or(Duration::ZERO, |(wait, _)| (2 * wait).min(LONGEST_PATIENCE))
    }

    /// A transaction has put an increment into a slot.
    pub fn note_use(&self, table: &HotTable) {
        let mut tables = unpoisoned(&self.tables);
        tables.entry(name_of(table)).or_default().needed = Some(Instant::now());
    }

    /// Whether the table needs slots.
    pub fn needs_slots(&self, table: &HotTable) -> bool {
        let tables = unpoisoned(&self.tables);
        tables
            .get(&name_of(table))
            .is_some_and(|table| table.needs_slots(Instant::now()))
    }

    /// For tests: has the table need slots, or not, whatever sessions show; `None`: by what they show.
    pub fn force(&self, table: &HotTable, needs_slots: Option<bool>) {
        let mut tables = unpoisoned(&self.tables);
        tables.entry(name_of(table)).or_default().forced = needs_slots;
        self.needed.notify_one();
    }

    /// The table is at rest again, because the change could not be made.
    pub fn refuse(&self, table: &HotTable) {
        let mut tables = unpoisoned(&self.tables);
        let table = tables.entry(name_of(table)).or_default();
        table.needed = None;
        table.not_before = Some(Instant::now() + table.pause);
        table.pause = (table.pause * 2).min(LONGEST_PAUSE);
    }

    /// Waits until a table has come to need slots. Cancel safe.
    pub async fn needed(&self) {
        self.needed.notified().await;
    }

    fn count(&self, table: &mut Table, meetings: u32, now: Instant) {
        let was_needed = table.needs_slots(now);
        table.meet(meetings, now);
        if !was_needed && table.needs_slots(now) {
            self.needed.notify_one();
        }
    }
}

impl Table {
    /// Increments have met a row that another transaction holds, so many times.
    fn meet(&mut self, times: u32, now: Instant) {
        if now.saturating_duration_since(self.window) > WINDOW {
            self.window = now;
            self.meetings = 0;
        }
        self.meetings += times;
        if self.meetings >= MEETINGS && self.not_before.is_none_or(|time| now >= time) {
            self.needed = Some(now);
        }
    }

    fn needs_slots(&self, now: Instant) -> bool {
        let is_needed = |last: Instant| now.saturating_duration_since(last) < LINGER;
        self.forced.unwrap_or(self.needed.is_some_and(is_needed))
    }
}

fn name_of(table: &HotTable) -> u64 {
    hash((&table.schema, &table.name))
}

fn hash(value: impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_in_a_short_time_set_a_table_in_motion() {
        let start = Instant::now();
        let mut table = Table::default();
        for _ in 1..MEETINGS {
            table.meet(1, start);
        }
        assert!(!table.needs_slots(start));
        table.meet(1, start);
        assert!(table.needs_slots(start));
        assert!(!table.needs_slots(start + LINGER), "nothing came after it");
    }

    #[test]
    fn meetings_far_apart_do_not_count_together() {
        let start = Instant::now();
        let mut table = Table::default();
        for number in 0..4 * MEETINGS {
            table.meet(1, start + number * WINDOW);
        }
        assert!(!table.needs_slots(start + 4 * MEETINGS * WINDOW));
    }

    #[test]
    fn long_waits_are_meetings_with_the_transactions_of_others() {
        let motion = Motion::default();
        let table = crate::sql::posts_in_fixture();
        motion.waited(&table, WAIT / 2);
        motion.waited(&table, WAIT * (MEETINGS - 1));
        assert!(!motion.needs_slots(&table));
        motion.waited(&table, WAIT);
        assert!(motion.needs_slots(&table));
        assert_eq!(motion.patience(&table), 2 * WAIT);
        motion.waited(&table, LONGEST_PATIENCE);
        assert_eq!(motion.patience(&table), LONGEST_PATIENCE);
    }

    #[test]
    fn a_change_that_was_refused_is_not_tried_again_at_once() {
        let start = Instant::now();
        let mut table = Table {
            not_before: Some(start + PAUSE),
            ..Table::default()
        };
        for _ in 0..2 * MEETINGS {
            table.meet(1, start);
        }
        assert!(!table.needs_slots(start));
        for _ in 0..MEETINGS {
            table.meet(1, start + PAUSE);
        }
        assert!(table.needs_slots(start + PAUSE));
    }
}

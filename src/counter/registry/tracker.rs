//! Which rows are silent: whose beat has not grown for long, as far as this process has seen.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use tokio::time::Instant;

use super::SILENCE;

/// A row as the server has it: number, proxy, beat, says.
pub(super) type Row = (u16, String, u64, String);

/// A row, and for how long it has been silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::counter) struct Entry {
    pub number: u16,
    /// Another one for each claim of a number.
    pub proxy: String,
    pub beat: u64,
    pub says: BTreeSet<String>,
    /// For how long the same beat has been seen, at the least.
    pub silent: Duration,
}

impl Entry {
    /// Whether it is somebody's who is here.
    pub(in crate::counter) fn is_live(&self) -> bool {
        self.silent < SILENCE
    }

    /// Its proxy in a number: as a connection's id shows who holds a user lock.
    pub(in crate::counter) fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.proxy.hash(&mut hasher);
        hasher.finish()
    }
}

/// What a proxy says, as its row has it.
pub(super) fn written(says: &BTreeSet<String>) -> String {
    let says: Vec<_> = says.iter().map(String::as_str).collect();
    says.join(" ")
}

fn read(says: &str) -> BTreeSet<String> {
    says.split_whitespace().map(str::to_owned).collect()
}

/// What was seen of each row, and since when.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    seen: HashMap<u16, Seen>,
}

#[derive(Debug)]
struct Seen {
    proxy: String,
    beat: u64,
    /// When the answer that had it first was there.
    since: Instant,
}

impl Tracker {
    /// Takes in all rows, by an answer to a question that was asked at the one time and answered by the other. A row
    /// that is seen for the first time is alive.
    pub(super) fn see(&mut self, rows: Vec<Row>, asked: Instant, answered: Instant) -> Vec<Entry> {
        let numbers: BTreeSet<_> = rows.iter().map(|(number, ..)| *number).collect();
        self.seen.retain(|number, _| numbers.contains(number));
        let entries = rows.into_iter().map(|(number, proxy, beat, says)| {
            let new = || Seen {
                proxy: proxy.clone(),
                beat,
                since: answered,
            };
            let seen = self.seen.entry(number).or_insert_with(new);
            if seen.proxy != proxy || seen.beat != beat {
                *seen = new();
            }
            Entry {
                number,
                silent: asked.saturating_duration_since(seen.since),
                proxy,
                beat,
                says: read(&says),
            }
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn row(number: u16, proxy: &str, beat: u64) -> Row {
        (number, proxy.to_owned(), beat, String::new())
    }

    /// The numbers that are live, of these rows at these times.
    fn live(tracker: &mut Tracker, rows: Vec<Row>, asked: Instant) -> Vec<u16> {
        let entries = tracker.see(rows, asked, asked + SECOND);
        let live = entries.iter().filter(|entry| entry.is_live());
        live.map(|entry| entry.number).collect()
    }

    #[test]
    fn a_row_is_silent_when_its_beat_has_stood_still() {
        let (mut tracker, start) = (Tracker::default(), Instant::now());
        let mut at = |seconds: u32, rows| live(&mut tracker, rows, start + SECOND * seconds);
        assert_eq!(at(0, vec![row(0, "a", 7), row(1, "b", 1)]), [0, 1]);
        // It was seen first when the answer came, which was a second later.
        assert_eq!(at(15, vec![row(0, "a", 7), row(1, "b", 2)]), [0, 1]);
        assert_eq!(at(16, vec![row(0, "a", 7), row(1, "b", 2)]), [1]);
        assert_eq!(
            at(40, vec![row(0, "a", 8), row(1, "b", 2)]),
            [0],
            "it beats"
        );
    }

    #[test]
    fn a_number_that_another_has_claimed_is_live() {
        let (mut tracker, start) = (Tracker::default(), Instant::now());
        let mut at = |seconds: u32, rows| live(&mut tracker, rows, start + SECOND * seconds);
        assert_eq!(at(0, vec![row(3, "a", 7)]), [3]);
        assert_eq!(at(60, vec![row(3, "b", 7)]), [3], "with the same beat");
        assert_eq!(at(90, vec![]), [] as [u16; 0]);
        assert_eq!(at(120, vec![row(3, "b", 7)]), [3], "it was away");
    }

    #[test]
    fn what_is_said_is_read_as_it_was_written() {
        let says: BTreeSet<_> = ["countersink.here", "countersink.slots.0f"]
            .map(str::to_owned)
            .into();
        assert_eq!(written(&says), "countersink.here countersink.slots.0f");
        assert_eq!(read(&written(&says)), says);
        assert_eq!(read(""), BTreeSet::new());
    }

    #[test]
    fn a_proxy_that_comes_back_is_another() {
        let entry = |proxy: &str| {
            let mut tracker = Tracker::default();
            let now = Instant::now();
            tracker.see(vec![row(0, proxy, 1)], now, now).remove(0)
        };
        assert_eq!(entry("a").identity(), entry("a").identity());
        assert_ne!(entry("a").identity(), entry("b").identity());
    }
}

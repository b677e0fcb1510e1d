//! What has been seen since sampling began.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::prepared::{AllPrepared, Prepared, PreparedName};
use super::report::{FollowReport, KeyReport, Keys, Report, ShapeReport};
use super::sighting::Sighting;
use super::sketch::Sketch;

/// So long after the last question nothing is looked at any more.
const INTEREST: Duration = Duration::from_secs(30);

/// The maximum number of shapes that are kept. With [`MOST_KEYS`], [`MOST_FOLLOWED`] and the bounds of texts and keys
/// this is 5 MiB at most.
const MOST_SHAPES: usize = 256;

/// The maximum number of rows that are kept for a shape.
const MOST_KEYS: usize = 32;

/// The maximum number of writes that are reported as running before a shape in its transactions.
const MOST_FOLLOWED: usize = 4;

/// The statements that pass while traffic is sampled.
#[derive(Debug, Default)]
pub struct Traffic {
    on: AtomicBool,
    /// Statements that were seen while another session was handing in one.
    missed: AtomicU64,
    /// Executions of statements that had been prepared before.
    unknown: AtomicU64,
    /// Statements whose text was not read.
    unread: AtomicU64,
    /// How many sessions have a number.
    numbers: AtomicU64,
    prepared: AllPrepared,
    sample: Mutex<Option<Sample>>,
}

#[derive(Debug)]
struct Sample {
    since: Instant,
    asked: Instant,
    shapes: Sketch<Name, Shape>,
}

/// What makes a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    schema: Option<String>,
    text: Arc<str>,
}

/// What is kept of one.
#[derive(Debug)]
struct Shape {
    executions: u64,
    in_transaction: u64,
    microseconds: u64,
    fastest: u64,
    /// What transactions had written before it, by how often.
    follows: Sketch<Arc<str>, ()>,
    /// By time; kept of each is how often.
    keys: Sketch<String, u64>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            executions: 0,
            in_transaction: 0,
            microseconds: 0,
            fastest: u64::MAX,
            follows: Sketch::new(MOST_FOLLOWED),
            keys: Sketch::new(MOST_KEYS),
        }
    }
}

impl Traffic {
    /// Whether statements are looked at.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// A statement has been answered.
    pub fn saw(&self, sighting: Sighting) {
        self.saw_at(sighting, Instant::now());
    }

    /// The same at this time.
    fn saw_at(&self, sighting: Sighting, now: Instant) {
        let mut sample = match self.sample.try_lock() {
            Ok(sample) => sample,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // A session never waits for the sake of figures.
            Err(TryLockError::WouldBlock) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        if let Some(open) = &mut *sample {
            match now.duration_since(open.asked) > INTEREST {
                true => self.close(&mut sample),
                false => open.take(sighting, now),
            }
        }
    }

    /// A statement has been executed that was prepared when nothing was looked at.
    pub fn saw_unknown(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }

    /// A number for a session, which no other has.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A statement has been prepared, or more is known of it.
    pub fn keep(&self, name: PreparedName, prepared: Prepared) {
        if self.is_on() {
            self.prepared.keep(name, prepared);
        }
    }

    /// What is known of a statement that was prepared while statements were looked at.
    pub fn prepared(&self, name: PreparedName) -> Option<Arc<Prepared>> {
        self.prepared.of(name)
    }

    /// A statement has been closed.
    pub fn forget(&self, name: PreparedName) {
        self.prepared.forget(name);
    }

    /// A statement has passed whose text is not read, for it may mean something else to the server.
    pub fn saw_unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// What has been seen so far. From the first question on, and for half a minute after each, statements are looked
    /// at.
    pub fn look(&self, keys: &Keys) -> Report {
        let now = Instant::now();
        let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
        if sample
            .as_ref()
            .is_some_and(|open| now.duration_since(open.asked) > INTEREST)
        {
            self.close(&mut sample);
        }
        let open = sample.get_or_insert_with(|| {
            self.missed.store(0, Ordering::Relaxed);
            self.unknown.store(0, Ordering::Relaxed);
            self.unread.store(0, Ordering::Relaxed);
            // One may have come when the rest had gone.
            self.prepared.forget_all();
            Sample {
                since: now,
                asked: now,
                shapes: Sketch::new(MOST_SHAPES),
            }
        });
        open.asked = now;
        self.on.store(true, Ordering::Relaxed);
        Report {
            format: Report::FORMAT,
            milliseconds: milliseconds(now.duration_since(open.since)),
            missed: self.missed.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
            unread: self.unread.load(Ordering::Relaxed),
            keys_are_hashed: keys.are_hashed(),
            shapes: open.shapes(keys),
        }
    }

    fn close(&self, sample: &mut Option<Sample>) {
        self.on.store(false, Ordering::Relaxed);
        self.prepared.forget_all();
        *sample = None;
    }
}

impl Sample {
    fn take(&mut self, sighting: Sighting, now: Instant) {
        // Statements that were sent before the request say nothing about the time since.
        if sighting.since < self.since {
            return;
        }
        let elapsed = now.duration_since(sighting.since).as_micros();
        let microseconds = u64::try_from(elapsed).unwrap_or(u64::MAX).max(1);
        let name = Name {
            schema: sighting.schema,
            text: Arc::clone(&sighting.digest.text),
        };
        let shape = self.shapes.add(name, microseconds);
        shape.executions += 1;
        shape.in_transaction += u64::from(sighting.in_transaction);
        shape.microseconds = shape.microseconds.saturating_add(microseconds);
        for written in sighting.behind {
            shape.follows.add(written, 1);
        }
        shape.fastest = shape.fastest.min(microseconds);
        if let Some(key) = sighting.key {
            *shape.keys.add(key, microseconds) += 1;
        }
    }

    fn shapes(&self, keys: &Keys) -> Vec<ShapeReport> {
        let shapes = self.shapes.heaviest().into_iter();
        let shapes = shapes.map(|entry| ShapeReport {
            schema: entry.key.schema.clone(),
            text: entry.key.text.to_string(),
            executions: entry.value.executions,
            in_transaction: entry.value.in_transaction,
            microseconds: entry.value.microseconds,
            fastest: entry.value.fastest,
            rowless: (entry.value.microseconds).saturating_sub(entry.value.keys.total()),
            follows: entry.value.follows(),
            keys: entry.value.keys(keys),
        });
        shapes.collect()
    }
}

impl Shape {
    fn follows(&self) -> Vec<FollowReport> {
        let follows = self.follows.heaviest().into_iter();
        let follows = follows.map(|entry| FollowReport {
            text: entry.key.to_string(),
            times: entry.weight - entry.error,
        });
        follows.collect()
    }

    /// The rows in which it spends a twentieth of its time or more. Others would only expose users' data.
    fn keys(&self, keys: &Keys) -> Vec<KeyReport> {
        const SHARE: u64 = 20;
        let total = self.keys.total();
        let heavy = self.keys.heaviest().into_iter();
        let heavy =
            heavy.filter(|entry| (entry.weight - entry.error).saturating_mul(SHARE) >= total);
        let shown = heavy.map(|entry| KeyReport {
            key: keys.show(&entry.key),
            executions: entry.value,
            microseconds: entry.weight,
            error: entry.error,
        });
        shown.collect()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::sql::Place;

    fn sighting(text: &str) -> Sighting {
        let digest = Sighting::digest(text.as_bytes(), None);
        Sighting::new(
            digest.expect("a digest"),
            Some("shop".to_owned()),
            false,
            |place| match place {
                Place::Literal(place) => Some(Cow::Borrowed(&text.as_bytes()[place.clone()])),
                Place::Parameter(_) => None,
            },
        )
    }

    fn update(id: usize) -> Sighting {
        sighting(&format!(
            "UPDATE posts SET views = views + 1 WHERE id = {id}"
        ))
    }

    #[test]
    fn nothing_is_kept_before_somebody_asks() {
        let traffic = Traffic::default();
        assert!(!traffic.is_on());
        traffic.saw(update(1));
        let report = traffic.look(&Keys::Shown);
        assert!(traffic.is_on() && report.shapes.is_empty());
        traffic.saw(update(42));
        traffic.saw(update(42));
        let report = traffic.look(&Keys::Shown);
        let [shape] = &report.shapes[..] else {
            panic!("{report:?}");
        };
        assert_eq!(
            shape.text,
            "UPDATE posts SET views = views + ? WHERE id = ?"
        );
        assert_eq!(
            (shape.executions, shape.schema.as_deref()),
            (2, Some("shop"))
        );
        assert_eq!(
            (shape.keys[0].key.as_str(), shape.keys[0].executions),
            ("id = 42", 2)
        );
        assert_eq!(shape.rowless, 0);
        traffic.saw(sighting("UPDATE posts SET views = views + 1"));
        let report = traffic.look(&Keys::Shown);
        let mut shapes = report.shapes.iter();
        let all = shapes
            .find(|shape| shape.keys.is_empty())
            .expect("all rows");
        assert!(
            all.rowless > 0 && all.rowless == all.microseconds,
            "{all:?}"
        );
    }

    #[test]
    fn what_was_sent_before_the_question_is_not_of_it() {
        let traffic = Traffic::default();
        let early = update(1);
        traffic.look(&Keys::Shown);
        traffic.saw(early);
        assert!(traffic.look(&Keys::Shown).shapes.is_empty());
    }

    #[test]
    fn rows_that_are_met_now_and_then_are_not_told() {
        let traffic = Traffic::default();
        traffic.look(&Keys::Shown);
        for id in 0..1_000 {
            // Each takes as long as the others, whatever else the machine does.
            let update = update(id);
            let answered = update.since + Duration::from_micros(10);
            traffic.saw_at(update, answered);
        }
        let report = traffic.look(&Keys::Shown);
        assert_eq!(report.shapes[0].executions, 1_000);
        assert!(report.shapes[0].keys.is_empty(), "{report:?}");
    }

    #[test]
    fn what_comes_before_is_one_however_long_its_literals_are() {
        let traffic = Traffic::default();
        traffic.look(&Keys::Shown);
        for id in [7, 1_234_567] {
            let before = update(id);
            let written = before.written().cloned().expect("an UPDATE");
            traffic.saw(before);
            traffic.saw(sighting("SELECT views FROM posts").behind(&[written]));
        }
        let report = traffic.look(&Keys::Shown);
        let read = report
            .shapes
            .iter()
            .find(|shape| shape.text.starts_with("SELECT"));
        let follows = &read.expect("a read").follows;
        assert_eq!(follows.len(), 1, "{follows:?}");
        assert_eq!(follows[0].times, 2);
    }

    #[test]
    fn hashed_keys_are_told_apart_and_tell_nothing() {
        let traffic = Traffic::default();
        traffic.look(&Keys::Shown);
        traffic.saw(update(4_242));
        let hashed = Keys::hashed();
        let report = traffic.look(&hashed);
        let key = report.shapes[0].keys[0].key.clone();
        assert!(report.keys_are_hashed && !key.contains("4242"), "{key}");
        assert_eq!(traffic.look(&hashed).shapes[0].keys[0].key, key);
        assert_ne!(traffic.look(&Keys::hashed()).shapes[0].keys[0].key, key);
    }

    #[test]
    fn memory_is_bounded() {
        let traffic = Traffic::default();
        traffic.look(&Keys::Shown);
        for number in 0..2 * MOST_SHAPES {
            traffic.saw(sighting(&format!(
                "UPDATE t{number} SET n = n + 1 WHERE id = 1"
            )));
        }
        assert_eq!(traffic.look(&Keys::Shown).shapes.len(), MOST_SHAPES);
    }
}

//! The server's threads that serve this proxy, by their ids: those of its clients' sessions, and of the control
//! account. The server writes the id of a thread into the binary log beside what the thread has changed.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::unpoisoned;

/// For how long an id is known after its thread has gone: the binary log is read later than it is written.
const KEPT: Duration = Duration::from_secs(600);

/// How many ids are known of threads that have gone. Beyond, the oldest are forgotten earlier.
const MOST_GONE: usize = 200_000;

/// The ids, from when somebody asks for them.
#[derive(Debug, Default)]
pub struct Threads(Mutex<Option<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// By id: when it went; `None` while it is here.
    threads: HashMap<u32, Option<Instant>>,
    /// In the order in which they went.
    gone: VecDeque<(Instant, u32)>,
}

impl Threads {
    /// Remembers those that come from now on.
    pub(crate) fn remember(&self) {
        unpoisoned(&self.0).get_or_insert_default();
    }

    /// A thread is there until what this returns is dropped.
    pub(crate) fn enter(&self, id: u32) -> Here<'_> {
        if let Some(known) = &mut *unpoisoned(&self.0) {
            known.threads.insert(id, None);
        }
        Here { threads: self, id }
    }

    /// A thread is there now, and nobody says when it goes.
    pub(crate) fn note(&self, id: u32) {
        drop(self.enter(id));
    }

    /// Whether the thread with this id is this proxy's, or was until lately.
    pub(crate) fn has(&self, id: u32) -> bool {
        let known = unpoisoned(&self.0);
        known
            .as_ref()
            .is_some_and(|known| known.threads.contains_key(&id))
    }

    /// Those that are here, and those that have gone within this time.
    pub(crate) fn lately(&self, within: Duration) -> HashSet<u32> {
        let known = unpoisoned(&self.0);
        let threads = known.iter().flat_map(|known| &known.threads);
        let is_late = |left: &Option<Instant>| left.is_none_or(|left| left.elapsed() <= within);
        threads
            .filter(|(_, left)| is_late(left))
            .map(|(id, _)| *id)
            .collect()
    }

    fn leave(&self, id: u32, at: Instant) {
        if let Some(known) = &mut *unpoisoned(&self.0) {
            known.leave(id, at);
        }
    }
}

impl Known {
    fn leave(&mut self, id: u32, at: Instant) {
        // A server that has started again counts its threads from the beginning.
        self.threads.insert(id, Some(at));
        self.gone.push_back((at, id));
        let is_over = |gone: &VecDeque<(Instant, u32)>| {
            gone.len() > MOST_GONE
                || (gone.front()).is_some_and(|(left, _)| at.duration_since(*left) > KEPT)
        };
        while is_over(&self.gone) {
            let Some((left, id)) = self.gone.pop_front() else {
                break;
            };
            if self.threads.get(&id) == Some(&Some(left)) {
                self.threads.remove(&id);
            }
        }
    }
}

/// A thread that is there. Dropping it says that the thread goes.
#[derive(Debug)]
pub(crate) struct Here<'a> {
    threads: &'a Threads,
    id: u32,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.threads.leave(self.id, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_remembered_until_somebody_asks() {
        let threads = Threads::default();
        let early = threads.enter(7);
        assert!(!threads.has(7));
        threads.remember();
        assert!(!threads.has(7));
        drop(early);
        assert!(threads.has(7), "it was there when it went");
    }

    #[test]
    fn a_thread_is_known_for_a_while_after_it_has_gone() {
        let threads = Threads::default();
        threads.remember();
        let start = Instant::now();
        threads.leave(1, start);
        threads.leave(2, start + KEPT);
        assert!(threads.has(1) && threads.has(2));
        threads.leave(3, start + KEPT + Duration::from_millis(1));
        assert!(!threads.has(1) && threads.has(2));
    }

    #[test]
    fn an_id_that_comes_again_is_not_forgotten_with_the_one_before() {
        let threads = Threads::default();
        threads.remember();
        let start = Instant::now();
        threads.leave(1, start);
        let _again = threads.enter(1);
        threads.leave(2, start + 2 * KEPT);
        assert!(threads.has(1));
    }

    #[test]
    fn memory_is_bounded() {
        let threads = Threads::default();
        threads.remember();
        for id in 0..u32::try_from(MOST_GONE).unwrap() + 10 {
            threads.note(id);
        }
        let known = unpoisoned(&threads.0);
        assert_eq!(known.as_ref().unwrap().threads.len(), MOST_GONE);
    }
}

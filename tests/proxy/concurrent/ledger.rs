//! What each session was told, and when; whether the values that are found agree with it.
//!
//! The rows of a table are a *vessel*: RENAME and EXCHANGE PARTITION give a name another vessel, TRUNCATE empties one.
//! An increment by the name reaches the vessel that had the name at some moment between its sending and its answer.
//! Where DDL ran at the same time there are several, and it may be in any one of them, but in one it must be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that keep together whatever their table is called.
pub type Vessel = char;

/// Counts what happens: whatever has a lower number was over before.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// What is known of an increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its OK came, or that of the COMMIT behind it.
    Acknowledged,
    /// The connection was lost before.
    Ambiguous,
}

/// An increment that may have come to pass.
#[derive(Clone, Debug)]
pub struct Increment {
    pub row: i64,
    pub amount: i64,
    pub sent: u64,
    /// The statement's own answer: by then it has found its vessel.
    pub found: u64,
    /// When it was acknowledged.
    pub answered: u64,
    pub outcome: Outcome,
}

/// A row as it was read.
#[derive(Clone, Debug)]
pub struct Read {
    pub row: i64,
    pub value: i64,
    pub sent: u64,
    pub answered: u64,
}

/// DDL, or what goes with it.
#[derive(Clone, Debug)]
pub struct Change {
    pub text: String,
    /// What the hot table's name stands for from then on; none while increments find no row there.
    pub vessel: Option<Vessel>,
    /// What loses its rows.
    pub wiped: Option<Vessel>,
    pub sent: u64,
    pub answered: u64,
}

/// What happened between two moments at which nothing was under way.
#[derive(Debug, Default)]
pub struct Ledger {
    pub increments: Vec<Increment>,
    pub reads: Vec<Read>,
    pub changes: Vec<Change>,
    /// What the name stood for at first.
    pub first: Option<Vessel>,
    /// The values at first.
    pub before: BTreeMap<(Vessel, i64), i64>,
}

impl Ledger {
    /// What does not agree with these values at the end, in words.
    pub fn faults(&self, after: &BTreeMap<(Vessel, i64), i64>) -> Vec<String> {
        let mut faults = self.faults_of_values(after);
        faults.extend(
            self.reads
                .iter()
                .filter_map(|read| self.fault_of_read(read)),
        );
        faults
    }

    fn faults_of_values(&self, after: &BTreeMap<(Vessel, i64), i64>) -> Vec<String> {
        let end = self.changes.len();
        let mut faults = Vec::new();
        let mut totals: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for (&(vessel, row), &value) in after {
            let first = self.value_before(vessel, row, end);
            let (mut least, mut most) = (first, first);
            for increment in self.increments.iter().filter(|one| one.row == row) {
                let (surely, perhaps) = self.reaches(increment, vessel, end);
                least += i64::from(surely) * increment.amount;
                most += i64::from(perhaps) * increment.amount;
            }
            if !(least..=most).contains(&value) {
                faults.push(format!(
                    "row {row} of vessel {vessel} is {value} at the end, and was {first}; from {least} to {most} are right"
                ));
            }
            let total = totals.entry(row).or_default();
            *total = (total.0 + value - first, total.1 + first);
        }
        if self.changes.iter().any(|change| change.wiped.is_some()) {
            return faults;
        }
        for (row, (added, _)) in totals {
            let of_row = self.increments.iter().filter(|one| one.row == row);
            let sum = |outcome| -> i64 {
                let those = of_row.clone().filter(|one| one.outcome == outcome);
                those.map(|one| one.amount).sum()
            };
            let (least, perhaps) = (sum(Outcome::Acknowledged), sum(Outcome::Ambiguous));
            if !(least..=least + perhaps).contains(&added) {
                faults.push(format!(
                    "row {row} has {added} more in all vessels, with {least} acknowledged and {perhaps} ambiguous"
                ));
            }
        }
        faults
    }

    fn fault_of_read(&self, read: &Read) -> Option<String> {
        let states = self.states(read.sent, read.answered);
        let mut expected = Vec::new();
        for state in states {
            let Some(vessel) = self.vessel(state) else {
                continue;
            };
            let first = self.value_before(vessel, read.row, state);
            let (mut least, mut most) = (first, first);
            for increment in self.increments.iter().filter(|one| one.row == read.row) {
                let (surely, perhaps) = self.reaches(increment, vessel, state);
                let is_before = increment.answered < read.sent;
                let is_after = increment.sent > read.answered;
                least += i64::from(surely && is_before) * increment.amount;
                most += i64::from(perhaps && !is_after) * increment.amount;
            }
            if (least..=most).contains(&read.value) {
                return None;
            }
            expected.push(format!("from {least} to {most} of vessel {vessel}"));
        }
        Some(format!(
            "row {} was read as {} between {} and {}; right is {}",
            read.row,
            read.value,
            read.sent,
            read.answered,
            match expected.is_empty() {
                true => "nothing, as there was no such row".to_owned(),
                false => expected.join(", or "),
            }
        ))
    }

    /// How many changes may have been made at a moment between these.
    fn states(&self, sent: u64, answered: u64) -> std::ops::RangeInclusive<usize> {
        let done = self.changes.iter().filter(|change| change.answered < sent);
        let begun = self.changes.iter().filter(|change| change.sent < answered);
        done.count()..=begun.count()
    }

    /// What the name stands for when so many changes have been made.
    fn vessel(&self, state: usize) -> Option<Vessel> {
        match state.checked_sub(1) {
            None => self.first,
            Some(last) => self.changes[last].vessel,
        }
    }

    /// Whether a vessel loses its rows by the changes in a range.
    fn is_wiped(&self, vessel: Vessel, mut changes: std::ops::Range<usize>) -> bool {
        changes.any(|change| self.changes[change].wiped == Some(vessel))
    }

    /// What a row would be in a state without the increments in this ledger.
    fn value_before(&self, vessel: Vessel, row: i64, state: usize) -> i64 {
        match self.is_wiped(vessel, 0..state) {
            true => 0,
            false => self.before.get(&(vessel, row)).copied().unwrap_or_default(),
        }
    }

    /// Whether an increment is in a vessel in a state: surely, perhaps.
    fn reaches(&self, increment: &Increment, vessel: Vessel, state: usize) -> (bool, bool) {
        let found = self.states(increment.sent, increment.found);
        let mut places = found.filter_map(|found| Some((found, self.vessel(found)?)));
        let is_there = |(found, its): &(usize, Vessel)| {
            *its == vessel && *found <= state && !self.is_wiped(vessel, *found..state)
        };
        let perhaps = places.clone().any(|place| is_there(&place));
        let is_done = increment.outcome == Outcome::Acknowledged;
        (
            is_done && perhaps && places.all(|place| is_there(&place)),
            perhaps,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn increment(sent: u64, answered: u64) -> Increment {
        Increment {
            row: 1,
            amount: 1,
            sent,
            found: answered,
            answered,
            outcome: Outcome::Acknowledged,
        }
    }

    /// `a` has the name, and `b` from a swap between 10 and 20 on.
    fn swapped(increments: Vec<Increment>, reads: Vec<Read>) -> Ledger {
        Ledger {
            increments,
            reads,
            changes: vec![Change {
                text: "swap".to_owned(),
                vessel: Some('b'),
                wiped: None,
                sent: 10,
                answered: 20,
            }],
            first: Some('a'),
            before: [(('a', 1), 5), (('b', 1), 0)].into(),
        }
    }

    fn values(a: i64, b: i64) -> BTreeMap<(Vessel, i64), i64> {
        [(('a', 1), a), (('b', 1), b)].into()
    }

    #[test]
    fn increments_are_in_the_vessel_of_their_time() {
        let ledger = swapped(
            vec![increment(1, 2), increment(11, 12), increment(30, 31)],
            Vec::new(),
        );
        assert!(ledger.faults(&values(6, 2)).is_empty());
        assert!(ledger.faults(&values(7, 1)).is_empty());
        for (a, b) in [(5, 3), (8, 0), (6, 1), (7, 2)] {
            assert!(!ledger.faults(&values(a, b)).is_empty(), "{a}, {b}");
        }
    }

    #[test]
    fn reads_see_what_was_acknowledged_and_no_more_than_was_sent() {
        let read = |value, sent, answered| Read {
            row: 1,
            value,
            sent,
            answered,
        };
        let right = [
            read(6, 3, 4),
            read(6, 8, 9),
            read(5, 1, 2),
            read(6, 12, 13),
            read(0, 12, 13),
            read(0, 22, 23),
        ];
        let wrong = [
            read(5, 3, 4),
            read(7, 3, 4),
            read(6, 22, 23),
            read(1, 12, 13),
        ];
        for (reads, is_right) in [(right.to_vec(), true), (wrong.to_vec(), false)] {
            for read in reads {
                let told = format!("{read:?}");
                let ledger = swapped(vec![increment(1, 2)], vec![read]);
                assert_eq!(ledger.faults(&values(6, 0)).is_empty(), is_right, "{told}");
            }
        }
    }

    #[test]
    fn what_is_wiped_is_gone() {
        let mut ledger = swapped(vec![increment(1, 2), increment(30, 31)], Vec::new());
        ledger.changes[0].vessel = Some('a');
        ledger.changes[0].wiped = Some('a');
        assert!(ledger.faults(&values(1, 0)).is_empty());
        assert!(!ledger.faults(&values(2, 0)).is_empty());
    }
}

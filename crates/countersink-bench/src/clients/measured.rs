//! The results of a load.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::window::When;

/// The range of latencies that are distinguished, in nanoseconds. Latencies above [`LONGEST`] count as that.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 600_000_000_000;
/// Number of significant digits.
const DIGITS: u8 = 3;

/// The latencies of statements, and thereby their number.
#[derive(Clone, Debug)]
pub struct Latencies {
    nanoseconds: Histogram<u64>,
}

impl Latencies {
    pub fn none() -> Self {
        let made = Histogram::new_with_bounds(SHORTEST, LONGEST, DIGITS);
        Self {
            nanoseconds: made.expect("the bounds are sensible"),
        }
    }

    /// Records a latency. Does not allocate.
    pub fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
        self.nanoseconds.saturating_record(nanoseconds);
    }

    pub fn add(&mut self, other: &Self) {
        let added = self.nanoseconds.add(&other.nanoseconds);
        added.expect("all histograms have the same bounds");
    }

    /// The number of latencies.
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The latency that this share of them, such as 0.99, does not exceed.
    pub fn within(&self, share: f64) -> Duration {
        Duration::from_nanos(self.nanoseconds.value_at_quantile(share))
    }
}

/// The results of a load.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Latencies of increments (of whole transactions, if there are any), from the first attempt to the response, for
    /// those completed after the window began.
    pub increments: Latencies,
    /// Latencies of reads that were completed after the window began.
    pub reads: Latencies,
    /// Increments that were completed before the window began.
    pub warm_up: u64,
    /// Increments and reads that were completed within the window.
    pub within: u64,
    /// Statements that failed with a deadlock (1213) and were sent again.
    pub deadlocks: u64,
    /// Statements that failed with a lock wait timeout (1205) and were sent again.
    pub timeouts: u64,
    /// Length of the window.
    pub elapsed: Duration,
}

impl Measured {
    /// The results of no load.
    pub fn nothing() -> Self {
        Self {
            increments: Latencies::none(),
            reads: Latencies::none(),
            warm_up: 0,
            within: 0,
            deadlocks: 0,
            timeouts: 0,
            elapsed: Duration::ZERO,
        }
    }

    /// Adds the results of a later turn.
    pub fn add_turn(&mut self, turn: &Self) {
        self.add_clients(turn);
        self.elapsed += turn.elapsed;
    }

    /// Adds the results of other clients in the same turn.
    pub(super) fn add_clients(&mut self, clients: &Self) {
        self.increments.add(&clients.increments);
        self.reads.add(&clients.reads);
        self.warm_up += clients.warm_up;
        self.within += clients.within;
        self.deadlocks += clients.deadlocks;
        self.timeouts += clients.timeouts;
    }

    /// Records a response.
    pub(super) fn answered(&mut self, is_read: bool, latency: Duration, when: When) {
        match (is_read, when) {
            (true, When::Before) => return,
            (false, When::Before) => return self.warm_up += 1,
            (true, _) => self.reads.record(latency),
            (false, _) => self.increments.record(latency),
        }
        if when == When::Within {
            self.within += 1;
        }
    }

    /// Increments that were acknowledged at any time.
    pub fn acknowledged(&self) -> u64 {
        self.warm_up + self.increments.count()
    }

    /// Statements that had to be sent again.
    pub fn again(&self) -> u64 {
        self.deadlocks + self.timeouts
    }

    /// Completed statements per second of the window.
    pub fn rate(&self) -> f64 {
        self.within as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_counted_and_kept_to_three_digits() {
        let mut latencies = Latencies::none();
        for microseconds in 1..=1000 {
            latencies.record(Duration::from_micros(microseconds));
        }
        assert_eq!(latencies.count(), 1000);
        let p99 = latencies.within(0.99).as_secs_f64();
        assert!((p99 / 990e-6 - 1.0).abs() < 2e-3, "{p99}");
        latencies.record(Duration::from_secs(100_000));
        assert_eq!(latencies.count(), 1001);
        assert!(latencies.within(1.0) >= Duration::from_secs(600));
    }

    #[test]
    fn turns_add_up_in_count_and_time() {
        let mut turn = Measured::nothing();
        turn.answered(false, Duration::from_millis(1), When::Within);
        turn.answered(true, Duration::from_millis(1), When::Within);
        turn.deadlocks = 2;
        turn.timeouts = 3;
        turn.elapsed = Duration::from_secs(4);
        let mut all = turn.clone();
        all.add_turn(&turn);
        assert_eq!((all.acknowledged(), all.again()), (2, 10));
        assert_eq!(all.elapsed, Duration::from_secs(8));
        assert!((all.rate() - 0.5).abs() < 1e-9);
        assert!(Measured::nothing().rate() <= 0.0);
    }

    #[test]
    fn what_is_answered_outside_the_window_is_acknowledged_and_no_part_of_the_rate() {
        let mut measured = Measured::nothing();
        measured.elapsed = Duration::from_secs(1);
        for when in [When::Before, When::Within, When::After] {
            measured.answered(false, Duration::from_millis(1), when);
            measured.answered(true, Duration::from_millis(1), when);
        }
        assert_eq!((measured.acknowledged(), measured.warm_up), (3, 1));
        // Statements that end after the window have waited all the same.
        assert_eq!(
            (measured.increments.count(), measured.reads.count()),
            (2, 2)
        );
        assert!((measured.rate() - 2.0).abs() < 1e-9);
    }
}

//! Observations in buckets with fixed bounds. Each is two additions, and nobody waits for anybody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many observations were how large.
#[derive(Debug)]
#[repr(align(64))] // those of one histogram do not slow those of its neighbour
pub struct Histogram<const N: usize> {
    /// The most that a bucket counts, in ascending order.
    bounds: &'static [u64; N],
    counts: [AtomicU64; N],
    /// More than the last bound.
    above: AtomicU64,
    sum: AtomicU64,
}

/// A histogram at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The most that a bucket counts. There is one bucket more, for all that is larger.
    pub bounds: &'static [u64],
    /// Observations by bucket, each in one of them.
    pub counts: Vec<u64>,
    /// All observations, added up.
    pub sum: u64,
}

impl<const N: usize> Histogram<N> {
    pub(super) const fn new(bounds: &'static [u64; N]) -> Self {
        Self {
            bounds,
            counts: [const { AtomicU64::new(0) }; N],
            above: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts one of this size.
    pub(super) fn observe(&self, size: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < size);
        let count = self.counts.get(bucket).unwrap_or(&self.above);
        count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// What was observed until now.
    pub fn observed(&self) -> Observed {
        let counts = self.counts.iter().chain([&self.above]);
        Observed {
            bounds: self.bounds,
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

impl Observed {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Of times, in nanoseconds.
pub type Times = Histogram<{ TIMES.len() }>;

/// 5 µs to 5 s.
const TIMES: [u64; 19] = [
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
];

impl Default for Times {
    fn default() -> Self {
        Self::new(&TIMES)
    }
}

impl Times {
    /// Counts one that took so long.
    pub(super) fn observe_time(&self, time: Duration) {
        self.observe(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_observation_is_in_the_bucket_that_reaches_to_it() {
        let histogram = Histogram::new(&[10, 20]);
        for size in [0, 10, 11, 20, 21, 1_000] {
            histogram.observe(size);
        }
        let observed = histogram.observed();
        assert_eq!(observed.counts, [2, 2, 2]);
        assert_eq!((observed.count(), observed.sum), (6, 1_062));
    }

    #[test]
    fn bounds_of_times_ascend() {
        assert!(TIMES.is_sorted());
        let times = Times::default();
        times.observe_time(Duration::from_micros(5));
        times.observe_time(Duration::MAX);
        let observed = times.observed();
        assert_eq!(observed.counts.first(), Some(&1));
        assert_eq!(observed.counts.last(), Some(&1));
    }
}

//! Histograms with fixed buckets. An observation is two atomic additions, without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A histogram that can be observed concurrently.
#[derive(Debug)]
#[repr(align(64))] // so that neighbouring histograms do not share a cache line
pub struct Histogram<const N: usize> {
    /// The buckets' inclusive upper bounds, in ascending order.
    bounds: &'static [u64; N],
    counts: [AtomicU64; N],
    /// Observations above the last bound.
    above: AtomicU64,
    sum: AtomicU64,
}

/// A snapshot of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The buckets' inclusive upper bounds. One more bucket holds everything that is larger.
    pub bounds: &'static [u64],
    /// The number of observations in each bucket. Buckets are not cumulative.
    pub counts: Vec<u64>,
    /// The sum of all observations.
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

    /// Counts an observation of this size.
    pub(super) fn observe(&self, size: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < size);
        let count = self.counts.get(bucket).unwrap_or(&self.above);
        count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// A snapshot of what has been observed so far.
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
    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A histogram of durations, in nanoseconds.
pub type Times = Histogram<{ TIMES.len() }>;

/// 5 µs to 5 s, in nanoseconds.
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
    /// Counts an observation of this duration.
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

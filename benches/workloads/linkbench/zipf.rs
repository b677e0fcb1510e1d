//! Zipf's law.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;

/// Numbers from 1, the k-th of which is drawn in proportion to 1 / k^shape.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Sums of the weights, up to each number.
    sums: Arc<[f64]>,
}

impl Zipf {
    /// Numbers up to `count`.
    pub fn new(count: u64, shape: f64) -> Self {
        let weights = (1..=count).map(|number| (number as f64).powf(-shape));
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self {
            sums: sums.collect(),
        }
    }

    pub fn draw(&self, random: &mut SmallRng) -> u64 {
        let all = self.sums[self.sums.len() - 1];
        let drawn = random.random_range(0.0..all);
        let below = self.sums.partition_point(|&sum| sum <= drawn);
        u64::try_from(below.min(self.sums.len() - 1)).expect("it was counted by a u64") + 1
    }
}

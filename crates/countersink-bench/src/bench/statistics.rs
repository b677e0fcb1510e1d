//! Summaries of a few values from a noisy machine.

use serde::Serialize;

/// The median and the range of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub median: f64,
    pub lowest: f64,
    pub highest: f64,
}

impl Spread {
    /// The spread of these values, of which there must be at least one.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (&lowest, &highest) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Some(Self {
            median,
            lowest,
            highest,
        })
    }

    /// The spread of `new` / `old`, round by round: whatever else the machine did in a round affected both. Rounds in
    /// which `old` did nothing are left out.
    pub fn of_ratios(old: &[f64], new: &[f64]) -> Option<Self> {
        let pairs = old.iter().zip(new).filter(|(old, _)| **old > 0.0);
        Self::of(pairs.map(|(old, new)| new / old))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(median: f64, lowest: f64, highest: f64) -> Option<Spread> {
        Some(Spread {
            median,
            lowest,
            highest,
        })
    }

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(Spread::of([3.0, 100.0, 1.0]), spread(3.0, 1.0, 100.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 100.0]), spread(3.0, 1.0, 100.0));
        assert_eq!(Spread::of([7.0]), spread(7.0, 7.0, 7.0));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn ratios_are_taken_in_pairs_before_their_median() {
        // The machine was ten times slower in the second round. The ratio of the medians would be 20 / 10.
        let (direct, proxy) = ([10.0, 1.0, 10.0], [50.0, 5.0, 20.0]);
        assert_eq!(Spread::of_ratios(&direct, &proxy), spread(5.0, 2.0, 5.0));
        assert_eq!(
            Spread::of_ratios(&[0.0, 2.0], &[9.0, 3.0]),
            spread(1.5, 1.5, 1.5)
        );
        assert_eq!(Spread::of_ratios(&[0.0], &[9.0]), None);
    }
}

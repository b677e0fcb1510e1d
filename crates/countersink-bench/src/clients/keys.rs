//! Which row a statement is for.

use rand::{Rng, RngExt};

/// How keys are chosen. They count from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// Always this key.
    One(u64),
    /// Each client has its own key.
    Own,
    /// Keys up to `count`, lower ones more often.
    Pareto { count: u64, power: f64 },
}

impl Keys {
    /// Keys up to `count`, of which a share of `skew` gets a share of 1 - `skew` of the statements: the Pareto
    /// principle, as in sysbench. A skew of one half is an even distribution.
    pub fn pareto(count: u64, skew: f64) -> Self {
        match count {
            0 | 1 => Self::One(1),
            count => Self::Pareto {
                count,
                power: skew.ln() / (1.0 - skew).ln(),
            },
        }
    }

    /// The next key of client number `client`, counted from 1.
    pub fn draw(self, client: u64, random: &mut impl Rng) -> u64 {
        match self {
            Self::One(key) => key,
            Self::Own => client,
            Self::Pareto { count, power } => {
                let share = random.random::<f64>().powf(power);
                // Truncates the fraction; `share` is below 1.
                let below = (share * count as f64) as u64;
                below.min(count - 1) + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    fn drawn(keys: Keys) -> Vec<u64> {
        let mut random = SmallRng::seed_from_u64(1);
        (0..20_000).map(|_| keys.draw(7, &mut random)).collect()
    }

    #[test]
    fn a_fifth_of_the_keys_gets_four_fifths_of_the_statements() {
        let keys = drawn(Keys::pareto(1000, 0.2));
        let hot = keys.iter().filter(|&&key| key <= 200).count();
        assert!((15_600..16_400).contains(&hot), "{hot}");
        assert!(keys.iter().all(|key| (1..=1000).contains(key)));
    }

    #[test]
    fn a_skew_of_a_half_is_none() {
        let keys = drawn(Keys::pareto(10, 0.5));
        for key in 1..=10 {
            let count = keys.iter().filter(|&&drawn| drawn == key).count();
            assert!((1_800..2_200).contains(&count), "{key}: {count}");
        }
    }

    #[test]
    fn one_key_is_the_first_and_own_keys_are_the_clients_numbers() {
        assert_eq!(Keys::pareto(1, 0.2), Keys::One(1));
        assert!(drawn(Keys::One(42)).iter().all(|&key| key == 42));
        assert!(drawn(Keys::Own).iter().all(|&key| key == 7));
    }
}

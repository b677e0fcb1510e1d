//! How much of a counter's range slots may use.

use super::{Bounds, Domain};

/// More integer digits than this are not used: a narrower bound is always right, and 10^36 fits an `i128`.
const MOST_DIGITS: u32 = 36;

/// Slots sum up in a BIGINT, so all of one key together stay within an eighth of its range. As much again is spare in
/// a counter of that width: see [`Bounds::MOST_ADDED`].
const MOST_IN_BIGINT: i128 = 1 << 61;

impl Bounds {
    /// The bounds of a counter of this type, or `None` when half its range, shared by [`Bounds::MAX_SLOTS`] slots,
    /// leaves less than one for each.
    pub fn of(domain: Domain) -> Option<Self> {
        match domain {
            Domain::Integer { bytes, unsigned } => {
                let bits = u32::from(bytes) * 8 - u32::from(!unsigned);
                let largest = (1_i128 << bits) - 1;
                let half = (largest + 1) / 2;
                Self::new(half.min(MOST_IN_BIGINT), largest - half, unsigned)
            }
            Domain::Decimal {
                precision,
                scale,
                unsigned,
            } => {
                let digits = u32::from(precision.saturating_sub(scale)).min(MOST_DIGITS);
                let half = 10_i128.pow(digits) / 2;
                // The largest value is a fraction below 10^digits, hence one less on both sides.
                Self::new(half, half - 1, unsigned)
            }
        }
    }

    /// `room` is for all slots together, `base` the largest absolute value of the base row.
    fn new(room: i128, base: i128, unsigned: bool) -> Option<Self> {
        let slot = room / i128::from(Self::MAX_SLOTS);
        (slot >= 1).then(|| Self {
            base_low: if unsigned { 0 } else { -base }.to_string(),
            base_high: base.to_string(),
            slot: slot.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn integer(bytes: u8, unsigned: bool) -> Domain {
        Domain::Integer { bytes, unsigned }
    }

    const fn decimal(precision: u8, scale: u8, unsigned: bool) -> Domain {
        Domain::Decimal {
            precision,
            scale,
            unsigned,
        }
    }

    /// Every counter type there is.
    fn every_domain() -> impl Iterator<Item = Domain> {
        let integers = [1, 2, 3, 4, 8]
            .into_iter()
            .flat_map(|bytes| [integer(bytes, false), integer(bytes, true)]);
        let decimals = (1..=65).flat_map(|precision| {
            (0..=precision.min(38)).flat_map(move |scale| {
                [
                    decimal(precision, scale, false),
                    decimal(precision, scale, true),
                ]
            })
        });
        integers.chain(decimals)
    }

    /// Largest and smallest whole number of a type, as far as an `i128` goes.
    fn ends(domain: Domain) -> (i128, i128) {
        match domain {
            Domain::Integer {
                bytes,
                unsigned: true,
            } => (0, (1 << (u32::from(bytes) * 8)) - 1),
            Domain::Integer { bytes, .. } => {
                let half = 1_i128 << (u32::from(bytes) * 8 - 1);
                (-half, half - 1)
            }
            Domain::Decimal {
                precision,
                scale,
                unsigned,
            } => {
                let most = 10_i128.pow(u32::from(precision - scale).min(38)) - 1;
                (if unsigned { 0 } else { -most }, most)
            }
        }
    }

    #[test]
    fn base_and_all_slots_together_stay_inside_every_type() {
        for domain in every_domain() {
            let Some(bounds) = Bounds::of(domain) else {
                continue;
            };
            let number = |text: &str| text.parse::<i128>().unwrap();
            let (lowest, highest) = ends(domain);
            let all = number(&bounds.slot) * i128::from(Bounds::MAX_SLOTS);
            assert!(number(&bounds.base_high) + all <= highest, "{domain:?}");
            match domain.is_unsigned() {
                true => assert_eq!(bounds.base_low, "0", "{domain:?}"),
                false => assert!(number(&bounds.base_low) - all >= lowest, "{domain:?}"),
            }
            if let Domain::Integer { .. } = domain {
                assert!(
                    all <= i128::from(i64::MAX),
                    "slots of {domain:?} sum in a BIGINT"
                );
                assert!(2 * number(&bounds.slot) < i128::from(i64::MAX));
            }
        }
    }

    #[test]
    fn bounds_use_half_of_the_range() {
        for (domain, low, high, slot) in [
            (integer(2, false), "-16383", "16383", "64"),
            (integer(4, false), "-1073741823", "1073741823", "4194304"),
            (integer(4, true), "0", "2147483647", "8388608"),
            (
                integer(8, false),
                "-4611686018427387903",
                "4611686018427387903",
                "9007199254740992",
            ),
            (
                integer(8, true),
                "0",
                "9223372036854775807",
                "9007199254740992",
            ),
            (decimal(10, 2, false), "-49999999", "49999999", "195312"),
            (decimal(5, 2, true), "0", "499", "1"),
        ] {
            let bounds = Bounds::of(domain).unwrap();
            assert_eq!(
                (&*bounds.base_low, &*bounds.base_high, &*bounds.slot),
                (low, high, slot),
                "{domain:?}"
            );
        }
    }

    #[test]
    fn types_that_are_too_narrow_have_no_bounds() {
        for domain in [
            integer(1, false),
            integer(1, true),
            decimal(2, 0, false),
            decimal(30, 28, false),
            decimal(10, 10, true),
        ] {
            assert_eq!(Bounds::of(domain), None, "{domain:?}");
        }
    }
}

//! What increments add: exact decimal numbers that can be summed.

use std::fmt;

/// An exact decimal number: `unscaled / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    unscaled: i128,
    scale: u8,
}

impl Amount {
    /// Digits with an optional sign and point. `None` if there are too many digits to be summed exactly.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = [whole, fraction].concat();
        Some(Self {
            unscaled: digits.parse().ok()?,
            scale: u8::try_from(fraction.len()).ok()?,
        })
    }

    /// The same, subtracted.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            unscaled: -self.unscaled,
            ..self
        }
    }

    /// The sum, unless it is too large to be exact.
    pub fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let scaled = |amount: Self| {
            let factor = 10_i128.checked_pow(u32::from(scale - amount.scale))?;
            amount.unscaled.checked_mul(factor)
        };
        Some(Self {
            unscaled: scaled(self)?.checked_add(scaled(other)?)?,
            scale,
        })
    }

    /// The sum of so many of it, unless it is too large to be exact.
    pub fn times(self, count: u32) -> Option<Self> {
        Some(Self {
            unscaled: self.unscaled.checked_mul(i128::from(count))?,
            ..self
        })
    }

    /// Digits after the decimal point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// The number, if it is a whole one.
    pub fn whole(self) -> Option<i128> {
        (self.scale == 0).then_some(self.unscaled)
    }

    /// Whether neither it nor its negative is more than `limit`.
    pub fn is_within(self, limit: Self) -> bool {
        let magnitude = Self {
            unscaled: self.unscaled.saturating_abs(),
            ..self
        };
        let room = limit.plus(magnitude.negated());
        room.is_some_and(|room| room.unscaled >= 0)
    }

    /// Whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.unscaled < 0
    }

    /// Whether nothing is added.
    pub fn is_zero(self) -> bool {
        self.unscaled == 0
    }
}

impl From<i128> for Amount {
    fn from(number: i128) -> Self {
        Self {
            unscaled: number,
            scale: 0,
        }
    }
}

/// As an operand after another: `+ 1`, `- 2.50`.
impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { '-' } else { '+' };
        let digits = self.unscaled.unsigned_abs().to_string();
        let scale = usize::from(self.scale);
        if scale == 0 {
            return write!(formatter, "{sign} {digits}");
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        write!(formatter, "{sign} {whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::parse(text).expect("an exact number")
    }

    #[test]
    fn amounts_are_written_as_operands() {
        for (text, expected) in [
            ("1", "+ 1"),
            ("007", "+ 7"),
            ("-3", "- 3"),
            ("2.50", "+ 2.50"),
            ("-0.05", "- 0.05"),
            ("0.00", "+ 0.00"),
        ] {
            assert_eq!(amount(text).to_string(), expected);
        }
        assert_eq!(amount("0.05").negated().to_string(), "- 0.05");
    }

    #[test]
    fn scales_are_brought_together() {
        let sum = amount("1.5").plus(amount("2.25"));
        assert_eq!(sum, Some(amount("3.75")));
        let none = amount("1").plus(amount("-1.00")).expect("it fits");
        assert!(none.is_zero());
    }

    #[test]
    fn a_limit_is_for_both_signs() {
        for (text, expected) in [("5", true), ("-5", true), ("5.01", false), ("-6", false)] {
            assert_eq!(amount(text).is_within(amount("5")), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_exact_is_no_amount() {
        assert_eq!(Amount::parse(&"9".repeat(40)), None);
        assert_eq!(Amount::parse("1e3"), None);
        assert_eq!(Amount::parse(""), None);
        let most = Amount::from(i128::MAX);
        assert_eq!(most.plus(Amount::from(1)), None);
        assert_eq!(most.plus(amount("0.1")), None);
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_order(mut numbers in prop::collection::vec((-1_000_000_i64..1_000_000, 0_u8..6), 1..20)) {
            let sum = |numbers: &[(i64, u8)]| {
                numbers.iter().fold(Amount::from(0), |sum, (unscaled, scale)| {
                    let amount = Amount { unscaled: i128::from(*unscaled), scale: *scale };
                    sum.plus(amount).expect("it fits")
                })
            };
            let forward = sum(&numbers);
            numbers.reverse();
            prop_assert_eq!(forward.plus(sum(&numbers).negated()).map(Amount::is_zero), Some(true));
        }
    }
}

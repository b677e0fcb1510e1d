//! Formats numbers for people.

use std::time::Duration;

/// Groups digits: `1234567` becomes `1,234,567`.
pub fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The number per second, rounded to the nearest whole number.
pub fn rate(count: u64, elapsed: Duration) -> u64 {
    let nanoseconds = elapsed.as_nanos().max(1);
    let rate = (u128::from(count) * 1_000_000_000 + nanoseconds / 2) / nanoseconds;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Formats a duration with about three digits: `840 µs`, `4.21 ms`, `71.3 ms`, `420 ms`, `1.35 s`.
pub fn time(duration: Duration) -> String {
    let microseconds = duration.as_secs_f64() * 1e6;
    match microseconds {
        below if below < 999.5 => format!("{below:.0} µs"),
        below if below < 999_500.0 => format!("{} ms", three_digits(below / 1e3)),
        seconds => format!("{} s", three_digits(seconds / 1e6)),
    }
}

/// Compares `new` with `old`: `18.6x more`, `1.2x less`, `the same`.
pub fn ratio(old: f64, new: f64) -> String {
    if old <= 0.0 || new <= 0.0 {
        return String::new();
    }
    let (factor, word) = match new >= old {
        true => (new / old, "more"),
        false => (old / new, "less"),
    };
    match factor {
        near if near < 1.05 => "the same".to_owned(),
        near if near < 99.95 => format!("{near:.1}x {word}"),
        far => format!("{far:.0}x {word}"),
    }
}

fn three_digits(number: f64) -> String {
    match number {
        below if below < 9.995 => format!("{below:.2}"),
        below if below < 99.95 => format!("{below:.1}"),
        above => format!("{above:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_groups_of_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (123_456, "123,456"),
            (-1_234_567, "-1,234,567"),
            (-123, "-123"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn rates_are_rounded_and_survive_no_time_at_all() {
        assert_eq!(rate(1001, Duration::from_secs(2)), 501);
        assert_eq!(rate(0, Duration::ZERO), 0);
        assert_eq!(rate(u64::MAX, Duration::from_nanos(1)), u64::MAX);
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (microseconds, text) in [
            (0, "0 µs"),
            (840, "840 µs"),
            (999, "999 µs"),
            (1_000, "1.00 ms"),
            (4_214, "4.21 ms"),
            (9_996, "10.0 ms"),
            (71_300, "71.3 ms"),
            (420_400, "420 ms"),
            (999_600, "1.00 s"),
            (61_350_000, "61.4 s"),
        ] {
            assert_eq!(time(Duration::from_micros(microseconds)), text);
        }
    }

    #[test]
    fn ratios_go_both_ways() {
        for (old, new, text) in [
            (100.0, 1860.0, "18.6x more"),
            (100.0, 80.0, "1.2x less"),
            (100.0, 103.0, "the same"),
            (1.0, 250.4, "250x more"),
            (0.0, 5.0, ""),
        ] {
            assert_eq!(ratio(old, new), text);
        }
    }
}

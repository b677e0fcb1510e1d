//! Durations, sizes and numbers within their ranges.

use std::time::Duration;

use super::check::Text;
use super::error::Problem;

/// A range of durations, or of sizes in bytes, with the words for its ends.
pub(crate) struct Range<T = Duration> {
    pub(crate) low: (T, &'static str),
    pub(crate) high: (T, &'static str),
}

impl Range {
    /// A duration of the command line.
    pub(crate) fn parse(&self, text: &str) -> Result<Duration, Problem> {
        duration(&Text::plain(text), self)
    }
}

/// `500ms`, `1s`, `2m`, `1h`, within `range`.
pub(super) fn duration(text: &Text, range: &Range) -> Result<Duration, Problem> {
    let parsed = parse(&text.value).ok_or_else(|| Problem::Duration {
        value: text.to_string(),
    })?;
    let which = match parsed {
        parsed if parsed < range.low.0 => "short",
        parsed if parsed > range.high.0 => "long",
        parsed => return Ok(parsed),
    };
    Err(Problem::DurationRange {
        value: text.to_string(),
        which,
        low: range.low.1,
        high: range.high.1,
    })
}

fn parse(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    let milliseconds = match text[unit..].trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

/// `64KiB`, `4MiB`, `1GiB`, within `range`.
pub(super) fn size(text: &Text, range: &Range<u64>) -> Result<u64, Problem> {
    let parsed = parse_size(&text.value).ok_or_else(|| Problem::Size {
        value: text.to_string(),
    })?;
    let which = match parsed {
        parsed if parsed < range.low.0 => "small",
        parsed if parsed > range.high.0 => "large",
        parsed => return Ok(parsed),
    };
    Err(Problem::SizeRange {
        value: text.to_string(),
        which,
        low: range.low.1,
        high: range.high.1,
    })
}

fn parse_size(text: &str) -> Option<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    let bytes = match text[unit..].trim_start() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(bytes)
}

/// A whole number from `low` to `high`.
pub(super) fn number(
    text: &Text,
    (low, high): (u32, u32),
    remedy: &'static str,
) -> Result<u32, Problem> {
    let digits = text.value.bytes().all(|byte| byte.is_ascii_digit());
    match text.value.parse() {
        Ok(number) if digits && (low..=high).contains(&number) => Ok(number),
        _ => Err(Problem::Number {
            value: text.to_string(),
            low,
            high,
            remedy,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range {
        low: (Duration::from_millis(10), "10ms"),
        high: (Duration::from_secs(3600), "1h"),
    };

    #[test]
    fn durations_have_a_unit() {
        let milliseconds = |text: &str| duration(&Text::plain(text), &RANGE).map(|d| d.as_millis());
        for (text, expected) in [
            ("500ms", 500),
            ("1s", 1000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("3 s", 3000),
        ] {
            assert_eq!(milliseconds(text).unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "1",
            "s",
            "1.5s",
            "-1s",
            "1d",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            let problem = milliseconds(text).unwrap_err();
            assert!(
                matches!(problem, Problem::Duration { .. }),
                "{text}: {problem}"
            );
        }
    }

    #[test]
    fn durations_stay_in_their_range() {
        for (text, expected) in [
            (
                "9ms",
                "`9ms` is too short; choose a duration from 10ms to 1h",
            ),
            ("2h", "`2h` is too long; choose a duration from 10ms to 1h"),
        ] {
            let problem = duration(&Text::plain(text), &RANGE).unwrap_err();
            assert_eq!(problem.to_string(), expected);
        }
    }

    #[test]
    fn sizes_have_a_unit_and_stay_in_their_range() {
        let range = Range {
            low: (1 << 16, "64KiB"),
            high: (1 << 30, "1GiB"),
        };
        let size = |text: &str| size(&Text::plain(text), &range).map_err(|it| it.to_string());
        for (text, expected) in [("64KiB", 65_536), ("4MiB", 4 << 20), ("1 GiB", 1 << 30)] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "4",
            "MiB",
            "4M",
            "4MB",
            "-1MiB",
            "1.5MiB",
            "99999999999GiB",
        ] {
            let expected = format!(
                "`{text}` is not a size; write a whole number with its unit: 64KiB, 4MiB or 1GiB"
            );
            assert_eq!(size(text), Err(expected));
        }
        for (text, which) in [("63KiB", "small"), ("1025MiB", "large")] {
            let expected = format!("`{text}` is too {which}; choose a size from 64KiB to 1GiB");
            assert_eq!(size(text), Err(expected));
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        assert_eq!(number(&Text::plain("256"), (0, 256), "").unwrap(), 256);
        for text in ["257", "-1", "+1", "", "1.0", "many", "4294967297"] {
            assert!(number(&Text::plain(text), (0, 256), "").is_err(), "{text}");
        }
    }
}

//! Parameters of the binary protocol as SQL literals that mean the same.

use crate::wire::execute::{DateTime, Value};

/// Below this, each whole number is a double that equals no other whole number.
const DOUBLES_ARE_EXACT: f64 = 9_007_199_254_740_992.0;

/// The value as a literal. `None` if no literal means the same.
pub(crate) fn of(value: &Value<'_>, no_backslash_escapes: bool) -> Option<Vec<u8>> {
    match value {
        Value::Null => Some(b"NULL".to_vec()),
        Value::Integer(number) => Some(number.to_string().into_bytes()),
        Value::Decimal(text) => is_plain_decimal(text).then(|| text.to_vec()),
        Value::Text(text) => Some(string_literal(text, no_backslash_escapes)),
        Value::Double(number) => double_literal(*number),
        Value::Date(date) => Some(date_literal(date)),
        Value::DateTime(time) => Some(time_literal(time)),
        Value::Other => None,
    }
}

/// The integer that a double is.
pub(crate) fn whole(number: f64) -> Option<i128> {
    let is_whole = number.abs() < DOUBLES_ARE_EXACT && number.fract() == 0.0;
    // The shortest text of such a number has neither point nor exponent.
    is_whole.then(|| number.to_string().parse().ok()).flatten()
}

/// The integer that the server takes a text for, without a warning.
pub(crate) fn digits(text: &[u8]) -> Option<i128> {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = (1..=15).contains(&unsigned.len()) && unsigned.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok()
}

/// A double as a literal that is a double too. `None` if several integers in a column would equal it.
fn double_literal(number: f64) -> Option<Vec<u8>> {
    (number.abs() < DOUBLES_ARE_EXACT).then(|| format!("{number:e}").into_bytes())
}

fn date_literal(date: &DateTime) -> Vec<u8> {
    let DateTime {
        year, month, day, ..
    } = date;
    format!("DATE'{year:04}-{month:02}-{day:02}'").into_bytes()
}

fn time_literal(time: &DateTime) -> Vec<u8> {
    let DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond,
    } = time;
    format!(
        "TIMESTAMP'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{microsecond:06}'"
    )
    .into_bytes()
}

/// Whether a text is digits with an optional sign and fraction, as drivers send DECIMAL.
fn is_plain_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let points = digits.iter().filter(|&&byte| byte == b'.').count();
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    points <= 1 && digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(is_number)
}

/// A string literal in the client's own character set, which its parameters have as well.
pub(crate) fn string_literal(text: &[u8], no_backslash_escapes: bool) -> Vec<u8> {
    let mut literal = vec![b'\''];
    for &byte in text {
        if byte == b'\'' || (byte == b'\\' && !no_backslash_escapes) {
            literal.push(byte);
        }
        literal.push(byte);
    }
    literal.push(b'\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_say_what_the_parameters_said() {
        assert_eq!(string_literal(b"it's \\ ", false), b"'it''s \\\\ '");
        assert_eq!(string_literal(b"it's \\ ", true), b"'it''s \\ '");
        assert!(is_plain_decimal(b"-12.50"));
        assert!(!is_plain_decimal(b"1e5"));
        assert!(!is_plain_decimal(b""));
        assert!(!is_plain_decimal(b"1.2.3"));
        assert_eq!(double_literal(42.0), Some(b"4.2e1".to_vec()));
        assert_eq!(double_literal(-0.5), Some(b"-5e-1".to_vec()));
        assert_eq!(double_literal(DOUBLES_ARE_EXACT), None);
        assert_eq!(double_literal(f64::NAN), None);
        let time = DateTime {
            year: 2026,
            month: 2,
            day: 3,
            hour: 4,
            minute: 5,
            second: 6,
            microsecond: 70,
        };
        assert_eq!(date_literal(&time), b"DATE'2026-02-03'");
        assert_eq!(
            time_literal(&time),
            b"TIMESTAMP'2026-02-03 04:05:06.000070'"
        );
    }

    #[test]
    fn doubles_and_strings_are_deltas_where_they_are_whole_numbers() {
        for (number, expected) in [
            (1.0, Some(1)),
            (-3.0, Some(-3)),
            (-0.0, Some(0)),
            (1e15, Some(1_000_000_000_000_000)),
            (DOUBLES_ARE_EXACT, None),
            (0.5, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(whole(number), expected, "{number}");
        }
        for (text, expected) in [
            ("1", Some(1)),
            ("-12", Some(-12)),
            ("", None),
            ("-", None),
            ("+1", None),
            (" 1", None),
            ("1.0", None),
            ("1e1", None),
            ("1234567890123456", None),
        ] {
            assert_eq!(digits(text.as_bytes()), expected, "{text}");
        }
    }
}

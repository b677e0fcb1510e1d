//! Whether a value that is inserted equals what the column then holds.
//!
//! An INSERT converts: 2.6 becomes 3 in an INT column, text is cut to length without strict mode. The row that is in
//! its way has the converted value, which a comparison with the statement's own literal would not find.

use crate::catalog::Column;

/// Whether a column stores the value of this SQL literal as it is, whatever the sql_mode. `false` is always right.
pub fn is_stored_as_written(column: &Column, literal: &[u8]) -> bool {
    let Ok(literal) = std::str::from_utf8(literal) else {
        return false;
    };
    let definition = column.definition.to_ascii_lowercase();
    let (name, rest) = match definition.find(|letter: char| !letter.is_ascii_alphabetic()) {
        Some(end) => definition.split_at(end),
        None => (definition.as_str(), ""),
    };
    let text = literal
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .filter(|text| !text.contains(['\'', '\\']));
    let number = text.unwrap_or(literal);
    let unsigned = rest.contains("unsigned");
    match name {
        "tinyint" => is_integer(number, 8, unsigned),
        "smallint" => is_integer(number, 16, unsigned),
        "mediumint" => is_integer(number, 24, unsigned),
        "int" | "integer" => is_integer(number, 32, unsigned),
        "bigint" => is_integer(number, 64, unsigned),
        "char" | "varchar" => text.is_some_and(|text| {
            let any_character = rest.contains("character set utf8mb4");
            // A CHAR loses spaces at its end, and without them does not equal the literal under a NO PAD collation.
            let is_cut = name == "char" && text.ends_with(' ');
            Some(text.len()) <= length(rest) && (any_character || text.is_ascii()) && !is_cut
        }),
        // Filled up with zeros that the comparison would not fill up.
        "binary" => text.is_some_and(|text| text.is_ascii() && Some(text.len()) == length(rest)),
        "varbinary" => text.is_some_and(|text| text.is_ascii() && Some(text.len()) <= length(rest)),
        "date" => text.is_some_and(is_date),
        _ => false,
    }
}

/// The number between parentheses.
fn length(rest: &str) -> Option<usize> {
    let (digits, _) = rest.strip_prefix('(')?.split_once(')')?;
    digits.parse().ok()
}

fn is_integer(digits: &str, bits: u32, unsigned: bool) -> bool {
    let plain = digits
        .strip_prefix('-')
        .unwrap_or(digits)
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    let Some(number) = digits.parse::<i128>().ok().filter(|_| plain) else {
        return false;
    };
    let (low, high) = match unsigned {
        true => (0, (1 << bits) - 1),
        false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    (low..=high).contains(&number)
}

/// `YYYY-MM-DD` of a day that every month has.
fn is_date(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| -> Option<u16> {
        let part = text.get(range)?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse().ok())?
    };
    let in_order = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    in_order
        && digits(0..4).is_some_and(|year| year >= 1000)
        && digits(5..7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8..10).is_some_and(|day| (1..=28).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_column_converts_is_not_stored_as_written() {
        let cases = [
            ("int", "3", true),
            ("int", "'3'", true),
            ("int", "-3", true),
            ("int", "2.6", false),
            ("int", "'2.6'", false),
            ("int", "1e3", false),
            ("int", "''", false),
            ("int", "-", false),
            ("int", "2147483648", false),
            ("int(10) unsigned", "2147483648", true),
            ("int unsigned", "-1", false),
            ("tinyint(1)", "127", true),
            ("tinyint(1)", "128", false),
            ("bigint unsigned", "18446744073709551615", true),
            ("bigint unsigned", "18446744073709551616", false),
            ("varchar(3) CHARACTER SET utf8mb4", "'abc'", true),
            ("varchar(3) CHARACTER SET utf8mb4", "'abcd'", false),
            ("varchar(3) CHARACTER SET utf8mb4", "'ä'", true),
            ("varchar(3) CHARACTER SET latin1", "'ä'", false),
            ("varchar(3) CHARACTER SET utf8mb4", "5", false),
            ("varchar(3) CHARACTER SET utf8mb4", "'ab '", true),
            ("char(3) CHARACTER SET utf8mb4", "' ab'", true),
            ("char(3) CHARACTER SET utf8mb4", "'ab '", false),
            ("varchar(9) CHARACTER SET utf8mb4", "'a\\'b'", false),
            ("varchar(9) CHARACTER SET utf8mb4", "X'41'", false),
            ("binary(2)", "'ab'", true),
            ("binary(2)", "'a'", false),
            ("varbinary(2)", "'a'", true),
            ("date", "'2024-02-28'", true),
            ("date", "'2024-02-30'", false),
            ("date", "'2024-2-3'", false),
            ("date", "20240203", false),
            ("decimal(8,2)", "1.005", false),
            ("enum('a','b')", "'a'", false),
            ("int", "?", false),
        ];
        for (definition, literal, expected) in cases {
            let column = Column {
                definition: definition.to_owned(),
                ..Column::default()
            };
            let stored = is_stored_as_written(&column, literal.as_bytes());
            assert_eq!(stored, expected, "{literal} in {definition}");
        }
    }
}

//! Columns of integers, and strings that are compared with them.
//!
//! Clients that write their parameters into the text may send every one of them as a string: `WHERE id = '3'`. A server
//! converts a constant to the type of the column that it is compared with, once and before it looks for rows, if the
//! column can hold it. Then it means the same as the number. Any other string (`'3.0'`, `'3abc'`, one that the column
//! cannot hold) is compared as a double, which several integers may equal.

/// A column of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerColumn {
    bits: u32,
    is_unsigned: bool,
}

impl IntegerColumn {
    /// The column of this definition, if it holds integers.
    pub fn of(definition: &str) -> Option<Self> {
        let definition = definition.to_ascii_lowercase();
        let name = definition.split(|letter: char| !letter.is_ascii_alphabetic());
        let bits = match name.into_iter().next()? {
            "tinyint" => 8,
            "smallint" => 16,
            "mediumint" => 24,
            "int" | "integer" => 32,
            "bigint" => 64,
            _ => return None,
        };
        Some(Self {
            bits,
            // ZEROFILL makes a column UNSIGNED, whatever its definition says.
            is_unsigned: definition.contains("unsigned") || definition.contains("zerofill"),
        })
    }

    /// The digits of a string literal, if the string is the one text of an integer that the column can hold.
    pub fn unquoted(self, literal: &[u8]) -> Option<&[u8]> {
        let digits = literal.strip_prefix(b"'")?.strip_suffix(b"'")?;
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let number: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let highest = (1_i128 << (self.bits - u32::from(!self.is_unsigned))) - 1;
        let is_shortest = digits == b"0" || !digits.starts_with(b"0");
        (is_number && is_shortest && number <= highest).then_some(digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_means_an_integer_where_it_is_its_one_text_and_the_column_holds_it() {
        let cases = [
            ("int", "'3'", Some("3")),
            ("int(11)", "'0'", Some("0")),
            (
                "bigint unsigned",
                "'18446744073709551615'",
                Some("18446744073709551615"),
            ),
            ("bigint unsigned", "'18446744073709551616'", None),
            (
                "bigint",
                "'9223372036854775807'",
                Some("9223372036854775807"),
            ),
            // As a double it equals the largest BIGINT.
            ("bigint", "'9223372036854775808'", None),
            ("tinyint", "'127'", Some("127")),
            ("tinyint(3) unsigned", "'255'", Some("255")),
            ("tinyint", "'128'", None),
            ("mediumint", "'8388608'", None),
            ("int", "'03'", None),
            ("int", "'00'", None),
            ("int", "' 3'", None),
            ("int", "'3 '", None),
            ("int", "'3.0'", None),
            ("int", "'1e1'", None),
            ("int", "'3abc'", None),
            ("int", "'+3'", None),
            ("int", "'-3'", None),
            ("int", "''", None),
            ("int", "3", None),
            ("int", "'3", None),
            (
                "int",
                "'99999999999999999999999999999999999999999999'",
                None,
            ),
        ];
        for (definition, literal, expected) in cases {
            let column = IntegerColumn::of(definition).expect("of integers");
            let unquoted = column.unquoted(literal.as_bytes());
            let expected = expected.map(str::as_bytes);
            assert_eq!(unquoted, expected, "{literal} in {definition}");
        }
        for other in [
            "decimal(10,0)",
            "varchar(10)",
            "year",
            "bit(8)",
            "float",
            "point",
        ] {
            assert_eq!(IntegerColumn::of(other), None, "{other}");
        }
    }
}

//! By which text of its predicate a key is known: statements that name one row in the same text wait for each other.

use std::borrow::Cow;

use crate::catalog::HotTable;
use crate::sql::IntegerColumn;

/// Whether a key is written as nothing but the digits of an integer.
pub(crate) fn has_one_text(predicate: &[u8], table: &HotTable) -> bool {
    let digits = integer_key(predicate, table).map_or(&b""[..], |(_, value)| value);
    digits.iter().all(u8::is_ascii_digit) && !matches!(digits, [] | [b'0', _, ..])
}

/// The predicate of a key without the quotes around an integer, if the string means that integer. What is sent keeps
/// its own text.
pub(crate) fn in_one_text<'a>(predicate: &'a [u8], table: &HotTable) -> Cow<'a, [u8]> {
    let unquoted = integer_key(predicate, table)
        .and_then(|(column, value)| Some((column.unquoted(value)?, value.len())));
    match unquoted {
        Some((digits, length)) => {
            let (name, _) = predicate.split_at(predicate.len() - length);
            Cow::Owned([name, digits].concat())
        }
        None => Cow::Borrowed(predicate),
    }
}

/// The column of integers that is the whole key, and what it is compared with.
fn integer_key<'a>(predicate: &'a [u8], table: &HotTable) -> Option<(IntegerColumn, &'a [u8])> {
    let [key] = table.primary_key[..] else {
        return None;
    };
    let column = &table.columns[key];
    // A name that contains a backtick is not worth the trouble.
    let value = predicate
        .strip_prefix(b"`")?
        .strip_prefix(column.name.as_bytes())?
        .strip_prefix(b"` = ")?;
    Some((IntegerColumn::of(&column.definition)?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(definition: &str) -> HotTable {
        let mut table = HotTable::clone(&crate::sql::posts_in_fixture());
        let key = table.primary_key[0];
        definition.clone_into(&mut table.columns[key].definition);
        table
    }

    #[test]
    fn a_number_in_quotes_is_known_by_the_number() {
        let cases = [
            ("int", "`id` = '3'", "`id` = 3", true),
            ("int", "`id` = 3", "`id` = 3", true),
            ("int", "`id` = '03'", "`id` = '03'", false),
            ("int", "`id` = 03", "`id` = 03", false),
            ("int", "`id` = '3x'", "`id` = '3x'", false),
            ("tinyint", "`id` = '300'", "`id` = '300'", false),
            ("int", "`key` = '3'", "`key` = '3'", false),
            ("int", "`id` = '3' OR TRUE", "`id` = '3' OR TRUE", false),
            ("varchar(3)", "`id` = '3'", "`id` = '3'", false),
        ];
        for (definition, predicate, expected, is_one) in cases {
            let table = table(definition);
            let known = in_one_text(predicate.as_bytes(), &table);
            assert_eq!(known, expected.as_bytes(), "{predicate} of {definition}");
            assert_eq!(has_one_text(&known, &table), is_one, "{predicate}");
        }
    }
}

//! What may follow SHOW and its name: LIKE 'pattern', WHERE column = value.

use super::cursor::Cursor;
use super::table::{Code, Refusal, Table};

/// The longest pattern, in bytes: it is held against every row.
const LONGEST_PATTERN: usize = 1024;

/// Which rows are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    All,
    /// Whose first column is like this pattern.
    Like(String),
    /// Whose column of this name has this value.
    Where(String, String),
}

impl Filter {
    /// Reads the end of a statement.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Refusal> {
        let filter = if cursor.accept("LIKE") {
            cursor.value().map(Self::Like)
        } else if cursor.accept("WHERE") {
            let name = cursor.name();
            let is_equal = cursor.accept("=");
            match (name, is_equal, cursor.value()) {
                (Some(name), true, Some(value)) => Some(Self::Where(name, value)),
                _ => None,
            }
        } else {
            Some(Self::All)
        };
        match filter {
            Some(Self::Like(pattern)) if pattern.len() > LONGEST_PATTERN => {
                let why = format!("a pattern has at most {LONGEST_PATTERN} bytes");
                Err(Refusal::new(Code::Syntax, why))
            }
            Some(filter) if cursor.is_at_end() => Ok(filter),
            _ => Err(Refusal::new(
                Code::Syntax,
                "SHOW takes LIKE 'pattern' for its first column, or WHERE column = 'value', and nothing behind it",
            )),
        }
    }

    /// Leaves the rows that are asked for.
    pub(super) fn apply(&self, mut table: Table) -> Result<Table, Refusal> {
        match self {
            Self::All => {}
            Self::Like(pattern) => {
                let pattern = lower(pattern);
                keep(&mut table, 0, |value| is_like(value, &pattern));
            }
            Self::Where(name, wanted) => {
                let mut columns = table.columns.iter();
                let Some(at) = columns.position(|(column, _)| column.eq_ignore_ascii_case(name))
                else {
                    let names: Vec<_> = table.columns.iter().map(|(name, _)| &**name).collect();
                    let message = format!(
                        "there is no column {name} here; there are {}",
                        names.join(", ")
                    );
                    return Err(Refusal::new(Code::Syntax, message));
                };
                keep(&mut table, at, |value| value.eq_ignore_ascii_case(wanted));
            }
        }
        Ok(table)
    }
}

fn keep(table: &mut Table, at: usize, is_wanted: impl Fn(&str) -> bool) {
    table.rows.retain(|row| {
        let shown = row.get(at).and_then(|value| value.shown());
        shown.is_some_and(|value| is_wanted(&value))
    });
}

fn lower(text: &str) -> Vec<char> {
    text.to_lowercase().chars().collect()
}

/// MySQL's LIKE in a collation without letter case; the pattern is lowered. Takes as long as text and pattern
/// multiplied, both being short.
fn is_like(text: &str, pattern: &[char]) -> bool {
    let text = lower(text);
    // Whether the pattern so far fits the first `n` letters.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    let mut letters = pattern.iter().copied();
    while let Some(letter) = letters.next() {
        if letter == '%' {
            let first = fits.iter().position(|fits| *fits).unwrap_or(fits.len());
            fits[first..].fill(true);
            continue;
        }
        let (wanted, is_any) = match letter {
            '\\' => (letters.next().unwrap_or('\\'), false),
            letter => (letter, letter == '_'),
        };
        for end in (1..fits.len()).rev() {
            fits[end] = fits[end - 1] && (is_any || text[end - 1] == wanted);
        }
        fits[0] = false;
    }
    fits[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::console::table::Value;

    #[test]
    fn patterns_are_mysqls() {
        for (text, pattern, expected) in [
            ("folded:delete", "folded:%", true),
            ("Folded:delete", "FOLDED%", true),
            ("slotted", "folded%", false),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc", "%", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "%b%", true),
            ("a_c", "a\\_c", true),
            ("abc", "a\\_c", false),
            ("aXbXc", "a%x%c", true),
            ("é", "_", true),
        ] {
            let lowered = lower(pattern);
            assert_eq!(is_like(text, &lowered), expected, "{text} LIKE {pattern}");
        }
    }

    fn table() -> Table {
        let row = |name: &str, number| vec![Value::from(name), Value::Integer(number)];
        Table::of_texts(&["name", "number"], vec![row("a", 1), row("b", 2)])
    }

    #[test]
    fn rows_are_chosen() {
        let rows = |text: &str| {
            let filter = Filter::parse(&mut Cursor::new(text))?;
            Ok::<_, Refusal>(filter.apply(table())?.rows.len())
        };
        assert_eq!(rows(""), Ok(2));
        assert_eq!(rows("LIKE 'A'"), Ok(1));
        assert_eq!(rows("WHERE number = 2"), Ok(1));
        assert_eq!(rows("where NUMBER = '3';"), Ok(0));
        for wrong in [
            "LIKE",
            "LIKE a",
            "WHERE a",
            "WHERE a = b",
            "LIKE 'a' LIMIT 1",
            "now",
        ] {
            assert!(rows(wrong).is_err(), "{wrong}");
        }
        let like = |length| rows(&format!("LIKE '{}'", "%".repeat(length)));
        assert_eq!(like(LONGEST_PATTERN), Ok(2));
        let error = like(LONGEST_PATTERN + 1).expect_err("too long");
        assert!(error.message.contains("at most 1024 bytes"), "{error}");
        let error = rows("WHERE colour = 'red'").expect_err("no such column");
        assert!(error.message.contains("name, number"), "{error}");
    }
}

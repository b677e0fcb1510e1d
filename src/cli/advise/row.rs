//! Formats rows for people and for programs.

use crate::advise::{Candidate, Row};

/// Maximum length of a row's text, in characters. Longer ones are cut.
const LONGEST: usize = 100;

/// Formats a row, as in `id = 42`.
pub(super) fn show(row: &Row, candidate: &Candidate) -> String {
    let text = match row {
        Row::Record { index, data } => record(index, data, &candidate.primary_key),
        Row::Compared(text) => named(text, &candidate.columns),
        Row::All => "all rows".to_owned(),
    };
    plain(&text)
}

/// The text without control characters, cut to [`LONGEST`].
pub(super) fn plain(text: &str) -> String {
    let mut shown: String = whole(text).chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("..");
    }
    shown
}

/// The text without control characters, in full length.
pub(super) fn whole(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// A record of the primary key, with the names of its columns.
fn record(index: &str, data: &str, primary_key: &[String]) -> String {
    let values = values(data);
    let is_key = index == "PRIMARY" && values.len() == primary_key.len();
    match is_key {
        true => {
            let pairs = primary_key.iter().zip(values);
            let pairs: Vec<_> = pairs
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            pairs.join(" AND ")
        }
        false => format!("{data} in the index {index}"),
    }
}

/// Splits a record into its values, which are separated by commas outside quotes.
fn values(data: &str) -> Vec<&str> {
    let mut values = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, letter) in data.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            ',' if !quoted => {
                values.push(data[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    values.push(data[start..].trim());
    values
}

/// Replaces `#1` by the name of the first column, and so on.
fn named(text: &str, columns: &[String]) -> String {
    let parts = text.split(" AND ").map(|part| {
        let position = part
            .strip_prefix('#')
            .and_then(|rest| rest.split_once(" = "));
        let found = position.and_then(|(position, value)| {
            let position: usize = position.parse().ok()?;
            let name = columns.get(position.checked_sub(1)?)?;
            Some(format!("{name} = {value}"))
        });
        found.unwrap_or_else(|| part.to_owned())
    });
    parts.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn records_are_shown_by_their_columns() {
        let key = names(&["page", "day"]);
        assert_eq!(
            record("PRIMARY", "'a, ''b', 5", &key),
            "page = 'a, ''b' AND day = 5"
        );
        assert_eq!(record("PRIMARY", "42", &names(&["id"])), "id = 42");
        assert_eq!(
            record("by_name", "'x', 42", &key),
            "'x', 42 in the index by_name"
        );
        assert_eq!(
            record("PRIMARY", "supremum pseudo-record", &key),
            "supremum pseudo-record in the index PRIMARY"
        );
    }

    #[test]
    fn columns_that_an_insert_does_not_name_have_their_names() {
        let columns = names(&["page", "n"]);
        assert_eq!(
            named("#1 = 'x' AND #2 = 1", &columns),
            "page = 'x' AND n = 1"
        );
        assert_eq!(
            named("#9 = 'x' AND id = 1", &columns),
            "#9 = 'x' AND id = 1"
        );
        assert_eq!(named("#00c1f2", &columns), "#00c1f2");
    }

    #[test]
    fn a_terminal_is_told_nothing_by_data() {
        assert_eq!(plain("a\u{1b}[31m\n"), "a [31m ");
        assert_eq!(plain(&"x".repeat(200)).chars().count(), LONGEST + 2);
    }
}

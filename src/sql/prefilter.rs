//! The first look at a text: can it concern a hot table at all?

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::catalog::Catalog;

/// Finds hot tables' names in statement text.
///
/// An identifier has no escapes but the doubled backtick, so a text that does not contain a table's name
/// does not name that table. (It may still reach it: through a view, a routine, `DROP DATABASE`, or EXECUTE
/// of a text that was hidden in a variable.)
#[derive(Debug)]
pub struct Prefilter {
    /// `None`: every text may concern a hot table.
    names: Option<AhoCorasick>,
}

impl Prefilter {
    /// A filter for the names of the catalog's tables.
    pub fn new(catalog: &Catalog) -> Self {
        let patterns: Vec<Vec<u8>> = catalog
            .tables
            .iter()
            .flat_map(|table| patterns(&table.name))
            .collect();
        if patterns.iter().any(Vec::is_empty) {
            return Self { names: None };
        }
        // A table name that is too much for the automaton only costs us the shortcut.
        let names = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)
            .ok();
        Self { names }
    }

    /// Whether the text may name a hot table. `false` is certain.
    pub fn may_concern(&self, text: &[u8]) -> bool {
        self.names.as_ref().is_none_or(|names| names.is_match(text))
    }
}

/// What to look for: any text that names the table contains one of these.
fn patterns(name: &str) -> Vec<Vec<u8>> {
    if name.is_ascii() {
        let doubled = name.replace('`', "``");
        let quoted = name.replace('"', "\"\"");
        let mut forms = vec![name.as_bytes().to_vec()];
        forms.extend(
            [doubled, quoted]
                .into_iter()
                .filter(|form| form != name)
                .map(String::into_bytes),
        );
        return forms;
    }
    // The client may speak another character set than UTF-8, and letter case is more than ASCII there:
    // the longest run of ASCII letters is what all spellings share.
    let run = name
        .split(|letter: char| !letter.is_ascii() || letter == '`' || letter == '"')
        .max_by_key(|run| run.len())
        .unwrap_or_default();
    vec![run.as_bytes().to_vec()]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::HotTable;
    use crate::sql::fixture;

    fn named(name: &str) -> Prefilter {
        let table = HotTable {
            name: name.to_owned(),
            ..(*fixture::posts()).clone()
        };
        Prefilter::new(&Catalog {
            tables: vec![Arc::new(table)],
            ..Catalog::default()
        })
    }

    #[test]
    fn letter_case_and_quotes_do_not_hide_a_table() {
        let filter = named("posts");
        assert!(filter.may_concern(b"UPDATE `Posts` SET views = 1"));
        assert!(!filter.may_concern(b"SELECT 1 FROM authors"));
        assert!(named("a`b").may_concern(b"SELECT * FROM `a``b`"));
        assert!(named("a\"b").may_concern(b"SELECT * FROM \"a\"\"b\""));
        assert!(!Prefilter::new(&Catalog::default()).may_concern(b"SELECT 1"));
    }

    #[test]
    fn a_name_beyond_ascii_is_found_in_any_character_set() {
        let filter = named("b\u{e9}cool");
        assert!(filter.may_concern(b"SELECT * FROM b\xe9cool"));
        assert!(filter.may_concern("SELECT * FROM B\u{c9}COOL".as_bytes()));
        assert!(!filter.may_concern(b"SELECT * FROM trade"));
        assert!(named("\u{9650}").may_concern(b"anything"));
    }
}

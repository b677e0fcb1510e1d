//! The first look at a text: can it concern a hot table at all?

use std::collections::BTreeSet;

use aho_corasick::packed::{MatchKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::catalog::Catalog;
use crate::sql::mention::mentions;

/// Finds hot tables' names in statement text.
///
/// An identifier has no escapes but the doubled backtick, so a text that does not contain a table's name
/// does not name that table. (It may still reach it: through a view, a routine, `DROP DATABASE`, or EXECUTE
/// of a text that was hidden in a variable.)
#[derive(Debug)]
pub struct Prefilter {
    hot: Names,
    /// Tables whose rows take rows of hot ones with them, by foreign keys; `None` where there are none.
    above: Option<Names>,
    /// What may do so.
    taking: Vec<&'static [u8]>,
}

/// Finds names.
#[derive(Debug)]
struct Names {
    /// `None`: every text may have one in it.
    names: Option<AhoCorasick>,
    /// By pattern: whether it is a whole name, which cannot be the beginning of another one.
    whole: Vec<bool>,
    /// Finds how the names begin, in each letter case: by many bytes at a time, where the processor can, and so most
    /// texts are known to have none of them. `None`: it cannot, or there are too many.
    starts: Option<Searcher>,
}

/// How much of a name its beginning is, in bytes. Each letter doubles what is looked for.
const START: usize = 3;

/// The maximum number of beginnings that are looked for at a time.
const MOST_STARTS: usize = 64;

/// What to look for.
struct Pattern {
    bytes: Vec<u8>,
    whole: bool,
}

impl Prefilter {
    /// A filter for the names of the catalog's tables.
    pub fn new(catalog: &Catalog) -> Self {
        let with_slots = catalog.tables.iter().chain(&catalog.observed);
        let cascades = with_slots.clone().flat_map(|table| &table.cascades);
        let above: BTreeSet<&str> = cascades.clone().map(|cascade| &*cascade.name).collect();
        let mut taking: Vec<&'static [u8]> = Vec::new();
        if cascades.clone().any(|cascade| cascade.on_delete) {
            taking.extend([b"DELETE".as_slice(), b"REPLACE"]);
        }
        if cascades.clone().any(|cascade| cascade.on_update) {
            taking.extend([b"UPDATE".as_slice(), b"REPLACE"]);
        }
        let tables = with_slots.chain(&catalog.without_slots);
        Self {
            hot: Names::new(tables.map(|table| &*table.name)),
            above: (!above.is_empty()).then(|| Names::new(above.into_iter())),
            taking,
        }
    }

    /// Whether the text may name a hot table, or write a table whose rows take rows of one with them. `false` is
    /// certain.
    pub fn may_concern(&self, text: &[u8]) -> bool {
        self.hot.may_occur(text)
            || self.above.as_ref().is_some_and(|above| {
                let takes = || self.taking.iter().any(|word| mentions(text, word));
                above.may_occur(text) && takes()
            })
    }
}

impl Names {
    fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let patterns: Vec<Pattern> = names.flat_map(patterns).collect();
        let whole = patterns.iter().map(|pattern| pattern.whole).collect();
        if patterns.iter().any(|pattern| pattern.bytes.is_empty()) {
            return Self {
                names: None,
                whole,
                starts: None,
            };
        }
        // A table name that is too much for the automaton only costs us the shortcut.
        let names = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns.iter().map(|pattern| &pattern.bytes))
            .ok();
        Self {
            names,
            whole,
            starts: starts(&patterns),
        }
    }

    /// Whether a text may contain one of them. `false` is certain.
    fn may_occur(&self, text: &[u8]) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        if let Some(starts) = &self.starts
            && starts.find(text).is_none()
        {
            return false;
        }
        // Overlapping: what is not `post` may be `posts`.
        names.find_overlapping_iter(text).any(|found| {
            let goes_on = text.get(found.end()).is_some_and(continues_a_name);
            !(self.whole[found.pattern()] && goes_on)
        })
    }
}

/// Finds the beginnings of these.
fn starts(patterns: &[Pattern]) -> Option<Searcher> {
    let mut starts = Vec::new();
    for pattern in patterns {
        let mut cases = vec![Vec::new()];
        for byte in pattern.bytes.iter().take(START) {
            let (lower, upper) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
            let both = [lower, upper]
                .into_iter()
                .take(1 + usize::from(lower != upper));
            let longer = both.flat_map(|byte| {
                let cases = cases.iter();
                cases.map(move |case: &Vec<u8>| [case.as_slice(), &[byte]].concat())
            });
            cases = longer.collect();
        }
        starts.extend(cases);
    }
    starts.sort();
    starts.dedup();
    let few = !starts.is_empty() && starts.len() <= MOST_STARTS;
    few.then(|| {
        let mut config = aho_corasick::packed::Config::new();
        config.match_kind(MatchKind::LeftmostFirst);
        config.builder().extend(&starts).build()
    })?
}

/// Whether a name cannot end before this byte, quoted or not, in any character set: `posts` is not `posts_tags`.
/// Nothing is said about the byte before a name, because there may be a version (`/*!50000posts*/`).
fn continues_a_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// What to look for: any text that names the table contains one of these.
fn patterns(name: &str) -> Vec<Pattern> {
    if name.is_ascii() {
        let doubled = name.replace('`', "``");
        let quoted = name.replace('"', "\"\"");
        let mut forms = vec![name.to_owned()];
        forms.extend([doubled, quoted].into_iter().filter(|form| form != name));
        let whole = forms.into_iter().map(|form| Pattern {
            bytes: form.into_bytes(),
            whole: true,
        });
        return whole.collect();
    }
    // The client may speak another character set than UTF-8, and letter case is more than ASCII there:
    // the longest run of ASCII letters is what all spellings share.
    let run = name
        .split(|letter: char| !letter.is_ascii() || letter == '`' || letter == '"')
        .max_by_key(|run| run.len())
        .unwrap_or_default();
    vec![Pattern {
        bytes: run.as_bytes().to_vec(),
        whole: false,
    }]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::{Cascade, HotTable};
    use crate::sql::fixture;

    fn table(name: &str) -> Arc<HotTable> {
        Arc::new(HotTable {
            name: name.to_owned(),
            ..(*fixture::posts()).clone()
        })
    }

    fn named(name: &str) -> Prefilter {
        Prefilter::new(&Catalog {
            tables: vec![table(name)],
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
    fn a_table_above_is_looked_for_in_what_may_take_rows() {
        let with = |on_delete, on_update| {
            let mut posts = (*fixture::posts()).clone();
            posts.cascades.push(Cascade {
                schema: "shop".to_owned(),
                name: "authors".to_owned(),
                columns: vec!["id".to_owned()],
                referring: vec!["author_id".to_owned()],
                on_delete,
                on_update,
            });
            Prefilter::new(&Catalog {
                tables: vec![Arc::new(posts)],
                ..Catalog::default()
            })
        };
        let (deletes, updates) = (with(true, false), with(false, true));
        let concerns = |filter: &Prefilter, text: &str| filter.may_concern(text.as_bytes());
        assert!(concerns(&deletes, "delete from Authors"));
        assert!(concerns(&updates, "UPDATE authors SET id = 2"));
        assert!(!concerns(&deletes, "UPDATE authors SET id = 2"));
        assert!(!concerns(&updates, "DELETE FROM authors"));
        for text in ["SELECT * FROM authors", "DELETE FROM authors_tags"] {
            assert!(!concerns(&deletes, text) && !concerns(&updates, text));
        }
    }

    #[test]
    fn many_names_and_short_ones_are_found_in_any_letter_case() {
        let names: Vec<String> = (0..40).map(|number| format!("t{number}_hits")).collect();
        let many = Prefilter::new(&Catalog {
            tables: names.iter().map(|name| table(name)).collect(),
            ..Catalog::default()
        });
        assert!(many.hot.starts.is_none());
        assert!(many.may_concern(b"SELECT n FROM T39_HITS"));
        let text = "SELECT something FROM somewhere WHERE a = 5 AND b IN (1, 2, 3)";
        for name in ["q", "qz", "qzx", "qzxy", "q_1", "\u{e9}qz"] {
            let filter = named(name);
            assert!(!filter.may_concern(text.as_bytes()), "{name}");
            for at in 0..text.len() {
                let found = [&text[..at], &name.to_uppercase(), " ", &text[at..]].concat();
                assert!(filter.may_concern(found.as_bytes()), "{found}");
            }
        }
        assert!(!many.may_concern(text.as_bytes()));
    }

    #[test]
    fn a_longer_name_is_another_one() {
        let filter = named("posts");
        for other in ["posts_tags", "posts2", "POSTS$x", "postsy.t"] {
            assert!(
                !filter.may_concern(format!("SELECT 1 FROM {other}").as_bytes()),
                "{other}"
            );
        }
        for hot in [
            "posts",
            "posts p",
            "posts.id",
            "`posts`",
            "/*!50000posts*/",
            "posts\u{e9}",
        ] {
            assert!(
                filter.may_concern(format!("SELECT 1 FROM {hot}").as_bytes()),
                "{hot}"
            );
        }
        assert!(filter.may_concern(b"SELECT 1 FROM posts_tags, posts"));
        assert!(filter.may_concern(b"posts"));
    }

    #[test]
    fn of_two_names_that_begin_alike_both_are_found() {
        let tables = ["post", "posts"].map(table);
        let filter = Prefilter::new(&Catalog {
            tables: tables.to_vec(),
            ..Catalog::default()
        });
        assert!(filter.may_concern(b"SELECT 1 FROM post"));
        assert!(filter.may_concern(b"SELECT 1 FROM posts"));
        assert!(!filter.may_concern(b"SELECT 1 FROM posts_tags"));
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

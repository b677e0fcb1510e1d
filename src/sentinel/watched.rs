//! The tables that the sentinel looks at.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable, letter_case};
use crate::sql::plan::SessionVariables;
use crate::sql::{Kind, Lexer, Token, TokenKind, statement_kind};

/// The hot tables that have slot tables, at rest or not, and how their names are compared.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    tables: Vec<Arc<HotTable>>,
    lower_case_table_names: u8,
}

impl Watched {
    /// Those of this catalog.
    pub fn of(catalog: &Catalog) -> Self {
        Self {
            tables: catalog.with_slot_tables().cloned().collect(),
            lower_case_table_names: catalog.lower_case_table_names,
        }
    }

    /// The hot table with this name.
    pub(super) fn hot(&self, schema: &str, name: &str) -> Option<&Arc<HotTable>> {
        let mut tables = self.tables.iter();
        tables.find(|table| self.is(schema, &table.schema) && self.is(name, &table.name))
    }

    /// The hot table whose slot table has this name.
    pub(super) fn of_slots(&self, schema: &str, name: &str) -> Option<&Arc<HotTable>> {
        let mut tables = self.tables.iter();
        tables.find(|table| self.is(schema, &table.slot_schema) && self.is(name, &table.slot_name))
    }

    fn is(&self, left: &str, right: &str) -> bool {
        letter_case::is_same_table(self.lower_case_table_names, left, right)
    }

    /// The hot tables that a statement names, if it may change their counters or take rows away, and those whose slot
    /// tables it names. A name in it may be a column's, and not the table's.
    pub(super) fn named(&self, text: &[u8], schema: &str) -> Named<'_> {
        let variables = SessionVariables::default();
        let kind = statement_kind(text, &variables);
        let mut named = Named::default();
        if !(kind.is_write() || matches!(kind, Kind::With | Kind::Ddl | Kind::Other)) {
            return named;
        }
        let words = words(text, &variables);
        let has = |name: &str| {
            let mut words = words.iter();
            words.any(|word| matches!(word, Word::Name(other) if letter_case::is_same(other, name)))
        };
        let has_counter = |table: &HotTable| {
            let mut counters = table.counters.iter();
            counters.any(|counter| has(&table.columns[counter.column].name))
        };
        // UPDATE of other columns, and INSERT of other rows, leave counters alone.
        let spares_others = matches!(kind, Kind::Update | Kind::Insert | Kind::With);
        for (at, word) in words.iter().enumerate() {
            let Word::Name(name) = word else { continue };
            let schema = match &words[..at] {
                [.., Word::Name(schema), Word::Dot] => schema,
                _ => schema,
            };
            let hot = self.hot(schema, name);
            let hot = hot.filter(|table| !spares_others || has_counter(table));
            named.hot.extend(hot);
            named.slots.extend(self.of_slots(schema, name));
        }
        named
    }
}

/// What a statement names.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    pub(super) hot: Vec<&'a Arc<HotTable>>,
    /// The hot tables whose slot tables it names.
    pub(super) slots: Vec<&'a Arc<HotTable>>,
}

#[derive(Debug)]
enum Word {
    Name(String),
    Dot,
    Other,
}

fn words(text: &[u8], variables: &SessionVariables) -> Vec<Word> {
    let tokens = Lexer::new(text, variables).filter(Token::is_significant);
    let word = |token: Token| {
        let bytes = token.of(text);
        let name = String::from_utf8_lossy(bytes);
        match token.kind {
            TokenKind::Word => Word::Name(name.into_owned()),
            TokenKind::Quoted => Word::Name(name.trim_matches('`').replace("``", "`")),
            TokenKind::Punctuation if bytes == b"." => Word::Dot,
            _ => Word::Other,
        }
    };
    tokens.map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::posts_in_fixture;

    fn named(text: &str, schema: &str) -> (usize, usize) {
        let watched = Watched::of(&Catalog {
            tables: vec![posts_in_fixture()],
            ..Catalog::default()
        });
        let named = watched.named(text.as_bytes(), schema);
        (named.hot.len(), named.slots.len())
    }

    #[test]
    fn a_statement_names_tables_as_the_server_reads_it() {
        for (text, schema, found) in [
            ("UPDATE posts SET views = 5 WHERE id = 1", "shop", (1, 0)),
            ("UPDATE posts SET views = 5 WHERE id = 1", "other", (0, 0)),
            ("update `shop` . `posts` set `VIEWS` = 5", "other", (1, 0)),
            ("UPDATE other.posts SET views = 5", "shop", (0, 0)),
            (
                "UPDATE authors SET name = 'posts views' -- posts views",
                "shop",
                (0, 0),
            ),
            ("DELETE FROM posts WHERE id = 1", "shop", (1, 0)),
            ("TRUNCATE shop.posts", "", (1, 0)),
            ("REPLACE INTO posts VALUES (1, 2)", "shop", (1, 0)),
            ("INSERT INTO posts_slots VALUES (1, 2)", "shop", (0, 1)),
            (
                "SET STATEMENT max_statement_time = 1 FOR DELETE FROM posts",
                "shop",
                (1, 0),
            ),
        ] {
            assert_eq!(named(text, schema), found, "{text}");
        }
    }

    #[test]
    fn a_statement_that_leaves_counters_alone_is_not_reported() {
        for text in [
            "UPDATE posts SET title = 'x' WHERE id = 1",
            "INSERT INTO posts (id, title) VALUES (1, 'x')",
            "BEGIN",
            "SAVEPOINT posts",
            "SELECT views FROM posts",
        ] {
            assert_eq!(named(text, "shop"), (0, 0), "{text}");
        }
    }
}

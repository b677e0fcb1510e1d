//! What is planned by words alone: DDL, SQL-level PREPARE, LOAD DATA.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::context::{hot_by_words, mentioned};
use crate::sql::lexer::TokenKind;
use crate::sql::plan::{Ddl, Emptying, Fold, FoldTable, Plan, Reason, SessionFacts};
use crate::sql::words::Words;

/// Folds whole tables.
pub(super) fn fold_tables(tables: Vec<Arc<HotTable>>, reason: Reason) -> Plan {
    let folds = tables.iter().map(FoldTable::whole).collect();
    Plan::Fold(Box::new(Fold { folds, reason }))
}

/// Reads one DDL statement after the other by its words.
struct Reader<'a> {
    text: &'a [u8],
    facts: &'a SessionFacts,
    catalog: &'a Catalog,
    words: Words<'a>,
}

/// The plan of CREATE, ALTER, DROP, TRUNCATE, RENAME.
pub(super) fn plan(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Plan {
    let mut reader = Reader {
        text,
        facts,
        catalog,
        words: Words::new(text, facts),
    };
    if reader.words.has_inner_mark(b';') {
        // A routine's body, or several statements that could not be told apart.
        return reader.ddl(mentioned(text, catalog), Emptying::None);
    }
    if reader.words.accept("CREATE") {
        reader.create()
    } else if reader.words.accept("ALTER") {
        reader.alter()
    } else if reader.words.accept("DROP") {
        reader.drop()
    } else if reader.words.accept("TRUNCATE") {
        reader.words.accept("TABLE");
        let table = reader.table();
        reader.words.accept_mark(b';');
        let emptying = match reader.words.peek() {
            None => Emptying::Known,
            Some(_) => Emptying::Unread,
        };
        reader.ddl(table.into_iter().collect(), emptying)
    } else if reader.words.accept("RENAME") && reader.words.accept_any(&["TABLE", "TABLES"]) {
        reader.rename()
    } else {
        Plan::Forward(Reason::Metadata)
    }
}

impl Reader<'_> {
    /// Takes a table's name: the hot table, if it is one.
    fn table(&mut self) -> Option<Arc<HotTable>> {
        let name = self.words.name()?;
        hot_by_words(self.catalog, self.facts, &name).cloned()
    }

    fn ddl(&self, tables: Vec<Arc<HotTable>>, emptying: Emptying) -> Plan {
        match tables.is_empty() {
            true => Plan::Forward(Reason::Metadata),
            false => Plan::Ddl(Box::new(Ddl { tables, emptying })),
        }
    }

    fn accept_if_exists(&mut self) {
        self.words.accept_all(&["IF", "NOT", "EXISTS"]);
        self.words.accept_all(&["IF", "EXISTS"]);
    }

    fn create(&mut self) -> Plan {
        let replaces = self.words.accept_all(&["OR", "REPLACE"]);
        let is_temporary = self.words.accept("TEMPORARY");
        if self.words.accept("TABLE") {
            return self.create_table(replaces, is_temporary);
        }
        self.words.accept_any(&["UNIQUE", "FULLTEXT", "SPATIAL"]);
        // A trigger decides what rows are inserted, and whether the table may be hot at all.
        match self.words.accept("INDEX") || self.words.has("TRIGGER") {
            true => self.on_table(),
            // A view, routine or event: `check` names those that concern a counter.
            false => Plan::Forward(Reason::Metadata),
        }
    }

    fn create_table(&mut self, replaces: bool, is_temporary: bool) -> Plan {
        self.accept_if_exists();
        let table = self.table();
        if self.words.has("SELECT") || self.words.has("TABLE") {
            let reads = mentioned(self.text, self.catalog);
            // A temporary table with the hot name, made from the hot one: fold now, and the session finds the
            // shadow by name.
            return match (table, is_temporary) {
                (Some(table), true) => Plan::Shadow(vec![table]),
                _ if reads.is_empty() => Plan::Forward(Reason::NotHot),
                _ => fold_tables(reads, Reason::MultiTable),
            };
        }
        match (table, is_temporary) {
            (Some(table), true) => Plan::Shadow(vec![table]),
            (Some(table), false) if replaces => self.ddl(vec![table], Emptying::Unread),
            (Some(table), false) => self.ddl(vec![table], Emptying::None),
            (None, _) => Plan::Forward(Reason::Metadata),
        }
    }

    /// CREATE or DROP INDEX name .. ON table, CREATE TRIGGER name .. ON table
    fn on_table(&mut self) -> Plan {
        self.words.skip_past("ON");
        let table = self.table();
        self.ddl(table.into_iter().collect(), Emptying::None)
    }

    fn alter(&mut self) -> Plan {
        self.words.accept_any(&["ONLINE", "IGNORE"]);
        self.words.accept_any(&["ONLINE", "IGNORE"]);
        if !self.words.accept("TABLE") {
            return Plan::Forward(Reason::Metadata);
        }
        self.accept_if_exists();
        if let Some(table) = self.table() {
            return self.ddl(vec![table], Emptying::None);
        }
        // ALTER TABLE other RENAME TO hot: the base table exists, so the other one must be a temporary table.
        match self.words.has("RENAME") {
            true => Plan::Shadow(mentioned(self.text, self.catalog)),
            false => Plan::Forward(Reason::Metadata),
        }
    }

    fn drop(&mut self) -> Plan {
        let is_temporary = self.words.accept("TEMPORARY");
        if self.words.accept_any(&["TABLE", "TABLES"]) {
            self.accept_if_exists();
            let tables = self.tables_in_list();
            return match is_temporary {
                true => Plan::Forward(Reason::Shadowed),
                false => self.ddl(tables, Emptying::Unread),
            };
        }
        if self.words.accept_any(&["DATABASE", "SCHEMA"]) {
            self.accept_if_exists();
            let schema = self.words.identifier().unwrap_or_default().to_lowercase();
            let tables = self
                .catalog
                .tables
                .iter()
                .filter(|table| table.schema.to_lowercase() == schema);
            return self.ddl(tables.cloned().collect(), Emptying::Unread);
        }
        match self.words.accept("INDEX") {
            true => self.on_table(),
            false => Plan::Forward(Reason::Metadata),
        }
    }

    /// `name, name, ..`
    fn tables_in_list(&mut self) -> Vec<Arc<HotTable>> {
        let mut tables = Vec::new();
        loop {
            tables.extend(self.table());
            if !self.words.accept_mark(b',') {
                return tables;
            }
        }
    }

    /// `old TO new, ..`: a hot table that goes or comes.
    fn rename(&mut self) -> Plan {
        let mut tables = Vec::new();
        loop {
            self.accept_if_exists();
            tables.extend(self.table());
            if !self.words.skip_past("TO") {
                break;
            }
            tables.extend(self.table());
            if !self.words.accept_mark(b',') {
                break;
            }
        }
        tables.dedup();
        self.ddl(tables, Emptying::None)
    }
}

/// The plan of PREPARE name FROM text, and of EXECUTE IMMEDIATE text.
pub(super) fn plan_prepare(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Plan {
    let mut words = Words::new(text, facts);
    words.next();
    words.skip_past("FROM");
    match words.rest() {
        [only] if only.kind == TokenKind::String => Plan::Prepare(mentioned(text, catalog)),
        _ => Plan::Prepare(catalog.tables.clone()),
    }
}

/// The plan of LOAD DATA and LOAD XML.
pub(super) fn plan_load(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Plan {
    let words = Words::new(text, facts);
    match words.has("REPLACE") {
        true => fold_tables(mentioned(text, catalog), Reason::Replace),
        false => Plan::Forward(Reason::InsertOnly),
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn statements_planned_by_their_words() {
        let cases = [
            ("TRUNCATE posts", "ddl posts, empties"),
            ("truncate table `shop`.`posts`;", "ddl posts, empties"),
            ("TRUNCATE posts NOWAIT", "ddl posts, empties perhaps"),
            (
                "CREATE OR REPLACE TABLE posts (id INT)",
                "ddl posts, empties perhaps",
            ),
            ("TRUNCATE authors_of_posts", "forward Metadata"),
            (
                "DROP TABLE IF EXISTS authors, shop.posts, hits",
                "ddl posts, hits, empties perhaps",
            ),
            ("DROP TEMPORARY TABLE posts", "forward Shadowed"),
            ("DROP DATABASE shop", "ddl posts, hits, empties perhaps"),
            ("ALTER TABLE posts ADD COLUMN x INT", "ddl posts"),
            ("ALTER TABLE tmp RENAME TO posts", "shadow posts"),
            (
                "RENAME TABLE posts TO posts_old, posts_new TO posts",
                "ddl posts",
            ),
            ("CREATE UNIQUE INDEX i ON posts (title)", "ddl posts"),
            ("DROP INDEX i ON posts", "ddl posts"),
            ("CREATE TABLE posts (id INT)", "ddl posts"),
            ("CREATE TEMPORARY TABLE posts (id INT)", "shadow posts"),
            (
                "CREATE TEMPORARY TABLE IF NOT EXISTS posts SELECT * FROM posts",
                "shadow posts",
            ),
            (
                "CREATE TABLE x AS SELECT views FROM posts",
                "fold MultiTable: posts",
            ),
            ("CREATE TABLE x LIKE posts", "forward Metadata"),
            (
                "CREATE VIEW v AS SELECT views FROM posts",
                "forward Metadata",
            ),
            (
                "CREATE PROCEDURE p() BEGIN UPDATE posts SET views = 1; END",
                "ddl posts",
            ),
            ("OPTIMIZE TABLE posts", "forward Metadata"),
            ("ANALYZE TABLE posts", "forward Metadata"),
            (
                "ANALYZE UPDATE posts SET views = 1",
                "fold NotParsed: posts",
            ),
            ("SHOW CREATE TABLE posts", "forward Metadata"),
            ("EXPLAIN SELECT views FROM posts", "forward Metadata"),
            ("CALL posts()", "forward Metadata"),
            ("DO (SELECT views FROM posts)", "fold NotParsed: posts"),
            (
                "SET @v = (SELECT views FROM posts)",
                "fold NotParsed: posts",
            ),
            ("SET @v = 'posts'", "forward Metadata"),
            (
                "SET STATEMENT max_statement_time = 1 FOR UPDATE posts SET views = 1",
                "fold NotParsed: posts",
            ),
            ("HANDLER posts OPEN", "fold NotParsed: posts"),
            ("TABLE posts", "fold NotParsed: posts"),
            (
                "LOAD DATA INFILE 'x' INTO TABLE posts",
                "forward InsertOnly",
            ),
            (
                "LOAD DATA INFILE 'x' REPLACE INTO TABLE posts",
                "fold Replace: posts",
            ),
            (
                "PREPARE s FROM 'UPDATE posts SET views = 1'",
                "prepare posts",
            ),
            ("PREPARE s FROM @text", "prepare posts, hits"),
            (
                "EXECUTE IMMEDIATE 'UPDATE posts SET views = 1'",
                "fold SqlExecute: posts; hits",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(planned(text), expected, "{text}");
        }
    }
}

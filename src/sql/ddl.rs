//! What is planned by words alone: DDL, SQL-level PREPARE, LOAD DATA.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::context::{hot_by_words, mentioned};
use crate::sql::lexer::TokenKind;
use crate::sql::plan::{Ddl, Fold, FoldTable, Plan, Reason, SessionVariables};
use crate::sql::words::Words;

/// Folds whole tables.
pub(super) fn fold_tables(tables: Vec<Arc<HotTable>>, reason: Reason) -> Plan {
    let folds = tables.iter().map(FoldTable::whole).collect();
    Plan::Fold(Box::new(Fold::new(folds, reason)))
}

/// The same, for a statement that commits the open transaction.
fn commits_first(plan: Plan) -> Plan {
    match plan {
        Plan::Fold(fold) => Plan::Fold(Box::new(Fold {
            commits_first: true,
            ..*fold
        })),
        plan => plan,
    }
}

/// Reads one DDL statement after another by its words.
struct Reader<'a> {
    text: &'a [u8],
    variables: &'a SessionVariables,
    catalog: &'a Catalog,
    words: Words<'a>,
}

/// The plan of CREATE, ALTER, DROP, TRUNCATE, RENAME.
pub(super) fn plan(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    let is_latin1 = variables.other_characters.as_deref() == Some("latin1");
    if is_latin1 && !text.is_ascii() && catalog.has_names_beyond_ascii() {
        let text: String = text.iter().copied().map(char::from).collect();
        let variables = SessionVariables {
            other_characters: None,
            ..variables.clone()
        };
        return plan(text.as_bytes(), &variables, catalog);
    }
    let mut reader = Reader {
        text,
        variables,
        catalog,
        words: Words::new(text, variables),
    };
    if reader.words.has_inner_mark(b';') {
        // A routine's body, or several statements that could not be separated.
        return reader.ddl(mentioned(text, catalog), false);
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
        reader.ddl(table.into_iter().collect(), true)
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
        hot_by_words(self.catalog, self.variables, &name).cloned()
    }

    fn ddl(&self, mut tables: Vec<Arc<HotTable>>, withdraws_slots: bool) -> Plan {
        // Each once, and in one order for all sessions, which then take locks in that.
        tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        tables.dedup();
        match tables.is_empty() {
            true => Plan::Forward(Reason::Metadata),
            false => Plan::Ddl(Box::new(Ddl {
                tables,
                withdraws_slots,
            })),
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
            if table.is_some() && replaces && !is_temporary {
                return self.ddl(reads, true);
            }
            return match (table, is_temporary) {
                (Some(_), true) => Plan::Shadow(reads),
                _ if reads.is_empty() => Plan::Forward(Reason::NotHot),
                (_, true) => fold_tables(reads, Reason::MultiTable),
                (_, false) => commits_first(fold_tables(reads, Reason::MultiTable)),
            };
        }
        match (table, is_temporary) {
            (Some(_), true) => Plan::Shadow(Vec::new()),
            (Some(table), false) => self.ddl(vec![table], replaces),
            (None, _) => Plan::Forward(Reason::Metadata),
        }
    }

    /// CREATE or DROP INDEX name .. ON table, CREATE TRIGGER name .. ON table
    fn on_table(&mut self) -> Plan {
        self.words.skip_past("ON");
        let table = self.table();
        self.ddl(table.into_iter().collect(), false)
    }

    fn alter(&mut self) -> Plan {
        self.words.accept_any(&["ONLINE", "IGNORE"]);
        self.words.accept_any(&["ONLINE", "IGNORE"]);
        if !self.words.accept("TABLE") {
            return Plan::Forward(Reason::Metadata);
        }
        self.accept_if_exists();
        let table = self.table();
        // The other table of EXCHANGE PARTITION or CONVERT TABLE is named somewhere in the text.
        if self.words.has("PARTITION") && self.moves_rows() {
            return self.ddl(mentioned(self.text, self.catalog), true);
        }
        if let Some(table) = table {
            let withdraws_slots = self.moves_rows() || self.names_column_in_slots(&table);
            return self.ddl(vec![table], withdraws_slots);
        }
        // ALTER TABLE other RENAME TO hot: the base table exists, so the other one must be a temporary table.
        match self.words.has("RENAME") && !mentioned(self.text, self.catalog).is_empty() {
            true => Plan::Shadow(Vec::new()),
            false => Plan::Forward(Reason::Metadata),
        }
    }

    /// Whether an ALTER TABLE gives rows another table, or columns another name, as far as its words show.
    fn moves_rows(&self) -> bool {
        const MOVING: [&str; 7] = [
            "RENAME",
            "CHANGE",
            "EXCHANGE",
            "PARTITION",
            "CONVERT",
            "TABLESPACE",
            "PRIMARY",
        ];
        MOVING.iter().any(|word| self.words.has(word))
    }

    /// Whether the words that are left name a column that slots have too.
    fn names_column_in_slots(&self, table: &HotTable) -> bool {
        let counters = table.counters.iter().map(|counter| counter.column);
        let own = table.primary_key.iter().chain(&table.touches).copied();
        let mut names = counters.chain(own).map(|at| &table.columns[at].name);
        names.any(|name| self.words.names(name))
    }

    fn drop(&mut self) -> Plan {
        let is_temporary = self.words.accept("TEMPORARY");
        if self.words.accept_any(&["TABLE", "TABLES"]) {
            self.accept_if_exists();
            let tables = self.tables_in_list();
            return match is_temporary {
                true => Plan::Forward(Reason::Shadowed),
                false => self.ddl(tables, true),
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
            return self.ddl(tables.cloned().collect(), true);
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
        self.ddl(tables, true)
    }
}

/// The plan of PREPARE name FROM text, and of EXECUTE IMMEDIATE text.
pub(super) fn plan_prepare(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    let mut words = Words::new(text, variables);
    words.next();
    words.skip_past("FROM");
    match words.rest() {
        [only] if only.kind == TokenKind::String => Plan::Prepare(mentioned(text, catalog)),
        _ => Plan::Prepare(catalog.tables.clone()),
    }
}

/// The plan of LOAD DATA and LOAD XML.
pub(super) fn plan_load(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    let words = Words::new(text, variables);
    let tables = || mentioned(text, catalog);
    match (words.has("REPLACE"), words.has_subquery()) {
        (true, _) => fold_tables(tables(), Reason::Replace),
        (false, true) => fold_tables(tables(), Reason::MultiTable),
        (false, false) => Plan::Forward(Reason::InsertOnly),
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn statements_planned_by_their_words() {
        let cases = [
            ("TRUNCATE posts", "ddl posts, without slots"),
            ("truncate table `shop`.`posts`;", "ddl posts, without slots"),
            ("TRUNCATE posts NOWAIT", "ddl posts, without slots"),
            (
                "CREATE OR REPLACE TABLE posts (id INT)",
                "ddl posts, without slots",
            ),
            ("TRUNCATE authors_of_posts", "forward Metadata"),
            (
                "DROP TABLE IF EXISTS authors, shop.posts, hits",
                "ddl hits, posts, without slots",
            ),
            ("DROP TEMPORARY TABLE posts", "forward Shadowed"),
            ("DROP DATABASE shop", "ddl hits, posts, without slots"),
            ("ALTER TABLE posts ADD COLUMN x INT", "ddl posts"),
            ("ALTER TABLE tmp RENAME TO posts", "shadow "),
            ("ALTER TABLE tmp RENAME TO other", "forward Metadata"),
            (
                "RENAME TABLE posts TO posts_old, posts_new TO posts",
                "ddl posts, without slots",
            ),
            (
                "ALTER TABLE posts RENAME TO posts_old",
                "ddl posts, without slots",
            ),
            (
                "ALTER TABLE posts RENAME COLUMN title TO name",
                "ddl posts, without slots",
            ),
            (
                "ALTER TABLE posts MODIFY `views` INT",
                "ddl posts, without slots",
            ),
            (
                "ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE posts",
                "ddl posts, without slots",
            ),
            (
                "ALTER TABLE posts EXCHANGE PARTITION p0 WITH TABLE hits",
                "ddl hits, posts, without slots",
            ),
            (
                "CREATE OR REPLACE TABLE posts SELECT * FROM hits",
                "ddl hits, posts, without slots",
            ),
            ("CREATE UNIQUE INDEX i ON posts (title)", "ddl posts"),
            ("DROP INDEX i ON posts", "ddl posts"),
            ("CREATE TABLE posts (id INT)", "ddl posts"),
            ("CREATE TEMPORARY TABLE posts (id INT)", "shadow "),
            (
                "CREATE TEMPORARY TABLE IF NOT EXISTS posts SELECT * FROM hits",
                "shadow posts, hits",
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
            ("CALL p((SELECT views FROM posts))", "fold NotParsed: posts"),
            (
                "SHOW COLUMNS FROM x WHERE 1 = (SELECT views FROM posts)",
                "fold NotParsed: posts",
            ),
            (
                "SHOW COLUMNS FROM x WHERE 1 = /*! (SELECT views FROM posts) */",
                "fold NotParsed: posts",
            ),
            (
                "EXPLAIN SELECT (SELECT views FROM posts)",
                "forward Metadata",
            ),
            ("GRANT SELECT ON posts TO me", "forward Metadata"),
            ("HANDLER posts OPEN", "fold NotParsed: posts"),
            ("TABLE posts FOR UPDATE", "fold NotParsed: posts"),
            (
                "LOAD DATA INFILE 'x' INTO TABLE posts",
                "forward InsertOnly",
            ),
            (
                "LOAD DATA INFILE 'x' REPLACE INTO TABLE posts",
                "fold Replace: posts",
            ),
            (
                "LOAD DATA INFILE 'x' INTO TABLE authors (@a) SET name = (SELECT views FROM posts)",
                "fold MultiTable: posts",
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

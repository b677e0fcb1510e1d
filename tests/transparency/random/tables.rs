//! What concerns whole tables: locks, temporary tables, DDL.

use super::dice::Dice;
use super::grammar::Writer;
use super::subject::Subject;

/// `{t}` the table, `{c}` a counter, `{o}` its key columns, `{k}` a key, `{s}` an assignment of another column.
type Script = &'static [&'static str];

const WHOLE: &[Script] = &[
    &[
        "LOCK TABLES {t} WRITE",
        "UPDATE {t} SET {c} = {c} + 1",
        "SELECT * FROM {t} ORDER BY {o}",
        "UNLOCK TABLES",
    ],
    &[
        "LOCK TABLES {t} READ",
        "SELECT {c} FROM {t} ORDER BY {o}",
        "UPDATE {t} SET {c} = {c} + 1",
        "UNLOCK TABLES",
    ],
    &["TRUNCATE TABLE {t}"],
    &[
        "CREATE TEMPORARY TABLE copied AS SELECT {c} FROM {t}",
        "SHOW COLUMNS FROM copied",
        "DROP TEMPORARY TABLE copied",
    ],
    &[
        "CREATE TEMPORARY TABLE {t} (id INT, {c} INT)",
        "INSERT INTO {t} VALUES (1, 1)",
        "UPDATE {t} SET {c} = {c} + 1",
        "SELECT * FROM {t}",
        "DROP TEMPORARY TABLE {t}",
    ],
    &["CHECK TABLE {t}"],
    &["ANALYZE TABLE {t}"],
];

const LOCKS: &[&str] = &[
    "LOCK TABLES {t} WRITE",
    "LOCK TABLES {t} READ",
    "LOCK TABLES {t} READ LOCAL",
    "LOCK TABLES {t} WRITE, {t} AS x READ",
    "LOCK TABLES {t} AS x WRITE, {t} AS y READ, {t} READ",
    "LOCK TABLES {t} READ, authors WRITE",
    "LOCK TABLES authors READ",
    "LOCK TABLES {t} AS x WRITE",
    "LOCK TABLES {t} x READ LOCAL, {t} WRITE",
    "LOCK TABLE {t} LOW_PRIORITY WRITE",
];

const UNDER_LOCKS: &[&str] = &[
    "SELECT {c} FROM {t} WHERE {k}",
    "UPDATE {t} SET {c} = {c} + 1 WHERE {k}",
    "SELECT x.{c} FROM {t} AS x WHERE {k}",
    "SELECT x.{c}, y.{c} FROM {t} AS x JOIN {t} AS y USING ({o}) ORDER BY {o}",
    "UPDATE {t} AS x SET x.{c} = x.{c} + 1 WHERE {k}",
    "UPDATE {t} SET {c} = 7 WHERE {k}",
    "UPDATE {t} SET {s} WHERE {k}",
    "SELECT COUNT(*), SUM({c}) FROM {t}",
    "DELETE FROM {t} WHERE {k}",
    "SELECT {c} FROM {t} WHERE {k} FOR UPDATE",
    "SELECT name FROM authors ORDER BY id",
    "UPDATE authors SET followers = followers + 1 WHERE id = 1",
    "UPDATE {t} SET {c} = {c} + (SELECT 1 FROM authors LIMIT 1) WHERE {k}",
    "SELECT {c} FROM {t} x WHERE {k} UNION SELECT {c} FROM {t} WHERE {k}",
    "BEGIN",
    "COMMIT",
    "SELECT 1",
];

const TEMPORARY: &[Script] = &[
    &[
        "CREATE TEMPORARY TABLE {t} (id INT, {c} INT)",
        "INSERT INTO {t} VALUES (1, 1), (2, 2)",
    ],
    &["CREATE TEMPORARY TABLE {t} SELECT 1 AS id, 5 AS {c}"],
    &["CREATE TEMPORARY TABLE IF NOT EXISTS {t} (id INT, {c} INT)"],
    &[
        "CREATE TEMPORARY TABLE other (id INT, {c} INT)",
        "ALTER TABLE other RENAME TO {t}",
    ],
    &["CREATE TEMPORARY TABLE {t} LIKE tallies"],
    &["CREATE TEMPORARY TABLE {t} SELECT 1 AS id, SUM(followers) AS {c} FROM authors"],
    &["CREATE TEMPORARY TABLE {t} (id INT) SELECT 2 AS id, SUM({c}) AS {c} FROM {t}"],
];

const ON_TEMPORARY: &[&str] = &[
    "UPDATE {t} SET {c} = {c} + 1",
    "SELECT * FROM {t}",
    "INSERT INTO {t} (id, {c}) VALUES (3, 3)",
    "SELECT {c} FROM {t} ORDER BY 1",
    "UPDATE {t} SET {c} = 0",
    "DELETE FROM {t}",
    "TRUNCATE TABLE {t}",
    "SELECT {c} FROM {t} FOR UPDATE",
];

const GOES: &[&str] = &[
    "DROP TEMPORARY TABLE {t}",
    "DROP TABLE {t}",
    "ALTER TABLE {t} RENAME TO shadow",
    "DROP TEMPORARY TABLE IF EXISTS {t}, other",
];

/// The second of two statements puts back what the first has done, more or less.
const DDL: &[Script] = &[
    &[
        "ALTER TABLE {t} ADD COLUMN extra INT NOT NULL DEFAULT 3",
        "ALTER TABLE {t} DROP COLUMN extra",
    ],
    &["RENAME TABLE {t} TO renamed", "RENAME TABLE renamed TO {t}"],
    &[
        "ALTER TABLE {t} RENAME TO renamed",
        "ALTER TABLE renamed RENAME {t}",
    ],
    &["TRUNCATE TABLE {t}", "TRUNCATE {t}"],
    &[
        "CREATE TABLE fresh LIKE {t}",
        "RENAME TABLE {t} TO renamed, fresh TO {t}",
    ],
    &[
        "ALTER TABLE {t} ADD INDEX by_counter ({c})",
        "ALTER TABLE {t} DROP INDEX by_counter",
    ],
    &[
        "CREATE INDEX by_counter ON {t} ({c})",
        "DROP INDEX by_counter ON {t}",
    ],
    &[
        "ALTER TABLE {t} RENAME COLUMN {c} TO other",
        "ALTER TABLE {t} RENAME COLUMN other TO {c}",
    ],
    &[
        "ALTER TABLE {t} CHANGE {c} {c} BIGINT NULL",
        "ALTER TABLE {t} MODIFY {c} INT NULL",
    ],
    &["ALTER TABLE {t} ENGINE = InnoDB", "OPTIMIZE TABLE {t}"],
    &[
        "DROP TABLE {t}",
        "CREATE TABLE IF NOT EXISTS {t} (id INT PRIMARY KEY, {c} INT NOT NULL DEFAULT 0)",
    ],
    &[
        "CREATE TABLE copied AS SELECT * FROM {t}",
        "DROP TABLE copied",
    ],
    &["CREATE VIEW seen AS SELECT 1 AS one", "DROP VIEW seen"],
    &[
        "ALTER TABLE {t} ALTER COLUMN {c} SET DEFAULT 4",
        "ALTER TABLE {t} COMMENT = 'counts'",
    ],
    &[
        "CREATE TABLE parts LIKE {t}",
        "ALTER TABLE parts PARTITION BY KEY () PARTITIONS 1",
        "ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE {t}",
        "SELECT * FROM parts ORDER BY {o}",
    ],
];

impl Writer {
    pub(super) fn whole_table(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let script = dice.pick(WHOLE);
        let counter = dice.pick(subject.counters);
        for text in script {
            let text = self.filled(dice, subject, counter, text);
            self.plain(&text);
        }
        self.ends_transaction();
    }

    /// LOCK TABLES, statements, UNLOCK TABLES.
    pub(super) fn lock_tables(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let counter = dice.pick(subject.counters);
        let lock = dice.pick(LOCKS);
        let lock = self.filled(dice, subject, counter, lock);
        self.in_protocol(&lock);
        for _ in 0..1 + dice.roll(4) {
            let text = dice.pick(UNDER_LOCKS);
            let text = self.filled(dice, subject, counter, text);
            self.in_protocol(&text);
        }
        self.plain("UNLOCK TABLES");
        self.ends_transaction();
    }

    /// A temporary table with the name of a hot one, by each protocol.
    pub(super) fn temporary(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let counter = dice.pick(subject.counters);
        let script = dice.pick(TEMPORARY);
        for text in script.iter().copied() {
            self.in_some_protocol(dice, subject, counter, text);
        }
        for _ in 0..1 + dice.roll(3) {
            let text = dice.pick(ON_TEMPORARY);
            self.in_some_protocol(dice, subject, counter, text);
        }
        let goes = dice.pick(GOES);
        // Of the hot table, where there is no temporary one.
        self.altered |= goes != GOES[0];
        self.in_some_protocol(dice, subject, counter, goes);
        if goes.starts_with("ALTER") {
            self.plain("DROP TEMPORARY TABLE shadow");
        }
        // Where one has been there before, it has gone by now: the next statements are about the hot table.
        let read = format!("SELECT {counter} FROM {} ORDER BY 1", subject.name);
        self.in_protocol(&read);
    }

    /// An increment, DDL, an increment, perhaps the DDL that undoes it, and a read.
    pub(super) fn alter(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let counter = dice.pick(subject.counters);
        let undo = dice.chance(70);
        let script = dice.pick(DDL);
        let increment = "UPDATE {t} SET {c} = {c} + 1 WHERE {k}";
        let read = "SELECT * FROM {t} ORDER BY {o}";
        let (first, rest) = script.split_first().expect("a script has statements");
        let mut texts = vec![increment, *first, increment, read];
        if undo {
            texts.extend(rest.iter().flat_map(|text| [*text, increment, read]));
        }
        for text in texts {
            let text = self.filled(dice, subject, counter, text);
            self.in_protocol(&text);
        }
        self.altered = true;
        self.ends_transaction();
    }

    /// As text, in the variant's protocol, or as a statement that SQL prepares.
    fn in_some_protocol(
        &mut self,
        dice: &mut Dice<'_>,
        subject: &'static Subject,
        counter: &str,
        text: &str,
    ) {
        let text = self.filled(dice, subject, counter, text);
        match dice.roll(3) {
            0 => self.in_protocol(&text),
            1 => self.plain(&text),
            _ => {
                self.plain(&format!("PREPARE made FROM '{}'", text.replace('\'', "''")));
                self.plain("EXECUTE made");
            }
        }
    }

    /// The text with names in the place of what stands in braces.
    pub(super) fn filled(
        &mut self,
        dice: &mut Dice<'_>,
        subject: &'static Subject,
        counter: &str,
        text: &str,
    ) -> String {
        let row = self.row(dice);
        let key = subject.key.iter().zip(subject.keys[row]);
        let key: Vec<_> = key
            .map(|(column, literal)| format!("{column} = {literal}"))
            .collect();
        let setting = dice.pick(subject.settings);
        text.replace("{t}", subject.name)
            .replace("{c}", counter)
            .replace("{o}", &subject.key.join(", "))
            .replace("{k}", &key.join(" AND "))
            .replace("{s}", setting)
    }

    fn ends_transaction(&mut self) {
        self.open[self.current] = !self.autocommit[self.current];
        self.locked[self.current] = [false; 3];
    }
}

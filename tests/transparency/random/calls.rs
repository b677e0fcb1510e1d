//! Procedures, files, and statements that read counters where a value is wanted.

use super::dice::{Dice, Text};
use super::grammar::Writer;
use super::subject::Subject;
use crate::case::Value;
use crate::command::Command;

/// Calls, with parameters where they are prepared.
const CALLS: &[(&str, usize)] = &[
    ("CALL one_out(?)", 1),
    ("CALL in_and_out(?, ?)", 2),
    ("CALL several_results()", 0),
    ("CALL fails_late()", 0),
    ("CALL fetches()", 0),
    ("CALL one_out(@n)", 0),
    ("CALL in_and_out(@n, @m)", 0),
    ("SELECT @n, @m", 0),
];

/// Statements that read a counter elsewhere than in a SELECT, or as a whole table.
const SOURCES: &[&str] = &[
    "INSERT INTO tallies (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = (SELECT views FROM posts WHERE id = 1)",
    "INSERT INTO tallies (id, views) SELECT p.id, p.views FROM posts p WHERE p.id < 3 ON DUPLICATE KEY UPDATE views = p.views",
    "INSERT INTO tallies (id, views) SELECT 1, 2 FROM posts p WHERE p.id = 1 ON DUPLICATE KEY UPDATE views = p.views + 1",
    "INSERT INTO {t} (id, {c}) SELECT 1, {c} FROM {t} WHERE id = 1 ON DUPLICATE KEY UPDATE {t}.{c} = {t}.{c} + 1",
    "INSERT INTO authors (id, name) SELECT id + 40, views FROM posts WHERE id = 1",
    "INSERT INTO posts (id, author_id, title, views) VALUES (70, 1, 'n', (SELECT n FROM hits WHERE path = '/'))",
    "SELECT id, author_id, title, views, likes, score FROM posts WHERE id = 2 UNION ALL TABLE posts ORDER BY 1, 4",
    "TABLE posts UNION SELECT 0, 0, '', 0, 0, 0 ORDER BY 1",
    "SELECT * FROM posts EXCEPT TABLE posts",
    "SELECT * FROM posts WHERE id < 3 INTERSECT TABLE posts ORDER BY 1",
    "TABLE posts ORDER BY id LIMIT 2",
    "TABLE {t}",
    "SELECT * FROM (TABLE posts) AS d ORDER BY id",
    "SELECT id FROM tallies WHERE (1, 1, 'first', 100, 10, 5) IN (TABLE posts)",
    "INSERT INTO tallies (id, views, total, body) SELECT 80, views, likes, title FROM posts WHERE id = 1",
    "CREATE TEMPORARY TABLE sums TABLE posts",
    "SELECT views, likes FROM sums ORDER BY 1, 2",
    "DROP TEMPORARY TABLE IF EXISTS sums",
    "SET @v = (SELECT views FROM posts WHERE id = 1)",
    "SELECT @v",
    "DO (SELECT SUM(views) FROM posts)",
    "CALL takes((SELECT views FROM posts WHERE id = 1))",
    "SHOW COLUMNS FROM posts WHERE (SELECT views FROM posts WHERE id = 1) = 100",
    "DELETE FROM tallies WHERE views < (SELECT views FROM posts WHERE id = 1)",
    "UPDATE tallies SET views = (SELECT SUM(views) FROM posts) WHERE id = 1",
    "UPDATE tallies t SET t.views = t.views + 1 WHERE t.id IN (SELECT p.id FROM posts p WHERE p.views > 99)",
    "REPLACE INTO tallies (id, views) VALUES (1, (SELECT views FROM posts WHERE id = 3))",
    "SELECT * FROM tallies WHERE views = ANY (SELECT views FROM posts) ORDER BY id",
    "VALUES ROW((SELECT views FROM posts WHERE id = 1), 2)",
    "INSERT INTO tallies (id) VALUES (1) ON DUPLICATE KEY UPDATE total = (SELECT MAX(likes) FROM posts), views = 4",
    "INSERT INTO tallies (id, views) VALUES (90, 1) RETURNING id, (SELECT views FROM posts WHERE id = 1)",
    "SELECT views INTO @v FROM posts WHERE id = 1",
    "SELECT logged(60), {c} FROM {t} WHERE {k} FOR UPDATE",
    "SELECT logged(61), {c} FROM {t} ORDER BY {o} LIMIT 1",
    "SELECT logged(62), id FROM posts WHERE id = 1 /*! FOR UPDATE */",
    "DO (SELECT logged(63) + views FROM posts WHERE id = 1)",
    "SET @v = (SELECT logged(64) + views FROM posts WHERE id = 1)",
    "UPDATE {t} SET {c} = {c} * 1 WHERE {k} AND logged(65) > 0",
    "DELETE FROM posts WHERE views > 99999 AND id = logged(66)",
    "CALL logs(67, (SELECT views FROM posts WHERE id = 1))",
    "REPLACE INTO tallies (id, views) VALUES (68, 2) RETURNING id, (SELECT views FROM posts WHERE id = 1)",
    "DELETE FROM tallies WHERE id = 1 RETURNING id, (SELECT views FROM posts WHERE id = 1)",
];

const FILES: &[(&str, &str)] = &[
    (
        "1,1,duplicate,6\n77,1,other,5\n",
        "LOAD DATA LOCAL INFILE 'any' INTO TABLE posts FIELDS TERMINATED BY ',' (id, author_id, title, views)",
    ),
    (
        "1,1,replaced,6\n",
        "LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE posts FIELDS TERMINATED BY ',' (id, author_id, title, views)",
    ),
    (
        "50,60\n1,3\n",
        "LOAD DATA LOCAL INFILE 'any' INTO TABLE tallies FIELDS TERMINATED BY ',' (id, @x) SET views = (SELECT views FROM posts WHERE id = 1) + @x",
    ),
    (
        "51\n",
        "LOAD DATA LOCAL INFILE 'any' INTO TABLE tallies (id)",
    ),
    (
        "'/about',5\n",
        "LOAD DATA LOCAL INFILE 'any' IGNORE INTO TABLE hits FIELDS TERMINATED BY ',' ENCLOSED BY '\\'' (path, n)",
    ),
];

impl Writer {
    pub(super) fn call(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
        let (sql, parameters) = CALLS[dice.roll(CALLS.len())];
        let values = (0..parameters).map(|_| Value::LongLong(3));
        let text = Text {
            sql: sql.to_owned(),
            parameters: values.collect(),
        };
        self.statement(text, false);
    }

    pub(super) fn source(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let counter = dice.pick(subject.counters);
        let text = dice.pick(SOURCES);
        let text = self.filled(dice, subject, counter, text);
        // MariaDB 10.11 dies of some that are prepared.
        match text.contains("RETURNING id, (SELECT") && !text.starts_with("INSERT") {
            true => self.plain(&text),
            false => self.in_protocol(&text),
        }
    }

    pub(super) fn load(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
        let (file, text) = FILES[dice.roll(FILES.len())];
        self.command(Command::Infile(file.as_bytes().to_vec()));
        self.plain(text);
    }
}

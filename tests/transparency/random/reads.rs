//! Reads of hot tables.

use super::dice::{Dice, Text};
use super::grammar::Writer;
use super::subject::{SUBJECTS, Subject};

impl Writer {
    pub(super) fn select(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        if subject.name == "posts" && dice.chance(25) {
            let text = dice.pick(JOINS).to_owned();
            return self.in_protocol(&text);
        }
        let shape = dice.pick(READS);
        let counter = dice.pick(subject.counters);
        let other = dice.pick(subject.counters);
        let order = subject.key.join(", ");
        let mut text = Text::default();
        let mut rest = shape;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("a brace that closes");
            text.push(before);
            match name {
                "t" => text.push(subject.name),
                "c" => text.push(counter),
                "d" => text.push(other),
                "o" => text.push(&order),
                "w" => text.push(dice.pick(subject.conditions)),
                "k" => {
                    self.key(dice, subject, "", &mut text);
                    &mut text
                }
                _ => unreachable!("{shape}"),
            };
            rest = after;
        }
        text.push(rest);
        self.statement(text, false);
    }

    /// A locking read.
    pub(super) fn lock(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("SELECT ")
            .push(dice.pick(&["*", "1", subject.counters[0]]))
            .push(" FROM ")
            .push(subject.name)
            .push(" WHERE ");
        self.key(dice, subject, "", &mut text);
        text.push(dice.pick(&[
            " FOR UPDATE",
            " LOCK IN SHARE MODE",
            " FOR UPDATE NOWAIT",
            " FOR UPDATE SKIP LOCKED",
        ]));
        self.statement(text, false);
    }

    /// Locking reads of every kind, of rows that are this session's to lock.
    pub(super) fn lock_in_any_way(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        let several = !self.apart() && dice.chance(50);
        let counter = dice.pick(subject.counters);
        match several {
            true => {
                let from = dice.pick(LOCKING);
                let from = self.filled(dice, subject, counter, from);
                text.push(&from.replace("{w}", dice.pick(subject.conditions)));
            }
            false => {
                text.push("SELECT ").push(dice.pick(&["*", "1", counter]));
                text.push(" FROM ").push(subject.name).push(" WHERE ");
                self.key(dice, subject, "", &mut text);
            }
        }
        text.push(dice.pick(CLAUSES)).push(dice.pick(WAITS));
        self.statement(text, false);
    }

    /// Of rows that any session may have locked; it waits for nobody.
    pub(super) fn skip_locked(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let session = self.current;
        let other = (session + 1) % self.sessions;
        let mut subject = subject;
        if let Some((about, _)) = self.focus
            && other != session
            && dice.chance(60)
        {
            // The other one has an increment that is not committed.
            subject = &SUBJECTS[about];
            self.switch(other);
            self.increment_own(dice, subject);
            self.switch(session);
        }
        let counter = dice.pick(subject.counters);
        let key = subject.keys[dice.roll(3)];
        let key: Vec<_> = subject
            .key
            .iter()
            .zip(key)
            .map(|(column, literal)| format!("{column} = {literal}"))
            .collect();
        let clause = dice.pick(&[" FOR UPDATE", " FOR SHARE"]);
        // Of whichever session: it waits for none. Where other rows may be locked, only whole rows tell which.
        let skipping = match self.may_lock_more() {
            true => ALL_ROWS,
            false => SKIPPING,
        };
        let from = dice.pick(skipping).replace("{k}", &key.join(" AND "));
        let from = self.filled(dice, subject, counter, &from);
        let from = from.replace("{w}", dice.pick(subject.conditions));
        let mut waits = dice.pick(&[" SKIP LOCKED", " SKIP LOCKED", " NOWAIT"]);
        if self.has_deleted() {
            waits = " SKIP LOCKED";
        }
        self.in_protocol(&format!("{from}{clause}{waits}"));
        // What it has locked is any session's row.
        self.locked[self.current] = [self.open[self.current]; 3];
    }
}

/// Reads of one hot table: `{t}` the table, `{c}` and `{d}` counters, `{o}` its key columns, `{k}` a key, `{w}` a
/// predicate.
const READS: &[&str] = &[
    "SELECT {c} FROM {t} WHERE {k}",
    "SELECT * FROM {t} WHERE {k}",
    "SELECT * FROM {t} ORDER BY {o}",
    "SELECT {o}, {c} FROM {t} WHERE {w} ORDER BY {o}",
    "SELECT {o}, {c} + 1 AS next, {d} FROM {t} ORDER BY {c}, {o}",
    "SELECT COUNT(*), SUM({c}), MIN({c}), MAX({d}), AVG({c}) FROM {t}",
    "SELECT {o} FROM {t} WHERE {c} > 20 ORDER BY {o}",
    "SELECT t.{c} FROM {t} AS t WHERE {k}",
    "SELECT {t}.* FROM {t} WHERE {k} AND {c} >= 0",
    "SELECT DISTINCT {c} FROM {t} ORDER BY {c}",
    "SELECT {c}, COUNT(*) FROM {t} GROUP BY {c} HAVING {c} < 1000 ORDER BY {c}",
    "SELECT (SELECT {c} FROM {t} WHERE {k} LIMIT 1) AS one, 2",
    "SELECT {o} FROM {t} AS a WHERE {c} = (SELECT MAX({c}) FROM {t}) ORDER BY {o}",
    "WITH w AS (SELECT {o}, {c} FROM {t}) SELECT * FROM w ORDER BY {o}",
    "WITH {t} AS (SELECT 1 AS {c}) SELECT {c} FROM {t}",
    "SELECT {c} FROM {t} WHERE {k} UNION ALL SELECT {d} FROM {t} WHERE {k}",
    "SELECT {c} FROM {t} UNION SELECT {d} FROM {t} ORDER BY 1",
    "SELECT {o}, ROW_NUMBER() OVER (ORDER BY {c} DESC, {o}) AS place FROM {t} ORDER BY {o}",
    "SELECT {o}, SUM({c}) OVER (ORDER BY {o}) AS running FROM {t} ORDER BY {o}",
    "SELECT CASE WHEN {c} > 10 THEN 'many' ELSE 'few' END AS much FROM {t} ORDER BY {o}",
    "SELECT a.{c}, b.{d} FROM {t} AS a JOIN {t} AS b USING ({o}) ORDER BY {o}",
    "SELECT CONCAT({c}, ''), {c} DIV 2, -{c}, {c} IS NULL FROM {t} ORDER BY {o}",
    "SELECT GROUP_CONCAT({c} ORDER BY {o}) FROM {t}",
    "SELECT EXISTS (SELECT 1 FROM {t} WHERE {c} > 50)",
    "SELECT {c} AS {d}, {d} AS {c} FROM {t} ORDER BY {o}",
    "SELECT {c} FROM {t} WHERE {k} LIMIT 1",
    "SELECT {c} FROM {t} ORDER BY {c} DESC, {o} LIMIT 2 OFFSET 1",
    "SELECT x.{c} FROM (SELECT * FROM {t} WHERE {w}) AS x ORDER BY x.{c}",
    "SELECT COUNT(DISTINCT {c}) FROM {t} WHERE {c} BETWEEN 1 AND 1000",
    "SELECT {c} IN (10, 20, 100), {c} & 7, ~{c}, {c} % 3 FROM {t} ORDER BY {o}",
    "SELECT MAX({c}) - MIN({c}) AS spread FROM {t} WHERE {w}",
    "SELECT COALESCE({c}, {d}, 0), NULLIF({c}, 0), IF({c}, 'y', 'n') FROM {t} ORDER BY {o}",
    "SELECT COUNT(*) FROM {t}",
    "SELECT {o} FROM {t} WHERE {w} ORDER BY {o}",
    "SELECT {o} FROM {t} ORDER BY {c}, {o}",
    "SELECT {o} FROM {t} ORDER BY {c} + 0 DESC, {o} LIMIT 3",
];

/// Reads of several tables.
const JOINS: &[&str] = &[
    "SELECT p.title, p.views, a.name FROM posts p JOIN authors a ON a.id = p.author_id ORDER BY p.id",
    "SELECT a.name, SUM(p.views) AS total FROM authors a LEFT JOIN posts p ON p.author_id = a.id GROUP BY a.id, a.name ORDER BY a.id",
    "SELECT p.*, c.body, c.votes FROM posts p LEFT JOIN comments c ON c.post_id = p.id ORDER BY p.id, c.id",
    "SELECT name FROM authors a WHERE EXISTS (SELECT 1 FROM posts p WHERE p.author_id = a.id AND p.views > 150) ORDER BY name",
    "SELECT p.views, t.views FROM posts p JOIN tallies t USING (id) ORDER BY p.id",
    "SELECT id, views FROM posts UNION ALL SELECT id, views FROM tallies ORDER BY id, views",
    "SELECT p.id, p.likes, b.amount FROM posts p, balances b WHERE b.account = 'alice' AND p.id < 4 ORDER BY p.id, b.currency",
    "SELECT * FROM posts NATURAL JOIN tallies ORDER BY id",
    "SELECT a.id, (SELECT SUM(views) FROM posts p WHERE p.author_id = a.id) AS sum FROM authors a ORDER BY a.id",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT n.i, p.views FROM n LEFT JOIN posts p ON p.id = n.i ORDER BY n.i",
    "SELECT p.title FROM posts p WHERE p.views >= ALL (SELECT views FROM tallies) ORDER BY p.id",
    "SELECT DENSE_RANK() OVER (PARTITION BY author_id ORDER BY views, id) AS place, id FROM posts ORDER BY id",
];

/// What a locking clause follows, beside one row: `{w}` is a predicate.
const LOCKING: &[&str] = &[
    "SELECT {c} FROM {t} WHERE {w} ORDER BY {o}",
    "SELECT * FROM {t} ORDER BY {o}",
    "SELECT {o} FROM {t} WHERE {c} > 15 ORDER BY {o}",
    "SELECT {t}.{c}, a.name FROM {t} JOIN authors a ON a.id = 1 WHERE {k}",
    "SELECT COUNT(*) FROM {t}",
    "SELECT {c} FROM {t} WHERE {k} UNION SELECT 1",
    "SELECT (SELECT MAX({c}) FROM {t}) AS most",
    "SELECT * FROM (SELECT {c} FROM {t} WHERE {k}) AS d",
    "SELECT name FROM authors WHERE id IN (SELECT {c} FROM {t})",
    "SELECT {c} FROM {t} ORDER BY {c} DESC, {o} LIMIT 1",
    "WITH w AS (SELECT {c} FROM {t} WHERE {k}) SELECT * FROM w",
    "SELECT SUM({c}) FROM {t} WHERE {w}",
];

/// What is read past the locks of others.
const SKIPPING: &[&str] = &[
    "SELECT {c} FROM {t} WHERE {k}",
    "SELECT * FROM {t} WHERE {k}",
    "SELECT {o} FROM {t} WHERE {k}",
    "SELECT {o}, {c} FROM {t} ORDER BY {o}",
    "SELECT * FROM {t} ORDER BY {o} LIMIT 2",
    "SELECT {o} FROM {t} ORDER BY {o}",
    "SELECT {c} FROM {t} WHERE {w} ORDER BY {o}",
    "SELECT {o} FROM {t} WHERE {c} >= 0 ORDER BY {o} LIMIT 1",
    "SELECT COUNT(*), SUM({c}) FROM {t}",
];

/// Those that answer each row that is not locked, by itself.
const ALL_ROWS: &[&str] = &[
    "SELECT {c} FROM {t} WHERE {k}",
    "SELECT * FROM {t} WHERE {k}",
    "SELECT {o} FROM {t} WHERE {k}",
    "SELECT {o}, {c} FROM {t} ORDER BY {o}",
    "SELECT {o} FROM {t} ORDER BY {o}",
    "SELECT {c} FROM {t} WHERE {w} ORDER BY {o}",
];

const CLAUSES: &[&str] = &[
    " FOR UPDATE",
    " FOR SHARE",
    " LOCK IN SHARE MODE",
    " FOR UPDATE OF posts",
    " FOR SHARE OF a",
    " FOR SHARE OF a FOR UPDATE OF posts",
    " PROCEDURE ANALYSE()",
];

/// WAIT is MariaDB's.
const WAITS: &[&str] = &["", "", "", " NOWAIT", " SKIP LOCKED", " WAIT 1"];

//! What makes a base row newer than a snapshot, beside increments: other columns, foreign keys, triggers, routines; and
//! increments that are in slots while the transaction does more.

use super::dice::{Dice, Text};
use super::grammar::Writer;
use super::subject::{SUBJECTS, Subject};

/// Writes that reach a hot table's other columns by way of another table, or out of sight.
const RELATED: &[&str] = &[
    "UPDATE boards SET name = CONCAT(name, '!') WHERE id = 1",
    "DELETE FROM boards WHERE id = 2",
    "UPDATE boards SET id = id + 10 WHERE id = 1",
    "DELETE FROM boards WHERE name = 'news'",
    "INSERT INTO medals (board, grade, won) VALUES (1, 'gold', 1), (2, 'gold', 2)",
    "INSERT INTO boards VALUES (2, 'again')",
    "SELECT board, replies FROM threads ORDER BY id",
    "UPDATE threads SET replies = replies + 1 WHERE id = 1",
    "UPDATE threads SET replies = replies + 1 WHERE board = 1",
    "SELECT SUM(replies) FROM threads",
    "CALL retitle(1, 'called')",
    "CALL retitle(3, 'called as well')",
    "SELECT retitled(1, 'selected')",
    "DO retitled(2, 'done')",
    "UPDATE authors SET name = CONCAT(name, '?') WHERE id = 1",
    "UPDATE posts p JOIN authors a ON a.id = p.author_id SET p.title = CONCAT(p.title, a.name) WHERE p.id = 1",
    "UPDATE posts p, boards b SET p.title = CONCAT(b.name, p.id) WHERE b.id = 1 AND p.id IN (1, 2)",
    "INSERT INTO boards VALUES (7, 'new') ON DUPLICATE KEY UPDATE name = 'old'",
    "REPLACE INTO boards VALUES (1, 'replaced')",
    "SELECT t.replies, b.name FROM threads t LEFT JOIN boards b ON b.id = t.board ORDER BY t.id",
];

impl Writer {
    /// Transactions with increments of one text are known to do nothing else, until one does. The text has a number
    /// that no other play has.
    pub(super) fn show_that_transactions_only_increment(&mut self, subject: usize, play: u64) {
        let Subject {
            name,
            key,
            keys,
            counters,
            ..
        } = &SUBJECTS[subject];
        let counter = counters[0];
        let text = format!("UPDATE {name} SET {counter} = {counter} + 1 /* {play}");
        for number in 0..OWN {
            let keys: Vec<_> = key
                .iter()
                .zip(keys[2])
                .map(|(column, value)| format!("{column} = {value}"))
                .collect();
            self.plain("BEGIN");
            self.plain(&format!("{text}.{number} */ WHERE {}", keys.join(" AND ")));
            self.plain("COMMIT");
        }
        self.own = Some((text, 0));
        self.focus = Some((subject, self.focus.map_or(0, |(_, row)| row)));
    }

    /// One of those increments; by any other name after it has been used once.
    pub(super) fn increment_own(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let Some(((text, number), (about, _))) = self.own.clone().zip(self.focus) else {
            return self.update(dice, subject);
        };
        if !self.open[self.current] {
            self.own = Some((text.clone(), (number + 1) % OWN));
            self.plain("BEGIN");
            self.open[self.current] = true;
        }
        let Subject { key, keys, .. } = &SUBJECTS[about];
        let row = keys[self.row(dice)];
        let keys: Vec<_> = key
            .iter()
            .zip(row)
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        self.plain(&format!("{text}.{number} */ WHERE {}", keys.join(" AND ")));
    }

    /// Columns that are no counters, of one row.
    pub(super) fn set_cold(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("UPDATE ")
            .push(subject.name)
            .push(" SET ")
            .push(dice.pick(subject.settings))
            .push(" WHERE ");
        self.key(dice, subject, "", &mut text);
        self.statement(text, false);
    }

    /// The same by an upsert.
    pub(super) fn upsert_cold(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let before = self.written();
        self.insert(dice, subject);
        for statement in self.statements_since(before) {
            let text = statement
                .text
                .replace("INSERT IGNORE", "INSERT")
                .replace("REPLACE", "INSERT");
            let text = text.split(" ON DUPLICATE").next().unwrap_or_default();
            let setting = dice.pick(subject.settings);
            statement.text = format!("{text} ON DUPLICATE KEY UPDATE {setting}");
            statement.parameters.clear();
        }
    }

    pub(super) fn related(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
        let text = dice.pick(RELATED);
        self.in_protocol(text);
    }
}

/// So many transactions of a sequence may begin with increments in slots.
const OWN: usize = 3;

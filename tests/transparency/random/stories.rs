//! Transactions about one row: what they read must go with what they have written, and with what others have.

use super::dice::Dice;
use super::grammar::Writer;
use super::rules::plays;
use super::subject::Subject;
use crate::command::Command;

/// What a transaction does to its row, the plainest first. `{k}` names the row, `{other}` another one, `{s}` sets a
/// column that is no counter, `{w}` is a predicate.
const DEEDS: &[(&str, &[&str])] = &[
    (
        "reads",
        &[
            "SELECT {c} FROM {t} WHERE {k}",
            "SELECT * FROM {t} WHERE {k}",
            "SELECT {o}, {c} FROM {t} ORDER BY {o}",
            "SELECT SUM({c}) FROM {t}",
            "SELECT COUNT(*) FROM {t} WHERE {c} > 50",
        ],
    ),
    (
        "sets",
        &[
            "UPDATE {t} SET {s} WHERE {k}",
            "UPDATE {t} SET {s} WHERE {w}",
            "UPDATE {t} SET {s}",
            "UPDATE {t} SET {s} WHERE {other}",
        ],
    ),
    (
        "increments",
        &[
            "UPDATE {t} SET {c} = {c} + 1 WHERE {k}",
            "UPDATE {t} SET {c} = {c} + 2 WHERE {other}",
            "UPDATE {t} SET {c} = {c} + 1 WHERE {w}",
            "UPDATE {t} SET {c} = {c} + 0 WHERE {k}",
            "UPDATE {t} SET {c} = {c} + 1, {s} WHERE {k}",
            "UPDATE {t} SET {c} = {c} - 1",
        ],
    ),
    (
        "assigns",
        &[
            "UPDATE {t} SET {c} = 5 WHERE {k}",
            "UPDATE {t} SET {c} = {c} * 2 WHERE {other}",
            "UPDATE {t} SET {c} = {c} WHERE {k}",
            "DELETE FROM {t} WHERE {other}",
            "DELETE FROM {t} WHERE {k}",
            "UPDATE tallies SET body = (SELECT MAX({c}) FROM {t}) WHERE id = 1",
        ],
    ),
    (
        "locks",
        &[
            "SELECT {c} FROM {t} WHERE {k} FOR UPDATE",
            "SELECT * FROM {t} WHERE {k} LOCK IN SHARE MODE",
            "SELECT {o} FROM {t} WHERE {k} FOR UPDATE",
            "SELECT {c} FROM {t} WHERE {w} ORDER BY {o} FOR UPDATE",
            "SELECT {c} FROM {t} ORDER BY {o} FOR UPDATE",
        ],
    ),
    (
        "saves",
        &[
            "SAVEPOINT s",
            "ROLLBACK TO s",
            "SAVEPOINT t",
            "ROLLBACK TO SAVEPOINT t",
            "RELEASE SAVEPOINT s",
        ],
    ),
];

impl Writer {
    /// A transaction of one session; another may increment the row before it is locked, and the proxy may roll up
    /// between any two statements.
    pub(super) fn story(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let session = self.current;
        let other = (session + 1) % self.sessions;
        // Others hold nothing, and it begins with nothing of its own.
        if self.open[session] {
            self.in_protocol("COMMIT");
        }
        self.locked[session] = [false; 3];
        let counter = dice.pick(subject.counters);
        let row = dice.roll(3);
        let key = |row: usize| {
            let literals = subject.keys[row];
            let parts = subject.key.iter().zip(literals);
            let parts: Vec<_> = parts
                .map(|(column, literal)| format!("{column} = {literal}"))
                .collect();
            parts.join(" AND ")
        };
        self.in_protocol(dice.pick(&["BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]));
        let mut has_locked = self.is_serializable();
        for _ in 0..3 + dice.roll(5) {
            if plays("roll_up") && dice.chance(30) {
                self.command(Command::RollUp);
            }
            if other != session && !has_locked && dice.chance(25) {
                self.switch(other);
                self.in_protocol(&format!(
                    "UPDATE {} SET {counter} = {counter} + 7 WHERE {}",
                    subject.name,
                    key(row)
                ));
                self.switch(session);
            }
            let (deed, texts) = DEEDS[[0, 0, 0, 1, 1, 2, 2, 3, 4, 5][dice.roll(10)]];
            // The first of them more often: it is about the row.
            let text = match dice.chance(60) {
                true => dice.pick(texts),
                false => texts[0],
            };
            has_locked |= !matches!(deed, "reads" | "saves");
            let text = text
                .replace("{t}", subject.name)
                .replace("{c}", counter)
                .replace("{o}", &subject.key.join(", "))
                .replace("{k}", &key(row))
                .replace("{other}", &key((row + 1) % 3))
                .replace("{w}", dice.pick(subject.conditions))
                .replace("{s}", dice.pick(subject.settings));
            self.in_protocol(&text);
        }
        self.in_protocol(dice.pick(&["COMMIT", "ROLLBACK"]));
        self.open[session] = !self.autocommit[session];
    }
}

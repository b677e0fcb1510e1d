//! Prepared statements, in the binary protocol and in SQL.

use countersink_sandbox::Flavour;

use super::dice::Dice;
use super::grammar::Writer;
use super::rules::{emphasis, plays};
use super::subject::{SUBJECTS, Subject};
use crate::case::{Action, Statement, Step};
use crate::command::Command;

impl Writer {
    pub(super) fn reuse(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
        let number = dice.roll(PREPARED.len());
        let (text, lists) = PREPARED[number];
        let name = format!("p{number}");
        let session = self.current;
        if !self.prepared[session].contains(&number) {
            self.prepared[session].push(number);
            self.command(Command::Prepare(name.clone(), text.to_owned()));
        }
        let key = SUBJECTS[0].keys[self.row(dice)][0];
        let allowed: Vec<&str> = match self.apart() {
            true => lists
                .iter()
                .copied()
                .filter(|list| list.contains("{k}"))
                .collect(),
            false => lists.to_vec(),
        };
        let list = match allowed.as_slice() {
            [] => return,
            some => dice.pick(some).replace("{k}", key),
        };
        if plays("bulk") && dice.chance(15 * emphasis("bulk")) {
            self.execute_in_bulk(dice, &name, &list, lists);
        }
        self.command(Command::Execute {
            name,
            cursor: false,
            again: false,
            parameters: crate::case::values(&list).expect("values"),
        });
    }

    /// On MariaDB alone. In a transaction each row names the same key: where only some of the rows that a statement
    /// meets are changed, the others are read as they are now (a known limit).
    fn execute_in_bulk(&mut self, dice: &mut Dice<'_>, name: &str, list: &str, lists: &[&str]) {
        let rows = (0..2 + dice.roll(3)).map(|_| match self.has_no_warnings() {
            true => {
                let key = SUBJECTS[0].keys[self.row(dice)][0];
                dice.pick(lists).replace("{k}", key)
            }
            false => list.to_owned(),
        });
        let rows: Vec<_> = rows.collect();
        self.again(Step {
            flavour: Some(Flavour::MariaDb),
            action: Action::Command(Command::Bulk {
                name: name.to_owned(),
                again: false,
                rows: rows
                    .iter()
                    .map(|row| crate::case::values(row).expect("values"))
                    .collect(),
            }),
        });
    }

    /// Turns the statements that have been written since there were so many steps into PREPARE and EXECUTE, where they
    /// are no more than that to the rest of the sequence.
    pub(super) fn execute_in_sql(&mut self, dice: &mut Dice<'_>, before: usize) {
        for step in self.take_back(before) {
            let Action::Statement(statement) = step.action else {
                self.again(step);
                continue;
            };
            if !may_be_executed(&statement) {
                self.again(Step {
                    flavour: step.flavour,
                    action: Action::Statement(statement),
                });
                continue;
            }
            let text = statement.text.replace('\'', "''");
            match dice.roll(4) {
                0 | 1 => self.plain(&format!("PREPARE sql_two FROM '{text}'")),
                2 => {
                    self.plain(&format!("SET @text = '{text}'"));
                    self.plain("PREPARE sql_two FROM @text");
                }
                _ => self.prepare_from_an_expression(&text),
            }
            let parameters = statement.parameters.iter().enumerate();
            let (sets, names): (Vec<_>, Vec<_>) = parameters
                .map(|(number, value)| {
                    let name = format!("@p{number}");
                    (format!("{name} = {}", value.literal()), name)
                })
                .unzip();
            if names.is_empty() {
                self.plain("EXECUTE sql_two");
            } else {
                self.plain(&format!("SET {}", sets.join(", ")));
                self.plain(&format!("EXECUTE sql_two USING {}", names.join(", ")));
            }
        }
    }

    /// PREPARE of a text that an expression gives. That is a syntax error on MySQL, and leaves the statement that has
    /// the name. `text` has no quote that is not doubled.
    fn prepare_from_an_expression(&mut self, text: &str) {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        self.plain(&format!("PREPARE sql_two FROM '{text}'"));
        self.plain(&format!("PREPARE sql_two FROM CONCAT('{verb} ', '{rest}')"));
    }

    /// PREPARE, EXECUTE and DEALLOCATE as statements.
    pub(super) fn prepare_in_sql(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        if subject.key.len() > 1 {
            return self.update(dice, subject);
        }
        let (name, key, counter) = (subject.name, subject.key[0], dice.pick(subject.counters));
        let literal = subject.keys[self.row(dice)][0];
        let read = if self.read_only[self.current] {
            ""
        } else {
            " + ?"
        };
        let text = match dice.roll(4) {
            0 => format!("UPDATE {name} SET {counter} = {counter} + ? WHERE {key} = ?"),
            1 => format!("SELECT {counter}{read} FROM {name} WHERE {key} = ?"),
            2 => format!("UPDATE {name} SET {counter} = ? WHERE {key} = ?"),
            _ => format!("DELETE FROM {name} WHERE {counter} = ? AND {key} = ?"),
        };
        let number = dice.pick(&["1", "7", "-2", "'3'", "1.5", "NULL"]);
        self.plain(&format!("PREPARE sql_one FROM '{text}'"));
        self.plain(&format!("SET @n = {number}, @k = {literal}"));
        self.plain("EXECUTE sql_one USING @n, @k");
        if dice.chance(50) {
            self.plain("EXECUTE sql_one USING @n, @k");
        }
        self.plain("DEALLOCATE PREPARE sql_one");
    }
}

/// Whether a statement does the same by PREPARE and EXECUTE. What is masked, or ends a sequence, is known by its text.
fn may_be_executed(statement: &Statement) -> bool {
    const KINDS: [&str; 5] = ["SELECT", "UPDATE", "INSERT", "DELETE", "REPLACE"];
    const KNOWN_BY_TEXT: [&str; 9] = [
        ";",
        "\\",
        "/*",
        "LOCKED",
        "NOWAIT",
        "PROCEDURE",
        "FOUND_ROWS",
        "title LIKE",
        "INTO @",
    ];
    let text = &statement.text;
    !statement.masked
        && KINDS.iter().any(|kind| text.starts_with(kind))
        && !KNOWN_BY_TEXT.iter().any(|known| text.contains(known))
}

/// Statements that are prepared once and executed again and again: text, and a list of parameters to choose from.
const PREPARED: &[(&str, &[&str])] = &[
    (
        "UPDATE posts SET views = views + ? WHERE id = ?",
        &[
            "1, 1",
            "5, {k}",
            "-3, {k}",
            "2147483647, 1",
            "NULL, 6",
            "'7', 3",
            "1.5, 3",
            "1, '2'",
            "1t, 4l",
        ],
    ),
    (
        "SELECT views, likes, score FROM posts WHERE id = ?",
        &["1", "{k}", "'3'", "NULL", "2.0"],
    ),
    (
        "SELECT * FROM balances WHERE account = ? ORDER BY 1, 2",
        &["'alice'", "'bob'", "'x'"],
    ),
    (
        "UPDATE balances SET amount = amount + ?, spent = spent - ? WHERE account = ? AND currency = ?",
        &[
            "0.25, 0, 'alice', 'EUR'",
            "1, 0.001, 'bob', 'EUR'",
            "0.005, 0, 'bob', 'USD'",
            "1, 1, 'Alice', 'eur'",
        ],
    ),
    (
        "UPDATE hits SET n = n + 1 WHERE path = ?",
        &["'/'", "5", "'/Äpfel'", "'none'"],
    ),
    (
        "UPDATE posts SET views = ? WHERE id = ?",
        &["7, {k}", "0, 1", "NULL, 2"],
    ),
    ("DELETE FROM posts WHERE id = ?", &["77", "{k}"]),
    (
        "INSERT INTO posts (id, author_id, title, views) VALUES (?, 1, ?, 1) ON DUPLICATE KEY UPDATE views = views + ?",
        &["77, 'more', 1", "1, 'first', 2", "{k}, 'x', 300"],
    ),
    (
        "SELECT id FROM posts WHERE views > ? ORDER BY id",
        &["50", "100.5", "'70'"],
    ),
    ("SELECT * FROM widths WHERE id = ?", &["1", "2", "3"]),
    (
        "SELECT views FROM posts WHERE id = ? FOR UPDATE",
        &["1", "{k}"],
    ),
    (
        "UPDATE posts SET title = ? WHERE id = ?",
        &["'first', {k}", "'other', {k}", "'second', 2", "NULL, 1"],
    ),
    (
        "UPDATE posts SET title = CONCAT(title, ?), likes = likes + ? WHERE id = ?",
        &["'+', 1, {k}", "'+', 0, 1"],
    ),
    (
        "INSERT INTO posts (id, title, views) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE title = VALUES(title)",
        &["{k}, 'again', 1", "78, 'new', 5"],
    ),
    (
        "SELECT id, views FROM posts WHERE id IN (?, ?) ORDER BY id LIMIT ?",
        &["1, 2, 2", "{k}, 3, 1"],
    ),
    (
        "UPDATE topics SET replies = replies + ?, changed_at = NOW(3) WHERE id = ?",
        &["1, 1", "1, 2", "0, 3"],
    ),
    (
        "UPDATE articles SET opens = opens + ? WHERE slug = ?",
        &["1, 'two'", "2, 'one'"],
    ),
    (
        "UPDATE hits SET day = ? WHERE path = ?",
        &["'2024-05-06', '/'", "NULL, '/about'"],
    ),
];

//! Writes of hot tables.

use super::dice::{Dice, Text};
use super::grammar::Writer;
use super::subject::Subject;
use crate::case::Statement;
use crate::command::Command;

impl Writer {
    pub(super) fn update(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("UPDATE ");
        if dice.chance(4) {
            text.push(dice.pick(&["IGNORE ", "LOW_PRIORITY "]));
        }
        text.push(subject.name);
        let qualifier = match dice.roll(10) {
            8 => {
                text.push(" AS t");
                "t."
            }
            9 => &format!("{}.", subject.name),
            _ => "",
        };
        text.push(" SET ");
        assignments(dice, subject, qualifier, &mut text);
        let before = text.sql.len();
        self.condition(dice, subject, &mut text);
        // Which row is the last, or is refused as `at row 2`, depends on the index that is used.
        let is_order_seen =
            text.sql[..before].contains("LAST_INSERT_ID") || text.sql[before..].contains(" OR ");
        if is_order_seen && !text.sql[before..].contains(" ORDER BY ") {
            text.push(" ORDER BY ").push(&subject.key.join(", "));
        }
        // MySQL may run it as an UPDATE of several tables, in which an assignment sees what an earlier one has set, or
        // does not: that depends on the order of the join.
        let assigns_several = text.sql[..before].contains(", ");
        if assigns_several
            && text.sql[before..].contains("(SELECT")
            && !text.sql.contains(" ORDER BY ")
        {
            text.push(" ORDER BY ").push(&subject.key.join(", "));
        }
        self.statement(text, false);
    }

    pub(super) fn insert(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push(dice.pick(&[
            "INSERT INTO ",
            "INSERT INTO ",
            "INSERT INTO ",
            "INSERT IGNORE INTO ",
            "REPLACE INTO ",
        ]));
        let upserts = text.sql == "INSERT INTO ";
        let row = subject.keys[self.row(dice)];
        let (columns, values) = subject.row;
        let number = dice.pick(&["1", "0", "42", "-1", "2147483648", "NULL"]);
        let mut values = values.replace("{n}", number);
        for (position, literal) in row.iter().enumerate() {
            // Inside a string its own quotes go.
            values = values
                .replace(
                    &format!(" {{{position}}}'"),
                    &format!(" {}'", literal.trim_matches('\'')),
                )
                .replace(&format!("{{{position}}}"), literal);
        }
        text.push(&format!("{} ({columns}) VALUES ({values})", subject.name));
        if upserts && dice.chance(50) {
            text.push(" ON DUPLICATE KEY UPDATE ");
            let counter = dice.pick(subject.counters);
            match dice.chance(25) {
                true => {
                    text.push(&format!("{counter} = {counter} + VALUES({counter})"));
                }
                false => assignments(dice, subject, "", &mut text),
            }
        }
        self.statement(text, false);
    }

    pub(super) fn delete(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("DELETE FROM ").push(subject.name);
        self.condition(dice, subject, &mut text);
        self.statement(text, false);
    }

    pub(super) fn several_tables(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
        let text = dice.pick(SEVERAL).to_owned();
        self.in_protocol(&text);
    }

    /// The same update by several clients at the same time, of one row or of two. Whoever comes first, the answers are
    /// the same ones.
    pub(super) fn at_once(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        if !self.has_no_warnings() {
            return self.reuse(dice, subject);
        }
        let connections = 2 + dice.roll(7);
        let at_once = |times, texts| Command::AtOnce {
            connections,
            times,
            texts,
        };
        // Those who have a time of their own write what stamps rows by themselves.
        if ["articles", "topics"].contains(&subject.name) {
            let timestamp = format!("SET timestamp = {}", self.now);
            self.command(at_once(1, vec![timestamp]));
        }
        let mut set = Text::default();
        assignments(dice, subject, "", &mut set);
        // Of two rows that want the same title the first to come gets it.
        let is_unique = set.sql.contains("title = 'first'");
        let rows = if is_unique { 1 } else { 1 + dice.roll(3) / 2 };
        let texts = (0..rows).map(|_| {
            // Some of the nine are the same row by another name.
            let row = subject.keys[dice.roll(if rows > 1 { 3 } else { 9 })];
            let key = subject.key.iter().zip(row);
            let key: Vec<_> = key
                .map(|(column, literal)| format!("{column} = {literal}"))
                .collect();
            let statement = Statement {
                text: format!(
                    "UPDATE {} SET {} WHERE {}",
                    subject.name,
                    set.sql,
                    key.join(" AND ")
                ),
                parameters: set.parameters.clone(),
                masked: false,
                direct: true,
                cursorless: false,
            };
            statement.with_literals()
        });
        // The first time little is known of row and sessions, and each writes its own.
        let texts = texts.collect();
        self.command(at_once(8, texts));
    }
}

/// One to three assignments.
pub(super) fn assignments(
    dice: &mut Dice<'_>,
    subject: &Subject,
    qualifier: &str,
    text: &mut Text,
) {
    let many = 1 + dice.roll(8) / 6;
    for position in 0..many {
        if position > 0 {
            text.push(", ");
        }
        let counter = format!("{qualifier}{}", dice.pick(subject.counters));
        text.push(&counter).push(" = ");
        match dice.roll(30) {
            0..12 => {
                text.push(&counter).push(" + ");
                number(dice, text);
            }
            12..16 => {
                text.push(&counter).push(" - ");
                number(dice, text);
            }
            16 => {
                number(dice, text);
                text.push(" + ").push(&counter);
            }
            17..20 => {
                text.push("COALESCE(").push(&counter).push(", 0) + ");
                number(dice, text);
            }
            20 => {
                text.push("(IFNULL(").push(&counter).push(", 0) + ");
                number(dice, text);
                text.push(")");
            }
            21..23 => number(dice, text),
            23 => {
                text.push(&counter).push(" * 2");
            }
            24 => {
                text.push("GREATEST(").push(&counter).push(" - 1, 0)");
            }
            25 => {
                text.push("LAST_INSERT_ID(").push(&counter).push(" + 1)");
            }
            26 => {
                let other = dice.pick(subject.counters);
                text.push(qualifier).push(other).push(" + 1");
            }
            27 => {
                text.push("IF(")
                    .push(&counter)
                    .push(" > 10, ")
                    .push(&counter)
                    .push(" + 1, 0)");
            }
            28 => {
                text.push(dice.pick(&["NULL", "DEFAULT", "'12'", "-1", "0"]));
            }
            _ => {
                text.push(&counter).push(" + ");
                number(dice, text);
                text.push(" + 1");
            }
        }
    }
    if dice.chance(20) {
        let setting = dice.pick(subject.settings);
        text.push(", ").push(setting);
    }
}

pub(super) fn number(dice: &mut Dice<'_>, text: &mut Text) {
    let literal = match dice.chance(25) {
        false => dice.pick(&["1", "2", "5", "10"]),
        true => dice.pick(&[
            "0",
            "3",
            "100",
            "-1",
            "127",
            "0.25",
            "1.5",
            "0.001",
            "1.00",
            "2147483647",
            "9223372036854775807",
            "18446744073709551615",
            "'2'",
            "'x'",
            "0x10",
            "TRUE",
            "1e0",
            "0.5e0",
            "NULL",
            "-0",
            "99999999.99",
        ]),
    };
    text.value(dice, literal);
}

/// Writes that concern more than one table.
const SEVERAL: &[&str] = &[
    "UPDATE posts p JOIN authors a ON a.id = p.author_id SET p.views = p.views + 1, a.followers = a.followers + 1 WHERE a.id = 1",
    "UPDATE authors SET followers = (SELECT COALESCE(SUM(views), 0) FROM posts WHERE author_id = authors.id)",
    "UPDATE tallies SET views = views + 1 WHERE id = 1",
    "INSERT INTO tallies (id, views) SELECT id + 1000, views FROM posts WHERE id < 4 ON DUPLICATE KEY UPDATE tallies.views = tallies.views + 1",
    "REPLACE INTO tallies (id, views) SELECT id, views FROM posts",
    "INSERT INTO posts (id, author_id, title, views) SELECT id + 500, author_id, CONCAT(title, id), views FROM posts WHERE id < 3",
    "DELETE p FROM posts p JOIN authors a ON a.id = p.author_id WHERE a.name = 'Cleo'",
    "DELETE FROM comments WHERE post_id IN (SELECT id FROM posts WHERE views > 100)",
    "UPDATE posts SET id = id + 100 WHERE id IN (1, 3) ORDER BY id DESC",
    "INSERT INTO tallies (id, total) SELECT 50, SUM(amount) FROM balances ON DUPLICATE KEY UPDATE total = VALUES(total)",
    "UPDATE posts SET views = (SELECT n FROM hits WHERE path = '/') WHERE id = 2",
    "UPDATE posts, hits SET posts.views = posts.views + 1, hits.n = hits.n + 1 WHERE posts.id = 1 AND hits.path = '/'",
    "INSERT INTO hits (path, n) SELECT title, views FROM posts WHERE id < 3 ON DUPLICATE KEY UPDATE n = n + 1",
    "UPDATE authors SET followers = followers + 1 WHERE id = (SELECT author_id FROM posts WHERE id = 3)",
];

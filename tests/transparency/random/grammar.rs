//! Statements about hot tables, written by dice.
//!
//! A sequence is made of rolls, a row of numbers for each step; the same rolls write the same sequence, and smaller
//! numbers choose plainer words, so that a shorter or smaller set of rolls is a simpler sequence.

use super::subject::{SUBJECTS, Subject};
use crate::case::{Action, Session, Statement, Step, Value};
use crate::command::Command;

/// Numbers to choose by; zeros when they are used up.
struct Dice<'a> {
    rolls: std::slice::Iter<'a, u16>,
}

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.rolls.next().copied().unwrap_or(0)) % sides
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.roll(from.len())]
    }

    /// True in so many of a hundred throws; never with a zero.
    fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) >= 100 - percent
    }
}

/// A text with its parameters, written from left to right.
#[derive(Default)]
struct Text {
    sql: String,
    parameters: Vec<Value>,
}

impl Text {
    fn push(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    /// A literal, or a placeholder and its parameter.
    fn value(&mut self, dice: &mut Dice<'_>, literal: &str) -> &mut Self {
        match parameter(literal).filter(|_| dice.chance(35)) {
            Some(value) => {
                self.parameters.push(value);
                self.push("?")
            }
            None => self.push(literal),
        }
    }
}

/// A literal as a parameter, where it can be one.
fn parameter(literal: &str) -> Option<Value> {
    if let Some(text) = literal
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return Some(Value::Text(text.to_owned()));
    }
    if let Ok(number) = literal.parse() {
        return Some(Value::LongLong(number));
    }
    if let Ok(number) = literal.parse() {
        return Some(Value::Unsigned(number));
    }
    match literal {
        "NULL" => Some(Value::Null),
        _ if literal.contains('e') => literal.parse().ok().map(Value::Double),
        _ => literal
            .parse::<f64>()
            .ok()
            .map(|_| Value::Decimal(literal.to_owned())),
    }
}

/// What is known of the sessions while a sequence is written.
struct Writer {
    steps: Vec<Step>,
    /// Whether each session may have a transaction open.
    open: [bool; 3],
    autocommit: [bool; 3],
    /// Whether that transaction may only read. What has to be folded for fails there, which is a stated limit.
    read_only: [bool; 3],
    /// Which thirds of the rows each session's open transaction has locked.
    locked: [[bool; 3]; 3],
    /// The statement that is being written locks the rows that it names.
    locks: bool,
    /// So does every read.
    serializable: bool,
    /// Which of [`PREPARED`] each session has prepared.
    prepared: [Vec<usize>; 3],
    current: usize,
    sessions: usize,
    /// The time that all sessions have as theirs.
    now: u64,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

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
];

/// Writes the sequence of these rolls. `now` is a unix time.
pub fn sequence(name: &str, rolls: &[Vec<u16>], now: u64) -> Session {
    let (head, body) = rolls.split_first().expect("rolls");
    let mut dice = Dice { rolls: head.iter() };
    let sessions = 1 + dice.roll(6) / 2;
    let mut writer = Writer {
        steps: Vec::new(),
        open: [false; 3],
        autocommit: [true; 3],
        read_only: [false; 3],
        locked: [[false; 3]; 3],
        locks: false,
        serializable: false,
        prepared: [const { Vec::new() }; 3],
        current: 0,
        sessions,
        now,
    };
    writer.head(&mut dice);
    for rolls in body {
        let mut dice = Dice {
            rolls: rolls.iter(),
        };
        let session = dice.roll(sessions);
        if session != writer.current {
            writer.switch(session);
        }
        writer.step(&mut dice);
    }
    Session::of(name, writer.steps)
}

impl Writer {
    fn head(&mut self, dice: &mut Dice<'_>) {
        let isolation = dice.pick(&[
            "REPEATABLE READ",
            "READ COMMITTED",
            "SERIALIZABLE",
            "READ UNCOMMITTED",
        ]);
        let isolation = if dice.chance(50) {
            isolation
        } else {
            "REPEATABLE READ"
        };
        self.serializable = isolation == "SERIALIZABLE";
        let mode = dice.pick(&[
            "",
            "STRICT_TRANS_TABLES",
            "ANSI_QUOTES",
            "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES",
            "NO_UNSIGNED_SUBTRACTION",
            "PIPES_AS_CONCAT,IGNORE_SPACE",
        ]);
        let has_mode = dice.chance(35);
        for session in (0..self.sessions).rev() {
            if self.sessions > 1 {
                self.switch(session);
            }
            self.plain("SET NAMES utf8mb4");
            self.plain("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
            self.plain(&format!("SET timestamp = {}", self.now));
            if isolation != "REPEATABLE READ" {
                self.plain(&format!(
                    "SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"
                ));
            }
            if has_mode {
                self.plain(&format!("SET SESSION sql_mode = '{mode}'"));
            }
        }
    }

    fn switch(&mut self, session: usize) {
        self.current = session;
        let connection = Command::Connection(NAMES[session].to_owned());
        self.command(connection);
    }

    fn command(&mut self, command: Command) {
        self.steps.push(Step {
            flavour: None,
            action: Action::Command(command),
        });
    }

    fn statement(&mut self, text: Text, direct: bool) {
        self.steps.push(Step {
            flavour: None,
            action: Action::Statement(Statement {
                text: text.sql,
                parameters: text.parameters,
                masked: false,
                direct,
                cursorless: false,
            }),
        });
    }

    /// Sent as text.
    fn plain(&mut self, sql: &str) {
        let text = Text {
            sql: sql.to_owned(),
            parameters: Vec::new(),
        };
        self.statement(text, true);
    }

    /// In the variant's protocol.
    fn in_protocol(&mut self, sql: &str) {
        let text = Text {
            sql: sql.to_owned(),
            parameters: Vec::new(),
        };
        self.statement(text, false);
    }

    /// Whether statements must keep to rows of their own session: those of another would wait for them directly,
    /// and not through the proxy.
    fn apart(&self) -> bool {
        self.sessions > 1 && self.open.iter().any(|open| *open)
    }

    fn step(&mut self, dice: &mut Dice<'_>) {
        let subject = match dice.chance(45) {
            false => &SUBJECTS[0],
            true => &SUBJECTS[dice.roll(SUBJECTS.len())],
        };
        let kind = dice.roll(100);
        self.locks = !matches!(kind, 32..71);
        match kind {
            0..32 => self.update(dice, subject),
            32..56 => self.select(dice, subject),
            56..71 => self.transaction(dice),
            71..76 => self.insert(dice, subject),
            76..80 => self.delete(dice, subject),
            80..84 => self.reuse(dice),
            84..87 if self.is_quiet() => self.at_once(dice, subject),
            84..87 => self.reuse(dice),
            87..90 => self.lock(dice, subject),
            90..94 => self.about_the_session(dice, subject),
            94..97 if !self.apart() => self.several_tables(dice),
            97..99 if !self.apart() => self.prepare_in_sql(dice, subject),
            _ if !self.apart() => self.whole_table(dice, subject),
            _ => self.update(dice, subject),
        }
    }

    /// A row of the subject, by position in its keys: one that no other session has locked.
    fn row(&mut self, dice: &mut Dice<'_>) -> usize {
        if !self.apart() {
            return dice.roll(9);
        }
        let others = (0..3).filter(|session| *session != self.current && self.open[*session]);
        let others: Vec<_> = others.map(|session| self.locked[session]).collect();
        let free: Vec<_> = (0..3)
            .filter(|third| !others.iter().any(|locked| locked[*third]))
            .collect();
        let third = match free.as_slice() {
            [] => self.current,
            some if some.contains(&self.current) && !dice.chance(40) => self.current,
            some => some[dice.roll(some.len())],
        };
        if self.open[self.current] && (self.locks || self.serializable) {
            self.locked[self.current][third] = true;
        }
        dice.roll(3) * 3 + third
    }

    /// `id = 3`.
    fn key(&mut self, dice: &mut Dice<'_>, subject: &Subject, qualifier: &str, text: &mut Text) {
        let row = subject.keys[self.row(dice)];
        for (position, (column, literal)) in subject.key.iter().zip(row).enumerate() {
            if position > 0 {
                text.push(" AND ");
            }
            match dice.roll(12) {
                10 => {
                    text.value(dice, literal)
                        .push(" = ")
                        .push(qualifier)
                        .push(column);
                }
                11 => {
                    text.push(qualifier)
                        .push(column)
                        .push(" IN (")
                        .value(dice, literal)
                        .push(")");
                }
                _ => {
                    text.push(qualifier)
                        .push(column)
                        .push(" = ")
                        .value(dice, literal);
                }
            }
        }
    }

    /// The predicate of a write.
    fn condition(&mut self, dice: &mut Dice<'_>, subject: &Subject, text: &mut Text) {
        if self.apart() {
            text.push(" WHERE ");
            return self.key(dice, subject, "", text);
        }
        match dice.roll(20) {
            0..12 => {
                text.push(" WHERE ");
                self.key(dice, subject, "", text);
            }
            12..15 => {
                text.push(" WHERE ").push(dice.pick(subject.conditions));
            }
            15 => {
                text.push(" WHERE ");
                self.key(dice, subject, "", text);
                text.push(" AND ").push(dice.pick(subject.conditions));
            }
            16 => {
                text.push(" WHERE (");
                self.key(dice, subject, "", text);
                text.push(") OR ").push(dice.pick(subject.conditions));
            }
            17 => {
                let column = subject.key[0];
                let (one, other) = (self.row(dice), self.row(dice));
                text.push(" WHERE ")
                    .push(column)
                    .push(" IN (")
                    .value(dice, subject.keys[one][0]);
                text.push(", ")
                    .value(dice, subject.keys[other][0])
                    .push(")");
            }
            18 => {
                let counter = dice.pick(subject.counters);
                text.push(" WHERE ").push(counter).push(dice.pick(&[
                    " > 15",
                    " = 20",
                    " IS NOT NULL",
                    " BETWEEN 1 AND 200",
                ]));
            }
            _ => {}
        }
        if dice.chance(4) {
            text.push(" ORDER BY ")
                .push(subject.key[0])
                .push(" LIMIT 1");
        }
    }

    fn update(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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
        self.condition(dice, subject, &mut text);
        self.statement(text, false);
    }

    fn insert(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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

    fn delete(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("DELETE FROM ").push(subject.name);
        self.condition(dice, subject, &mut text);
        self.statement(text, false);
    }

    fn select(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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
    fn lock(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let mut text = Text::default();
        text.push("SELECT ")
            .push(dice.pick(&["*", "1", dice_counter(subject)]))
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

    fn transaction(&mut self, dice: &mut Dice<'_>) {
        let text = match self.open[self.current] {
            false => dice.pick(&[
                "BEGIN",
                "BEGIN",
                "START TRANSACTION",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "SET autocommit = 0",
                "START TRANSACTION READ ONLY",
                "COMMIT",
            ]),
            true => dice.pick(&[
                "COMMIT",
                "ROLLBACK",
                "COMMIT",
                "SAVEPOINT s",
                "ROLLBACK TO SAVEPOINT s",
                "SAVEPOINT s",
                "ROLLBACK TO s",
                "RELEASE SAVEPOINT s",
                "SET autocommit = 1",
                "BEGIN",
                "COMMIT AND CHAIN",
            ]),
        };
        let session = self.current;
        self.read_only[session] = text == "START TRANSACTION READ ONLY"
            || self.read_only[session] && !text.starts_with(['B', 'C']) && text != "ROLLBACK";
        if !text.contains("SAVEPOINT") && !text.starts_with("ROLLBACK TO") {
            self.locked[session] = [false; 3];
        }
        match text {
            "SET autocommit = 0" => self.autocommit[session] = false,
            "SET autocommit = 1" => self.autocommit[session] = true,
            _ => {}
        }
        self.open[session] = match text {
            "COMMIT" | "ROLLBACK" | "SET autocommit = 1" => !self.autocommit[session],
            _ => true,
        };
        self.in_protocol(text);
    }

    fn about_the_session(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let text = dice.pick(&[
            "SELECT ROW_COUNT()",
            "SHOW WARNINGS",
            "SELECT LAST_INSERT_ID()",
            "SHOW ERRORS",
            "SELECT @@warning_count",
            "SELECT DATABASE(), @@autocommit, @@sql_mode",
            "SHOW COLUMNS FROM {t}",
            "SHOW COUNT(*) WARNINGS",
            "DO 1",
            "\\reset",
        ]);
        if text == "SELECT DATABASE(), @@autocommit, @@sql_mode" && dice.chance(50) {
            // What FOUND_ROWS() says after anything but a SELECT the manual leaves open.
            let name = subject.name;
            let counter = subject.counters[0];
            self.plain(&format!(
                "SELECT SQL_CALC_FOUND_ROWS {counter} FROM {name} ORDER BY {} LIMIT 1",
                subject.key.join(", ")
            ));
            return self.plain("SELECT FOUND_ROWS()");
        }
        if text == "\\reset" {
            if self.sessions > 1 || self.open[self.current] {
                return self.plain("DO 2");
            }
            self.prepared[self.current].clear();
            self.command(Command::parse("reset").expect("a command"));
            self.plain("SET NAMES utf8mb4");
            self.plain("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
            return self.plain(&format!("SET timestamp = {}", self.now));
        }
        self.plain(&text.replace("{t}", subject.name));
    }

    /// COM_STMT_PREPARE once, COM_STMT_EXECUTE many times.
    /// Whether nobody can have a row locked.
    fn is_quiet(&self) -> bool {
        !self.open.iter().any(|open| *open) && self.autocommit.iter().all(|autocommit| *autocommit)
    }

    /// The same update by several clients at the same time, of one row or of two. Whoever comes first, the answers are the
    /// same ones.
    fn at_once(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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
        let rows = 1 + dice.roll(3) / 2;
        let texts = (0..rows).map(|_| {
            let row = subject.keys[dice.roll(9)];
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

    fn reuse(&mut self, dice: &mut Dice<'_>) {
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
        self.command(Command::Execute {
            name,
            cursor: false,
            again: false,
            parameters: crate::case::values(&list).expect("values"),
        });
    }

    fn several_tables(&mut self, dice: &mut Dice<'_>) {
        let text = dice.pick(SEVERAL).to_owned();
        self.in_protocol(&text);
    }

    /// PREPARE, EXECUTE and DEALLOCATE as statements.
    fn prepare_in_sql(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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

    fn whole_table(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let texts: &[&str] = dice.pick(&[
            &[
                "LOCK TABLES {t} WRITE",
                "UPDATE {t} SET {c} = {c} + 1",
                "SELECT * FROM {t} ORDER BY {o}",
                "UNLOCK TABLES",
            ] as &[&str],
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
        ]);
        let counter = dice.pick(subject.counters);
        for text in texts {
            let order = subject.key.join(", ");
            let text = text
                .replace("{t}", subject.name)
                .replace("{c}", counter)
                .replace("{o}", &order);
            self.plain(&text);
        }
        // They end a transaction.
        self.open[self.current] = !self.autocommit[self.current];
    }
}

fn dice_counter(subject: &Subject) -> &'static str {
    subject.counters[0]
}

/// One to three assignments.
fn assignments(dice: &mut Dice<'_>, subject: &Subject, qualifier: &str, text: &mut Text) {
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

fn number(dice: &mut Dice<'_>, text: &mut Text) {
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

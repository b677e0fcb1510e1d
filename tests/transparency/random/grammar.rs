//! Statements about hot tables, written by dice.
//!
//! A sequence is made of rolls, a row of numbers for each step; the same rolls write the same sequence, and smaller
//! numbers choose plainer words, so that a shorter or smaller set of rolls is a simpler sequence.

use super::dice::{Dice, Text};
use super::end;
use super::rules::{emphasis, plays};
use super::subject::{SUBJECTS, Subject};
use crate::case::{Action, Session, Statement, Step};
use crate::command::Command;

/// What is known of the sessions while a sequence is written.
pub(super) struct Writer {
    steps: Vec<Step>,
    /// Whether each session may have a transaction open.
    pub(super) open: [bool; 3],
    pub(super) autocommit: [bool; 3],
    /// Whether that transaction may only read. What has to be folded for fails there, which is a stated limit.
    pub(super) read_only: [bool; 3],
    /// Which thirds of the rows each session's open transaction has locked.
    pub(super) locked: [[bool; 3]; 3],
    /// The statement that is being written locks the rows that it names.
    locks: bool,
    /// So does every read.
    serializable: bool,
    /// The subject and the row that most steps are about, where they are about one.
    pub(super) focus: Option<(usize, usize)>,
    /// The text before the number of the increments that transactions are known to consist of, and that number.
    pub(super) own: Option<(String, usize)>,
    /// Which of the statements that are prepared once each session has prepared.
    pub(super) prepared: [Vec<usize>; 3],
    pub(super) current: usize,
    pub(super) sessions: usize,
    /// Whether a table has another form than it had.
    pub(super) altered: bool,
    /// The time that all sessions have as theirs.
    pub(super) now: u64,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A kind of step.
struct Kind {
    /// It is written so often as this stands to the sum of all.
    weight: usize,
    /// The rule that it belongs to.
    rule: &'static str,
    /// Whether it keeps to the rows of its own session while others have locked some.
    keeps_apart: bool,
    /// Whether it locks the rows that it names.
    locks: bool,
    write: fn(&mut Writer, &mut Dice<'_>, &'static Subject),
}

const fn kind(
    weight: usize,
    rule: &'static str,
    write: fn(&mut Writer, &mut Dice<'_>, &'static Subject),
) -> Kind {
    Kind {
        weight,
        rule,
        keeps_apart: true,
        locks: true,
        write,
    }
}

/// Kinds that lock nothing.
const fn read(kind: Kind) -> Kind {
    Kind {
        locks: false,
        ..kind
    }
}

/// Kinds that name rows which other sessions may have locked.
const fn alone(kind: Kind) -> Kind {
    Kind {
        keeps_apart: false,
        ..kind
    }
}

/// The plainest one first.
const KINDS: &[Kind] = &[
    kind(30, "basic", Writer::update),
    read(kind(24, "basic", Writer::select)),
    read(kind(17, "basic", Writer::transaction)),
    kind(5, "basic", Writer::insert),
    kind(4, "basic", Writer::delete),
    kind(4, "basic", Writer::reuse),
    kind(2, "bulk", Writer::reuse),
    alone(kind(5, "basic", Writer::at_once)),
    kind(3, "basic", Writer::lock),
    kind(4, "basic", Writer::about_the_session),
    alone(kind(3, "basic", Writer::several_tables)),
    alone(kind(2, "basic", Writer::prepare_in_sql)),
    alone(kind(1, "basic", Writer::whole_table)),
    alone(kind(30, "story", Writer::story)),
    kind(8, "own", Writer::increment_own),
    kind(8, "cold", Writer::set_cold),
    kind(3, "cold", Writer::upsert_cold),
    alone(kind(4, "related", Writer::related)),
    kind(5, "locking", Writer::lock_in_any_way),
    read(kind(5, "skipping", Writer::skip_locked)),
    kind(4, "characteristics", Writer::characteristics),
    alone(kind(4, "lock_tables", Writer::lock_tables)),
    alone(kind(4, "temporary", Writer::temporary)),
    alone(kind(3, "ddl", Writer::alter)),
    read(kind(4, "calls", Writer::call)),
    alone(kind(2, "load", Writer::load)),
    alone(kind(5, "sources", Writer::source)),
    alone(kind(5, "multi", Writer::several_statements)),
];

/// Writes the sequence of these rolls. `now` is a unix time, and `play` a number that no other play of it has.
pub fn sequence(name: &str, rolls: &[Vec<u16>], now: u64, play: u64) -> Session {
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
        focus: None,
        own: None,
        prepared: [const { Vec::new() }; 3],
        current: 0,
        sessions,
        altered: false,
        now,
    };
    writer.head(&mut dice, play);
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
    let mut session = Session::of(name, writer.steps);
    session.fresh = writer.altered;
    session
}

impl Writer {
    fn head(&mut self, dice: &mut Dice<'_>, play: u64) {
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
        // Refused where the variant's client has not the capability, and on MariaDB.
        let has_no_definitions = dice.chance(12);
        let subject = match dice.chance(30) {
            false => 0,
            true => dice.roll(SUBJECTS.len()),
        };
        let row = dice.roll(3);
        self.focus = dice.chance(60).then_some((subject, row));
        let has_own = plays("own") && dice.chance(60);
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
            if has_no_definitions {
                self.plain("SET resultset_metadata = NONE");
            }
        }
        if has_own {
            self.show_that_transactions_only_increment(subject, play);
        }
    }

    fn step(&mut self, dice: &mut Dice<'_>) {
        let subject = match (self.focus, dice.chance(45)) {
            (Some((subject, _)), false) => &SUBJECTS[subject],
            (None, false) => &SUBJECTS[0],
            (_, true) => &SUBJECTS[dice.roll(SUBJECTS.len())],
        };
        let apart = self.apart();
        let may_be = |kind: &&Kind| plays(kind.rule) && (kind.keeps_apart || !apart);
        let kinds: Vec<_> = KINDS.iter().filter(may_be).collect();
        let weight = |kind: &Kind| kind.weight * emphasis(kind.rule);
        let mut roll = dice.roll(kinds.iter().map(|kind| weight(kind)).sum());
        let chosen = kinds.iter().find(|kind| {
            let is_it = roll < weight(kind);
            roll = roll.saturating_sub(weight(kind));
            is_it
        });
        let kind = chosen.expect("a roll below the sum");
        self.locks = kind.locks;
        let before = self.steps.len();
        (kind.write)(self, dice, subject);
        if plays("executed") && dice.chance(8) {
            self.execute_in_sql(dice, before);
        }
        if plays("spelling") && dice.chance(12) {
            self.spell_otherwise(dice, before);
        }
        if plays("quoted") && dice.chance(12 * emphasis("quoted")) {
            self.quote_keys(dice, before);
        }
        if plays("messages") && dice.chance(10) {
            self.plain(dice.pick(&["SHOW WARNINGS", "SELECT @@warning_count", "SHOW ERRORS"]));
        }
        if plays("roll_up") && dice.chance(20) {
            self.command(Command::RollUp);
        }
    }

    pub(super) fn switch(&mut self, session: usize) {
        self.current = session;
        let connection = Command::Connection(NAMES[session].to_owned());
        self.command(connection);
    }

    pub(super) fn command(&mut self, command: Command) {
        self.steps.push(Step {
            flavour: None,
            action: Action::Command(command),
        });
    }

    pub(super) fn statement(&mut self, text: Text, direct: bool) {
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
    pub(super) fn plain(&mut self, sql: &str) {
        let text = Text {
            sql: sql.to_owned(),
            parameters: Vec::new(),
        };
        self.statement(text, true);
    }

    /// In the variant's protocol.
    pub(super) fn in_protocol(&mut self, sql: &str) {
        let text = Text {
            sql: sql.to_owned(),
            parameters: Vec::new(),
        };
        self.statement(text, false);
    }

    /// Whether statements must keep to rows of their own session: those of another would wait for them directly,
    /// and not through the proxy.
    pub(super) fn apart(&self) -> bool {
        self.sessions > 1 && self.open.iter().any(|open| *open)
    }

    /// Whether nobody can have a row locked.
    pub(super) fn has_no_warnings(&self) -> bool {
        !self.open.iter().any(|open| *open) && self.autocommit.iter().all(|autocommit| *autocommit)
    }

    /// A row of the subject, by position in its keys: one that no other session has locked.
    pub(super) fn row(&mut self, dice: &mut Dice<'_>) -> usize {
        let focus = self.focus.map(|(_, row)| row).filter(|_| dice.chance(70));
        if !self.apart() {
            return focus.unwrap_or_else(|| dice.roll(9));
        }
        let others = (0..3).filter(|session| *session != self.current && self.open[*session]);
        let others: Vec<_> = others.map(|session| self.locked[session]).collect();
        let free: Vec<_> = (0..3)
            .filter(|third| !others.iter().any(|locked| locked[*third]))
            .collect();
        let third = match free.as_slice() {
            _ if focus.is_some_and(|row| free.contains(&(row % 3))) => focus.unwrap_or(0) % 3,
            [] => self.current,
            some if some.contains(&self.current) && !dice.chance(40) => self.current,
            some => some[dice.roll(some.len())],
        };
        if self.open[self.current] && (self.locks || self.serializable) {
            self.locked[self.current][third] = true;
        }
        match focus.filter(|row| row % 3 == third) {
            Some(row) => row,
            None => dice.roll(3) * 3 + third,
        }
    }

    /// `id = 3`.
    pub(super) fn key(
        &mut self,
        dice: &mut Dice<'_>,
        subject: &Subject,
        qualifier: &str,
        text: &mut Text,
    ) {
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
    pub(super) fn condition(&mut self, dice: &mut Dice<'_>, subject: &Subject, text: &mut Text) {
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
    /// The statements that have been written since there were so many steps.
    pub(super) fn statements_since(&mut self, before: usize) -> Vec<&mut Statement> {
        let steps = self.steps[before..].iter_mut();
        let statements = steps.filter_map(|step| match &mut step.action {
            Action::Statement(statement) => Some(statement),
            Action::Command(_) => None,
        });
        statements.collect()
    }

    /// Puts a step that was taken back to the end.
    pub(super) fn again(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Takes the steps back that have been written since there were so many.
    pub(super) fn take_back(&mut self, before: usize) -> Vec<Step> {
        self.steps.split_off(before)
    }

    /// Whether rows or index entries may have been deleted since the start: until they are purged, which takes its
    /// time, they can still be locked, and so be in the way of who waits for nobody.
    pub(super) fn has_deleted(&self) -> bool {
        const DELETES: &[&str] = &[
            "DELETE",
            "REPLACE",
            "id = id +",
            "title =",
            "author_id =",
            "slug =",
            "board =",
            "retitle",
        ];
        self.steps.iter().any(|step| match &step.action {
            Action::Statement(statement) => DELETES.iter().any(|one| statement.text.contains(one)),
            Action::Command(Command::Prepare(_, text)) => {
                DELETES.iter().any(|one| text.contains(one))
            }
            Action::Command(_) => false,
        })
    }

    /// Whether a fold may have locked more rows than MySQL would.
    pub(super) fn may_lock_more(&self) -> bool {
        self.steps.iter().any(|step| match &step.action {
            Action::Statement(statement) => end::may_lock_more(&statement.text),
            Action::Command(Command::Prepare(_, text)) => end::may_lock_more(text),
            Action::Command(_) => false,
        })
    }

    pub(super) fn is_serializable(&self) -> bool {
        self.serializable
    }

    pub(super) fn written(&self) -> usize {
        self.steps.len()
    }
}

//! Transactions, and what sessions ask about themselves.

use super::dice::Dice;
use super::grammar::Writer;
use super::subject::Subject;
use crate::command::Command;

impl Writer {
    pub(super) fn transaction(&mut self, dice: &mut Dice<'_>, _: &'static Subject) {
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
                "SAVEPOINT t",
                "ROLLBACK WORK TO t",
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
        if !text.contains("SAVEPOINT")
            && !text.starts_with("ROLLBACK TO")
            && text != "ROLLBACK WORK TO t"
        {
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

    pub(super) fn about_the_session(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
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
            "SELECT 1",
            "SELECT CONNECTION_ID() > 0",
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

    /// What a transaction, or all that follow, may do.
    pub(super) fn characteristics(&mut self, dice: &mut Dice<'_>, subject: &'static Subject) {
        let text = dice.pick(CHARACTERISTICS);
        self.in_protocol(text);
        let session = self.current;
        if text.contains("autocommit = 0") {
            self.autocommit[session] = false;
            self.open[session] = true;
        }
        match dice.roll(4) {
            0 => self.update(dice, subject),
            1 => self.lock(dice, subject),
            2 => self.select(dice, subject),
            _ => {}
        }
    }
}

/// MariaDB 10.11 has tx_read_only and tx_isolation.
const CHARACTERISTICS: &[&str] = &[
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION READ WRITE",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION transaction_read_only = 1",
    "SET SESSION transaction_read_only = 0",
    "SET transaction_read_only = ON",
    "SET @@transaction_isolation = 'READ-COMMITTED'",
    "SET tx_read_only = 1",
    "SET tx_read_only = 0",
    "SET @@tx_isolation = 'READ-COMMITTED'",
    "SET completion_type = 1",
    "SET completion_type = 0",
    "START TRANSACTION READ WRITE",
    "SET sql_auto_is_null = 1",
];

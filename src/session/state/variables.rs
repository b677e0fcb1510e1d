//! The session's variables, as the upstream has reported them, and the question that has it report them.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::counter::server::{IDENTITY, Server};
use crate::session::state::info_text::InfoText;
use crate::sql::plan::SessionVariables;

/// Asks whether statements are logged as they are. MySQL warns about the variable (1287), and means to remove it, so
/// it is asked for by itself, and the query after it clears the warning.
pub(crate) const LOGS_STATEMENTS: &str =
    "SELECT @@SESSION.binlog_format = 'STATEMENT' AND @@GLOBAL.log_bin LIMIT 1";

/// Character sets in which an ASCII byte may be the tail of another character.
const UNSAFE_CHARACTER_SETS: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

/// What the upstream has reported of the session. Any statement that may change a part of it makes all of it unknown.
#[derive(Debug)]
pub(crate) struct Variables {
    /// Those that decide how a text is read.
    pub of_texts: Arc<SessionVariables>,
    /// The isolation level of the session's next transaction.
    pub isolation: Isolation,
    /// No increment may go to a slot. Either CHECK constraints are not enforced (MariaDB, `check_constraint_checks`),
    /// so nothing would guard a slot; or statements are logged as they are (`binlog_format`), so the server would warn
    /// of the proxy's statements (1592); or the session's statements are not logged (`sql_log_bin`), so a replica would
    /// miss a slot row that later statements change.
    pub takes_no_slots: bool,
    /// What locks have to do with snapshots.
    pub snapshots: Snapshots,
    /// `sql_auto_is_null` is on: the first statement that compares an AUTO_INCREMENT column with IS NULL finds the row
    /// that was inserted last, even if it is an internal one.
    pub auto_is_null: bool,
    /// `sql_big_selects` is on: `max_join_size` refuses nothing.
    pub big_selects: bool,
    /// `character_set_client` and `character_set_connection` are both UTF-8.
    pub speaks_utf8: bool,
    /// `sql_mode`, as the server spells it.
    modes: String,
    /// The language of info texts.
    pub info: InfoText,
}

/// Isolation levels, as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// READ UNCOMMITTED or READ COMMITTED: no statement sees the snapshot of an earlier one.
    ReadsTheNewest,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE: each query of a transaction is a locking read.
    Serializable,
}

/// What the locks of a transaction have to do with its snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Snapshots {
    /// Nothing: what is locked is read as it is now.
    Apart,
    /// MariaDB's `innodb_snapshot_isolation`: a statement that would lock a row of which the snapshot shows an older
    /// version fails (1020), and the transaction is rolled back.
    Isolated,
}

impl Variables {
    /// The query that [`Self::read`] reads the response to. Its LIMIT goes before `sql_select_limit`, which may be
    /// zero.
    pub(crate) fn question(catalog: &Catalog) -> String {
        // MariaDB can switch CHECK constraints off in a session; MySQL cannot.
        let of_the_server = match catalog.mariadb {
            true => "@@SESSION.tx_isolation, @@SESSION.check_constraint_checks",
            false => "@@SESSION.transaction_isolation, 1",
        };
        let snapshot_isolation = match catalog.has_snapshot_isolation {
            true => "@@SESSION.innodb_snapshot_isolation",
            false => "0",
        };
        format!(
            "SELECT CAST(DATABASE() AS BINARY), @@SESSION.sql_mode, @@SESSION.character_set_client, \
             @@SESSION.sql_safe_updates, \
             @@SESSION.character_set_client LIKE 'utf8%' AND @@SESSION.character_set_connection LIKE 'utf8%', \
             {IDENTITY}, @@SESSION.sql_big_selects, @@SESSION.sql_auto_is_null, \
             LEFT(@@SESSION.lc_messages, 3) = 'en_', {of_the_server}, {snapshot_isolation}, \
             @@SESSION.sql_log_bin OR NOT @@GLOBAL.log_bin LIMIT 1"
        )
    }

    /// Reads the response to [`Self::question`], and the server's identity with it. `logs_statements` is what the
    /// server has responded to [`LOGS_STATEMENTS`].
    pub(crate) fn read(row: &[Option<Vec<u8>>], logs_statements: bool) -> (Self, Option<Server>) {
        let value = |position: usize| row.get(position).and_then(Option::as_deref);
        let text = |position: usize| {
            value(position).map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let is = |position: usize, wanted: &[u8]| value(position) == Some(wanted);
        let modes = text(1).unwrap_or_default();
        let client = text(2).unwrap_or_default();
        let of_texts = SessionVariables {
            schema: text(0),
            unsafe_character_set: UNSAFE_CHARACTER_SETS.contains(&client.as_str()),
            other_characters: Some(client).filter(|client| !client.starts_with("utf8")),
            safe_updates: is(3, b"1"),
            ..SessionVariables::default()
        };
        let variables = Self {
            of_texts: Arc::new(of_texts.with_sql_mode(&modes)),
            isolation: Isolation::of(value(9).unwrap_or_default()),
            takes_no_slots: logs_statements || is(10, b"0") || is(12, b"0"),
            snapshots: match is(11, b"1") {
                true => Snapshots::Isolated,
                false => Snapshots::Apart,
            },
            auto_is_null: is(7, b"1"),
            big_selects: !is(6, b"0"),
            speaks_utf8: is(4, b"1"),
            modes,
            info: match is(8, b"1") {
                true => InfoText::English,
                false => InfoText::Unknown,
            },
        };
        (variables, value(5).map(Server::new))
    }

    /// Whether `sql_mode` has this mode.
    pub(crate) fn has_mode(&self, mode: &str) -> bool {
        self.modes.split(',').any(|has| has == mode)
    }

    /// `sql_mode` without this mode, if it has it. NO_DIR_IN_CREATE, which has nothing to do with queries, stands for
    /// no mode.
    pub(crate) fn mode_without(&self, mode: &str) -> Option<String> {
        let others: Vec<&str> = self.modes.split(',').filter(|has| *has != mode).collect();
        self.has_mode(mode).then(|| match others.is_empty() {
            true => "NO_DIR_IN_CREATE".to_owned(),
            false => others.join(","),
        })
    }
}

impl Isolation {
    /// The level by the value of `transaction_isolation`.
    fn of(level: &[u8]) -> Self {
        match level {
            b"REPEATABLE-READ" => Self::RepeatableRead,
            b"SERIALIZABLE" => Self::Serializable,
            _ => Self::ReadsTheNewest,
        }
    }

    /// Whether locking reads lock gaps.
    pub(crate) fn locks_gaps(self) -> bool {
        self != Self::ReadsTheNewest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: [Option<&str>; 13]) -> Vec<Option<Vec<u8>>> {
        let bytes = |value: &str| value.as_bytes().to_vec();
        values.map(|value| value.map(bytes)).to_vec()
    }

    const DEFAULTS: [Option<&str>; 13] = [
        Some("shop"),
        Some("ONLY_FULL_GROUP_BY,ANSI_QUOTES"),
        Some("utf8mb4"),
        Some("0"),
        Some("1"),
        Some("b7d1"),
        Some("1"),
        Some("0"),
        Some("1"),
        Some("REPEATABLE-READ"),
        Some("1"),
        Some("0"),
        Some("1"),
    ];

    #[test]
    fn each_column_is_read_from_its_place() {
        let (variables, server) = Variables::read(&row(DEFAULTS), false);
        assert_eq!(variables.of_texts.schema.as_deref(), Some("shop"));
        assert!(variables.of_texts.ansi_quotes && !variables.of_texts.safe_updates);
        assert!(!variables.of_texts.unsafe_character_set && variables.speaks_utf8);
        assert_eq!(variables.isolation, Isolation::RepeatableRead);
        assert!(variables.big_selects && !variables.auto_is_null && !variables.takes_no_slots);
        assert_eq!(variables.snapshots, Snapshots::Apart);
        assert_eq!(variables.info, InfoText::English);
        assert!(variables.has_mode("ONLY_FULL_GROUP_BY") && !variables.has_mode("ANSI"));
        let without = variables.mode_without("ANSI_QUOTES");
        assert_eq!(without.as_deref(), Some("ONLY_FULL_GROUP_BY"));
        assert_eq!(variables.mode_without("ANSI"), None);
        assert_eq!(server, Some(Server::new(b"b7d1")));
    }

    #[test]
    fn each_of_the_others_values_is_seen() {
        let mut values = DEFAULTS;
        values[0] = None;
        values[2] = Some("gbk");
        values[3] = Some("1");
        values[4] = Some("0");
        values[5] = None;
        values[6] = Some("0");
        values[7] = Some("1");
        values[8] = Some("0");
        values[9] = Some("READ-COMMITTED");
        values[10] = Some("0");
        values[11] = Some("1");
        let (variables, server) = Variables::read(&row(values), false);
        assert_eq!(variables.of_texts.schema, None);
        assert!(variables.of_texts.unsafe_character_set && variables.of_texts.safe_updates);
        assert!(!variables.speaks_utf8 && !variables.big_selects);
        assert!(variables.auto_is_null && variables.takes_no_slots);
        assert_eq!(variables.snapshots, Snapshots::Isolated);
        assert_eq!(variables.info, InfoText::Unknown);
        assert_eq!(variables.isolation, Isolation::ReadsTheNewest);
        assert_eq!(server, None);
    }

    #[test]
    fn no_slots_are_taken_where_statements_are_logged() {
        assert!(Variables::read(&row(DEFAULTS), true).0.takes_no_slots);
    }

    #[test]
    fn no_slots_are_taken_where_nothing_is_logged() {
        let mut values = DEFAULTS;
        values[12] = Some("0");
        assert!(Variables::read(&row(values), false).0.takes_no_slots);
    }
}

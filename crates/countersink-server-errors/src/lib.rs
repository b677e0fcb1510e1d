//! The servers' error numbers under the servers' own names, and groups of errors that are handled in the same way
//! (manuals: "Server Error Message Reference", "MariaDB Error Code Reference").
//!
//! Numbers below 1900 have the same meaning on both servers. Above that, each server has its own; the entry says so if
//! it is MariaDB's.

/// Declares each number as a constant. Its documentation is what the server means by it.
macro_rules! error_codes {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: u16 = $number;)*

        #[cfg(test)]
        const ALL: &[(&str, u16)] = &[$((stringify!($name), $number)),*];
    };
}

error_codes! {
    ER_CHECKREAD = 1020, "MariaDB: a row no longer matches the transaction's snapshot, and the transaction was rolled back.";
    ER_GET_ERRNO = 1030, "The storage engine failed; the message has its number.";
    ER_CON_COUNT_ERROR = 1040, "The server has as many connections as it may have.";
    ER_HANDSHAKE_ERROR = 1043, "A packet of the connection phase is not what was expected.";
    ER_DBACCESS_DENIED_ERROR = 1044, "The account lacks a privilege for the schema.";
    ER_ACCESS_DENIED_ERROR = 1045, "Wrong account or password.";
    ER_NO_DB_ERROR = 1046, "No schema is selected.";
    ER_UNKNOWN_COM_ERROR = 1047, "Unknown command.";
    ER_BAD_DB_ERROR = 1049, "Unknown schema.";
    ER_BAD_TABLE_ERROR = 1051, "Unknown table, in DROP TABLE.";
    ER_NON_UNIQ_ERROR = 1052, "A column's name is ambiguous.";
    ER_SERVER_SHUTDOWN = 1053, "The server shuts down.";
    ER_BAD_FIELD_ERROR = 1054, "Unknown column.";
    ER_WRONG_FIELD_WITH_GROUP = 1055, "A column is not in GROUP BY.";
    ER_WRONG_GROUP_FIELD = 1056, "GROUP BY names what cannot be grouped by.";
    ER_DUP_FIELDNAME = 1060, "Two columns have one name.";
    ER_DUP_ENTRY = 1062, "A key is there already.";
    ER_PARSE_ERROR = 1064, "Syntax error; the message quotes the text.";
    ER_NONUNIQ_TABLE = 1066, "Two tables have one name or alias.";
    ER_TOO_MANY_KEY_PARTS = 1070, "A key has more columns than it may have.";
    ER_TOO_LONG_KEY = 1071, "A key is longer than it may be.";
    ER_UPDATE_TABLE_USED = 1093, "The table that is written is also read from in a subquery.";
    ER_NO_SUCH_THREAD = 1094, "KILL names no connection.";
    ER_TABLE_NOT_LOCKED = 1100, "The table is not among those of LOCK TABLES.";
    ER_TOO_BIG_SELECT = 1104, "The query would examine more rows than max_join_size.";
    ER_UNKNOWN_ERROR = 1105, "An error without a number of its own.";
    ER_UNKNOWN_TABLE = 1109, "Unknown table, as the qualifier of a column or the target of a DELETE.";
    ER_FIELD_SPECIFIED_TWICE = 1110, "A column is assigned twice.";
    ER_INVALID_GROUP_FUNC_USE = 1111, "An aggregate function stands where none may.";
    ER_UNKNOWN_CHARACTER_SET = 1115, "Unknown character set.";
    ER_TOO_BIG_ROWSIZE = 1118, "A row would be larger than it may be.";
    ER_HOST_NOT_PRIVILEGED = 1130, "No account may connect from this host.";
    ER_WRONG_VALUE_COUNT_ON_ROW = 1136, "A row has more or fewer values than there are columns.";
    ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140, "Aggregate functions beside plain columns, without GROUP BY.";
    ER_TABLEACCESS_DENIED_ERROR = 1142, "The account lacks a privilege for the table.";
    ER_COLUMNACCESS_DENIED_ERROR = 1143, "The account lacks a privilege for the column.";
    ER_NO_SUCH_TABLE = 1146, "The table does not exist.";
    ER_SYNTAX_ERROR = 1149, "Syntax error, found after parsing.";
    ER_NET_PACKET_TOO_LARGE = 1153, "A packet is larger than max_allowed_packet.";
    ER_NET_PACKETS_OUT_OF_ORDER = 1156, "A packet has not the sequence id that was expected.";
    ER_NET_READ_ERROR = 1158, "The connection failed while a packet was read.";
    // MySQL's own spelling. MariaDB spells it ER_KEY_DOES_NOT_EXISTS.
    ER_KEY_DOES_NOT_EXITS = 1176, "Unknown index.";
    ER_ERROR_DURING_COMMIT = 1180, "COMMIT failed.";
    ER_ERROR_DURING_ROLLBACK = 1181, "ROLLBACK failed.";
    ER_FT_MATCHING_KEY_NOT_FOUND = 1191, "No FULLTEXT index for the columns of MATCH.";
    ER_UNKNOWN_SYSTEM_VARIABLE = 1193, "Unknown system variable.";
    ER_TOO_MANY_USER_CONNECTIONS = 1203, "The account has max_user_connections.";
    ER_LOCK_WAIT_TIMEOUT = 1205, "A lock was not to be had in time.";
    ER_LOCK_DEADLOCK = 1213, "The transaction was rolled back to end a deadlock.";
    ER_WRONG_USAGE = 1221, "Two clauses do not go together.";
    ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222, "The parts of a UNION have different numbers of columns.";
    ER_USER_LIMIT_REACHED = 1226, "The account has reached one of its resource limits.";
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227, "The account lacks a global privilege.";
    ER_NOT_SUPPORTED_YET = 1235, "The server does not support that.";
    ER_MASTER_FATAL_ERROR_READING_BINLOG = 1236, "The binary log cannot be read from that place on, as after a purge.";
    ER_OPERAND_COLUMNS = 1241, "An operand has another number of columns.";
    ER_UNKNOWN_STMT_HANDLER = 1243, "Unknown prepared statement.";
    ER_ILLEGAL_REFERENCE = 1247, "A reference to what is not there yet.";
    ER_DERIVED_MUST_HAVE_ALIAS = 1248, "A derived table has no alias.";
    ER_COLLATION_CHARSET_MISMATCH = 1253, "The collation is another character set's.";
    ER_WARN_DATA_OUT_OF_RANGE = 1264, "A value is out of the column's range.";
    WARN_DATA_TRUNCATED = 1265, "A value was truncated for its column.";
    ER_CANT_AGGREGATE_2COLLATIONS = 1267, "Illegal mix of collations.";
    ER_UNKNOWN_COLLATION = 1273, "Unknown collation.";
    ER_WARN_DEPRECATED_SYNTAX = 1287, "The syntax is deprecated, or what it names.";
    ER_NON_UPDATABLE_TABLE = 1288, "The table or view cannot be updated.";
    ER_OPTION_PREVENTS_STATEMENT = 1290, "An option of the server, such as read_only, forbids the statement.";
    ER_TRUNCATED_WRONG_VALUE = 1292, "A text is no value of the type.";
    ER_UNSUPPORTED_PS = 1295, "The statement cannot be prepared.";
    ER_INVALID_CHARACTER_STRING = 1300, "Bytes that are no text of the character set.";
    ER_SP_DOES_NOT_EXIST = 1305, "Unknown routine or savepoint.";
    ER_QUERY_INTERRUPTED = 1317, "The statement was killed.";
    ER_SP_WRONG_NO_OF_ARGS = 1318, "A routine is called with another number of arguments.";
    ER_SP_UNDECLARED_VAR = 1327, "An undeclared variable.";
    ER_VIEW_INVALID = 1356, "A view names what is not there, or what its definer may not use.";
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366, "A text is no value of the column's type.";
    ER_PROCACCESS_DENIED_ERROR = 1370, "The account lacks a privilege for the routine.";
    ER_DATA_TOO_LONG = 1406, "A value is too long for its column.";
    ER_TABLE_DEF_CHANGED = 1412, "The table was another one when the transaction's snapshot was taken.";
    ER_CONNECT_TO_FOREIGN_DATA_SOURCE = 1429, "The server behind this one cannot be reached.";
    ER_NON_INSERTABLE_TABLE = 1471, "The table or view takes no INSERT.";
    ER_WRONG_VALUE = 1525, "A literal is no value of its type.";
    ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582, "A built-in function is called with another number of arguments.";
    ER_BINLOG_LOGGING_IMPOSSIBLE = 1598, "The binary log cannot be written.";
    ER_XA_RBDEADLOCK = 1614, "The XA transaction was rolled back to end a deadlock.";
    ER_NEED_REPREPARE = 1615, "A prepared statement's tables have changed.";
    ER_BINLOG_STMT_MODE_AND_ROW_ENGINE = 1665, "The engine needs rows in a binary log that takes statements.";
    ER_DATA_OUT_OF_RANGE = 1690, "An expression's value is out of its type's range.";
    ER_ACCESS_DENIED_NO_PASSWORD_ERROR = 1698, "The account's plugin lets nobody in by a password.";
    ER_PARTITION_CLAUSE_ON_NONPARTITIONED = 1747, "PARTITION is said of a table that has none.";
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792, "A write in a READ ONLY transaction.";
    ER_MUST_CHANGE_PASSWORD = 1820, "The password has expired: nothing runs until it is changed.";
    ER_READ_ONLY_MODE = 1836, "The server is in read-only mode.";
    ER_MUST_CHANGE_PASSWORD_LOGIN = 1862, "The account's password has expired.";
    ER_CONNECTION_KILLED = 1927, "MariaDB: the connection was killed.";
    ER_STATEMENT_TIMEOUT = 1969, "MariaDB: the statement ran for longer than max_statement_time.";
    ER_QUERY_TIMEOUT = 3024, "The query ran for longer than max_execution_time.";
    ER_USER_LOCK_DEADLOCK = 3058, "A user lock that would close a circle of waits.";
    ER_RUN_HOOK_ERROR = 3100, "A plugin's hook refused the transaction.";
    ER_TRANSACTION_ROLLBACK_DURING_COMMIT = 3101, "A plugin rolled the transaction back: a member of the group was first.";
    ER_ACCOUNT_HAS_BEEN_LOCKED = 3118, "The account is locked.";
    ER_SECURE_TRANSPORT_REQUIRED = 3159, "The server takes logins by TLS alone.";
    ER_UNRESOLVED_TABLE_LOCK = 3568, "FOR UPDATE OF names no table of the query.";
    ER_DUPLICATE_TABLE_LOCK = 3569, "FOR UPDATE OF names a table twice.";
    ER_WINDOW_NO_SUCH_WINDOW = 3579, "Unknown window.";
    ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH = 3580, "Windows are defined by one another in a circle.";
    ER_CHECK_CONSTRAINT_VIOLATED = 3819, "A row violates a CHECK.";
    ER_MISPLACED_INTO = 3954, "INTO stands in a part of the query that may not have it.";
    // For MySQL, this number and 4161 are errors of CREATE TABLESPACE and INSTALL COMPONENT.
    ER_CONSTRAINT_FAILED = 4025, "MariaDB: a row violates a CHECK.";
    ER_CLIENT_INTERACTION_TIMEOUT = 4031, "MySQL: the client has sent nothing for wait_timeout.";
    ER_UNKNOWN_DATA_TYPE = 4161, "MariaDB: unknown data type.";
}

/// Whether the account lacks a privilege for a schema, table, column or routine.
pub const fn lacks_object_privilege(code: u16) -> bool {
    matches!(
        code,
        ER_DBACCESS_DENIED_ERROR
            | ER_TABLEACCESS_DENIED_ERROR
            | ER_COLUMNACCESS_DENIED_ERROR
            | ER_PROCACCESS_DENIED_ERROR
    )
}

/// Whether the account lacks any privilege, including global ones.
pub const fn lacks_privilege(code: u16) -> bool {
    lacks_object_privilege(code) || code == ER_SPECIFIC_ACCESS_DENIED_ERROR
}

/// Whether the server denies the account access: because of its name, password, plugin or host, because it is locked or
/// its password has expired, because TLS is missing, or because of the schema.
pub const fn is_login_refused(code: u16) -> bool {
    matches!(
        code,
        ER_ACCESS_DENIED_ERROR
            | ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            | ER_HOST_NOT_PRIVILEGED
            | ER_DBACCESS_DENIED_ERROR
            | ER_ACCOUNT_HAS_BEEN_LOCKED
            | ER_MUST_CHANGE_PASSWORD_LOGIN
            | ER_SECURE_TRANSPORT_REQUIRED
    )
}

/// Whether the server or the account has no more connections available.
pub const fn is_out_of_connections(code: u16) -> bool {
    matches!(
        code,
        ER_CON_COUNT_ERROR | ER_TOO_MANY_USER_CONNECTIONS | ER_USER_LIMIT_REACHED
    )
}

/// Whether the statement failed because of other transactions' locks, and may succeed if it is tried again.
pub const fn may_be_tried_again(code: u16) -> bool {
    matches!(
        code,
        ER_LOCK_WAIT_TIMEOUT | ER_LOCK_DEADLOCK | ER_XA_RBDEADLOCK
    )
}

/// Whether the transaction was rolled back as a whole, and did nothing: it was the victim of a deadlock, a row no
/// longer matched its snapshot (`innodb_snapshot_isolation`), or another member of a cluster had changed the same rows
/// first. Then COMMIT may fail, too: with error 149 of the storage engine, where the other change has arrived already.
/// Any other error in COMMIT leaves the outcome unknown.
pub fn is_rolled_back(code: u16, message: &[u8]) -> bool {
    const DEADLOCK: u32 = 149;
    match code {
        ER_CHECKREAD | ER_LOCK_DEADLOCK | ER_TRANSACTION_ROLLBACK_DURING_COMMIT => true,
        ER_ERROR_DURING_COMMIT => engine_error(message) == Some(DEADLOCK),
        _ => false,
    }
}

/// Whether the storage engine has lost a savepoint that the server still knows: it has rolled the transaction back, for
/// another member of a cluster, and the server has not heard of it.
pub fn is_savepoint_lost(code: u16, message: &[u8]) -> bool {
    const NO_SAVEPOINT: u32 = 153;
    matches!(code, ER_GET_ERRNO | ER_ERROR_DURING_ROLLBACK)
        && engine_error(message) == Some(NO_SAVEPOINT)
}

/// The number that the storage engine has given an error: the first in the message, whatever its language.
fn engine_error(message: &[u8]) -> Option<u32> {
    let digits = message.split(|byte| !byte.is_ascii_digit());
    let number = digits.into_iter().find(|digits| !digits.is_empty())?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Whether the statement or its connection was killed, or the server is shutting down.
pub const fn is_killed(code: u16) -> bool {
    matches!(
        code,
        ER_QUERY_INTERRUPTED | ER_CONNECTION_KILLED | ER_SERVER_SHUTDOWN
    )
}

/// Whether the statement exceeded its time limit.
pub const fn is_over_time(code: u16) -> bool {
    matches!(code, ER_STATEMENT_TIMEOUT | ER_QUERY_TIMEOUT)
}

/// Whether a row violates a CHECK.
pub const fn is_check_violated(code: u16) -> bool {
    matches!(code, ER_CHECK_CONSTRAINT_VIOLATED | ER_CONSTRAINT_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_their_order_and_once() {
        assert!(ALL.is_sorted_by(|(_, one), (_, next)| one < next));
    }

    /// Numbers from 2000 to 2999 belong to the client library.
    #[test]
    fn every_number_is_a_servers() {
        for (name, number) in ALL {
            assert!(matches!(number, 1000..2000 | 3000..5000), "{name} {number}");
        }
    }

    #[test]
    fn families_have_the_members_that_they_are_named_for() {
        let members = |belongs: fn(u16) -> bool| -> Vec<u16> {
            (0..=u16::MAX).filter(|code| belongs(*code)).collect()
        };
        assert_eq!(members(lacks_object_privilege), [1044, 1142, 1143, 1370]);
        assert_eq!(members(lacks_privilege), [1044, 1142, 1143, 1227, 1370]);
        assert_eq!(
            members(is_login_refused),
            [1044, 1045, 1130, 1698, 1862, 3118, 3159]
        );
        assert_eq!(members(is_out_of_connections), [1040, 1203, 1226]);
        assert_eq!(members(may_be_tried_again), [1205, 1213, 1614]);
        assert_eq!(members(is_killed), [1053, 1317, 1927]);
        assert_eq!(members(is_over_time), [1969, 3024]);
        assert_eq!(members(is_check_violated), [3819, 4025]);
    }

    #[test]
    fn the_engines_number_decides_in_any_language() {
        let english = b"Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT";
        let german = b"Fehler 149 - 'Lock deadlock; Retry transaction' beim COMMIT";
        assert!(is_rolled_back(1180, english) && is_rolled_back(1180, german));
        assert!(!is_rolled_back(
            1180,
            b"Got error 14 - 'Bad address' during COMMIT"
        ));
        assert!(!is_rolled_back(1180, b"") && !is_rolled_back(1180, b"999999999999"));
        let lost = b"Got error 153 - 'No savepoint with that name' from storage engine";
        assert!(is_savepoint_lost(1030, lost) && is_savepoint_lost(1181, lost));
        assert!(!is_savepoint_lost(1180, lost) && !is_savepoint_lost(1030, english));
    }
}

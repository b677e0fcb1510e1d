//! Command bytes of the command phase (manual: "Command Phase").

/// Closes the connection; no answer.
pub const QUIT: u8 = 0x01;
/// Changes the current schema.
pub const INIT_DB: u8 = 0x02;
/// A statement as text.
pub const QUERY: u8 = 0x03;
/// Column definitions of a table.
pub const FIELD_LIST: u8 = 0x04;
/// One line of server statistics.
pub const STATISTICS: u8 = 0x09;
/// A result set as of SHOW PROCESSLIST.
pub const PROCESS_INFO: u8 = 0x0A;
/// KILL by thread id.
pub const PROCESS_KILL: u8 = 0x0C;
/// Is the server alive?
pub const PING: u8 = 0x0E;
/// Logs in again on the same connection.
pub const CHANGE_USER: u8 = 0x11;
/// Streams the binary log.
pub const BINLOG_DUMP: u8 = 0x12;
/// Streams a table (ancient replication).
pub const TABLE_DUMP: u8 = 0x13;
/// Prepares a statement.
pub const STMT_PREPARE: u8 = 0x16;
/// Executes a prepared statement.
pub const STMT_EXECUTE: u8 = 0x17;
/// Appends to a parameter; no answer.
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
/// Deallocates a prepared statement; no answer.
pub const STMT_CLOSE: u8 = 0x19;
/// Drops long data and cursor of a prepared statement.
pub const STMT_RESET: u8 = 0x1A;
/// Switches multi-statements on (0) or off (1).
pub const SET_OPTION: u8 = 0x1B;
/// Rows from a cursor.
pub const STMT_FETCH: u8 = 0x1C;
/// Streams the binary log by GTID.
pub const BINLOG_DUMP_GTID: u8 = 0x1E;
/// Puts the session back to its start.
pub const RESET_CONNECTION: u8 = 0x1F;
/// Streams a clone of the server.
pub const CLONE: u8 = 0x20;
/// Streams group replication events.
pub const SUBSCRIBE_GROUP_REPLICATION_STREAM: u8 = 0x21;
/// MariaDB: executes a prepared statement for many rows of parameters.
pub const STMT_BULK_EXECUTE: u8 = 0xFA;

//! Server status flags in OK and EOF packets (manual: "Status Flags").

/// A transaction is open.
pub const IN_TRANS: u16 = 0x0001;
/// Autocommit mode is on.
pub const AUTOCOMMIT: u16 = 0x0002;
/// Another result follows in this response.
pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
/// The statement found no good index.
pub const QUERY_NO_GOOD_INDEX_USED: u16 = 0x0010;
/// The statement used no index.
pub const QUERY_NO_INDEX_USED: u16 = 0x0020;
/// The statement opened a cursor, whose rows COM_STMT_FETCH returns.
pub const CURSOR_EXISTS: u16 = 0x0040;
/// The cursor has no more rows.
pub const LAST_ROW_SENT: u16 = 0x0080;
/// The current schema was dropped.
pub const DB_DROPPED: u16 = 0x0100;
/// sql_mode has NO_BACKSLASH_ESCAPES.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
/// The statement was slow.
pub const QUERY_WAS_SLOW: u16 = 0x0800;
/// The result holds the output parameters of a procedure.
pub const PS_OUT_PARAMS: u16 = 0x1000;
/// The open transaction is read only.
pub const IN_TRANS_READONLY: u16 = 0x2000;
/// Session state changes follow in this OK packet.
pub const SESSION_STATE_CHANGED: u16 = 0x4000;

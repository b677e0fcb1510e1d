//! Command bytes of the command phase (manual: "Command Phase"), and the packets of the commands that carry a text or a
//! statement id.

use crate::wire::capability;
use crate::wire::packet::encode_packet;

/// Closes the connection; there is no response.
pub const QUIT: u8 = 0x01;
/// Changes the current schema.
pub const INIT_DB: u8 = 0x02;
/// A statement as text.
pub const QUERY: u8 = 0x03;
/// Returns the column definitions of a table.
pub const FIELD_LIST: u8 = 0x04;
/// Returns one line of server statistics.
pub const STATISTICS: u8 = 0x09;
/// Returns the result set of SHOW PROCESSLIST.
pub const PROCESS_INFO: u8 = 0x0A;
/// KILL by thread id.
pub const PROCESS_KILL: u8 = 0x0C;
/// Checks that the server is alive.
pub const PING: u8 = 0x0E;
/// Logs in again on the same connection.
pub const CHANGE_USER: u8 = 0x11;
/// Streams the binary log.
pub const BINLOG_DUMP: u8 = 0x12;
/// Streams a table (obsolete replication).
pub const TABLE_DUMP: u8 = 0x13;
/// Prepares a statement.
pub const STMT_PREPARE: u8 = 0x16;
/// Executes a prepared statement.
pub const STMT_EXECUTE: u8 = 0x17;
/// Appends data to a parameter; there is no response.
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
/// Deallocates a prepared statement; there is no response.
pub const STMT_CLOSE: u8 = 0x19;
/// Discards the long data and closes the cursor of a prepared statement.
pub const STMT_RESET: u8 = 0x1A;
/// Turns multi-statements on (0) or off (1).
pub const SET_OPTION: u8 = 0x1B;
/// Fetches rows from a cursor.
pub const STMT_FETCH: u8 = 0x1C;
/// Streams the binary log by GTID.
pub const BINLOG_DUMP_GTID: u8 = 0x1E;
/// Resets the session to its initial state.
pub const RESET_CONNECTION: u8 = 0x1F;
/// Streams a clone of the server.
pub const CLONE: u8 = 0x20;
/// Streams group replication events.
pub const SUBSCRIBE_GROUP_REPLICATION_STREAM: u8 = 0x21;
/// MariaDB: executes a prepared statement for many rows of parameters.
pub const STMT_BULK_EXECUTE: u8 = 0xFA;

/// Appends a COM_QUERY packet.
pub fn encode_query(out: &mut Vec<u8>, text: &[u8], capabilities: u64) {
    encode_packet(out, 0, &query_payload(text, capabilities));
}

/// The payload of a COM_QUERY packet.
pub fn query_payload(text: &[u8], capabilities: u64) -> Vec<u8> {
    let mut payload = Vec::with_capacity(text.len() + 3);
    payload.push(QUERY);
    if capabilities & capability::QUERY_ATTRIBUTES != 0 {
        // No parameters, in one set.
        payload.extend_from_slice(&[0, 1]);
    }
    payload.extend_from_slice(text);
    payload
}

/// Appends a COM_STMT_PREPARE packet.
pub fn encode_prepare(out: &mut Vec<u8>, text: &[u8]) {
    let mut payload = Vec::with_capacity(text.len() + 1);
    payload.push(STMT_PREPARE);
    payload.extend_from_slice(text);
    encode_packet(out, 0, &payload);
}

/// Appends the packet of a command that carries a statement id and nothing else.
pub fn encode_statement_command(out: &mut Vec<u8>, command_byte: u8, statement_id: u32) {
    let [a, b, c, d] = statement_id.to_le_bytes();
    encode_packet(out, 0, &[command_byte, a, b, c, d]);
}

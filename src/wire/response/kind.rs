//! Which kind of response a command gets (manual: "Command Phase").

use crate::wire::command;
use crate::wire::execute::CURSOR_TYPES;

/// The kind of response to a command, which determines its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// There is no response.
    Nothing,
    /// One packet.
    Single,
    /// OK, ERR, a request for a local file, or result sets.
    Results,
    /// Like [`ResponseKind::Results`], for a prepared statement that asks for a cursor. If the server opens one, no
    /// rows follow.
    Cursor,
    /// The response to COM_STMT_PREPARE.
    Prepared,
    /// The rows of a cursor, without column definitions.
    Rows,
    /// Column definitions, ended by an EOF.
    Fields,
    /// An endless stream. The connection serves no other command after it.
    Endless,
    /// An authentication exchange.
    Authentication,
}

impl ResponseKind {
    /// Maximum number of bytes of a command's payload that [`ResponseKind::of`] reads.
    pub const LOOKAHEAD: usize = 1 + 4 + 1;

    /// The kind of response to the command whose payload begins with these bytes.
    pub fn of(payload: &[u8]) -> Self {
        let Some(command_byte) = payload.first() else {
            return Self::Single;
        };
        match *command_byte {
            // int<1> command, int<4> statement_id, int<1> flags
            command::STMT_EXECUTE
                if payload
                    .get(5)
                    .is_some_and(|flags| flags & CURSOR_TYPES != 0) =>
            {
                Self::Cursor
            }
            command::QUERY
            | command::STMT_EXECUTE
            | command::PROCESS_INFO
            | command::STMT_BULK_EXECUTE => Self::Results,
            command::STMT_PREPARE => Self::Prepared,
            command::STMT_FETCH => Self::Rows,
            command::FIELD_LIST => Self::Fields,
            command::QUIT | command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => Self::Nothing,
            command::CHANGE_USER => Self::Authentication,
            command::BINLOG_DUMP
            | command::BINLOG_DUMP_GTID
            | command::TABLE_DUMP
            | command::CLONE
            | command::SUBSCRIBE_GROUP_REPLICATION_STREAM => Self::Endless,
            _ => Self::Single,
        }
    }
}

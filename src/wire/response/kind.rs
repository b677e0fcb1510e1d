//! What kind of answer a command gets (manual: "Command Phase").

use crate::wire::command;
use crate::wire::execute::CURSOR_TYPES;

/// The form of the answer that a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// No answer at all.
    Nothing,
    /// One packet.
    Single,
    /// OK, ERR, a request for a local file, or result sets.
    Results,
    /// The same, of a prepared statement that is to open a cursor: where the server opens one, the rows do not follow.
    Cursor,
    /// The answer to COM_STMT_PREPARE.
    Prepared,
    /// Rows of a cursor.
    Rows,
    /// Column definitions up to an EOF.
    Fields,
    /// A stream without end; the connection serves nothing else from here on.
    Endless,
    /// An authentication exchange.
    Authentication,
}

impl ResponseKind {
    /// Bytes of a command's payload that [`ResponseKind::of`] looks at, at most.
    pub const LOOKAHEAD: usize = 1 + 4 + 1;

    /// The form of the answer to the command whose payload starts with these bytes.
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

//! Session state changes in an OK packet, read in place and however long they are (manual: "Session State
//! Information").

use crate::wire::packet::MAX_PAYLOAD;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::reply::Ok as OkPacket;
use crate::wire::session_state::{TRANSACTION_STATE, TransactionState};
use crate::wire::status;

/// The fields after the fixed part of an OK packet, read one by one.
///
/// A change may be as long as a packet: `session_track_gtids = ALL_GTIDS` sends all of `gtid_executed`, and the
/// transaction state follows it. So only the start of each field is read. It determines where the next field begins,
/// and the bytes between pass through unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changes {
    /// The field to read next.
    field: Field,
    /// Its position in the payload. It is less than `end` until everything has been read.
    at: usize,
    /// Length of the payload in bytes.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// `string<lenenc>`: info text.
    Info,
    /// `int<lenenc>`: length of all changes.
    Length,
    /// `int<1>` type and `string<lenenc>` data of one change.
    Change,
}

impl Changes {
    /// Maximum number of bytes read of a field: type, length, and the data of a transaction state, which is another
    /// length and the flags.
    pub const LOOKAHEAD: usize = 1 + 9 + 9 + TransactionState::FLAGS;

    /// The changes of an OK packet whose payload is `length` bytes long and begins with `front`; `None` if it has none.
    pub fn of(front: &[u8], length: usize) -> Option<Self> {
        let ok = OkPacket::decode(front).ok()?;
        let at = front.len() - ok.tail.len();
        let has_some = ok.status & status::SESSION_STATE_CHANGED != 0 && at < length;
        has_some.then_some(Self {
            field: Field::Info,
            at,
            end: length,
        })
    }

    /// Position in the payload of the field to read next.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether everything has been read.
    pub fn is_over(&self) -> bool {
        self.at == self.end
    }

    /// Whether another packet continues the payload. No server sends such an OK packet, and the changes in the further
    /// packets are not read.
    pub fn is_continued(&self) -> bool {
        self.end == MAX_PAYLOAD
    }

    /// Number of bytes of the next field that must be available to read it.
    pub fn lookahead(&self) -> usize {
        Self::LOOKAHEAD.min(self.end - self.at)
    }

    /// Reads the next field from `front`, which holds at least [`Changes::lookahead`] bytes of it, and returns the
    /// transaction state if that is the field. After that, or if the packet is malformed, the remaining fields are
    /// skipped.
    pub fn read(&mut self, front: &[u8]) -> Option<TransactionState> {
        let (length, state) = self.field(front).unwrap_or((usize::MAX, None));
        let next = self.at.saturating_add(length).min(self.end);
        self.at = match state {
            Some(_) => self.end,
            None => next,
        };
        state
    }

    /// Reads a field. Returns its length, and the transaction state if it is one.
    fn field(&mut self, front: &[u8]) -> Result<(usize, Option<TransactionState>), Malformed> {
        let mut reader = Reader::new(front);
        let mut state = None;
        let mut unseen = 0;
        match self.field {
            Field::Info => {
                self.field = Field::Length;
                unseen = reader.lenenc()?;
            }
            Field::Length => {
                self.field = Field::Change;
                reader.lenenc()?;
            }
            Field::Change => {
                let kind = reader.u8()?;
                unseen = reader.lenenc()?;
                if kind == TRANSACTION_STATE {
                    state = TransactionState::decode(reader.rest());
                }
            }
        }
        let seen = front.len() - reader.rest().len();
        let unseen = usize::try_from(unseen).map_err(|_| Malformed)?;
        Ok((seen.saturating_add(unseen), state))
    }
}

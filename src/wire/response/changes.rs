//! The session state changes of an OK packet, read where they lie and however long they are
//! (manual: "Session State Information").

use crate::wire::packet::MAX_PAYLOAD;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::reply::Ok as OkPacket;
use crate::wire::session_state::{TRANSACTION_STATE, TransactionState};
use crate::wire::status;

/// What follows the fixed part of an OK packet, field by field.
///
/// A change may be as long as a packet: `session_track_gtids = ALL_GTIDS` sends all of `gtid_executed`, and the state of
/// the transaction comes after it. So only the front of a field is looked at. It tells where the next one begins, and
/// the bytes between are passed on unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changes {
    /// The field to be read next.
    field: Field,
    /// Its position in the payload; less than `end` until all is read.
    at: usize,
    /// The length of the payload.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// `string<lenenc>`: info text.
    Info,
    /// `int<lenenc>`: length of all changes.
    Length,
    /// `int<1>` kind, `string<lenenc>` what has changed.
    Change,
}

impl Changes {
    /// Bytes of a field that are looked at, at most: kind, length, and what a transaction's state has, which is a length
    /// again and the flags.
    pub const LOOKAHEAD: usize = 1 + 9 + 9 + TransactionState::FLAGS;

    /// Those of an OK packet with a payload of `length` bytes, which begins with `front`; `None` when it has none.
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

    /// The position in the payload of the field to be read next.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether all is read.
    pub fn is_over(&self) -> bool {
        self.at == self.end
    }

    /// Whether a packet continues the payload. No server sends such an OK, and it is not read any further.
    pub fn is_continued(&self) -> bool {
        self.end == MAX_PAYLOAD
    }

    /// Bytes of the next field that must be there to read it.
    pub fn lookahead(&self) -> usize {
        Self::LOOKAHEAD.min(self.end - self.at)
    }

    /// Reads the next field, of which `front` has as many bytes as are looked at, and gives the transaction's state when
    /// it is that. Then, or where the packet is malformed, all is read.
    pub fn read(&mut self, front: &[u8]) -> Option<TransactionState> {
        let (length, state) = self.field(front).unwrap_or((usize::MAX, None));
        let next = self.at.saturating_add(length).min(self.end);
        self.at = match state {
            Some(_) => self.end,
            None => next,
        };
        state
    }

    /// The length of the field, and the transaction's state.
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

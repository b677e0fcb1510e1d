//! Session state changes in OK packets (manual: "Session State Information").

use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};
use crate::wire::reply::Ok as OkPacket;
use crate::wire::status;

/// SESSION_TRACK_SYSTEM_VARIABLES.
pub const SYSTEM_VARIABLES: u8 = 0x00;
/// SESSION_TRACK_GTIDS.
pub const GTIDS: u8 = 0x03;
/// SESSION_TRACK_TRANSACTION_CHARACTERISTICS.
pub const TRANSACTION_CHARACTERISTICS: u8 = 0x04;
/// SESSION_TRACK_TRANSACTION_STATE.
pub const TRANSACTION_STATE: u8 = 0x05;

/// A change: `int<1>` type, `string<lenenc>` data.
pub type Change = (u8, Vec<u8>);

/// Decodes the changes in the payload of an OK packet, which the capability SESSION_TRACK permits.
pub fn changes(payload: &[u8]) -> Result<Vec<Change>, Malformed> {
    let ok = OkPacket::decode(payload)?;
    if ok.status & status::SESSION_STATE_CHANGED == 0 {
        return Ok(Vec::new());
    }
    let mut tail = Reader::new(ok.tail);
    tail.lenenc_bytes()?;
    let mut reader = Reader::new(tail.lenenc_bytes()?);
    let mut changes = Vec::new();
    while !reader.rest().is_empty() {
        changes.push((reader.u8()?, reader.lenenc_bytes()?.to_vec()));
    }
    Ok(changes)
}

/// Returns the payload of an OK packet with its changes replaced by these.
pub fn with_changes(payload: &[u8], changes: &[Change]) -> Result<Vec<u8>, Malformed> {
    let ok = OkPacket::decode(payload)?;
    let info = match ok.tail.is_empty() {
        true => &[],
        false => Reader::new(ok.tail).lenenc_bytes()?,
    };
    let mut told = Vec::new();
    for (kind, change) in changes {
        told.push(*kind);
        put_lenenc_bytes(&mut told, change);
    }
    let mut tail = Vec::new();
    if !info.is_empty() || !told.is_empty() {
        put_lenenc_bytes(&mut tail, info);
    }
    let mut status = ok.status | status::SESSION_STATE_CHANGED;
    match told.is_empty() {
        true => status &= !status::SESSION_STATE_CHANGED,
        false => put_lenenc_bytes(&mut tail, &told),
    }
    let mut patched = Vec::with_capacity(payload.len() + told.len());
    OkPacket {
        status,
        tail: &tail,
        ..ok
    }
    .encode(&mut patched);
    Ok(patched)
}

/// The state of a transaction: eight flags, each of which is its own letter or `_`.
///
/// `T` or `I`: the client began the transaction explicitly, or a statement began it with autocommit off. `r`, `R`: the
/// transaction has read a table that is not transactional, or one that is. `w`, `W`: the same for writes. `s`: a
/// statement was unsafe for statement-based logging. `S`: rows were sent. `L`: tables are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionState([u8; Self::FLAGS]);

impl Default for TransactionState {
    fn default() -> Self {
        Self::NONE
    }
}

impl TransactionState {
    /// Number of flags.
    pub const FLAGS: usize = 8;
    const NOT: u8 = b'_';

    /// No flag is set.
    pub const NONE: Self = Self([Self::NOT; Self::FLAGS]);
    /// A transactional table was read.
    pub const READ: Self = Self(*b"__R_____");
    /// A transactional table was written, or rows were locked for a write.
    pub const WRITTEN: Self = Self(*b"____W___");
    /// A statement was unsafe for statement-based logging.
    pub const UNSAFE: Self = Self(*b"_____s__");
    /// Rows were sent.
    pub const ROWS_SENT: Self = Self(*b"______S_");

    /// The transaction state that an OK packet reports under SESSION_TRACK, if it reports one.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let changes = changes(payload).ok()?;
        let state = changes.iter().find(|(kind, _)| *kind == TRANSACTION_STATE);
        Self::decode(&state?.1)
    }

    /// Decodes the data of a [`TRANSACTION_STATE`] change.
    pub fn decode(change: &[u8]) -> Option<Self> {
        let flags = Reader::new(change).lenenc_bytes().ok()?;
        flags.try_into().ok().map(Self)
    }

    /// Encodes the state as a [`TRANSACTION_STATE`] change.
    pub fn change(self) -> Change {
        let mut change = Vec::with_capacity(1 + Self::FLAGS);
        put_lenenc_bytes(&mut change, &self.0);
        (TRANSACTION_STATE, change)
    }

    /// Keeps only the flag that says how the transaction began: explicitly, or by a statement with autocommit off.
    #[must_use]
    pub fn begun(self) -> Self {
        let mut begun = Self::NONE;
        begun.0[0] = self.0[0];
        begun
    }

    /// The flags that are set in either.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        self.each(other, |own, other| match own {
            Self::NOT => other,
            flag => flag,
        })
    }

    /// These flags without those of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        self.each(other, |own, other| match other {
            Self::NOT => own,
            _ => Self::NOT,
        })
    }

    /// The flags that are also set in `other`.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        self.without(self.without(other))
    }

    /// Whether `other` has all of these flags.
    pub fn is_within(self, other: Self) -> bool {
        self.without(other) == Self::NONE
    }

    fn each(self, other: Self, of: impl Fn(u8, u8) -> u8) -> Self {
        let mut flags = self.0;
        for (flag, other) in flags.iter_mut().zip(other.0) {
            *flag = of(*flag, other);
        }
        Self(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ok_packet_tells_of_the_transaction() {
        let mut told = vec![0, 1, 0, 0x03, 0x40, 0, 0, 0, 0x0b, 5, 9, 8];
        told.extend_from_slice(b"T___W___");
        let state = TransactionState::of(&told);
        assert_eq!(state, Some(TransactionState(*b"T___W___")));
        assert_eq!(TransactionState::of(&told[..told.len() - 1]), None);
        assert_eq!(TransactionState::of(&[0, 1, 0, 2, 0, 0, 0]), None);
        let quiet = with_changes(&told, &[]);
        assert_eq!(quiet.as_deref(), Ok(&[0, 1, 0, 0x03, 0, 0, 0][..]));
        let again = with_changes(&quiet.expect("an OK"), &[state.expect("a state").change()]);
        assert_eq!(again, Ok(told));
    }

    #[test]
    fn flags_are_added_and_taken_away() {
        let state = |flags: &[u8; 8]| TransactionState(*flags);
        let (read, written) = (state(b"T_R_____"), state(b"I___W___"));
        assert_eq!(read.with(written), state(b"T_R_W___"));
        assert_eq!(written.without(read), state(b"____W___"));
        assert_eq!(read.within(written), state(b"T_______"));
        assert_eq!(written.begun(), state(b"I_______"));
        assert!(TransactionState::READ.is_within(read));
        assert!(!written.is_within(read));
    }
}

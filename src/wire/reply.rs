//! OK, ERR and EOF packets (manual: "Generic Response Packets").

use crate::wire::reader::{Malformed, Reader, put_lenenc};

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xFF;
/// First byte of an EOF packet, and of the OK packet that takes its place.
pub const EOF: u8 = 0xFE;
/// First byte of the request for a local file.
pub const LOCAL_INFILE: u8 = 0xFB;

/// An OK packet's fixed part. What follows (info text, session state changes) stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ok<'a> {
    /// First byte: [`OK`] or, as a result set's end, [`EOF`].
    pub header: u8,
    /// `int<lenenc>`: rows affected.
    pub affected_rows: u64,
    /// `int<lenenc>`: last AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// `int<2>`: server status flags.
    pub status: u16,
    /// `int<2>`: warnings of the statement.
    pub warnings: u16,
    /// Info text and session state changes, as they came.
    pub tail: &'a [u8],
}

impl<'a> Ok<'a> {
    /// Reads an OK packet's payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        Ok(Self {
            header: reader.u8()?,
            affected_rows: reader.lenenc()?,
            last_insert_id: reader.lenenc()?,
            status: reader.u16()?,
            warnings: reader.u16()?,
            tail: reader.rest(),
        })
    }

    /// Appends the packet's payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.header);
        put_lenenc(out, self.affected_rows);
        put_lenenc(out, self.last_insert_id);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(self.tail);
    }
}

/// An ERR packet after the connection phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Err<'a> {
    /// `int<2>`: error code.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sql_state: &'a [u8],
    /// The message.
    pub message: &'a [u8],
}

impl<'a> Err<'a> {
    /// Reads an ERR packet's payload. Before the capabilities are known a server sends no SQLSTATE; it is `HY000` then.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let code = reader.u16()?;
        let sql_state = match reader.rest().first() {
            Some(b'#') => &reader.bytes(6)?[1..],
            _ => b"HY000",
        };
        Ok(Self {
            code,
            sql_state,
            message: reader.rest(),
        })
    }

    /// Appends the packet's payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(self.sql_state);
        out.extend_from_slice(self.message);
    }

    /// The same in a initial handshake's place, where a client knows of no SQLSTATE yet.
    pub fn encode_as_greeting(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(self.message);
    }
}

/// How many rows an UPDATE has matched and changed, by the tail of its OK packet in any language.
pub fn row_counts(tail: &[u8]) -> Option<(u64, u64)> {
    let info = Reader::new(tail).lenenc_bytes().unwrap_or(tail);
    let numbers = info.split(|byte| !byte.is_ascii_digit());
    let mut numbers = numbers.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let counts = (numbers.next()?, numbers.next()?);
    let _warnings: u64 = numbers.next()?;
    numbers.next().is_none().then_some(counts)
}

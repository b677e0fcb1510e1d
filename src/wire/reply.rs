//! OK, ERR and EOF packets (manual: "Generic Response Packets").

use crate::wire::reader::{Malformed, Reader, put_lenenc};

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xFF;
/// First byte of an EOF packet, and of the OK packet that replaces it.
pub const EOF: u8 = 0xFE;
/// First byte of the request for a local file (manual: "LOCAL INFILE Request").
pub const LOCAL_INFILE: u8 = 0xFB;

/// The fixed part of an OK packet. The rest (info text, session state changes) is kept undecoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ok<'a> {
    /// First byte: [`OK`], or [`EOF`] at the end of a result set.
    pub header: u8,
    /// `int<lenenc>`: affected rows.
    pub affected_rows: u64,
    /// `int<lenenc>`: last AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// `int<2>`: server status flags.
    pub status: u16,
    /// `int<2>`: number of the statement's warnings.
    pub warnings: u16,
    /// Info text and session state changes, as they came.
    pub tail: &'a [u8],
}

impl<'a> Ok<'a> {
    /// Reads the payload of an OK packet.
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

/// An ERR packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Err<'a> {
    /// `int<2>`: error code.
    pub code: u16,
    /// SQLSTATE: five characters.
    pub sql_state: &'a [u8],
    /// The message.
    pub message: &'a [u8],
}

impl<'a> Err<'a> {
    /// Reads the payload of an ERR packet. A server that does not know the client's capabilities yet sends no SQLSTATE;
    /// then it is `HY000`.
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

    /// Appends the payload of an ERR packet that takes the place of an initial handshake. It has no SQLSTATE, because
    /// the capabilities have not been exchanged yet.
    pub fn encode_as_greeting(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(self.message);
    }
}

/// The rows matched and the rows changed by an UPDATE. They are read from the tail of its OK packet, whatever the
/// language of the info text.
pub fn row_counts(tail: &[u8]) -> Option<(u64, u64)> {
    let info = Reader::new(tail).lenenc_bytes().unwrap_or(tail);
    let numbers = info.split(|byte| !byte.is_ascii_digit());
    let mut numbers = numbers.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let counts = (numbers.next()?, numbers.next()?);
    let _warnings: u64 = numbers.next()?;
    numbers.next().is_none().then_some(counts)
}

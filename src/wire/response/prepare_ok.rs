//! The first packet of the answer to COM_STMT_PREPARE (manual: "COM_STMT_PREPARE_OK").

use crate::wire::reader::{Malformed, Reader};

/// First packet of the answer to COM_STMT_PREPARE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// `int<4>`: id of the statement.
    pub statement_id: u32,
    /// `int<2>`: columns of its result set.
    pub columns: u16,
    /// `int<2>`: parameters it takes.
    pub parameters: u16,
}

impl PrepareOk {
    /// Reads the payload.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let ok = Self {
            statement_id: reader.u32()?,
            columns: reader.u16()?,
            parameters: reader.u16()?,
        };
        // A filler and the warning count, from which its length tells it from an OK packet.
        reader.bytes(3)?;
        Ok(ok)
    }
}

//! The first packet of the response to COM_STMT_PREPARE (manual: "COM_STMT_PREPARE_OK").

use crate::wire::reader::{Malformed, Reader};

/// A decoded COM_STMT_PREPARE_OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// `int<4>`: statement id.
    pub statement_id: u32,
    /// `int<2>`: number of columns in its result set.
    pub columns: u16,
    /// `int<2>`: number of parameters.
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
        // A filler and the warning count. An OK packet is shorter, so reading them here tells the two apart.
        reader.bytes(3)?;
        Ok(ok)
    }
}

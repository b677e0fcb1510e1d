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
    /// `int<1>` behind the warning count: whether definitions follow. Servers send it to clients with
    /// OPTIONAL_RESULTSET_METADATA alone; for others it is true.
    pub has_definitions: bool,
}

impl PrepareOk {
    /// Reads the payload.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let (statement_id, columns, parameters) = (reader.u32()?, reader.u16()?, reader.u16()?);
        // A filler and the warning count. An OK packet is shorter, so reading them here tells the two apart.
        reader.bytes(3)?;
        Ok(Self {
            statement_id,
            columns,
            parameters,
            has_definitions: reader.u8() != Ok(0),
        })
    }
}

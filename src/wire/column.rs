//! Column definitions and the binary values under them
//! (manual: "Column Definition", "Binary Protocol Resultset Row").

use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};

/// Field types (manual: `enum_field_types`).
pub mod field_type {
    /// One-byte integer.
    pub const TINY: u8 = 1;
    /// Two-byte integer.
    pub const SHORT: u8 = 2;
    /// Four-byte integer.
    pub const LONG: u8 = 3;
    /// Four-byte float.
    pub const FLOAT: u8 = 4;
    /// Eight-byte float.
    pub const DOUBLE: u8 = 5;
    /// NULL; no value bytes.
    pub const NULL: u8 = 6;
    /// Length-prefixed timestamp.
    pub const TIMESTAMP: u8 = 7;
    /// Eight-byte integer.
    pub const LONGLONG: u8 = 8;
    /// Three-byte integer, sent in four.
    pub const INT24: u8 = 9;
    /// Length-prefixed date.
    pub const DATE: u8 = 10;
    /// Length-prefixed time.
    pub const TIME: u8 = 11;
    /// Length-prefixed date and time.
    pub const DATETIME: u8 = 12;
    /// Two-byte year.
    pub const YEAR: u8 = 13;
    /// DECIMAL of old, as text.
    pub const DECIMAL: u8 = 0;
    /// String.
    pub const VARCHAR: u8 = 15;
    /// DECIMAL as text.
    pub const NEWDECIMAL: u8 = 246;
    /// String.
    pub const VAR_STRING: u8 = 253;
    /// String.
    pub const STRING: u8 = 254;
}

/// The parts of a column definition that tell how its values are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Field type.
    pub field_type: u8,
    /// Column flags.
    pub flags: u16,
}

/// Column flag: values are unsigned.
pub const UNSIGNED_FLAG: u16 = 32;

impl Column {
    /// Reads a column definition's payload.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        // Catalog, schema, table, original table, name, original name.
        for _ in 0..6 {
            reader.lenenc_bytes()?;
        }
        if capabilities & capability::MARIADB_EXTENDED_METADATA != 0 {
            reader.lenenc_bytes()?;
        }
        let _length_of_fixed_part = reader.lenenc()?;
        let _character_set = reader.u16()?;
        let _length = reader.u32()?;
        let field_type = reader.u8()?;
        let flags = reader.u16()?;
        Ok(Self { field_type, flags })
    }
}

/// How a binary value is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A little-endian integer of so many bytes.
    Integer(usize),
    /// So many bytes, not an integer.
    Fixed(usize),
    /// `string<lenenc>`: strings, decimals, and the date and time types (whose length byte reads the same way).
    Prefixed,
}

fn layout(field_type: u8) -> Layout {
    match field_type {
        field_type::TINY => Layout::Integer(1),
        field_type::SHORT | field_type::YEAR => Layout::Integer(2),
        field_type::LONG | field_type::INT24 => Layout::Integer(4),
        field_type::LONGLONG => Layout::Integer(8),
        field_type::FLOAT => Layout::Fixed(4),
        field_type::DOUBLE => Layout::Fixed(8),
        field_type::NULL => Layout::Fixed(0),
        _ => Layout::Prefixed,
    }
}

/// From one column's binary layout to another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    from: Layout,
    to: Layout,
    unsigned: bool,
}

/// Re-encodes binary rows of a rewritten statement under the column types of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowEncoder {
    conversions: Vec<Conversion>,
}

impl RowEncoder {
    /// `from` and `to` are (field type, flags) of each column as sent and as promised.
    /// `None` when every value is laid out the same, so that rows may pass as they are.
    pub fn new(from: &[(u8, u16)], to: &[(u8, u16)]) -> Option<Self> {
        let conversions: Vec<_> = from
            .iter()
            .zip(to)
            .map(|(&(from_type, from_flags), &(to_type, _))| Conversion {
                from: layout(from_type),
                to: layout(to_type),
                unsigned: from_flags & UNSIGNED_FLAG != 0,
            })
            .collect();
        conversions
            .iter()
            .any(|conversion| conversion.from != conversion.to)
            .then_some(Self { conversions })
    }

    /// Appends the row in `payload` to `out` in its new form.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        // NULL bitmap: (columns + 7 + 2) / 8 bytes behind the header byte, its first two bits unused.
        let mut reader = Reader::new(payload);
        let head = reader.bytes(1 + (self.conversions.len() + 9) / 8)?;
        out.extend_from_slice(head);
        for (position, conversion) in self.conversions.iter().enumerate() {
            let bit = position + 2;
            if head[1 + bit / 8] & 1 << (bit % 8) == 0 {
                conversion.value(&mut reader, out)?;
            }
        }
        match reader.is_empty() {
            true => Ok(()),
            false => Err(Malformed),
        }
    }
}

impl Conversion {
    fn value(self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
        match (self.from, self.to) {
            (Layout::Prefixed, Layout::Prefixed) => {
                put_lenenc_bytes(out, reader.lenenc_bytes()?);
            }
            (Layout::Fixed(length), Layout::Fixed(to)) if length == to => {
                out.extend_from_slice(reader.bytes(length)?);
            }
            (Layout::Integer(from), Layout::Integer(to)) => {
                out.extend_from_slice(
                    &little_endian(reader.bytes(from)?, self.unsigned).to_le_bytes()[..to],
                );
            }
            (Layout::Prefixed, Layout::Integer(to)) => {
                let digits = std::str::from_utf8(reader.lenenc_bytes()?).map_err(|_| Malformed)?;
                let value: i128 = digits.parse().map_err(|_| Malformed)?;
                out.extend_from_slice(&value.to_le_bytes()[..to]);
            }
            (Layout::Integer(from), Layout::Prefixed) => {
                let digits = little_endian(reader.bytes(from)?, self.unsigned).to_string();
                put_lenenc_bytes(out, digits.as_bytes());
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }
}

/// A little-endian integer of up to 16 bytes.
pub fn little_endian(bytes: &[u8], unsigned: bool) -> i128 {
    let negative = !unsigned && bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if negative { 0xFF } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

/// The values of a text protocol row; `None` is NULL.
pub fn text_row(payload: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
    const NULL: u8 = 0xFB;
    let mut reader = Reader::new(payload);
    let mut values = Vec::new();
    while !reader.is_empty() {
        if reader.rest().first() == Some(&NULL) {
            reader.u8()?;
            values.push(None);
        } else {
            values.push(Some(reader.lenenc_bytes()?.to_vec()));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_layout_need_no_encoder() {
        let types = [(field_type::LONG, 0), (field_type::VAR_STRING, 0)];
        let same = [(field_type::INT24, 0), (field_type::NEWDECIMAL, 0)];
        assert_eq!(RowEncoder::new(&types, &same), None);
    }

    #[test]
    fn a_bigint_becomes_the_int_that_the_client_was_promised() {
        let from = [
            (field_type::VAR_STRING, 0),
            (field_type::LONGLONG, 0),
            (field_type::LONGLONG, 0),
            (field_type::NEWDECIMAL, 0),
        ];
        let to = [
            (field_type::VAR_STRING, 0),
            (field_type::LONG, 0),
            (field_type::TINY, 0),
            (field_type::LONGLONG, 0),
        ];
        let encoder = RowEncoder::new(&from, &to).expect("widths differ");
        let mut row = vec![0, 0b0001_0000, 1, b'x'];
        row.extend_from_slice(&(-3_i64).to_le_bytes());
        row.extend_from_slice(&[3, b'-', b'1', b'2']);
        let mut out = Vec::new();
        encoder.encode(&row, &mut out).expect("a whole row");
        let mut expected = vec![0, 0b0001_0000, 1, b'x'];
        expected.extend_from_slice(&(-3_i32).to_le_bytes());
        expected.extend_from_slice(&(-12_i64).to_le_bytes());
        assert_eq!(out, expected);
        for end in 0..row.len() {
            assert_eq!(encoder.encode(&row[..end], &mut Vec::new()), Err(Malformed));
        }
    }
}

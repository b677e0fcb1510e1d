//! Column definitions, and the binary values of their columns (manual: "Column Definition", "Binary Protocol Resultset
//! Row").

use std::hash::{DefaultHasher, Hash, Hasher};

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
    /// The old DECIMAL, as text.
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

/// The parts of a column definition that determine how its values are encoded.
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
    /// Reads the column from the payload of its definition.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Self, Malformed> {
        Definition::decode(payload, capabilities).map(|definition| definition.column)
    }
}

/// A whole column definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    /// Schema, original table, original name.
    pub(super) origin: [&'a [u8]; 3],
    pub(super) name: &'a [u8],
    /// MariaDB's name of the type where `column` does not determine it; otherwise empty.
    extended: &'a [u8],
    character_set: u16,
    pub(super) length: u32,
    pub(super) column: Column,
    pub(super) decimals: u8,
}

impl<'a> Definition<'a> {
    pub(super) fn decode(payload: &'a [u8], capabilities: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let _catalog = reader.lenenc_bytes()?;
        let schema = reader.lenenc_bytes()?;
        let _table = reader.lenenc_bytes()?;
        let original_table = reader.lenenc_bytes()?;
        let name = reader.lenenc_bytes()?;
        let original_name = reader.lenenc_bytes()?;
        let extended = match capabilities & capability::MARIADB_EXTENDED_METADATA {
            0 => &[],
            _ => reader.lenenc_bytes()?,
        };
        let _length_of_fixed_part = reader.lenenc()?;
        Ok(Self {
            origin: [schema, original_table, original_name],
            name,
            extended,
            character_set: reader.u16()?,
            length: reader.u32()?,
            column: Column {
                field_type: reader.u8()?,
                flags: reader.u16()?,
            },
            decimals: reader.u8()?,
        })
    }
}

/// What a statement sends for one column, in so far as every execution sends the same while no table changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Type and flags. Flags for keys and binary collations are left out, because they depend on the plan of each
    /// execution.
    pub column: Column,
    /// Hash of the column's name and of MariaDB's name of its type.
    names: u64,
    character_set: u16,
    length: u32,
    decimals: u8,
}

impl Sent {
    /// Reads the payload of a column definition.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Self, Malformed> {
        /// PRI_KEY, UNIQUE_KEY, MULTIPLE_KEY, BINARY, AUTO_INCREMENT, NO_DEFAULT_VALUE, PART_KEY, and GROUP or NUM,
        /// which the servers use internally.
        const OF_PLANS: u16 = 0x0002 | 0x0004 | 0x0008 | 0x0080 | 0x0200 | 0x1000 | 0x4000 | 0x8000;
        let definition = Definition::decode(payload, capabilities)?;
        let mut names = DefaultHasher::new();
        (definition.name, definition.extended).hash(&mut names);
        Ok(Self {
            column: Column {
                flags: definition.column.flags & !OF_PLANS,
                ..definition.column
            },
            names: names.finish(),
            character_set: definition.character_set,
            length: definition.length,
            decimals: definition.decimals,
        })
    }
}

/// Whether two definitions describe the same column of a table, but with another type, and one of the types is numeric.
/// Then the table was altered between the two.
pub fn is_changed(one: &[u8], other: &[u8], capabilities: u64) -> Result<bool, Malformed> {
    let one = Definition::decode(one, capabilities)?;
    let other = Definition::decode(other, capabilities)?;
    let types = [one, other].map(|definition| {
        let Column { field_type, flags } = definition.column;
        (field_type, flags & UNSIGNED_FLAG)
    });
    let is_number = |(field_type, _): (u8, u16)| {
        layout(field_type) != Layout::Prefixed || field_type == field_type::NEWDECIMAL
    };
    Ok(one.origin == other.origin
        && one.origin.iter().all(|name| !name.is_empty())
        && types[0] != types[1]
        && types.into_iter().any(is_number))
}

/// How a binary value is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A little-endian integer of this many bytes.
    Integer(usize),
    /// This many bytes that are not an integer.
    Fixed(usize),
    /// `string<lenenc>`: strings, decimals, and the date and time types, whose length byte is read in the same way.
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

/// A conversion from one column's binary layout to another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    from: Layout,
    to: Layout,
    unsigned: bool,
}

/// Re-encodes the rows of a rewritten statement, so that they match the columns of the client's statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowEncoder {
    columns: Columns,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Columns {
    /// Of rows in the binary protocol.
    Binary(Box<[Conversion]>),
    /// Of rows in the text protocol: whether [`is_narrower`] holds.
    Text(Box<[bool]>),
}

/// Whether the numbers of a column come in UTF-16 or UTF-32, by `character_set_results`, where those of the client's
/// statement are ASCII. MySQL converts what a DECIMAL expression gives, but neither DECIMAL columns nor integers.
pub fn is_narrower(shown: &[u8], sent: &[u8], capabilities: u64) -> Result<bool, Malformed> {
    // The catalog's name is "def", in that character set.
    let is_wide = !Reader::new(sent).lenenc_bytes()?.eq(b"def");
    if !is_wide {
        return Ok(false);
    }
    let [shown, sent] = [shown, sent].map(|payload| Definition::decode(payload, capabilities));
    let (shown, sent) = (shown?, sent?);
    let is_decimal = |column: Column| column.field_type == field_type::NEWDECIMAL;
    let is_ascii = |definition: Definition<'_>| match definition.column {
        column if is_decimal(column) => !definition.origin[1].is_empty(),
        Column { field_type, .. } => layout(field_type) != Layout::Prefixed,
    };
    Ok(is_decimal(sent.column) && !is_ascii(sent) && is_ascii(shown))
}

impl RowEncoder {
    /// `from` holds the (field type, flags) of each column as the server sends it, `to` as the client was promised it.
    /// Returns `None` when every value has the same layout in both, so that rows can pass unchanged.
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
            .then_some(Self {
                columns: Columns::Binary(conversions.into()),
            })
    }

    /// For rows in the text protocol: `narrower` tells of each column whether [`is_narrower`] holds. `None` if it
    /// holds for none.
    pub fn of_text(narrower: Vec<bool>) -> Option<Self> {
        narrower.contains(&true).then_some(Self {
            columns: Columns::Text(narrower.into()),
        })
    }

    /// Re-encodes the row in `payload` and appends it to `out`.
    ///
    /// Fails if the row is malformed, or if an integer does not fit the promised type.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        match &self.columns {
            Columns::Binary(conversions) => encode_binary(conversions, payload, out),
            Columns::Text(narrower) => encode_text(narrower, payload, out),
        }
    }
}

fn encode_text(narrower: &[bool], payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let row = text_row(payload)?;
    if row.len() != narrower.len() {
        return Err(Malformed);
    }
    for (value, is_narrower) in row.into_iter().zip(narrower) {
        match value {
            None => out.push(NULL),
            Some(mut value) => {
                if *is_narrower {
                    value.retain(|&byte| byte != 0);
                }
                put_lenenc_bytes(out, &value);
            }
        }
    }
    Ok(())
}

fn encode_binary(
    conversions: &[Conversion],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    // The NULL bitmap follows the header byte: (columns + 7 + 2) / 8 bytes, of which the first two bits are unused.
    let mut reader = Reader::new(payload);
    let head = reader.bytes(1 + (conversions.len() + 9) / 8)?;
    out.extend_from_slice(head);
    for (position, conversion) in conversions.iter().enumerate() {
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
                put_integer(out, little_endian(reader.bytes(from)?, self.unsigned), to)?;
            }
            (Layout::Prefixed, Layout::Integer(to)) => {
                let digits = std::str::from_utf8(reader.lenenc_bytes()?).map_err(|_| Malformed)?;
                put_integer(out, digits.parse().map_err(|_| Malformed)?, to)?;
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

/// Appends an integer in `length` bytes. Fails if it does not fit, signed or unsigned.
fn put_integer(out: &mut Vec<u8>, value: i128, length: usize) -> Result<(), Malformed> {
    let bytes = value.to_le_bytes();
    let (kept, cut) = bytes.split_at(length);
    let is_extended = |with: u8| cut.iter().all(|byte| *byte == with);
    let is_whole = match value < 0 {
        true => is_extended(0xFF) && kept.last().is_some_and(|last| last & 0x80 != 0),
        false => is_extended(0),
    };
    if !is_whole {
        return Err(Malformed);
    }
    out.extend_from_slice(kept);
    Ok(())
}

/// Reads a little-endian integer of up to 16 bytes.
pub fn little_endian(bytes: &[u8], unsigned: bool) -> i128 {
    let negative = !unsigned && bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if negative { 0xFF } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

/// Stands for NULL in a row of the text protocol.
const NULL: u8 = 0xFB;

/// The values of a row in the text protocol; `None` is NULL.
pub fn text_row(payload: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
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
    fn an_integer_without_room_is_refused_and_not_cut() {
        let from = [(field_type::LONGLONG, 0)];
        let to = [(field_type::LONG, 0)];
        let encoder = RowEncoder::new(&from, &to).expect("widths differ");
        let encode = |value: i64| {
            let row = [&[0, 0][..], &value.to_le_bytes()].concat();
            encoder.encode(&row, &mut Vec::new())
        };
        for (value, expected) in [
            (i64::from(i32::MIN), Ok(())),
            (i64::from(u32::MAX), Ok(())),
            (i64::from(i32::MIN) - 1, Err(Malformed)),
            (i64::from(u32::MAX) + 1, Err(Malformed)),
        ] {
            assert_eq!(encode(value), expected, "{value}");
        }
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

//! MariaDB's COM_STMT_BULK_EXECUTE and its rows of parameters (MariaDB's manual: "COM_STMT_BULK_EXECUTE").

use crate::wire::column::field_type;
use crate::wire::execute::Value;
use crate::wire::reader::{Malformed, Reader};

/// Flag: the parameter types precede the rows.
const SEND_TYPES_TO_SERVER: u16 = 0x80;

/// Indicators, each before a parameter: a value follows, or what stands for it.
mod indicator {
    pub const NONE: u8 = 0;
    pub const NULL: u8 = 1;
    pub const DEFAULT: u8 = 2;
    pub const IGNORE: u8 = 3;
}

/// A decoded COM_STMT_BULK_EXECUTE payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    /// `int<1>` type and `int<1>` flags of each parameter; `None` when those of the last execution still apply.
    pub types: Option<&'a [u8]>,
    /// The rows as they came.
    rows: &'a [u8],
}

impl<'a> BulkExecute<'a> {
    /// Reads the payload of a statement that has `parameters` placeholders.
    pub fn decode(payload: &'a [u8], parameters: u16) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let _statement_id = reader.u32()?;
        let flags = reader.u16()?;
        let types = match flags & SEND_TYPES_TO_SERVER {
            0 => None,
            _ => Some(reader.bytes(2 * usize::from(parameters))?),
        };
        Ok(Self {
            types,
            rows: reader.rest(),
        })
    }

    /// The rows, decoded with `types`, which come from this packet or from an earlier one. DEFAULT and IGNORE are
    /// [`Value::Other`]. What a server could read in another way is malformed.
    pub fn rows(&self, types: &'a [u8]) -> Rows<'a> {
        let types = types.chunks_exact(2);
        Rows {
            types: types
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect(),
            reader: Reader::new(self.rows),
        }
    }
}

/// The rows of parameters.
#[derive(Debug)]
pub struct Rows<'a> {
    types: Vec<u16>,
    reader: Reader<'a>,
}

impl<'a> Rows<'a> {
    fn row(&mut self) -> Result<Vec<Value<'a>>, Malformed> {
        if self.types.is_empty() {
            return Err(Malformed);
        }
        let values = self.types.iter().map(|&type_and_sign| {
            let [kind, _] = type_and_sign.to_le_bytes();
            match self.reader.u8()? {
                indicator::NONE if is_sent_by_clients(kind) => {
                    Value::decode(type_and_sign, &mut self.reader)
                }
                indicator::NULL => Ok(Value::Null),
                indicator::DEFAULT | indicator::IGNORE => Ok(Value::Other),
                _ => Err(Malformed),
            }
        });
        values.collect()
    }
}

/// The last item is an error if the packet ends within a row.
impl<'a> Iterator for Rows<'a> {
    type Item = Result<Vec<Value<'a>>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let row = self.row();
        if row.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(row)
    }
}

/// Whether the server reads a parameter of this type as the manual says. It takes others for NULL, and reads nothing.
fn is_sent_by_clients(kind: u8) -> bool {
    /// TINY_BLOB, MEDIUM_BLOB, LONG_BLOB and BLOB.
    const BLOBS: std::ops::RangeInclusive<u8> = 249..=252;
    matches!(
        kind,
        field_type::TINY
            | field_type::SHORT
            | field_type::LONG
            | field_type::LONGLONG
            | field_type::FLOAT
            | field_type::DOUBLE
            | field_type::DECIMAL
            | field_type::NEWDECIMAL
            | field_type::DATE
            | field_type::TIME
            | field_type::DATETIME
            | field_type::TIMESTAMP
            | field_type::VARCHAR
            | field_type::VAR_STRING
            | field_type::STRING
    ) || BLOBS.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::command;

    const TYPES: [u8; 4] = [field_type::LONG, 0, field_type::VAR_STRING, 0];

    fn payload(flags: u16, rest: &[&[u8]]) -> Vec<u8> {
        let [low, high] = flags.to_le_bytes();
        let head = [command::STMT_BULK_EXECUTE, 7, 0, 0, 0, low, high];
        [&head, rest.concat().as_slice()].concat()
    }

    #[test]
    fn each_row_has_a_value_for_each_parameter_or_what_stands_for_it() {
        let rows: &[u8] = &[0, 5, 0, 0, 0, 0, 2, b'a', b'b', 1, 3, 2, 0, 0];
        let expected = [
            vec![Value::Integer(5), Value::Text(b"ab")],
            vec![Value::Null, Value::Other],
            vec![Value::Other, Value::Text(b"")],
        ];
        let with_types = payload(SEND_TYPES_TO_SERVER, &[&TYPES, rows]);
        let execute = BulkExecute::decode(&with_types, 2).expect("well-formed");
        assert_eq!(execute.types, Some(&TYPES[..]));
        let read: Result<Vec<_>, _> = execute.rows(&TYPES).collect();
        assert_eq!(read.as_deref(), Ok(&expected[..]));

        let without_types = payload(0, &[rows]);
        let execute = BulkExecute::decode(&without_types, 2).expect("well-formed");
        assert_eq!(execute.types, None);
        let read: Result<Vec<_>, _> = execute.rows(&TYPES).collect();
        assert_eq!(read.as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn what_is_cut_within_a_row_is_malformed() {
        let row: &[u8] = &[0, 5, 0, 0, 0, 0, 2, b'a', b'b'];
        let whole = payload(SEND_TYPES_TO_SERVER, &[&TYPES, row, row]);
        let (head, one) = (7 + TYPES.len(), row.len());
        for end in 0..whole.len() {
            let read = BulkExecute::decode(&whole[..end], 2)
                .and_then(|execute| execute.rows(&TYPES).collect::<Result<Vec<_>, _>>());
            let is_between = end >= head && (end - head).is_multiple_of(one);
            assert_eq!(read.is_ok(), is_between, "{end}");
        }
    }

    #[test]
    fn what_the_server_may_read_otherwise_is_malformed() {
        let fails = |types: &[u8], row: &[u8]| {
            let payload = payload(0, &[row]);
            let execute = BulkExecute::decode(&payload, 1).expect("well-formed");
            execute.rows(types).any(|row| row.is_err())
        };
        assert!(!fails(&[field_type::TINY, 0], &[0, 1]));
        assert!(fails(&[field_type::TINY, 0], &[4, 1]));
        assert!(fails(&[field_type::YEAR, 0], &[0, 1, 0]));
        assert!(fails(&[field_type::NULL, 0], &[0]));
        assert!(fails(&[255, 0], &[0, 1, 1]));
        // A statement without parameters has no rows.
        assert!(fails(&[], &[0]));
    }
}

//! COM_STMT_EXECUTE and its parameters (manual: "COM_STMT_EXECUTE").

use crate::wire::capability;
use crate::wire::column::{field_type, little_endian};
use crate::wire::command;
use crate::wire::reader::{Malformed, Reader};

/// Flag of COM_STMT_EXECUTE: a parameter count precedes the parameters.
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;

/// Flags of COM_STMT_EXECUTE that ask for a cursor: CURSOR_TYPE_READ_ONLY, FOR_UPDATE and SCROLLABLE.
pub const CURSOR_TYPES: u8 = 0x01 | 0x02 | 0x04;

/// A decoded COM_STMT_EXECUTE payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// `int<4>`: statement id.
    pub statement_id: u32,
    /// `int<1>`: the cursor type, and whether there is a parameter count.
    pub flags: u8,
    /// `int<4>`, always 1.
    pub iterations: u32,
    /// The number of parameters in the packet, including query attributes; `None` when there is no parameter part.
    pub count: Option<u64>,
    /// Whether that number is written in the packet. It is where it is zero, too.
    pub is_counted: bool,
    /// One bit for each parameter.
    pub null_bitmap: &'a [u8],
    /// The types (with names, if there are query attributes) as they came; `None` when those of the last execution
    /// still apply.
    pub types: Option<&'a [u8]>,
    /// The values.
    pub values: &'a [u8],
}

impl<'a> Execute<'a> {
    /// Reads the payload of a statement that has `parameters` placeholders.
    pub fn decode(
        payload: &'a [u8],
        parameters: u16,
        capabilities: u64,
    ) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let statement_id = reader.u32()?;
        let flags = reader.u8()?;
        let iterations = reader.u32()?;
        let attributes = capabilities & capability::QUERY_ATTRIBUTES != 0;
        // With placeholders the count is there whether the flag says so or not: mysql-connector-python's pure
        // implementation does without the flag.
        let is_counted = attributes && (parameters > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0);
        let mut execute = Self {
            statement_id,
            flags,
            iterations,
            count: None,
            is_counted,
            null_bitmap: &[],
            types: None,
            values: &[],
        };
        let count = match is_counted {
            true => reader.lenenc()?,
            false => u64::from(parameters),
        };
        if count == 0 {
            return Ok(execute);
        }
        execute.count = Some(count);
        let count = usize::try_from(count).map_err(|_| Malformed)?;
        execute.null_bitmap = reader.bytes(count.div_ceil(8))?;
        if reader.u8()? == 1 {
            let from = reader.rest();
            for _ in 0..count {
                reader.u16()?;
                if attributes {
                    reader.lenenc_bytes()?;
                }
            }
            execute.types = Some(&from[..from.len() - reader.rest().len()]);
        } else if count > usize::from(parameters) {
            // Attributes have types of their own each time. MySQL finds the packet malformed.
            return Err(Malformed);
        }
        execute.values = reader.rest();
        Ok(execute)
    }

    /// Whether there are values, either of parameters or of attributes.
    pub fn has_parameters(&self) -> bool {
        self.count.is_some()
    }

    /// Encodes the payload for statement `statement_id`. It includes the types, so that the packet does not depend on
    /// an earlier execution.
    pub fn encode(&self, statement_id: u32, types: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + types.len() + self.values.len());
        out.push(command::STMT_EXECUTE);
        out.extend_from_slice(&statement_id.to_le_bytes());
        out.push(self.flags);
        out.extend_from_slice(&self.iterations.to_le_bytes());
        if self.is_counted {
            crate::wire::reader::put_lenenc(&mut out, self.count.unwrap_or(0));
        }
        if self.count.is_some() {
            out.extend_from_slice(self.null_bitmap);
            out.push(1);
            out.extend_from_slice(types);
            out.extend_from_slice(self.values);
        }
        out
    }

    /// The same command without a cursor, so that the response holds all rows.
    pub fn without_cursor(self) -> Self {
        Self {
            flags: self.flags & !CURSOR_TYPES,
            ..self
        }
    }

    /// The first `parameters` values, decoded with `types`, which come from this packet or from an earlier one.
    pub fn values(
        &self,
        parameters: u16,
        types: &[u8],
        capabilities: u64,
    ) -> Result<Vec<Value<'a>>, Malformed> {
        let mut types = Reader::new(types);
        let mut values = Reader::new(self.values);
        let mut out = Vec::with_capacity(usize::from(parameters));
        for position in 0..usize::from(parameters) {
            let type_and_sign = types.u16()?;
            if capabilities & capability::QUERY_ATTRIBUTES != 0 {
                types.lenenc_bytes()?;
            }
            let bits = self.null_bitmap.get(position / 8).ok_or(Malformed)?;
            out.push(match bits & 1 << (position % 8) {
                0 => Value::decode(type_and_sign, &mut values)?,
                _ => Value::Null,
            });
        }
        Ok(out)
    }
}

/// The text of the query attribute of this name, of a COM_QUERY or a COM_STMT_EXECUTE that says what types its
/// attributes have. Placeholders' values, which stand before those of attributes, have no names.
///
/// # Errors
///
/// If the command is malformed.
pub fn text_attribute<'a>(payload: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>, Malformed> {
    let mut reader = Reader::new(payload);
    let count = match reader.u8()? {
        command::QUERY => {
            let count = reader.lenenc()?;
            let _sets = reader.lenenc()?;
            count
        }
        command::STMT_EXECUTE => {
            let _statement_id = reader.u32()?;
            let flags = reader.u8()?;
            let _iterations = reader.u32()?;
            if flags & PARAMETER_COUNT_AVAILABLE == 0 {
                return Ok(None);
            }
            reader.lenenc()?
        }
        _ => return Ok(None),
    };
    let count = usize::try_from(count).map_err(|_| Malformed)?;
    if count == 0 {
        return Ok(None);
    }
    let null_bitmap = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return Ok(None);
    }
    let mut types = Vec::new();
    for _ in 0..count {
        types.push((reader.u16()?, reader.lenenc_bytes()?));
    }
    for (position, (kind, own)) in types.into_iter().enumerate() {
        if null_bitmap[position / 8] & 1 << (position % 8) != 0 {
            continue;
        }
        let value = Value::decode(kind, &mut reader)?;
        if let Value::Text(text) = value
            && own == name
        {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Skips `count` query attributes of a COM_QUERY: the NULL bitmap, the types with their names, and the values.
pub fn skip_attributes(reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
    let null_bitmap = reader.bytes(count.div_ceil(8))?;
    let _new_parameters_bound = reader.u8()?;
    let mut types = Vec::new();
    for _ in 0..count {
        types.push(reader.u16()?);
        reader.lenenc_bytes()?;
    }
    for (position, kind) in types.into_iter().enumerate() {
        if null_bitmap[position / 8] & 1 << (position % 8) == 0 {
            Value::decode(kind, reader)?;
        }
    }
    Ok(())
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// Any integer type.
    Integer(i128),
    /// DECIMAL as text.
    Decimal(&'a [u8]),
    /// A character string in `character_set_client`.
    Text(&'a [u8]),
    /// `double<8>`.
    Double(f64),
    /// A date alone; its time of day is zero.
    Date(DateTime),
    /// A date and a time of day.
    DateTime(DateTime),
    /// A value of a type for which there is no equivalent literal.
    Other,
}

impl<'a> Value<'a> {
    /// Reads a value of this type. The sign flag is the top bit of the second byte.
    pub(super) fn decode(type_and_sign: u16, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let [kind, sign] = type_and_sign.to_le_bytes();
        // The sign flag is the top bit of the second byte.
        let unsigned = sign & 0x80 != 0;
        let width = match kind {
            field_type::TINY => 1,
            field_type::SHORT | field_type::YEAR => 2,
            field_type::LONG | field_type::INT24 => 4,
            field_type::LONGLONG => 8,
            field_type::FLOAT => {
                reader.bytes(4)?;
                return Ok(Self::Other);
            }
            field_type::DOUBLE => {
                let bytes = reader.bytes(8)?.first_chunk().ok_or(Malformed)?;
                return Ok(Self::Double(f64::from_le_bytes(*bytes)));
            }
            field_type::NULL => return Ok(Self::Null),
            field_type::DECIMAL | field_type::NEWDECIMAL => {
                return Ok(Self::Decimal(reader.lenenc_bytes()?));
            }
            field_type::VARCHAR | field_type::VAR_STRING | field_type::STRING => {
                return Ok(Self::Text(reader.lenenc_bytes()?));
            }
            field_type::DATE => {
                let bytes = reader.lenenc_bytes()?;
                // The server does not read a time of day that comes with it; no library sends one.
                let date = DateTime::decode(bytes).filter(|_| bytes.len() == 4);
                return Ok(date.map_or(Self::Other, Self::Date));
            }
            field_type::DATETIME | field_type::TIMESTAMP => {
                let time = DateTime::decode(reader.lenenc_bytes()?);
                return Ok(time.map_or(Self::Other, Self::DateTime));
            }
            _ => {
                reader.lenenc_bytes()?;
                return Ok(Self::Other);
            }
        };
        Ok(Self::Integer(little_endian(reader.bytes(width)?, unsigned)))
    }
}

/// DATETIME or TIMESTAMP as a parameter: a day that exists in the calendar, and a time of that day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// `int<2>`: from 1.
    pub year: u16,
    /// `int<1>`: from 1.
    pub month: u8,
    /// `int<1>`: from 1.
    pub day: u8,
    /// `int<1>`
    pub hour: u8,
    /// `int<1>`
    pub minute: u8,
    /// `int<1>`
    pub second: u8,
    /// `int<4>`
    pub microsecond: u32,
}

impl DateTime {
    /// Reads the bytes after the length byte. A sender may omit trailing zeros. Returns `None` if there is no such
    /// time, as with the zero date.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut all = [0; 11];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let [
            year_low,
            year_high,
            month,
            day,
            hour,
            minute,
            second,
            a,
            b,
            c,
            d,
        ] = all;
        let time = Self {
            year: u16::from_le_bytes([year_low, year_high]),
            month,
            day,
            hour,
            minute,
            second,
            microsecond: u32::from_le_bytes([a, b, c, d]),
        };
        (matches!(bytes.len(), 4 | 7 | 11) && time.is_real()).then_some(time)
    }

    fn is_real(&self) -> bool {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => 0,
        };
        (1..=9999).contains(&self.year)
            && (1..=days).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.microsecond < 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_found_behind_the_parameters() {
        let string = [field_type::VAR_STRING, 0];
        let mut payload = vec![
            command::STMT_EXECUTE,
            7,
            0,
            0,
            0,
            PARAMETER_COUNT_AVAILABLE,
            1,
            0,
            0,
            0,
        ];
        // Three values, of which the second is NULL: a parameter, and two attributes.
        payload.extend([3, 0b010, 1]);
        for name in ["", "other", "traceparent"] {
            payload.extend(string);
            payload.push(u8::try_from(name.len()).expect("it is short"));
            payload.extend(name.bytes());
        }
        payload.extend(*b"\x05value\x04what");
        let found = |payload: &[u8], name: &[u8]| {
            text_attribute(payload, name).map(|found| found.map(<[u8]>::to_vec))
        };
        assert_eq!(found(&payload, b"traceparent"), Ok(Some(b"what".to_vec())));
        assert_eq!(found(&payload, b"other"), Ok(None));
        assert_eq!(found(&payload, b"none"), Ok(None));
        for length in 0..payload.len() {
            let cut = &payload[..length];
            assert!(found(cut, b"traceparent").is_err(), "{length}");
        }
        payload[5] = 0;
        assert_eq!(found(&payload, b"traceparent"), Ok(None));
    }

    #[test]
    fn a_time_is_of_a_day_that_there_is() {
        let leap = [0xE8, 0x07, 2, 29, 23, 59, 58, 0x40, 0x42, 0x0F, 0];
        let time = DateTime::decode(&leap[..7]).expect("2024 is a leap year");
        assert_eq!((time.year, time.day, time.second), (2024, 29, 58));
        assert_eq!(time.microsecond, 0);
        assert!(DateTime::decode(&leap[..4]).is_some());
        for wrong in [
            &leap[..],
            &leap[..5],
            &[],
            &[0, 0, 0, 0],
            &[0xE7, 0x07, 2, 29],
            &[0xE8, 0x07, 13, 1],
            &[0xE8, 0x07, 2, 1, 24, 0, 0],
        ] {
            assert_eq!(DateTime::decode(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_date_is_of_four_bytes() {
        fn decode(bytes: &[u8]) -> Value<'_> {
            let kind = u16::from(field_type::DATE);
            Value::decode(kind, &mut Reader::new(bytes)).expect("a value")
        }
        let date = decode(&[4, 0xE8, 0x07, 2, 29]);
        assert!(matches!(date, Value::Date(date) if (date.year, date.day) == (2024, 29)));
        for other in [
            &[0][..],
            &[4, 0xE8, 0x07, 2, 30],
            &[7, 0xE8, 0x07, 2, 29, 0, 0, 0],
        ] {
            assert_eq!(decode(other), Value::Other, "{other:?}");
        }
    }

    #[test]
    fn an_execute_is_taken_apart_and_stands_alone_again() {
        let mut payload = vec![command::STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1];
        let types = [
            field_type::LONG,
            0,
            field_type::VAR_STRING,
            0,
            field_type::TINY,
            0x80,
        ];
        payload.extend_from_slice(&types);
        payload.extend_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF, 200]);
        let execute = Execute::decode(&payload, 3, 0).expect("well-formed");
        assert_eq!(execute.types, Some(&types[..]));
        assert_eq!(
            execute.values(3, &types, 0),
            Ok(vec![Value::Integer(-1), Value::Null, Value::Integer(200)])
        );
        assert_eq!(execute.encode(7, &types), payload);
        for end in 0..payload.len() {
            let cut = Execute::decode(&payload[..end], 3, 0);
            assert!(
                cut.and_then(|execute| execute.values(3, &types, 0))
                    .is_err()
            );
        }
    }

    #[test]
    fn the_count_is_there_with_placeholders_whether_a_flag_says_so_or_not() {
        let types = [field_type::VAR_STRING, 0, 0, field_type::LONG, 0, 0];
        for flags in [0, PARAMETER_COUNT_AVAILABLE] {
            let mut payload = vec![command::STMT_EXECUTE, 7, 0, 0, 0, flags, 1, 0, 0, 0];
            // Two, of which the first is NULL.
            payload.extend_from_slice(&[2, 0b01, 1]);
            payload.extend_from_slice(&types);
            payload.extend_from_slice(&[8, 0, 0, 0]);
            let attributes = capability::QUERY_ATTRIBUTES;
            let execute = Execute::decode(&payload, 2, attributes).expect("well-formed");
            assert_eq!(
                execute.values(2, &types, attributes),
                Ok(vec![Value::Null, Value::Integer(8)])
            );
            assert_eq!(execute.encode(7, &types), payload);
        }
        let none = [command::STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let execute = Execute::decode(&none, 0, capability::QUERY_ATTRIBUTES);
        assert!(!execute.expect("well-formed").has_parameters());
    }
    /// Without it the packet would end before the count, and the server would refuse it for another reason.
    #[test]
    fn a_count_of_zero_is_sent_again() {
        let payload = [command::STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let execute = Execute::decode(&payload, 2, capability::QUERY_ATTRIBUTES);
        let execute = execute.expect("the server counts them itself");
        assert!(!execute.has_parameters());
        assert_eq!(execute.encode(7, &[]), payload);
    }
}

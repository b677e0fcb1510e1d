//! The payloads of commands, and what of those of an answer says how a session goes on.

use countersink::driver::Packet;
use countersink::wire::reader::{put_lenenc, put_lenenc_bytes};
use countersink::wire::reply::Ok as OkPacket;
use countersink::wire::response::PacketKind;
use countersink::wire::{capability, command};

use super::Player;
use super::connection::Prepared;
use crate::case::Value;

/// COM_STMT_EXECUTE: opens a cursor to read.
const CURSOR_TYPE_READ_ONLY: u8 = 0x01;
/// COM_STMT_EXECUTE: a parameter count stands in the packet.
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;
/// COM_STMT_BULK_EXECUTE: the types stand in the packet.
const SEND_TYPES: u16 = 0x80;

impl Player<'_> {
    /// COM_QUERY, with a query attribute where the client has such.
    pub(super) fn query_payload(&self, text: &str) -> Vec<u8> {
        let mut payload = vec![command::QUERY];
        if self.has(capability::QUERY_ATTRIBUTES) {
            // One attribute in one set: not NULL, typed, a VAR_STRING named `trace`.
            payload.extend_from_slice(&[1, 1, 0, 1, 0xFD, 0]);
            put_lenenc_bytes(&mut payload, b"trace");
            put_lenenc_bytes(&mut payload, b"7f3a");
        }
        payload.extend_from_slice(text.as_bytes());
        payload
    }

    fn has(&self, bit: u64) -> bool {
        let connection = self.connections.get(&self.current);
        match connection {
            Some(connection) => connection.driver.capabilities() & bit != 0,
            None => panic!("a connection is made first"),
        }
    }

    /// COM_STMT_EXECUTE.
    pub(super) fn execute_payload(
        &self,
        prepared: Prepared,
        cursor: bool,
        again: bool,
        parameters: &[Value],
    ) -> Vec<u8> {
        let attributes = self.has(capability::QUERY_ATTRIBUTES);
        let mut flags = 0;
        if cursor {
            flags |= CURSOR_TYPE_READ_ONLY;
        }
        if attributes {
            flags |= PARAMETER_COUNT_AVAILABLE;
        }
        let mut payload = id_payload(command::STMT_EXECUTE, prepared.id);
        payload.push(flags);
        payload.extend_from_slice(&1_u32.to_le_bytes());
        if attributes {
            put_lenenc(&mut payload, parameters.len() as u64);
        }
        if parameters.is_empty() {
            return payload;
        }
        let mut nulls = vec![0_u8; parameters.len().div_ceil(8)];
        for (position, value) in parameters.iter().enumerate() {
            if let Value::Null = value {
                nulls[position / 8] |= 1 << (position % 8);
            }
        }
        payload.extend_from_slice(&nulls);
        payload.push(u8::from(!again));
        if !again {
            for value in parameters {
                payload.extend_from_slice(&value.field_type());
                if attributes {
                    payload.push(0); // no name
                }
            }
        }
        for value in parameters {
            match value {
                Value::Text(text) => Value::Text(self.world.expand(text)).encode(&mut payload),
                value => value.encode(&mut payload),
            }
        }
        payload
    }
}

/// COM_STMT_BULK_EXECUTE: the types are those of the first values that are none but NULL.
pub(super) fn bulk_payload(prepared: Prepared, again: bool, rows: &[Vec<Value>]) -> Vec<u8> {
    let mut payload = id_payload(command::STMT_BULK_EXECUTE, prepared.id);
    let flags = if again { 0 } else { SEND_TYPES };
    payload.extend_from_slice(&flags.to_le_bytes());
    if !again {
        for position in 0..rows.first().map_or(0, Vec::len) {
            let mut values = rows.iter().filter_map(|row| row.get(position));
            let value = values.find(|value| value.indicator() == 0);
            payload.extend_from_slice(&value.unwrap_or(&Value::LongLong(0)).field_type());
        }
    }
    for value in rows.iter().flatten() {
        payload.push(value.indicator());
        value.encode(&mut payload);
    }
    payload
}

/// The prepared statement that a command names.
pub(super) fn statement_id(payload: &[u8]) -> Option<u32> {
    match payload {
        [
            command::STMT_EXECUTE
            | command::STMT_BULK_EXECUTE
            | command::STMT_FETCH
            | command::STMT_RESET,
            a,
            b,
            c,
            d,
            ..,
        ] => Some(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// The column definitions of an answer.
pub(super) fn columns(packets: &[Packet]) -> Vec<Packet> {
    let columns = packets
        .iter()
        .filter(|packet| packet.packet_kind == PacketKind::Column);
    columns.cloned().collect()
}

/// Status flags of the packet that ends an answer.
pub(super) fn last_status(packets: &[Packet]) -> Option<u16> {
    let last = packets.last()?;
    let payload = &last.payload;
    match last.packet_kind {
        PacketKind::RowsEnd if payload.len() == 5 => {
            Some(u16::from_le_bytes([payload[3], payload[4]]))
        }
        PacketKind::RowsEnd | PacketKind::Ok => OkPacket::decode(payload).ok().map(|ok| ok.status),
        _ => None,
    }
}

pub(super) fn id_payload(command_byte: u8, id: u32) -> Vec<u8> {
    let mut payload = vec![command_byte];
    payload.extend_from_slice(&id.to_le_bytes());
    payload
}

pub(super) fn fetch_payload(id: u32, rows: u32) -> Vec<u8> {
    let mut payload = id_payload(command::STMT_FETCH, id);
    payload.extend_from_slice(&rows.to_le_bytes());
    payload
}

impl Value {
    /// `int<1>` type, `int<1>` flags (0x80: unsigned).
    fn field_type(&self) -> [u8; 2] {
        match self {
            Self::Null | Self::Default | Self::Ignore => [0x06, 0],
            Self::Tiny(_) => [0x01, 0],
            Self::Long(_) => [0x03, 0],
            Self::LongLong(_) => [0x08, 0],
            Self::Unsigned(_) => [0x08, 0x80],
            Self::Double(_) => [0x05, 0],
            Self::Decimal(_) => [0xF6, 0],
            Self::Text(_) => [0xFD, 0],
            Self::Date(_) => [0x0A, 0],
            Self::Moment(_) => [0x0C, 0],
            Self::LongData => [0xFC, 0],
        }
    }

    /// COM_STMT_BULK_EXECUTE, `int<1>`: whether a value follows, and what stands for it.
    fn indicator(&self) -> u8 {
        match self {
            Self::Null | Self::LongData => 1,
            Self::Default => 2,
            Self::Ignore => 3,
            _ => 0,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null | Self::LongData | Self::Default | Self::Ignore => {}
            Self::Tiny(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Long(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::LongLong(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Unsigned(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Decimal(text) | Self::Text(text) => put_lenenc_bytes(out, text.as_bytes()),
            Self::Date(text) | Self::Moment(text) => put_lenenc_bytes(out, &moment(text)),
        }
    }
}

/// `YYYY-MM-DD`, or that and ` hh:mm:ss`, as the binary protocol has it.
fn moment(text: &str) -> Vec<u8> {
    let numbers: Vec<u16> = text
        .split(['-', ' ', ':'])
        .map(|part| part.parse().expect("a number of a date"))
        .collect();
    let year = numbers[0].to_le_bytes();
    let others = numbers[1..].iter().map(|&number| number.to_le_bytes()[0]);
    year.into_iter().chain(others).collect()
}

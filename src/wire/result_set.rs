//! Result sets that the proxy makes itself, in the text protocol (manual: "Text Resultset").

use crate::wire::capability;
use crate::wire::column::field_type;
use crate::wire::packet::encode_packet;
use crate::wire::reader::{put_lenenc, put_lenenc_bytes};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// Collation 45: utf8mb4_general_ci, which MySQL and MariaDB both have.
const UTF8MB4: u16 = 45;

/// `decimals` of a column that is not numeric.
const NOT_FIXED: u8 = 31;

/// Behind the column count for clients with OPTIONAL_RESULTSET_METADATA. They take definitions also where
/// `resultset_metadata` is NONE.
const DEFINITIONS_FOLLOW: u8 = 1;

/// A result set whose columns are all text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextResult<'a> {
    /// The column names.
    pub columns: &'a [&'a str],
    /// The rows, each with one value for each column.
    pub rows: Vec<Vec<&'a str>>,
}

impl TextResult<'_> {
    /// Appends the packets of the result set to `out`. The first one has `sequence_id`. Returns the sequence id that
    /// follows that of the last packet.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8, status: u16, capabilities: u64) -> u8 {
        let mut payload = Vec::new();
        put_lenenc(&mut payload, self.columns.len() as u64);
        if capabilities & capability::OPTIONAL_RESULTSET_METADATA != 0 {
            payload.push(DEFINITIONS_FOLLOW);
        }
        let mut next = encode_packet(out, sequence_id, &payload);
        for (position, name) in self.columns.iter().enumerate() {
            let lengths = self.rows.iter().filter_map(|row| row.get(position));
            let longest = lengths.map(|value| value.len()).max().unwrap_or(0);
            next = encode_packet(out, next, &definition(name, longest, capabilities));
        }
        // SESSION_STATE_CHANGED would announce changes, and none follow.
        let status = status & !status::SESSION_STATE_CHANGED;
        let deprecated = capabilities & capability::DEPRECATE_EOF != 0;
        if !deprecated {
            next = encode_packet(out, next, &eof(status & !status::MORE_RESULTS_EXISTS));
        }
        for row in &self.rows {
            payload.clear();
            for value in row {
                put_lenenc_bytes(&mut payload, value.as_bytes());
            }
            next = encode_packet(out, next, &payload);
        }
        let end = match deprecated {
            true => end(status),
            false => eof(status),
        };
        encode_packet(out, next, &end)
    }
}

/// A column definition (manual: "Column Definition").
fn definition(name: &str, longest: usize, capabilities: u64) -> Vec<u8> {
    const LENGTH_OF_FIXED_PART: u64 = 12;
    let mut payload = Vec::new();
    // Catalog, schema, table, original table, name, original name.
    for text in ["def", "", "", "", name, ""] {
        put_lenenc_bytes(&mut payload, text.as_bytes());
    }
    if capabilities & capability::MARIADB_EXTENDED_METADATA != 0 {
        put_lenenc_bytes(&mut payload, b"");
    }
    put_lenenc(&mut payload, LENGTH_OF_FIXED_PART);
    payload.extend_from_slice(&UTF8MB4.to_le_bytes());
    let longest = u32::try_from(longest).unwrap_or(u32::MAX);
    payload.extend_from_slice(&longest.to_le_bytes());
    payload.push(field_type::VAR_STRING);
    payload.extend_from_slice(&0_u16.to_le_bytes());
    payload.push(NOT_FIXED);
    payload.extend_from_slice(&[0; 2]);
    payload
}

/// An EOF packet (manual: "EOF_Packet").
fn eof(status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    vec![reply::EOF, 0, 0, low, high]
}

/// The OK packet that replaces the EOF packet.
fn end(status: u16) -> Vec<u8> {
    let mut payload = Vec::new();
    OkPacket {
        header: reply::EOF,
        affected_rows: 0,
        last_insert_id: 0,
        status,
        warnings: 0,
        tail: &[],
    }
    .encode(&mut payload);
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::column::{Column, text_row};
    use crate::wire::packet::HEADER_LENGTH;
    use crate::wire::response::{Next, PacketKind, ResponseKind, ResponseTracker};

    const STATUS: u16 = status::AUTOCOMMIT | status::SESSION_STATE_CHANGED;

    fn packets(capabilities: u64) -> (Vec<(PacketKind, Vec<u8>)>, Option<u16>) {
        let result = TextResult {
            columns: &["part", "text"],
            rows: vec![vec!["why", ""], vec!["sends", "SELECT 1"]],
        };
        let mut out = Vec::new();
        let next = result.encode(&mut out, 5, STATUS, capabilities);
        let mut tracker = ResponseTracker::new(ResponseKind::Results, capabilities);
        let mut packets = Vec::new();
        let mut at = 0;
        while let Next::Packet {
            packet_kind,
            length,
            ..
        } = tracker.next(&out[at..])
        {
            assert_eq!(out[at + 3], 5 + u8::try_from(packets.len()).unwrap());
            let payload = out[at + HEADER_LENGTH..at + length].to_vec();
            tracker.read_whole(&payload);
            packets.push((packet_kind, payload));
            at += length;
            if tracker.is_done() {
                break;
            }
        }
        assert_eq!(at, out.len(), "all of it is one answer");
        assert_eq!(usize::from(next), 5 + packets.len());
        (packets, tracker.status())
    }

    #[test]
    fn a_client_of_any_age_reads_it() {
        for capabilities in [
            0,
            capability::DEPRECATE_EOF,
            capability::DEPRECATE_EOF | capability::MARIADB_EXTENDED_METADATA,
            capability::OPTIONAL_RESULTSET_METADATA,
        ] {
            let (packets, status) = packets(capabilities | capability::PROTOCOL_41);
            let rows: Vec<_> = packets
                .iter()
                .filter(|(packet_kind, _)| *packet_kind == PacketKind::Row)
                .map(|(_, row)| text_row(row).unwrap())
                .collect();
            let value = |text: &str| Some(text.as_bytes().to_vec());
            assert_eq!(rows[0], [value("why"), value("")]);
            assert_eq!(rows[1], [value("sends"), value("SELECT 1")]);
            assert_eq!(status, Some(status::AUTOCOMMIT));
            let columns = packets
                .iter()
                .filter(|(packet_kind, _)| *packet_kind == PacketKind::Column);
            for (_, column) in columns {
                let column = Column::decode(column, capabilities).unwrap();
                assert_eq!(column.field_type, field_type::VAR_STRING);
            }
        }
    }
}

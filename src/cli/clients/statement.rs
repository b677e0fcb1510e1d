//! A statement with places for a key and a slot, made into a packet without allocation.

use std::io::Write;

use crate::wire::command;
use crate::wire::packet::{HEADER_LENGTH, Header};

/// Stands for the key.
const KEY: &str = "{key}";
/// Stands for the slot.
const SLOT: &str = "{slot}";

/// A statement as text, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Statement {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Key,
    Slot,
}

impl Statement {
    /// Takes a text in which `{key}` and `{slot}` stand for numbers.
    pub fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        loop {
            let key = rest.find(KEY).map(|at| (at, KEY, Piece::Key));
            let slot = rest.find(SLOT).map(|at| (at, SLOT, Piece::Slot));
            let first = key.into_iter().chain(slot).min_by_key(|(at, ..)| *at);
            let Some((at, word, piece)) = first else {
                pieces.push(Piece::Text(rest.to_owned()));
                return Self { pieces };
            };
            pieces.push(Piece::Text(rest[..at].to_owned()));
            pieces.push(piece);
            rest = &rest[at + word.len()..];
        }
    }

    /// Whether a slot has to be drawn for it.
    pub fn has_slot(&self) -> bool {
        self.pieces.contains(&Piece::Slot)
    }

    /// Writes the packet of its COM_QUERY into `packet`, whose room is used again.
    pub fn write_packet(&self, key: u64, slot: u16, packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&[0; HEADER_LENGTH]);
        packet.push(command::QUERY);
        self.write_text(key, slot, packet);
        let header = Header {
            length: packet.len() - HEADER_LENGTH,
            sequence_id: 0,
        };
        packet[..HEADER_LENGTH].copy_from_slice(&header.encode());
    }

    /// Its text for this key and slot.
    pub fn text(&self, key: u64, slot: u16) -> String {
        let mut text = Vec::new();
        self.write_text(key, slot, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn write_text(&self, key: u64, slot: u16, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Key => write!(out, "{key}").expect("a vector takes all"),
                Piece::Slot => write!(out, "{slot}").expect("a vector takes all"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::query_packet;

    #[test]
    fn a_packet_is_the_driver_s_own() {
        for (text, meant) in [
            ("DO 0", "DO 0"),
            (
                "UPDATE t SET c = c + 1 WHERE id = {key}",
                "UPDATE t SET c = c + 1 WHERE id = 42",
            ),
            ("VALUES ({key}, {slot}, {key})", "VALUES (42, 7, 42)"),
            ("{slot}", "7"),
        ] {
            let statement = Statement::new(text);
            let mut packet = b"what was there before".to_vec();
            statement.write_packet(42, 7, &mut packet);
            assert_eq!(packet, query_packet(meant));
            assert_eq!(statement.text(42, 7), meant);
            assert_eq!(statement.has_slot(), text.contains("{slot}"));
        }
    }

    #[test]
    fn the_room_of_a_packet_is_used_again() {
        let statement = Statement::new("UPDATE t SET c = c + 1 WHERE id = {key}");
        let mut packet = Vec::with_capacity(128);
        let room = packet.as_ptr();
        for key in 0..1000 {
            statement.write_packet(key, 0, &mut packet);
        }
        assert_eq!((packet.capacity(), packet.as_ptr()), (128, room));
    }
}

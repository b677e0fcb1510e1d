//! A statement with placeholders for a key and a slot, which are filled in without allocation.

use std::io::Write;

/// The placeholder for the key.
const KEY: &str = "{key}";
/// The placeholder for the slot.
const SLOT: &str = "{slot}";

/// A statement's text, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Key,
    Slot,
}

impl Statement {
    /// Parses a text in which `{key}` and `{slot}` are placeholders for numbers.
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

    /// Whether it has a placeholder for a slot.
    pub fn has_slot(&self) -> bool {
        self.pieces.contains(&Piece::Slot)
    }

    /// Writes the text for this key and slot into `text`, whose memory is reused.
    pub fn write(&self, key: u64, slot: u16, text: &mut Vec<u8>) {
        text.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                Piece::Key => write!(text, "{key}").expect("a vector takes all"),
                Piece::Slot => write!(text, "{slot}").expect("a vector takes all"),
            }
        }
    }

    /// The text for this key and slot.
    pub fn text(&self, key: u64, slot: u16) -> String {
        let mut text = Vec::new();
        self.write(key, slot, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_all_else_stays() {
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
            let mut written = b"what was there before".to_vec();
            statement.write(42, 7, &mut written);
            assert_eq!(written, meant.as_bytes());
            assert_eq!(statement.text(42, 7), meant);
            assert_eq!(statement.has_slot(), text.contains("{slot}"));
        }
    }

    #[test]
    fn the_room_of_a_text_is_used_again() {
        let statement = Statement::new("UPDATE t SET c = c + 1 WHERE id = {key}");
        let mut text = Vec::with_capacity(128);
        let room = text.as_ptr();
        for key in 0..1000 {
            statement.write(key, 0, &mut text);
        }
        assert_eq!((text.capacity(), text.as_ptr()), (128, room));
    }
}

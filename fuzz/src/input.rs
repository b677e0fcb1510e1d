//! The choices at the front of an input. What is missing counts as zero, so that every input has a meaning.

use crate::sql::plan::SessionVariables;

/// The bytes of an input that have not been used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn two_bytes(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// The lower five bytes of a number: all capabilities are there.
    pub(crate) fn capabilities(&mut self) -> u64 {
        let bytes = [0; 5].map(|_| self.byte());
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// This many bytes, or as many as there are.
    pub(crate) fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

/// What a session in schema `shop` knows of itself, one bit for each variable.
pub(crate) fn session_variables(bits: u8) -> SessionVariables {
    let has = |bit: u8| bits & 1 << bit != 0;
    SessionVariables {
        schema: Some("shop".to_owned()),
        ansi_quotes: has(0),
        no_backslash_escapes: has(1),
        pipes_as_concat: has(2),
        ignore_space: has(3),
        unsafe_character_set: has(4),
        other_characters: has(7).then(|| "latin1".to_owned()),
        safe_updates: has(5),
        high_not_precedence: has(6),
    }
}

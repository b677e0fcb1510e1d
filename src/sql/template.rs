//! SQL text with holes: the session's slot, the client's parameters, what is added, the keys that a transaction has
//! folded, or that a write is confined to, and how many slots of a row are open.

use crate::sql::Amount;

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that go out as they are (in the client's character set).
    Text(Vec<u8>),
    /// The number of the slot that the session holds.
    Slot,
    /// The client's parameter with this position (from 0), as a SQL literal.
    Parameter(u16),
    /// The same after an operator: in parentheses if it may have a sign of its own.
    Operand(u16),
    /// What is added to a counter: the sum of several increments, or what this one adds, signed: `+ 1`, `- (?)`.
    Delta {
        /// Position among the counters of the statement.
        position: usize,
        /// What this statement adds by itself.
        own: Template,
    },
    /// Where a read of `table` (position in the plan's tables) sums its slots: `` AND NOT (..)`` for each key
    /// that this transaction has folded, whose value is therefore all in base. The condition names the slot
    /// table's key columns unqualified.
    Folded(usize),
    /// A condition over unqualified key columns that holds for the rows which a write is confined to.
    Keys,
    /// How many slots of a row are open.
    OpenSlots(Box<OpenSlots>),
}

/// A number, for each row of a hot table: how many of its slots are open, whether or not that is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSlots {
    /// Position of the table in the plan's tables.
    pub table: usize,
    /// The columns of its primary key, qualified.
    pub key: Vec<String>,
    /// An expression that counts only those that a consistent read sees, for when they are not known beforehand.
    pub counted: String,
}

impl OpenSlots {
    /// `CASE WHEN p.id = 7 THEN 2 .. ELSE 0 END`.
    fn render(&self, known: Option<&KnownSlots>, out: &mut Vec<u8>) {
        let Some(known) = known else {
            out.extend_from_slice(self.counted.as_bytes());
            return;
        };
        if known.is_empty() {
            out.push(b'0');
            return;
        }
        out.extend_from_slice(b"CASE");
        for (literals, count) in known {
            let pairs = self.key.iter().zip(literals);
            let pairs = pairs.map(|(column, literal)| format!("{column} = {literal}"));
            let pairs: Vec<_> = pairs.collect();
            let case = format!(" WHEN {} THEN {count}", pairs.join(" AND "));
            out.extend_from_slice(case.as_bytes());
        }
        out.extend_from_slice(b" ELSE 0 END");
    }
}

/// The keys of a table that have open slots, as literals in key order, each with the number of its slots.
pub type KnownSlots = Vec<(Vec<String>, usize)>;

/// SQL text with holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The pieces in order; no two neighbours are both text.
    pub pieces: Vec<Piece>,
}

impl Template {
    /// A template of this text alone.
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        let mut template = Self::default();
        template.push_text(text);
        template
    }

    /// Appends text.
    pub fn push_text(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let text = text.as_ref();
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
        self
    }

    /// Appends a hole (or text).
    pub fn push(&mut self, piece: Piece) -> &mut Self {
        match piece {
            Piece::Text(text) => self.push_text(text),
            hole => {
                self.pieces.push(hole);
                self
            }
        }
    }

    /// Appends all of `other`.
    pub fn append(&mut self, other: &Template) -> &mut Self {
        for piece in &other.pieces {
            self.push(piece.clone());
        }
        self
    }

    /// Appends all of `other`, with a space before it where a server could read two tokens as one.
    pub fn append_apart(&mut self, other: &Template) -> &mut Self {
        let ends_with = match self.pieces.last() {
            Some(Piece::Text(text)) => text.last().copied(),
            Some(_) => Some(HOLE),
            None => None,
        };
        let begins_with = match other.pieces.first() {
            Some(Piece::Text(text)) => text.first().copied(),
            Some(_) => Some(HOLE),
            None => None,
        };
        self.push_text(space_between(ends_with, begins_with))
            .append(other)
    }

    /// The tables (positions in the plan's) whose open slots the text asks for.
    pub fn asks_for_open_slots(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::OpenSlots(slots) => Some(slots.table),
            _ => None,
        })
    }

    /// Whether there are parameters to be filled in.
    pub fn has_parameters(&self) -> bool {
        let is_parameter = |piece| matches!(piece, &Piece::Parameter(_) | &Piece::Operand(_));
        self.pieces.iter().any(is_parameter)
    }

    /// Appends the filled-in text to `out`.
    pub fn render(&self, filling: &Filling<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Slot => out.extend_from_slice(filling.slot.to_string().as_bytes()),
                Piece::Parameter(position) => out.extend_from_slice(filling.literal(*position)),
                Piece::Operand(position) => match filling.literal(*position) {
                    number @ [b'0'..=b'9', ..] => out.extend_from_slice(number),
                    other => {
                        out.push(b'(');
                        out.extend_from_slice(other);
                        out.push(b')');
                    }
                },
                Piece::Delta { position, own } => match filling.sums.get(*position) {
                    Some(sum) => out.extend_from_slice(sum.to_string().as_bytes()),
                    None => own.render(filling, out),
                },
                Piece::Keys => out.extend_from_slice(filling.keys),
                Piece::OpenSlots(slots) => {
                    let known = filling.open_slots.get(slots.table);
                    slots.render(known.and_then(Option::as_ref), out);
                }
                Piece::Folded(table) => {
                    for predicate in filling.folded.get(*table).into_iter().flatten() {
                        out.extend_from_slice(b" AND NOT (");
                        out.extend_from_slice(predicate);
                        out.push(b')');
                    }
                }
            }
        }
    }
}

/// What replaces a hole when its neighbours are looked at: it may be filled with any literal.
const HOLE: u8 = b'?';

/// What must be put between two texts that end and begin like this, so that a server does not read the last token of
/// the one and the first of the other as one: `SELECT` and `CAST(`, or two identifiers in backticks.
pub(super) fn space_between(end: Option<u8>, beginning: Option<u8>) -> &'static str {
    // After and before these every token is separate.
    let is_alone = |byte: u8| byte.is_ascii_whitespace() || b"(),.;=<>+%^~".contains(&byte);
    match (end, beginning) {
        // No token goes on behind a minus sign but another minus sign, and two of them with a space are a comment.
        (Some(b'-'), Some(beginning)) if beginning != b'-' => "",
        (Some(end), Some(beginning)) if !is_alone(end) && !is_alone(beginning) => " ",
        _ => "",
    }
}

impl Filling<'_> {
    fn literal(&self, position: u16) -> &[u8] {
        match self.parameters.get(usize::from(position)) {
            Some(literal) => literal,
            None => b"?",
        }
    }
}

/// What the holes of a template are filled with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filling<'a> {
    /// The slot that the session holds.
    pub slot: u16,
    /// The client's parameters as SQL literals; one that is not here stays a `?`.
    pub parameters: &'a [Vec<u8>],
    /// What several increments add together, by counter; none for a single increment.
    pub sums: &'a [Amount],
    /// For each table of the plan, the predicates of the keys folded in this transaction.
    pub folded: &'a [Vec<Vec<u8>>],
    /// The condition for the rows that a write is confined to.
    pub keys: &'a [u8],
    /// For each table of the plan, the open slots, if they are known.
    pub open_slots: &'a [Option<KnownSlots>],
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;
    use crate::sql::plan::SessionVariables;
    use crate::sql::prepare::filled;

    /// `1 --views` would become `1 -- CAST(..)`, and everything to the end of the line a comment.
    #[test]
    fn two_minus_signs_before_an_edit_do_not_become_a_comment() {
        for text in [
            "SELECT --views FROM posts WHERE id = 42",
            "SELECT 1 --views\nFROM posts",
        ] {
            let planned = planned(text);
            assert!(planned.contains("--CAST(views + "), "{planned}");
        }
        let variables = SessionVariables::default();
        let literals = [b"5".to_vec()];
        assert_eq!(
            filled(b"SELECT 1 --?", &literals, &variables),
            b"SELECT 1 --5"
        );
    }
}

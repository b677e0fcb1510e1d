//! Shapes: a statement's text with `?` in place of its literals. Statements that differ only in their literals share a
//! shape.
//!
//! The plan of a shape is that of the same text as if it had been prepared. It is the plan of the literal text as well
//! where [`Shape::fits`] says so: with the literals in its holes it sends the same bytes.

mod lift;

use std::ops::Range;

use crate::catalog::Counter;
use crate::sql::compares_alike;
use crate::sql::plan::{Increment, KeyParameter, Plan, Reason, SessionVariables};
use lift::Lift;

/// A text whose literals have been lifted out. It can be used again and again, and keeps what it has allocated.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    text: Vec<u8>,
    literals: Vec<Literal>,
}

/// A literal that has been lifted: a number of digits, with a point perhaps, and a `-` right before it; or a string in
/// single quotes without quotes and backslashes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Where it stood in the text, its sign and quotes included.
    pub place: Range<usize>,
    /// What it is.
    pub kind: LiteralKind,
}

/// What a literal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// Digits alone.
    Digits,
    /// Digits with a sign, a point, or both.
    Number,
    /// A string.
    Text,
}

impl Shape {
    /// Lifts the literals of a statement; false if none can be lifted. Some are left where they are. To the grammar
    /// only these certainly mean no more than a parameter: literals that are compared with a column by `=` or `IN` in
    /// the WHERE of an UPDATE or of a plain SELECT, and literals that an UPDATE assigns, or adds to a name.
    pub fn lift(&mut self, text: &[u8], variables: &SessionVariables) -> bool {
        self.text.clear();
        self.literals.clear();
        Lift::new(text, variables, self).is_some_and(Lift::run) && !self.literals.is_empty()
    }

    /// The text with `?` for each literal.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The literals in the order of the text.
    pub fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// Whether the plan of [`Shape::text`], filled with these literals of `text`, is the plan of `text`.
    pub fn fits(&self, plan: &Plan, text: &[u8]) -> bool {
        match plan {
            // Names say what is read and written.
            Plan::Forward(Reason::NoCounter) | Plan::Read(_) => true,
            Plan::Write(write) => self.name_keys(&write.key_parameters),
            Plan::Batch(row) => self.name_keys(&row.key_parameters),
            Plan::Increment(increment) | Plan::Combine(increment) => {
                increment.update.is_some() && self.fit_increment(increment, text)
            }
            Plan::Observe(plan) => self.fits(plan, text),
            _ => false,
        }
    }

    /// Whether each of the literals that name a key equals at most one.
    fn name_keys(&self, parameters: &[KeyParameter]) -> bool {
        parameters.iter().all(|key| {
            let literal = self.literals.get(usize::from(key.parameter));
            literal.is_some_and(|literal| match literal.kind {
                LiteralKind::Text => true,
                LiteralKind::Digits => key.integers.is_some(),
                LiteralKind::Number => false,
            })
        })
    }

    /// Whether each literal is of the kind that its place in an increment of one whole key asks for: text and integer
    /// keys, deltas that a slot has room for, times.
    fn fit_increment(&self, increment: &Increment, text: &[u8]) -> bool {
        let mut literals = (0..).zip(&self.literals);
        literals.all(|(position, literal): (u16, _)| {
            let deltas = &mut increment.parameter_deltas.iter();
            if let Some(delta) = deltas.find(|delta| delta.parameter == position) {
                let counter = increment.table.counter(delta.column);
                return counter.is_some_and(|counter| literal.is_delta(counter, text));
            }
            let compared = &mut increment.compared_parameters.iter();
            if let Some(compared) = compared.find(|compared| compared.parameter == position) {
                let column = &increment.table.columns[compared.column];
                if !compares_alike(column, literal.of(text)) {
                    return false;
                }
            }
            let keys = &mut increment.key_parameters.iter();
            let integers = keys
                .find(|key| key.parameter == position)
                .and_then(|key| key.integers);
            match (integers, literal.kind) {
                (Some(integers), LiteralKind::Text) => {
                    integers.unquoted(literal.of(text)).is_some()
                }
                (Some(_), kind) => kind == LiteralKind::Digits,
                (None, kind) => kind == LiteralKind::Text,
            }
        })
    }
}

impl Literal {
    /// Its bytes.
    pub fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.place.clone()]
    }

    /// The whole number that it is, if it is one without a sign.
    pub fn integer(&self, text: &[u8]) -> Option<i128> {
        /// Any number of this many digits can be read.
        const MOST_DIGITS: usize = 18;
        let digits = self.of(text);
        let is_short = self.kind == LiteralKind::Digits && digits.len() <= MOST_DIGITS;
        is_short.then(|| {
            digits.iter().fold(0, |number, digit| {
                number * 10 + i128::from(digit.saturating_sub(b'0'))
            })
        })
    }

    /// Whether it is a number from one to what a slot of this counter may hold.
    fn is_delta(&self, counter: &Counter, text: &[u8]) -> bool {
        let most = counter.bounds.as_ref().map(|bounds| bounds.slot.parse());
        match (self.integer(text), most) {
            (Some(delta), Some(Ok(most))) => (1..=most).contains(&delta),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;

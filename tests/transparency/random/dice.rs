//! What chooses words, and what they are written into.

use crate::case::Value;

/// Numbers to choose by; zeros when they are used up.
pub(super) struct Dice<'a> {
    pub(super) rolls: std::slice::Iter<'a, u16>,
}

impl Dice<'_> {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.rolls.next().copied().unwrap_or(0)) % sides
    }

    pub(super) fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.roll(from.len())]
    }

    /// True in so many of a hundred throws; never with a zero.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) >= 100 - percent
    }
}

/// A text with its parameters, written from left to right.
#[derive(Default)]
pub(super) struct Text {
    pub(super) sql: String,
    pub(super) parameters: Vec<Value>,
}

impl Text {
    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    /// A literal, or a placeholder and its parameter.
    pub(super) fn value(&mut self, dice: &mut Dice<'_>, literal: &str) -> &mut Self {
        match parameter(literal).filter(|_| dice.chance(35)) {
            Some(value) => {
                self.parameters.push(value);
                self.push("?")
            }
            None => self.push(literal),
        }
    }
}

/// A literal as a parameter, where it can be one.
pub(super) fn parameter(literal: &str) -> Option<Value> {
    if let Some(text) = literal
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return Some(Value::Text(text.to_owned()));
    }
    if let Ok(number) = literal.parse() {
        return Some(Value::LongLong(number));
    }
    if let Ok(number) = literal.parse() {
        return Some(Value::Unsigned(number));
    }
    match literal {
        "NULL" => Some(Value::Null),
        _ if literal.contains('e') => literal.parse().ok().map(Value::Double),
        _ => literal
            .parse::<f64>()
            .ok()
            .map(|_| Value::Decimal(literal.to_owned())),
    }
}

//! What the bytes of an input stand for.

use crate::wire::answer::Form;
use crate::wire::capability;

/// The forms of a response, by the number that an input has for them.
const FORMS: [Form; 9] = [
    Form::Results,
    Form::Cursor,
    Form::Prepared,
    Form::Rows,
    Form::Fields,
    Form::Single,
    Form::Nothing,
    Form::Endless,
    Form::Authentication,
];

/// The capabilities that the walker asks about, one bit each.
const CAPABILITIES: [u64; 2] = [capability::DEPRECATE_EOF, capability::SESSION_TRACK];

/// A response and how it is cut: `int<1>` form, `int<1>` capabilities, `string<1>` lengths of pieces, the stream.
pub struct Input<'a> {
    pub form: Form,
    pub capabilities: u64,
    /// Lengths of the pieces, over and over, less one.
    pub lengths: &'a [u8],
    pub stream: &'a [u8],
}

#[allow(dead_code, reason = "the target decodes, the example encodes")]
impl<'a> Input<'a> {
    pub fn decode(data: &'a [u8]) -> Option<Self> {
        let [form, chosen, count, rest @ ..] = data else {
            return None;
        };
        let (lengths, stream) = rest.split_at_checked(usize::from(*count))?;
        let flags = (0..).zip(CAPABILITIES);
        let flags = flags.filter(|(bit, _)| chosen & (1 << bit) != 0);
        Some(Self {
            form: FORMS[usize::from(*form) % FORMS.len()],
            capabilities: flags.map(|(_, flag)| flag).sum(),
            lengths,
            stream,
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let form = FORMS.iter().position(|form| *form == self.form);
        let chosen = (0..).zip(CAPABILITIES);
        let chosen = chosen.filter(|(_, flag)| self.capabilities & flag != 0);
        let mut data = vec![
            u8::try_from(form.expect("a form")).expect("there are few"),
            chosen.map(|(bit, _): (u8, _)| 1 << bit).sum(),
            u8::try_from(self.lengths.len()).expect("there are few"),
        ];
        data.extend_from_slice(self.lengths);
        data.extend_from_slice(self.stream);
        data
    }

    /// How far each piece of the stream reaches.
    pub fn ends(&self) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut end = 0;
        for length in self.lengths.iter().cycle() {
            end += usize::from(*length) + 1;
            if end >= self.stream.len() {
                break;
            }
            ends.push(end);
        }
        ends.push(self.stream.len());
        ends
    }
}

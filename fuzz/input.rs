//! What the bytes of an input stand for.

use crate::wire::response::ResponseKind;
use crate::wire::capability;

/// The forms of a response, by the number that an input has for them.
const FORMS: [ResponseKind; 9] = [
    ResponseKind::Results,
    ResponseKind::Cursor,
    ResponseKind::Prepared,
    ResponseKind::Rows,
    ResponseKind::Fields,
    ResponseKind::Single,
    ResponseKind::Nothing,
    ResponseKind::Endless,
    ResponseKind::Authentication,
];

/// The capabilities that the tracker asks about, one bit each.
const CAPABILITIES: [u64; 2] = [capability::DEPRECATE_EOF, capability::SESSION_TRACK];

/// A response and how it is cut: `int<1>` form, `int<1>` capabilities, `string<1>` lengths of pieces, the stream.
pub struct Input<'a> {
    pub response_kind: ResponseKind,
    pub capabilities: u64,
    /// Lengths of the pieces, over and over, less one.
    pub lengths: &'a [u8],
    pub stream: &'a [u8],
}

#[allow(dead_code, reason = "the target decodes, the example encodes")]
impl<'a> Input<'a> {
    pub fn decode(data: &'a [u8]) -> Option<Self> {
        let [response_kind, chosen, count, rest @ ..] = data else {
            return None;
        };
        let (lengths, stream) = rest.split_at_checked(usize::from(*count))?;
        let flags = (0..).zip(CAPABILITIES);
        let flags = flags.filter(|(bit, _)| chosen & (1 << bit) != 0);
        Some(Self {
            response_kind: FORMS[usize::from(*response_kind) % FORMS.len()],
            capabilities: flags.map(|(_, flag)| flag).sum(),
            lengths,
            stream,
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let response_kind = FORMS.iter().position(|response_kind| *response_kind == self.response_kind);
        let chosen = (0..).zip(CAPABILITIES);
        let chosen = chosen.filter(|(_, flag)| self.capabilities & flag != 0);
        let mut data = vec![
            u8::try_from(response_kind.expect("a response_kind")).expect("there are few"),
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

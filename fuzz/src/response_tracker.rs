//! Any bytes as a response, in any pieces: what the tracker says must not depend on the pieces.

#[path = "../../src/wire/response/tests/case.rs"]
#[allow(dead_code, reason = "the tests of the tracker take the other parts")]
mod case;
#[path = "../../src/wire/response/tests/replay.rs"]
mod replay;

use std::path::Path;

use crate::input::Input;
use crate::wire::capability;
use crate::wire::response::ResponseKind;
use replay::{told_in_pieces, told_whole};

/// The kinds of responses, by the number that an input has for them.
const KINDS: [ResponseKind; 9] = [
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
const CAPABILITIES: [u64; 4] = [
    capability::DEPRECATE_EOF,
    capability::SESSION_TRACK,
    capability::MARIADB_PROGRESS,
    capability::MARIADB_STMT_BULK,
];

/// An input: `int<1>` kind, `int<1>` capabilities, `int<1>` and `string<var>` lengths of pieces, the stream.
///
/// # Panics
///
/// If the tracker says one thing of the whole stream and another of its pieces, or asks for bytes that are there.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let kind = KINDS[usize::from(input.byte()) % KINDS.len()];
    let chosen = input.byte();
    let flags = (0..).zip(CAPABILITIES);
    let flags = flags.filter(|(bit, _)| chosen & 1 << bit != 0);
    let capabilities = flags.map(|(_, flag)| flag).sum();
    let count = usize::from(input.byte());
    let lengths = input.bytes(count);
    let stream = input.0;
    let told = |ends| told_in_pieces(kind, capabilities, stream, ends).expect("a sound walk");
    let all = stream.len();
    let at_once = told(vec![all]);
    assert_eq!(told(ends(lengths, all)), at_once, "in pieces and at once");
    assert_eq!(
        told((0..=all).collect()),
        at_once,
        "byte by byte and at once"
    );
    let whole = told_whole(kind, capabilities, stream).expect("a sound walk");
    // Of a packet that is not all there, it is told at once what it is, and nothing when it is to be read whole.
    match at_once.end {
        Some(_) => assert_eq!(whole, at_once, "read whole and at once"),
        None => assert_eq!(whole.end, None, "read whole and at once"),
    }
}

/// How far each piece of a stream reaches. The lengths, less one, are used over and over.
fn ends(lengths: &[u8], all: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = 0;
    for length in lengths.iter().cycle() {
        end += usize::from(*length) + 1;
        if end >= all {
            break;
        }
        ends.push(end);
    }
    ends.push(all);
    ends
}

/// The captured responses of both servers.
pub(crate) fn seeds(root: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in case::cases_in(&root.join("tests/cases/responses")) {
        let kind = KINDS.iter().position(|kind| *kind == case.response_kind());
        let kind = u8::try_from(kind.expect("each kind has a number")).expect("there are few");
        for response in &case.responses {
            let flags = (0..).zip(CAPABILITIES);
            let flags = flags.filter(|(_, flag)| response.capabilities[0] & flag != 0);
            let chosen: u8 = flags.map(|(bit, _): (u8, _)| 1 << bit).sum();
            let stream = response.stream();
            seeds.push([&[kind, chosen, 3, 6, 0, 19], &stream[..]].concat());
        }
    }
    seeds
}

//! Any bytes as a response, in any pieces: see ../README.md.
#![no_main]

#[path = "../input.rs"]
mod input;
#[path = "../../src/wire/response/tests/replay.rs"]
mod replay;
#[path = "../../src/wire/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tracker is all that is used")]
mod wire;

use input::Input;
use libfuzzer_sys::fuzz_target;
use replay::{told_in_pieces, told_whole};

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::decode(data) else {
        return;
    };
    let Input {
        form,
        capabilities,
        stream,
        ..
    } = input;
    let told = |ends| told_in_pieces(form, capabilities, stream, ends).expect("a sound walk");
    let all = stream.len();
    let at_once = told(vec![all]);
    assert_eq!(told(input.ends()), at_once, "in pieces and at once");
    assert_eq!(
        told((0..=all).collect()),
        at_once,
        "byte by byte and at once"
    );
    let whole = told_whole(form, capabilities, stream).expect("a sound walk");
    // Of a packet that is not all there, it is told at once what it is, and nothing when it is to be read whole.
    match at_once.end {
        Some(_) => assert_eq!(whole, at_once, "read whole and at once"),
        None => assert_eq!(whole.end, None, "read whole and at once"),
    }
});

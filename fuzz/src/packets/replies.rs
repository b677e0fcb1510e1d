//! OK and ERR packets, and what OK packets tell of the session.

use crate::input::Input;
use crate::wire::reader::Reader;
use crate::wire::reply::{Err, Ok as OkPacket, row_counts};
use crate::wire::response::{PrepareOk, ResponseKind};
use crate::wire::session_state::{TransactionState, changes, with_changes};
use crate::wire::status;

pub(super) const OKS: &[&[u8]] = &[
    b"\0\x01\0\x03\x40\0\0\0\x0b\x05\x09\x08T___W___",
    b"\0\xfc\x10\x27\0\x02\0\0\0\x28Rows matched: 1  Changed: 1  Warnings: 0",
    b"\xfe\0\0\x22\x40\0\0\0\x13\0\x11\x0aautocommit\x02ON\x01\x02\x01\x31",
];

pub(super) fn ok(_capabilities: u64, payload: &[u8]) {
    let _ = PrepareOk::decode(payload);
    let _ = ResponseKind::of(payload);
    let Ok(ok) = OkPacket::decode(payload) else {
        return;
    };
    let mut encoded = Vec::new();
    ok.encode(&mut encoded);
    assert!(encoded.len() <= payload.len(), "as short as can be");
    assert_eq!(OkPacket::decode(&encoded), Ok(ok), "encoded again");
    if let Some((matched, changed)) = row_counts(ok.tail) {
        let told = ok.tail;
        let is_there = |count: u64| {
            // Zeros may stand in front of a number.
            let digits = count.to_string();
            memchr::memmem::find(told, digits.as_bytes()).is_some()
        };
        assert!(is_there(matched) && is_there(changed), "counts of the text");
    }
}

pub(super) fn err(_capabilities: u64, payload: &[u8]) {
    let Ok(err) = Err::decode(payload) else {
        return;
    };
    assert_eq!(err.sql_state.len(), 5, "an SQLSTATE has five characters");
    let mut encoded = Vec::new();
    err.encode(&mut encoded);
    assert_eq!(Err::decode(&encoded), Ok(err), "encoded again");
    let mut greeting = Vec::new();
    err.encode_as_greeting(&mut greeting);
    if !err.message.starts_with(b"#") {
        let again = Err::decode(&greeting).map(|err| (err.code, err.message));
        assert_eq!(again, Ok((err.code, err.message)), "as a greeting");
    }
}

pub(super) fn session_state(_capabilities: u64, payload: &[u8]) {
    let state = TransactionState::of(payload);
    let mut input = Input(payload);
    let _ = TransactionState::decode(input.bytes(9));
    let Ok(told) = changes(payload) else {
        assert_eq!(state, None, "nothing is known of a malformed packet");
        return;
    };
    let ok = OkPacket::decode(payload).expect("changes were read from it");
    let Ok(same) = with_changes(payload, &told) else {
        return;
    };
    assert_eq!(changes(&same).as_ref(), Ok(&told), "the same changes");
    assert_eq!(TransactionState::of(&same), state, "the same state");
    let quiet = with_changes(payload, &[]).expect("it could be changed before");
    assert_eq!(changes(&quiet), Ok(Vec::new()), "no changes");
    for changed in [&same, &quiet] {
        let again = OkPacket::decode(changed).expect("our own packet");
        let info = |tail| Reader::new(tail).lenenc_bytes().unwrap_or_default();
        assert_eq!(info(again.tail), info(ok.tail), "the same info text");
        let expected = OkPacket {
            status: again.status,
            tail: again.tail,
            ..ok
        };
        assert_eq!(again, expected, "only changes differ");
        let difference = again.status ^ ok.status;
        assert_eq!(difference & !status::SESSION_STATE_CHANGED, 0, "one flag");
    }
}

//! Column definitions, and rows.

use crate::input::Input;
use crate::wire::column::{self, Column, RowEncoder, Sent, is_changed};
use crate::wire::materialized::{Kinds, Query, materialized};
use crate::wire::reader::put_lenenc_bytes;

/// Two definitions, the length of the first in front.
pub(super) const DEFINITIONS: &[&[u8]] = &[
    b"\x2a\x03def\x04shop\x05posts\x05posts\x05views\x05views\x0c\x3f\0\x0b\0\0\0\x03\x01\0\0\0\0\x03def\x04shop\x05posts\x05posts\x05views\x05views\x0c\x3f\0\x14\0\0\0\x08\x20\0\0\0\0",
    b"\x19\x03def\0\0\0\x05v > 9\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0\x03def\0\0\0\x05v > 9\x05v > 9\x0c\x3f\0\x01\0\0\0\x03\x01\0\0\0\0",
];

/// Types of two columns as they are sent and as they were promised, then a row.
pub(super) const ROWS: &[&[u8]] = &[
    b"\x02\xf6\0\x03\0\xfd\0\xfd\0\0\0\x0212\x03one",
    b"\x02\x08\x01\xf6\0\x03\0\x03\0\0\0\x05\0\0\0\0\0\0\0\x07\0\0\0",
];

pub(super) fn definitions(capabilities: u64, payload: &[u8]) {
    let mut input = Input(payload);
    let length = usize::from(input.byte());
    let (one, other) = (input.bytes(length), input.0);
    let _ = Column::decode(one, capabilities);
    if let Ok(sent) = Sent::decode(one, capabilities) {
        assert_eq!(Sent::decode(one, capabilities), Ok(sent), "read twice");
        assert_eq!(is_changed(one, one, capabilities), Ok(false), "of itself");
    }
    assert_eq!(
        is_changed(one, other, capabilities),
        is_changed(other, one, capabilities),
        "whichever is first"
    );
    for query in [Query::Plain, Query::Groups, Query::Windows, Query::Arms] {
        if let Ok(Some(shown)) = materialized(one, other, query) {
            Column::decode(&shown, 0).expect("our own definition");
        }
        let kinds = Kinds::new(query, vec![true, false]);
        let _ = (kinds.of(0), kinds.of(1), kinds.of(2));
    }
}

pub(super) fn row_encoder(_capabilities: u64, payload: &[u8]) {
    let mut input = Input(payload);
    let count = usize::from(input.byte()) % 9;
    let mut types = |_| {
        let [kind, sign] = [input.byte(), input.byte()];
        (kind, u16::from(sign & 1) << 5)
    };
    let from: Vec<_> = (0..count).map(&mut types).collect();
    let to: Vec<_> = (0..count).map(&mut types).collect();
    let row = input.0;
    assert_eq!(RowEncoder::new(&from, &from), None, "nothing to convert");
    let Some(encoder) = RowEncoder::new(&from, &to) else {
        return;
    };
    let mut there = Vec::new();
    if encoder.encode(row, &mut there).is_err() {
        return;
    }
    // A value means the same on the way back, if the two types have the same values.
    let signs = from.iter().zip(&to);
    let signs_agree = signs.clone().all(|(from, to)| from.1 == to.1);
    let back = RowEncoder::new(&to, &from).expect("they differ the other way round as well");
    let mut again = Vec::new();
    if signs_agree && back.encode(&there, &mut again).is_ok() {
        let mut twice = Vec::new();
        encoder.encode(&again, &mut twice).expect("our own row");
        assert_eq!(twice, there, "there, back and there again");
    }
}

fn text_row_of(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    const NULL: u8 = 0xFB;
    let mut row = Vec::new();
    for value in values {
        match value {
            Some(value) => put_lenenc_bytes(&mut row, value),
            None => row.push(NULL),
        }
    }
    row
}

pub(super) fn text_row(_capabilities: u64, payload: &[u8]) {
    let Ok(values) = column::text_row(payload) else {
        return;
    };
    let row = text_row_of(&values);
    assert!(row.len() <= payload.len(), "no more values than bytes");
    assert_eq!(
        column::text_row(&row).as_ref(),
        Ok(&values),
        "encoded again"
    );
}

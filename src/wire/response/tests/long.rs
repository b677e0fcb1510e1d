//! Packets of up to 16 MiB, and packets that continue them. They are generated here, because files of them would be
//! large.

use std::iter::once;

use super::replay::{Told, told_in_pieces, told_whole};
use crate::wire::capability;
use crate::wire::packet::{HEADER_LENGTH, MAX_PAYLOAD, encode_packet};
use crate::wire::reader::put_lenenc_bytes;
use crate::wire::response::{PacketKind, ResponseKind};

/// Appends this payload as one packet, or as several if it is too long for one.
fn put(stream: &mut Vec<u8>, payload: &[u8]) {
    encode_packet(stream, 0, payload);
}

/// A payload of `length` bytes that begins with `front`.
fn payload(front: &[u8], length: usize) -> Vec<u8> {
    let mut payload = front.to_vec();
    payload.resize(length, b'x');
    payload
}

/// A result set of one column and one row.
fn result(row: &[u8], capabilities: u64) -> Vec<u8> {
    let mut stream = Vec::new();
    put(&mut stream, &[1]);
    put(&mut stream, b"\x03def");
    if capabilities & capability::DEPRECATE_EOF == 0 {
        put(&mut stream, &[0xFE, 0, 0, 2, 0]);
    }
    put(&mut stream, row);
    match capabilities & capability::DEPRECATE_EOF {
        0 => put(&mut stream, &[0xFE, 0, 0, 2, 0]),
        _ => put(&mut stream, &[0xFE, 0, 0, 2, 0, 0, 0]),
    }
    stream
}

/// What the tracker reports of a response. It must be the same wherever the response is cut near the start of a packet.
fn told(response_kind: ResponseKind, capabilities: u64, stream: &[u8]) -> Told {
    let whole = told_whole(response_kind, capabilities, stream).expect("a response");
    let mut fronts = vec![0];
    while let Some(&[a, b, c, _]) = stream[*fronts.last().expect("a front")..].first_chunk() {
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        fronts.push(fronts[fronts.len() - 1] + HEADER_LENGTH + length);
    }
    let near = |front: &usize| front.saturating_sub(30)..(front + 30).min(stream.len());
    for cut in fronts.iter().flat_map(near) {
        let told = told_in_pieces(response_kind, capabilities, stream, [cut, stream.len()]);
        assert_eq!(told.as_ref(), Ok(&whole), "cut at {cut}");
    }
    let ends = (0..stream.len())
        .step_by(16 * 1024)
        .chain(once(stream.len()));
    assert_eq!(
        told_in_pieces(response_kind, capabilities, stream, ends).as_ref(),
        Ok(&whole)
    );
    whole
}

#[test]
fn a_row_is_continued_by_a_packet_that_may_be_empty_or_look_like_an_end() {
    // The start of a text of 16 MiB or more. In a shorter packet, this first byte would mark the end of the rows.
    let long_text = b"\xfe\x00\x00\x00\x01\x00\x00\x00\x00";
    for capabilities in [0, capability::DEPRECATE_EOF] {
        for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, 2 * MAX_PAYLOAD] {
            for front in [&long_text[..], b"\x00\x00"] {
                if front[0] == 0xFE && length < MAX_PAYLOAD {
                    continue;
                }
                let mut row = payload(front, length);
                // The byte that the next packet begins with, if there is one.
                if let Some(first) = row.get_mut(MAX_PAYLOAD) {
                    *first = 0xFE;
                }
                let stream = result(&row, capabilities);
                let told = told(ResponseKind::Results, capabilities, &stream);
                let mut roles = vec![
                    PacketKind::ColumnCount,
                    PacketKind::Column,
                    PacketKind::Separator,
                ];
                if capabilities != 0 {
                    roles.pop();
                }
                roles.extend([PacketKind::Row, PacketKind::RowsEnd]);
                assert_eq!(told.roles, roles, "{length} bytes from {front:02x?}");
                assert_eq!(told.end, Some(stream.len()));
            }
        }
    }
}

#[test]
fn an_error_may_be_as_long_as_a_packet() {
    let mut stream = Vec::new();
    put(&mut stream, &payload(b"\xff\x7a\x04#42S02", MAX_PAYLOAD));
    let told = told(ResponseKind::Results, 0, &stream);
    assert_eq!(told.roles, [PacketKind::Err]);
    assert_eq!(told.error, Some(1146));
    assert_eq!(
        told.end,
        Some(stream.len()),
        "the empty packet after it is its own"
    );
}

#[test]
fn a_result_may_have_more_columns_than_one_byte_counts() {
    for capabilities in [0, capability::DEPRECATE_EOF] {
        let mut stream = Vec::new();
        put(&mut stream, &[0xFC, 0x2C, 0x01]);
        for _ in 0..300 {
            put(&mut stream, b"\x03def");
        }
        if capabilities == 0 {
            put(&mut stream, &[0xFE, 0, 0, 2, 0]);
        }
        put(&mut stream, &[0xFE, 0, 0, 2, 0, 0, 0]);
        let told = told(ResponseKind::Results, capabilities, &stream);
        let columns = told
            .roles
            .iter()
            .filter(|packet_kind| **packet_kind == PacketKind::Column);
        assert_eq!(columns.count(), 300);
        assert_eq!(told.end, Some(stream.len()));
    }
}

/// An OK packet in a transaction that has written, with this change before the transaction state.
fn ok_after(change: &[u8]) -> Vec<u8> {
    let mut changes = vec![0x03];
    put_lenenc_bytes(&mut changes, change);
    changes.extend_from_slice(b"\x05\x09\x08T___W___\x01\x02\x01s");
    let mut payload = vec![0, 1, 0, 0x03, 0x40, 0, 0];
    put_lenenc_bytes(&mut payload, b"Rows matched: 1");
    put_lenenc_bytes(&mut payload, &changes);
    payload
}

#[test]
fn a_transactions_state_is_found_after_a_change_as_long_as_a_packet() {
    let rest = ok_after(&[]).len() + 2 * 3;
    for length in [0, 250, 251, 5000, 70_000, MAX_PAYLOAD - rest - 1] {
        let mut stream = Vec::new();
        put(&mut stream, &ok_after(&vec![b'g'; length]));
        let told = told(ResponseKind::Results, capability::SESSION_TRACK, &stream);
        assert_eq!(told.roles, [PacketKind::Ok]);
        assert_eq!(told.status, Some(0x4003));
        assert_eq!(told.end, Some(stream.len()));
        let state = told.transaction_state.expect("a state");
        assert_eq!(state.change().1, b"\x08T___W___", "after {length} bytes");
    }
}

#[test]
fn an_ok_that_breaks_off_among_its_changes_ends_where_its_packet_does() {
    let whole = ok_after(b"gtid");
    let state_ends = whole.len() - 4;
    for end in 7..whole.len() {
        let mut stream = Vec::new();
        put(&mut stream, &whole[..end]);
        let told = told(ResponseKind::Results, capability::SESSION_TRACK, &stream);
        assert_eq!(told.roles, [PacketKind::Ok]);
        assert_eq!(told.end, Some(stream.len()), "cut at {end}");
        assert_eq!(
            told.transaction_state.is_some(),
            end >= state_ends,
            "cut at {end}"
        );
    }
}

#[test]
fn an_ok_as_long_as_a_packet_is_continued() {
    let front = &ok_after(&[])[..7];
    for front in [front, &[0, 1, 0, 0x03, 0x40, 0, 0, 0xFE, 0xFF][..]] {
        let mut stream = Vec::new();
        put(&mut stream, &payload(front, MAX_PAYLOAD + 5));
        let told = told(ResponseKind::Single, capability::SESSION_TRACK, &stream);
        assert_eq!(told.roles, [PacketKind::Ok]);
        assert_eq!(told.end, Some(stream.len()));
    }
}

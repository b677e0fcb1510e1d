//! Answers of a server and of the proxy before its twin, compared packet by packet.
//!
//! What may differ by design is what the tests of transparency list (tests/transparency/known.rs), and is masked here.

use countersink::driver::Packet;
use countersink::wire::command;
use countersink::wire::error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION;
use countersink::wire::execute::CURSOR_TYPES;
use countersink::wire::reader::Reader;
use countersink::wire::reply::{Err as ErrPacket, Ok as OkPacket};
use countersink::wire::response::PacketKind;
use countersink::wire::status;

use super::play::Answer;
use super::step::Step;

/// What differs between two answers to a step, if anything does.
pub(super) fn difference(step: &Step, direct: &Answer, proxied: &Answer) -> Option<String> {
    let theirs = masked(step, direct);
    let ours = masked(step, proxied);
    if theirs == ours && direct.end == proxied.end {
        return None;
    }
    Some(format!(
        "{step}\n  direct  {:?}{}\n  proxied {:?}{}",
        direct.end,
        shown(&theirs),
        proxied.end,
        shown(&ours)
    ))
}

/// Whether the proxy refuses what it would have to fold for in a READ ONLY transaction, and the server does not: a
/// limit (tests/cases/unsupported.yaml). What follows in the session may differ as well.
pub(super) fn is_known_limit(direct: &Answer, proxied: &Answer) -> bool {
    let is_refused = |answer: &Answer| {
        let errors = answer
            .packets
            .iter()
            .filter(|packet| packet.packet_kind == PacketKind::Err);
        let mut errors = errors.filter_map(|packet| ErrPacket::decode(&packet.payload).ok());
        errors.any(|error| error.code == ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION)
    };
    is_refused(proxied) && !is_refused(direct)
}

fn shown(packets: &[Packet]) -> String {
    let line = |packet: &Packet| {
        let most = packet.payload.len().min(120);
        format!(
            "\n    #{} {:?} {}",
            packet.sequence_id,
            packet.packet_kind,
            packet.payload[..most].escape_ascii()
        )
    };
    packets.iter().map(line).collect()
}

fn masked(step: &Step, answer: &Answer) -> Vec<Packet> {
    let mut packets = answer.packets.clone();
    // A login has as many packets as it takes.
    if step.payload.first() == Some(&command::CHANGE_USER) {
        packets.drain(..packets.len().saturating_sub(1));
        packets.iter_mut().for_each(|packet| packet.sequence_id = 0);
    }
    let is_cursor = step.payload.first() == Some(&command::STMT_EXECUTE)
        && step
            .payload
            .get(5)
            .is_some_and(|flags| flags & CURSOR_TYPES != 0)
        || step.payload.first() == Some(&command::STMT_FETCH);
    for packet in &mut packets {
        mask(packet, is_cursor);
    }
    // These are told how many warnings the statement before left, and that may have been one of the proxy's own.
    const ECHOES: [u8; 3] = [command::PING, command::INIT_DB, command::SET_OPTION];
    let is_echo = |command_byte| ECHOES.contains(command_byte);
    if step.payload.first().is_some_and(is_echo)
        && let [packet] = &mut packets[..]
    {
        match packet.packet_kind {
            PacketKind::Ok => packet.payload.truncate(5),
            PacketKind::RowsEnd => packet.payload.drain(1..3).for_each(drop),
            _ => {}
        }
    }
    packets
}

fn mask(packet: &mut Packet, is_cursor: bool) {
    let payload = &mut packet.payload;
    match packet.packet_kind {
        PacketKind::PrepareOk if payload.len() >= 5 => payload[1..5].fill(0),
        PacketKind::Column | PacketKind::Parameter => {
            if let Some(definition) = definition(payload, is_cursor) {
                *payload = definition;
            }
        }
        // An INT may be a BIGINT in there.
        PacketKind::Row if is_cursor => payload.clear(),
        PacketKind::Err | PacketKind::Row => *payload = without_numbers(payload),
        PacketKind::Other if payload.starts_with(b"Uptime: ") => payload.clear(),
        PacketKind::Ok | PacketKind::RowsEnd | PacketKind::Separator => {
            without_index_flags(payload)
        }
        _ => {}
    }
}

/// A column's name, and how its values are to be read: the flags of keys and what a temporary table makes of the other
/// names may differ.
fn definition(payload: &[u8], is_cursor: bool) -> Option<Vec<u8>> {
    /// The types of integers, which a temporary table may change.
    const INTEGERS: [u8; 5] = [0x01, 0x02, 0x03, 0x08, 0x09];
    let mut reader = Reader::new(payload);
    for _ in 0..4 {
        reader.lenenc_bytes().ok()?;
    }
    let mut kept = reader.lenenc_bytes().ok()?.to_vec();
    reader.lenenc_bytes().ok()?;
    reader.lenenc().ok()?;
    let character_set = reader.u16().ok()?;
    let length = reader.u32().ok()?;
    let kind = reader.u8().ok()?;
    let _flags = reader.u16().ok()?;
    let decimals = reader.u8().ok()?;
    match is_cursor {
        true => kept.push(if INTEGERS.contains(&kind) { 0x08 } else { kind }),
        false => {
            kept.push(kind);
            kept.extend_from_slice(&length.to_le_bytes());
        }
    }
    kept.extend_from_slice(&character_set.to_le_bytes());
    kept.push(decimals);
    Some(kept)
}

/// Texts name prepared statements by a number in parentheses, which each server gives as it likes.
fn without_numbers(payload: &[u8]) -> Vec<u8> {
    const BEFORE: [&[u8]; 2] = [b"handler (", b"statement ("];
    for before in BEFORE {
        let mut windows = payload.windows(before.len());
        if let Some(at) = windows.position(|window| window == before) {
            let (head, rest) = payload.split_at(at + before.len());
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            return [head, &rest[digits..]].concat();
        }
    }
    payload.to_vec()
}

fn without_index_flags(payload: &mut [u8]) {
    const FLAGS: u16 = status::QUERY_NO_GOOD_INDEX_USED | status::QUERY_NO_INDEX_USED;
    let at = match OkPacket::decode(payload) {
        _ if payload.len() == 5 => 3, // an EOF packet of old
        Ok(ok) => payload.len() - ok.tail.len() - 4,
        Err(_) => return,
    };
    let flags = u16::from_le_bytes([payload[at], payload[at + 1]]) & !FLAGS;
    payload[at..at + 2].copy_from_slice(&flags.to_le_bytes());
}

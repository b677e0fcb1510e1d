//! COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE, with parameters that fit the statement or do not.

use countersink::wire::reader::{put_lenenc, put_lenenc_bytes};
use countersink::wire::{capability, command};
use countersink_sandbox::Flavour;
use rand::RngExt;

use super::draw::Draw;

/// Types of the binary protocol, and one that no client sends.
const TYPES: [u8; 10] = [0x01, 0x02, 0x03, 0x08, 0x05, 0x06, 0xFD, 0xFC, 0x0C, 0xF6];

/// `id` is a statement's, in four bytes, and `number` that of the session.
pub(super) fn execute(draw: &mut Draw, number: usize, id: &[u8; 4], parameters: usize) -> Vec<u8> {
    let has_attributes = draw.capabilities & capability::QUERY_ATTRIBUTES != 0;
    let parameters = off_by_one(draw, parameters);
    // MySQL never ends the result of a SELECT without a table that is executed with a cursor and then without: its rows
    // do not come, and an OK packet stands where they should end. Whoever reads it waits for ever.
    let chosen = match draw.flavour {
        Flavour::MySql => number % 8,
        Flavour::MariaDb => draw.dice.random_range(0..8),
    };
    let cursor = match chosen {
        0 | 1 => 1,
        2 => *draw.pick(&[2, 4]),
        _ => 0,
    };
    let count_flag = if has_attributes { 8 } else { 0 };
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(id);
    payload.push(cursor | count_flag);
    payload.extend_from_slice(&1_u32.to_le_bytes());
    if has_attributes {
        put_lenenc(&mut payload, parameters as u64);
    }
    if parameters == 0 {
        return payload;
    }
    let nulls: Vec<bool> = (0..parameters).map(|_| draw.is_one_in(8)).collect();
    for bits in nulls.chunks(8) {
        let byte = bits
            .iter()
            .rev()
            .fold(0, |byte, is_null| byte << 1 | u8::from(*is_null));
        payload.push(byte);
    }
    let types: Vec<u8> = (0..parameters).map(|_| type_of_one(draw)).collect();
    let is_bound = !draw.is_one_in(6);
    payload.push(u8::from(is_bound));
    if is_bound {
        for kind in &types {
            payload.extend_from_slice(&[*kind, 0]);
            if has_attributes {
                payload.push(0);
            }
        }
    }
    for (kind, is_null) in types.iter().zip(&nulls) {
        if !is_null {
            value(draw, *kind, &mut payload);
        }
    }
    payload
}

/// MariaDB's; MySQL does not know the command.
pub(super) fn bulk_execute(draw: &mut Draw, id: &[u8; 4], parameters: usize) -> Vec<u8> {
    let parameters = off_by_one(draw, parameters);
    let mut payload = vec![command::STMT_BULK_EXECUTE];
    payload.extend_from_slice(id);
    let types: Vec<u8> = (0..parameters).map(|_| type_of_one(draw)).collect();
    payload.extend_from_slice(&0x80_u16.to_le_bytes());
    for kind in &types {
        payload.extend_from_slice(&[*kind, 0]);
    }
    for _ in 0..draw.dice.random_range(0..4) {
        for kind in &types {
            let indicator = if draw.is_one_in(6) {
                *draw.pick(&[1, 2, 3])
            } else {
                0
            };
            payload.push(indicator);
            if indicator == 0 {
                value(draw, *kind, &mut payload);
            }
        }
    }
    payload
}

fn off_by_one(draw: &mut Draw, parameters: usize) -> usize {
    match draw.dice.random_range(0..16) {
        0 => parameters + 1,
        1 => parameters.saturating_sub(1),
        _ => parameters,
    }
}

/// Mostly an integer.
fn type_of_one(draw: &mut Draw) -> u8 {
    match draw.is_one_in(3) {
        true => *draw.pick(&TYPES),
        false => *draw.pick(&[0x03, 0x08]),
    }
}

/// A small value of this type.
fn value(draw: &mut Draw, kind: u8, out: &mut Vec<u8>) {
    let number: i64 = draw.dice.random_range(-1..6);
    let bytes = number.to_le_bytes();
    match kind {
        0x01 => out.extend_from_slice(&bytes[..1]),
        0x02 => out.extend_from_slice(&bytes[..2]),
        0x03 => out.extend_from_slice(&bytes[..4]),
        0x08 => out.extend_from_slice(&bytes),
        0x05 => out.extend_from_slice(&(number as f64).to_le_bytes()),
        0x06 => {}
        0x0C => out.extend_from_slice(&[4, 0xEA, 0x07, 1, 2]),
        _ => {
            let text = match draw.is_one_in(3) {
                true => "abc".to_owned(),
                false => number.to_string(),
            };
            put_lenenc_bytes(out, text.as_bytes());
        }
    }
}

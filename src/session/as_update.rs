//! The answer of an upsert, as that of the UPDATE it stands for.

use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};
use crate::wire::reply::Ok as OkPacket;

/// Turns the OK of the upsert into that of the UPDATE it stands for; `None` when no row matched. An upsert's
/// "Records" are the rows that its SELECT found, and each of them changes, because the delta is not zero.
pub(super) fn as_update(ok: &[u8], capabilities: u64) -> Result<Option<Vec<u8>>, Malformed> {
    let ok = OkPacket::decode(ok)?;
    let mut tail = Reader::new(ok.tail);
    // With SESSION_TRACK the manual has a length before the info text; servers put one there without it as well.
    let prefixed = capabilities & capability::SESSION_TRACK != 0
        || ok
            .tail
            .first()
            .is_some_and(|&length| usize::from(length) + 1 == ok.tail.len());
    let info = match prefixed {
        true => tail.lenenc_bytes()?,
        false => tail.bytes(ok.tail.len())?,
    };
    let rows = first_number(info).unwrap_or(ok.affected_rows);
    if rows == 0 {
        return Ok(None);
    }
    let warnings = ok.warnings;
    let info = format!("Rows matched: {rows}  Changed: {rows}  Warnings: {warnings}").into_bytes();
    let mut new_tail = Vec::new();
    match prefixed {
        true => put_lenenc_bytes(&mut new_tail, &info),
        false => new_tail.extend_from_slice(&info),
    }
    new_tail.extend_from_slice(tail.rest());
    let mut payload = Vec::new();
    OkPacket {
        affected_rows: rows,
        last_insert_id: 0,
        tail: &new_tail,
        ..ok
    }
    .encode(&mut payload);
    Ok(Some(payload))
}

/// The first number in "Records: 3  Duplicates: 1  Warnings: 0", in whatever language it comes. A single-row
/// upsert has no info text on some servers.
fn first_number(info: &[u8]) -> Option<u64> {
    let start = info.iter().position(u8::is_ascii_digit)?;
    let mut digits = info[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    digits.try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(affected_rows: u64, tail: &[u8]) -> Vec<u8> {
        let mut payload = Vec::new();
        OkPacket {
            header: 0,
            affected_rows,
            last_insert_id: 0,
            status: 2,
            warnings: 0,
            tail,
        }
        .encode(&mut payload);
        payload
    }

    #[test]
    fn an_upsert_answers_as_the_update_it_stands_for() {
        let upsert = ok(2, b"\x26Records: 1  Duplicates: 1  Warnings: 0");
        let update = ok(1, b"\x28Rows matched: 1  Changed: 1  Warnings: 0");
        assert_eq!(as_update(&upsert, 0), Ok(Some(update.clone())));
        assert_eq!(
            as_update(&upsert, capability::SESSION_TRACK),
            Ok(Some(update))
        );
        let bare = ok(4, b"Records: 3  Duplicates: 1  Warnings: 0");
        let expected = ok(3, b"Rows matched: 3  Changed: 3  Warnings: 0");
        assert_eq!(as_update(&bare, 0), Ok(Some(expected)));
    }

    #[test]
    fn an_upsert_of_no_row_is_not_answered_by_us() {
        let upsert = ok(0, b"\x26Records: 0  Duplicates: 0  Warnings: 0");
        assert_eq!(as_update(&upsert, 0), Ok(None));
    }
}

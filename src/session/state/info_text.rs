//! Turns the response to an upsert into that of the UPDATE that it stands for, in the words of the session's language.

use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};
use crate::wire::reply::{self, Ok as OkPacket};

/// How the server words what an UPDATE has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum InfoText {
    /// `Rows matched: 1  Changed: 1  Warnings: 0`
    #[default]
    English,
    /// By `lc_messages` it is in another language, which no UPDATE has shown yet.
    Unknown,
    /// The text before, between and after the three numbers.
    Known([Vec<u8>; 4]),
}

impl InfoText {
    /// Learns the words from the OK of an UPDATE, if they are still unknown.
    pub(crate) fn learn(&mut self, ok: &[u8], capabilities: u64) {
        let Ok(ok) = OkPacket::decode(ok) else {
            return;
        };
        if *self != Self::Unknown || ok.header != reply::OK {
            return;
        }
        if let Ok((info, _)) = info(&ok, capabilities)
            && let Some(words) = around_numbers(info)
        {
            *self = Self::Known(words);
        }
    }

    fn of_update(&self, rows: u64, warnings: u16) -> Vec<u8> {
        match self {
            Self::English | Self::Unknown => {
                format!("Rows matched: {rows}  Changed: {rows}  Warnings: {warnings}").into_bytes()
            }
            Self::Known([before, changed, warned, behind]) => {
                let (rows, warnings) = (rows.to_string(), warnings.to_string());
                let parts: [&[u8]; 7] = [
                    before,
                    rows.as_bytes(),
                    changed,
                    rows.as_bytes(),
                    warned,
                    warnings.as_bytes(),
                    behind,
                ];
                parts.concat()
            }
        }
    }
}

/// The parts of a text around its numbers, if there are exactly three numbers.
fn around_numbers(info: &[u8]) -> Option<[Vec<u8>; 4]> {
    let mut parts = vec![Vec::new()];
    let mut in_number = false;
    for byte in info {
        let is_digit = byte.is_ascii_digit();
        if is_digit && !in_number {
            parts.push(Vec::new());
        }
        if !is_digit {
            parts.last_mut()?.push(*byte);
        }
        in_number = is_digit;
    }
    parts.try_into().ok()
}

/// The info text of an OK packet, and whether its length precedes it. By the manual it does with SESSION_TRACK;
/// servers put it there without that as well.
fn info<'a>(ok: &OkPacket<'a>, capabilities: u64) -> Result<(&'a [u8], bool), Malformed> {
    let first = ok.tail.first();
    let is_prefixed = capabilities & capability::SESSION_TRACK != 0
        || first.is_some_and(|&length| usize::from(length) + 1 == ok.tail.len());
    match is_prefixed {
        true => Ok((Reader::new(ok.tail).lenenc_bytes()?, true)),
        false => Ok((ok.tail, false)),
    }
}

/// Turns the OK of an upsert into that of the UPDATE that it stands for. `None` if no row matched. The "Records" of an
/// upsert are the rows that its SELECT found, and each of them changes, because the delta is not zero.
pub(crate) fn as_update(
    ok: &[u8],
    capabilities: u64,
    language: &InfoText,
) -> Result<Option<Vec<u8>>, Malformed> {
    let ok = OkPacket::decode(ok)?;
    let (info, is_prefixed) = info(&ok, capabilities)?;
    let mut tail = Reader::new(ok.tail);
    match is_prefixed {
        true => tail.lenenc_bytes()?,
        false => tail.bytes(info.len())?,
    };
    let rows = first_number(info).unwrap_or(ok.affected_rows);
    if rows == 0 {
        return Ok(None);
    }
    let info = language.of_update(rows, ok.warnings);
    let mut new_tail = Vec::new();
    match is_prefixed {
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

/// The first number in "Records: 3  Duplicates: 1  Warnings: 0", in whatever language it comes. A single-row upsert
/// has no info text on some servers.
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
        assert_eq!(
            as_update(&upsert, 0, &InfoText::English),
            Ok(Some(update.clone()))
        );
        assert_eq!(
            as_update(&upsert, capability::SESSION_TRACK, &InfoText::English),
            Ok(Some(update))
        );
        let bare = ok(4, b"Records: 3  Duplicates: 1  Warnings: 0");
        let expected = ok(3, b"Rows matched: 3  Changed: 3  Warnings: 0");
        assert_eq!(as_update(&bare, 0, &InfoText::English), Ok(Some(expected)));
    }

    #[test]
    fn an_upsert_of_no_row_is_not_answered_by_us() {
        let upsert = ok(0, b"\x26Records: 0  Duplicates: 0  Warnings: 0");
        assert_eq!(as_update(&upsert, 0, &InfoText::English), Ok(None));
    }

    #[test]
    fn another_language_is_learnt_from_an_update() {
        let mut language = InfoText::Unknown;
        // An upsert of one row has no info text.
        language.learn(&ok(2, b""), 0);
        assert_eq!(language, InfoText::Unknown);
        language.learn(&ok(2, b"Gefunden: 2  Anders: 1  Warnungen: 10!"), 0);
        let upsert = ok(2, b"Saetze: 3  Doppelt: 1  Warnungen: 0");
        let update = ok(3, b"Gefunden: 3  Anders: 3  Warnungen: 0!");
        assert_eq!(as_update(&upsert, 0, &language), Ok(Some(update)));
        let known = language.clone();
        language.learn(&ok(2, b"a 1 b 2 c 3"), 0);
        assert_eq!(language, known);
    }
}

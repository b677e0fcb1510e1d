//! What OK packets tell of the session (manual: "Session State Information"), where a transaction of ours stood around
//! the client's statement: it does not show, and what its COMMIT tells of the client's write does.

use super::as_update::row_counts;
use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

const SYSTEM_VARIABLES: u8 = 0;
const GTIDS: u8 = 3;
const TRANSACTION_CHARACTERISTICS: u8 = 4;
const TRANSACTION_STATE: u8 = 5;

/// MariaDB's variable that holds the GTID of the last write.
const LAST_GTID: &[u8] = b"last_gtid";

/// A change: its kind and what follows.
type Change = (u8, Vec<u8>);

/// The changes that an OK packet with SESSION_TRACK tells of.
fn changes(payload: &[u8]) -> Result<Vec<Change>, Malformed> {
    let ok = OkPacket::decode(payload)?;
    if ok.status & status::SESSION_STATE_CHANGED == 0 {
        return Ok(Vec::new());
    }
    let mut tail = Reader::new(ok.tail);
    tail.lenenc_bytes()?;
    let mut reader = Reader::new(tail.lenenc_bytes()?);
    let mut changes = Vec::new();
    while !reader.rest().is_empty() {
        changes.push((reader.u8()?, reader.lenenc_bytes()?.to_vec()));
    }
    Ok(changes)
}

/// The same OK packet with these changes.
fn with_changes(payload: &[u8], changes: &[Change]) -> Result<Vec<u8>, Malformed> {
    let ok = OkPacket::decode(payload)?;
    let info = match ok.tail.is_empty() {
        true => &[],
        false => Reader::new(ok.tail).lenenc_bytes()?,
    };
    let mut told = Vec::new();
    for (kind, change) in changes {
        told.push(*kind);
        put_lenenc_bytes(&mut told, change);
    }
    let mut tail = Vec::new();
    if !info.is_empty() || !told.is_empty() {
        put_lenenc_bytes(&mut tail, info);
    }
    let mut status = ok.status | status::SESSION_STATE_CHANGED;
    match told.is_empty() {
        true => status &= !status::SESSION_STATE_CHANGED,
        false => put_lenenc_bytes(&mut tail, &told),
    }
    let mut patched = Vec::with_capacity(payload.len() + told.len());
    OkPacket {
        status,
        tail: &tail,
        ..ok
    }
    .encode(&mut patched);
    Ok(patched)
}

/// Takes the changes of transaction state and characteristics out of an OK packet with SESSION_TRACK.
pub(super) fn hide_transaction(payload: &mut Vec<u8>) {
    let Ok(mut told) = changes(payload) else {
        return;
    };
    let all = told.len();
    told.retain(|(kind, _)| !matches!(*kind, TRANSACTION_CHARACTERISTICS | TRANSACTION_STATE));
    if told.len() < all
        && let Ok(patched) = with_changes(payload, &told)
    {
        *payload = patched;
    }
}

/// Adds to the client's answer that no transaction is open any more, unless it tells of one itself.
pub(super) fn add_end(payload: &mut Vec<u8>) {
    /// Its length, and that nothing is going on (manual: "SESSION_TRACK_TRANSACTION_STATE").
    const NO_TRANSACTION: &[u8] = b"\x08________";
    let Ok(mut all) = changes(payload) else {
        return;
    };
    if !all.iter().any(|(kind, _)| *kind == TRANSACTION_STATE) {
        all.push((TRANSACTION_STATE, NO_TRANSACTION.to_vec()));
        if let Ok(patched) = with_changes(payload, &all) {
            *payload = patched;
        }
    }
}

/// Whether an OK packet with SESSION_TRACK tells of the state of a transaction.
pub(super) fn tells_of_transaction(payload: &[u8]) -> bool {
    let told = changes(payload).unwrap_or_default();
    told.iter().any(|(kind, _)| *kind == TRANSACTION_STATE)
}

/// What of our COMMIT's news is the client's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// The GTID: its statement has written.
    pub written: bool,
    /// The characteristics of transactions: what was set for one is used up.
    pub used_up: bool,
    /// That there is no transaction: it has not been told that its last one has ended.
    pub end_untold: bool,
}

/// Adds to the client's answer what our COMMIT tells.
pub(super) fn add_commit(payload: &mut Vec<u8>, commit: &[u8], news: News) {
    let is_gtid = |(kind, change): &Change| match *kind {
        GTIDS => true,
        SYSTEM_VARIABLES => Reader::new(change).lenenc_bytes() == Ok(LAST_GTID),
        _ => false,
    };
    let (Ok(told), Ok(mut all)) = (changes(commit), changes(payload)) else {
        return;
    };
    let before = all.len();
    all.extend(told.into_iter().filter(|change| {
        (news.written && is_gtid(change))
            || (news.used_up && change.0 == TRANSACTION_CHARACTERISTICS)
            || (news.end_untold && change.0 == TRANSACTION_STATE)
    }));
    if all.len() > before
        && let Ok(patched) = with_changes(payload, &all)
    {
        *payload = patched;
    }
}

/// Whether the answer to a write says that it has changed something; `updates` tells that it is an UPDATE, whose info
/// text counts the rows that have changed where the packet counts those that were found.
pub(super) fn has_written(last: &[u8], updates: bool) -> bool {
    let Ok(ok) = OkPacket::decode(last) else {
        return false;
    };
    let is_same = || matches!(row_counts(ok.tail), Some((_, 0)));
    last.first() == Some(&reply::OK) && ok.affected_rows > 0 && !(updates && is_same())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_of_ours_does_not_show() {
        let quiet = [0, 1, 0, 0x02, 0x00, 0, 0];
        let mut told = vec![0, 1, 0, 0x02, 0x40, 0, 0, 0, 0x0b, 5, 9, 8];
        told.extend_from_slice(b"________");
        hide_transaction(&mut told);
        assert_eq!(told, quiet);
        // A change of schema stays, and so does the info text.
        let mut told = vec![0, 1, 0, 0x02, 0x40, 0, 0, 1, b'i', 0x0f, 5, 9, 8];
        told.extend_from_slice(b"________");
        told.extend_from_slice(&[1, 2, 1, b's']);
        hide_transaction(&mut told);
        assert_eq!(told, [0, 1, 0, 0x02, 0x40, 0, 0, 1, b'i', 4, 1, 2, 1, b's']);
        let mut plain = quiet.to_vec();
        hide_transaction(&mut plain);
        assert_eq!(plain, quiet);
    }

    #[test]
    fn the_commit_tells_of_the_clients_write() {
        let ok = [0, 1, 0, 0x02, 0x00, 0, 0];
        // GTIDs (encoding, text), characteristics that are empty again, a variable.
        let commit = [
            0, 0, 0, 0x02, 0x40, 0, 0, 0, 12, 3, 3, 0, 1, b'g', 4, 1, 0, 0, 2, 1, b'v',
        ];
        let told = |written, used_up| {
            let mut payload = ok.to_vec();
            let news = News {
                written,
                used_up,
                ..News::default()
            };
            add_commit(&mut payload, &commit, news);
            payload
        };
        assert_eq!(told(false, false), ok);
        assert_eq!(
            told(true, false),
            [0, 1, 0, 0x02, 0x40, 0, 0, 0, 5, 3, 3, 0, 1, b'g']
        );
        assert_eq!(
            told(false, true),
            [0, 1, 0, 0x02, 0x40, 0, 0, 0, 3, 4, 1, 0]
        );
    }

    #[test]
    fn rows_that_stay_as_they_are_have_no_gtid() {
        let answer = |affected_rows: u64, info: &[u8]| {
            let mut payload = Vec::new();
            OkPacket {
                header: 0,
                affected_rows,
                last_insert_id: 0,
                status: 2,
                warnings: 0,
                tail: info,
            }
            .encode(&mut payload);
            payload
        };
        let same = b"Rows matched: 1  Changed: 0  Warnings: 0";
        assert!(!has_written(&answer(1, same), true));
        // Of this length; the byte before it is a digit then.
        let same = [
            b"0".as_slice(),
            b"Rows matched: 12345  Changed: 0  Warnings: 12345",
        ]
        .concat();
        assert!(!has_written(&answer(1, &same), true));
        let new = b"Rows matched: 2  Changed: 1  Warnings: 0";
        assert!(has_written(&answer(2, new), true));
        assert!(!has_written(&answer(0, b""), false));
        let records = b"Records: 3  Duplicates: 0  Warnings: 0";
        assert!(has_written(&answer(3, records), false));
    }
}

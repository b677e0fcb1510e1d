//! What OK packets report about the session (manual: "Session State Information") when a transaction of the proxy's
//! own surrounds the client's statement. The client must not see that transaction, but must see what its COMMIT
//! reports about the client's write.

use crate::wire::reader::Reader;
use crate::wire::reply::{self, Ok as OkPacket, row_counts};
use crate::wire::session_state::{
    Change, GTIDS, SYSTEM_VARIABLES, TRANSACTION_CHARACTERISTICS, TRANSACTION_STATE, changes,
    with_changes,
};

/// MariaDB's variable that holds the GTID of the last write.
const LAST_GTID: &[u8] = b"last_gtid";

/// Removes the changes of transaction state and characteristics from an OK packet with SESSION_TRACK.
pub fn hide_transaction(payload: &mut Vec<u8>) {
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

/// Which of the changes that the proxy's COMMIT reports belong to the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitReport {
    /// The GTID does: the client's statement has written.
    pub written: bool,
    /// The transaction characteristics do: what was set for one transaction is used up.
    pub used_up: bool,
}

/// Adds to the client's response what the proxy's COMMIT reports.
pub fn add_commit(payload: &mut Vec<u8>, commit: &[u8], report: CommitReport) {
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
        (report.written && is_gtid(change))
            || (report.used_up && change.0 == TRANSACTION_CHARACTERISTICS)
    }));
    if all.len() > before
        && let Ok(patched) = with_changes(payload, &all)
    {
        *payload = patched;
    }
}

/// Whether the response to a write says that it has changed something. `updates`: it is an UPDATE, where the packet
/// may count the rows that were matched, and the info text counts those that have changed.
pub fn has_written(last: &[u8], updates: bool) -> bool {
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
            let report = CommitReport { written, used_up };
            add_commit(&mut payload, &commit, report);
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
        // The text has exactly this length, so the byte before it, its length in the packet, reads as a digit.
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

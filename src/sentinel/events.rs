//! Events of the binary log, as far as they say who changes what.
//!
//! MySQL's manual, "Binary Log Event Types"; MariaDB's, "Replication Protocol".

use std::io;

use mysql_async::binlog::events::{Event, EventData, RowsEventData, TableMapEvent};

use super::image::{Image, change};
use super::transaction::{Rows, Said, Statement};
use super::watched::Watched;

/// MariaDB's GTID_EVENT, which begins each transaction there.
const MARIADB_GTID: u8 = 162;

/// MariaDB's flag of a GTID_EVENT before a statement that is no transaction.
const STANDS_ALONE: u8 = 1;

/// What an event says. `map` finds the description of an event's table; `server_id` is the server's own.
///
/// # Errors
///
/// The event is not what it says it is.
pub(super) fn read<'a>(
    event: &Event,
    map: impl Fn(u64) -> Option<&'a TableMapEvent<'static>>,
    watched: &Watched,
    server_id: u32,
) -> io::Result<Said> {
    let header = event.header();
    // What the server has from another one, as its replica, has that one's threads.
    if header.server_id() != server_id {
        return Ok(Said::Nothing);
    }
    if header.event_type_raw() == MARIADB_GTID {
        return Ok(mariadb_begins(event.data()));
    }
    Ok(match event.read_data()? {
        // BEGIN follows, or a statement that is no transaction.
        Some(EventData::GtidEvent(_) | EventData::AnonymousGtidEvent(_)) => Said::Begins {
            stands_alone: true,
            thread: None,
        },
        Some(EventData::QueryEvent(query)) => match query.query_raw() {
            b"BEGIN" => Said::Thread(query.thread_id()),
            b"COMMIT" | b"ROLLBACK" => Said::Ends,
            text => {
                let named = watched.named(text, &query.schema());
                Said::Statement(Statement {
                    thread: query.thread_id(),
                    at: header.timestamp(),
                    hot: named.hot.into_iter().cloned().collect(),
                    slots: named.slots.into_iter().cloned().collect(),
                })
            }
        },
        Some(EventData::XidEvent(_) | EventData::XaPrepareLogEvent(_)) => Said::Ends,
        Some(EventData::RowsEvent(rows)) => match map(rows.table_id()) {
            Some(map) => of_rows(&rows, map, watched, header.timestamp())?,
            None => Said::Nothing,
        },
        _ => Said::Nothing,
    })
}

fn of_rows(
    event: &RowsEventData<'_>,
    map: &TableMapEvent<'_>,
    watched: &Watched,
    at: u32,
) -> io::Result<Said> {
    let (schema, name) = (map.database_name(), map.table_name());
    if let Some(table) = watched.of_slots(&schema, &name) {
        return Ok(Said::Slots(table.clone()));
    }
    let Some(table) = watched.hot(&schema, &name) else {
        return Ok(Said::Nothing);
    };
    let width = usize::try_from(event.num_columns()).unwrap_or(usize::MAX);
    let before = event.columns_before_image().into_iter().flatten();
    let in_before: Vec<bool> = before.map(|bit| *bit).take(width).collect();
    let after = event.columns_after_image().into_iter().flatten();
    let in_after: Vec<bool> = after.map(|bit| *bit).take(width).collect();
    let mut rows = Rows {
        table: table.clone(),
        at,
        changes: Vec::new(),
    };
    for row in event.rows(map) {
        let (before, after) = row?;
        let before = before.map(|row| Image::new(row, &in_before));
        let after = after.map(|row| Image::new(row, &in_after));
        rows.changes
            .extend(change(table, before.as_ref(), after.as_ref()));
    }
    Ok(Said::Rows(rows))
}

/// MariaDB's GTID_EVENT: sequence number (8 bytes), domain (4), flags (1), and what the flags say. Since 11.5 the id of
/// the thread is among it.
fn mariadb_begins(data: &[u8]) -> Said {
    let flags = data.get(12).copied().unwrap_or_default();
    Said::Begins {
        stands_alone: flags & STANDS_ALONE != 0,
        thread: data.get(13..).and_then(|rest| thread_of(flags, rest)),
    }
}

/// The thread in what follows the flags of a GTID_EVENT.
fn thread_of(flags: u8, mut rest: &[u8]) -> Option<u32> {
    const GROUP_COMMIT: u8 = 2;
    const XA: u8 = 64 | 128;
    const SEVERAL_ENGINES: u8 = 1;
    const END_OF_ALTER: u8 = 4 | 8;
    const THREAD: u8 = 16;
    if flags & GROUP_COMMIT != 0 {
        rest = rest.get(8..)?;
    }
    if flags & XA != 0 {
        // The format, two lengths, and the two parts of the id.
        let (lengths, id) = rest.get(4..)?.split_at_checked(2)?;
        rest = id.get(usize::from(lengths[0]) + usize::from(lengths[1])..)?;
    }
    let (extra, mut rest) = rest.split_first()?;
    if extra & SEVERAL_ENGINES != 0 {
        rest = rest.get(1..)?;
    }
    if extra & END_OF_ALTER != 0 {
        rest = rest.get(8..)?;
    }
    let is_there = extra & THREAD != 0;
    is_there.then(|| rest.first_chunk().map(|id| u32::from_le_bytes(*id)))?
}

/// Where the log goes on after an event that says so.
pub(super) fn next_file(event: &Event) -> Option<(Vec<u8>, u64)> {
    match event.read_data() {
        Ok(Some(EventData::RotateEvent(rotate))) => {
            Some((rotate.name_raw().to_vec(), rotate.position()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the flags follow in an event of MariaDB.
    const BEFORE: [u8; 12] = [22, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    fn begins(rest: &[u8]) -> (bool, Option<u32>) {
        match mariadb_begins(&[&BEFORE, rest].concat()) {
            Said::Begins {
                stands_alone,
                thread,
            } => (stands_alone, thread),
            said => panic!("{said:?}"),
        }
    }

    #[test]
    fn mariadb_names_the_thread_since_11_5() {
        // As 11.8 and 10.11 have sent them.
        assert_eq!(begins(&[12, 16, 5, 0, 0, 0, 0]), (false, Some(5)));
        assert_eq!(begins(&[12, 0, 0, 0, 0, 0, 0]), (false, None));
    }

    #[test]
    fn the_thread_is_found_behind_what_else_there_is() {
        let group = [1 | 2, 9, 9, 9, 9, 9, 9, 9, 9, 16, 1, 2, 0, 0];
        assert_eq!(begins(&group), (true, Some(0x201)));
        let xa = [
            12 | 64,
            1,
            0,
            0,
            0,
            2,
            1,
            b'a',
            b'b',
            b'c',
            1 | 16,
            7,
            6,
            0,
            0,
            0,
        ];
        assert_eq!(begins(&xa), (false, Some(6)));
        let alter = [1, 4 | 16, 9, 9, 9, 9, 9, 9, 9, 9, 8, 0, 0, 0];
        assert_eq!(begins(&alter), (true, Some(8)));
    }

    #[test]
    fn what_is_cut_off_names_no_thread() {
        let whole = [
            12 | 2 | 64,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            1,
            1,
            1,
            1,
            17,
            1,
            6,
            0,
            0,
            0,
        ];
        assert_eq!(begins(&whole), (false, Some(6)));
        for end in 0..whole.len() {
            assert_eq!(begins(&whole[..end]).1, None, "{end}");
        }
        assert!(matches!(
            mariadb_begins(&[]),
            Said::Begins { thread: None, .. }
        ));
    }
}

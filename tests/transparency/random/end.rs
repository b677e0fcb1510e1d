//! Where the comparison of a sequence ends early: at what MySQL itself leaves open, and at limits that are stated.

use countersink::wire::reply;
use countersink::wire::response::PacketKind;

use super::OBSERVED;
use crate::case::Session;
use crate::difference::Exchange;

/// Why a sequence is compared up to a statement only. All but the first are stated limits, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// MySQL itself had a session wait for another, which the proxy need not.
    Blocked,
    /// The proxy had a session wait for another: a fold without a key waits for whoever holds a slot of its table.
    Waited,
    /// The proxy could not fold for a read in a READ ONLY transaction (1792): nor for CALL, whose procedure is then
    /// refused for a write, and raises another message.
    Refused,
    /// SKIP LOCKED and NOWAIT met other locks. Rows are missing where a fold locks more: of a whole table, where READ
    /// COMMITTED lets go of rows, and by several unique keys, for which a server may read a whole table. The error of
    /// NOWAIT comes without column definitions, and rows, before it, and does not come for a row that a scan passes
    /// by. A statement in an executable comment is folded for.
    Skipped,
    /// Slots were made anew since the snapshot: the read is refused, as one of a table that was rebuilt (1412).
    Remade,
    /// A query that is not read met a row of which more than the counters had changed since the snapshot, or
    /// could not write it for the query, being READ ONLY (1412).
    Outgrown,
    /// A CALL that touched no table left what SET TRANSACTION had set, and the fold for a write that was refused has
    /// used it up.
    UsedUp,
    /// A value out of range in a read that could not be folded for, because another session held rows: the message has
    /// the expression of the proxy's text.
    Worded,
}

/// The first exchange that is not compared any more, and why.
pub(super) fn end(
    session: &Session,
    direct: &[Exchange],
    proxied: &[Exchange],
) -> Option<(usize, Ended)> {
    let pairs = || direct.iter().zip(proxied);
    // A deadlock of the proxy's alone is a difference.
    let has_waited =
        |exchange: &Exchange| error(exchange) == Some(LOCK_WAIT_TIMEOUT) && waits(exchange);
    let text = session.to_string();
    // Behind DDL the table is rolled up at once, and an increment of a column that is gone has locked rows. A cursor
    // that MySQL refuses to open is refused after the fold.
    let refuses_cursor = |exchange: &Exchange| error(exchange) == Some(CURSOR_REFUSED);
    let has_locked_more =
        session.fresh || may_lock_more(&text) || direct.iter().any(refuses_cursor);
    let ends = [
        (direct.iter().position(waits), Ended::Blocked),
        (proxied.iter().position(has_waited), Ended::Waited),
        (
            pairs().position(|(direct, proxied)| {
                let refuses_all = error(direct) == Some(READ_ONLY) && !calls(&direct.label);
                error(proxied) == Some(READ_ONLY) && !refuses_all
            }),
            Ended::Refused,
        ),
        (
            pairs().position(|(direct, proxied)| {
                error(direct) != error(proxied)
                    && error(proxied).is_some_and(is_definition_changed)
                    && is_unread(&direct.label)
            }),
            Ended::Outgrown,
        ),
        (
            pairs().position(|(direct, proxied)| {
                session.fresh
                    && error(proxied).is_some_and(is_definition_changed)
                    && !error(direct).is_some_and(is_definition_changed)
            }),
            Ended::Remade,
        ),
        (
            (0..direct.len().min(proxied.len())).find(|&at| finds_it_used_up(&direct[..=at])),
            Ended::UsedUp,
        ),
        (
            pairs().position(|(direct, proxied)| {
                let codes = (error(direct), error(proxied));
                text.contains("\\connection")
                    && codes == (Some(OUT_OF_RANGE), Some(OUT_OF_RANGE))
                    && payloads(direct, is_error) != payloads(proxied, is_error)
            }),
            Ended::Worded,
        ),
        (
            (0..direct.len().min(proxied.len()))
                .find(|&at| meets_other_locks(has_locked_more, &direct[at..], &proxied[at..])),
            Ended::Skipped,
        ),
    ];
    let found = ends.into_iter().filter_map(|(at, why)| Some((at?, why)));
    found.min_by_key(|(at, _)| *at)
}

/// Whether an exchange ended with the error that another session is in the way, where it would have waited.
pub(super) fn waits(exchange: &Exchange) -> bool {
    lock_conflict(exchange).is_some() && !waits_for_nobody(&exchange.label)
}

/// Whether a sequence has a fold that locks more rows than MySQL does: where READ COMMITTED lets go of them, for rows
/// that are looked for by several unique keys, and of a whole table for a query among the arguments of CALL, and for
/// what is not read: PROCEDURE ANALYSE(), WAIT, and a statement in an executable comment that has a comment in it. A
/// number that is compared with text refuses an UPDATE at the first row, but not the fold, which locks them all.
pub(super) fn may_lock_more(session: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "ISOLATION LEVEL READ",
        "ON DUPLICATE KEY",
        "REPLACE",
        "PROCEDURE",
        " WAIT ",
        "path = 5",
        "5 = path",
        "path IN (5",
        "path = ?",
    ];
    let nests = |line: &str| line.contains("/*!") && line.matches("/*").count() > 1;
    SIGNS.iter().any(|sign| session.contains(sign))
        || session.lines().any(|line| calls(line) || nests(line))
}

/// Whether the proxy does not read a query.
fn is_unread(text: &str) -> bool {
    text.contains("PROCEDURE") || text.contains("/*!")
}

/// Whether a text is a CALL with a query among its arguments.
fn calls(text: &str) -> bool {
    text.contains("CALL") && text.contains("(SELECT")
}

/// The error of who has waited too long.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// The error of MySQL for a cursor over a statement that is no SELECT.
const CURSOR_REFUSED: u16 = 1322;

/// The error of a query that computes a value which its type cannot hold.
const OUT_OF_RANGE: u16 = 1690;

/// The error of who may not write, for which a fold is taken.
const READ_ONLY: u16 = 1792;

/// Whether the last of these exchanges begins a transaction behind SET TRANSACTION, a CALL, and a write that was
/// refused.
fn finds_it_used_up(exchanges: &[Exchange]) -> bool {
    let Some((last, before)) = exchanges.split_last() else {
        return false;
    };
    let mut before = before.iter();
    last.label.starts_with("START TRANSACTION")
        && before.any(|one| one.label.starts_with("SET TRANSACTION ISOLATION LEVEL"))
        && before.any(|one| one.label.starts_with("CALL"))
        && before.any(|one| error(one) == Some(READ_ONLY))
}

/// Whether an error is that of who reads a table that is younger than the snapshot. MariaDB has another one for it in a
/// write ("insufficient history for index").
fn is_definition_changed(code: u16) -> bool {
    matches!(code, 1412 | 159)
}

/// Masks what FOUND_ROWS() tells behind a SELECT that was refused: that is left from the statement before it, a
/// question of the proxy's perhaps, and on MariaDB, in a session without one, from whichever session the server's
/// thread had before.
pub(super) fn mask_what_is_left(exchanges: &mut [Exchange]) {
    let mut is_left = false;
    for exchange in exchanges.iter_mut().filter(|one| one.request != OBSERVED) {
        let asks = exchange.label.contains("FOUND_ROWS()");
        exchange.masked |= asks && is_left;
        is_left = !asks && error(exchange).is_some();
    }
}

/// Masks the number of a row in the error of a statement that finds its rows by a range of a secondary key or by a scan
/// of the table, whichever the server takes for cheaper: MariaDB counts the rows that it has read so far.
pub(super) fn mask_rows_by_access_path(exchanges: &mut [Exchange]) {
    const AT_ROW: &[u8] = b" at row ";
    for exchange in exchanges.iter_mut() {
        let Ok(packets) = &mut exchange.answer else {
            continue;
        };
        if !exchange.label.contains("title LIKE ") {
            continue;
        }
        for packet in packets {
            let mut windows = packet.payload.windows(AT_ROW.len());
            let at = windows.rposition(|window| window == AT_ROW);
            if let (PacketKind::Err, Some(at)) = (packet.packet_kind, at) {
                packet.payload.truncate(at);
            }
        }
    }
}

/// Whether a statement gives up where another session is in the way.
fn waits_for_nobody(text: &str) -> bool {
    text.contains("SKIP LOCKED") || text.contains("NOWAIT")
}

/// Whether all that two answers differ in is what other locks make of a statement that waits for nobody. Takes the
/// exchanges from that statement on, for a cursor's rows come in several.
fn meets_other_locks(
    has_locked_more: bool,
    all_direct: &[Exchange],
    all_proxied: &[Exchange],
) -> bool {
    let ([direct, ..], [proxied, ..]) = (all_direct, all_proxied) else {
        return false;
    };
    if !waits_for_nobody(&direct.label) {
        return false;
    }
    match (lock_conflict(direct), lock_conflict(proxied)) {
        (None, None) => {
            let (theirs, ours) = (rows(all_direct), rows(all_proxied));
            // LIMIT takes others in the place of rows that are missing, and an aggregate is made of fewer.
            let is_of_all = ["LIMIT", "COUNT(", "SUM(", "MAX(", "MIN(", "GROUP_CONCAT("];
            let is_of_all = is_of_all.iter().any(|sign| direct.label.contains(sign));
            let are_fewer = is_of_all || is_part(&ours, &theirs);
            let definitions = |exchange| payloads(exchange, is_definition);
            has_locked_more
                && are_fewer
                && definitions(direct) == definitions(proxied)
                && ends_with_rows(direct)
                && ends_with_rows(proxied)
        }
        (Some(_), Some(_)) => {
            let errors = |exchange| payloads(exchange, is_error);
            !payloads(direct, is_definition).is_empty()
                && payloads(proxied, |packet_kind| packet_kind != PacketKind::Err).is_empty()
                && errors(direct) == errors(proxied)
        }
        // One that is not read is folded for, and a fold waits.
        (None, Some(_)) => {
            let is_unread = ["/*!", "UNION"]
                .iter()
                .any(|sign| direct.label.contains(sign));
            is_unread || (direct.label.contains("NOWAIT") && has_locked_more)
        }
        // Increments in slots lock no row that does not match.
        (Some(_), None) => {
            direct.label.contains("NOWAIT") && scans(&direct.label) && ends_with_rows(proxied)
        }
    }
}

/// Whether a query looks for rows by something else than their key, so that it may pass others by.
fn scans(text: &str) -> bool {
    /// The first column of each table's key.
    const KEYS: [&str; 7] = ["id", "path", "account", "day", "price", "sku", "board"];
    let Some((_, condition)) = text.split_once("WHERE") else {
        return false;
    };
    let condition = condition.trim_start_matches([' ', '(', '`']);
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    let first = condition.split(|byte| !is_part(byte)).next();
    !first.is_some_and(|word| KEYS.contains(&word))
}

/// The rows of the first of these exchanges, and of the fetches behind it.
fn rows(exchanges: &[Exchange]) -> Vec<&[u8]> {
    let is_of_first =
        |one: &&Exchange| (&one.label, one.request) == (&exchanges[0].label, exchanges[0].request);
    let fetched = exchanges.iter().take_while(is_of_first);
    fetched
        .flat_map(|one| payloads(one, |packet_kind| packet_kind == PacketKind::Row))
        .collect()
}

fn is_definition(packet_kind: PacketKind) -> bool {
    matches!(
        packet_kind,
        PacketKind::ColumnCount | PacketKind::Column | PacketKind::Separator
    )
}

fn is_error(packet_kind: PacketKind) -> bool {
    packet_kind == PacketKind::Err
}

fn ends_with_rows(exchange: &Exchange) -> bool {
    let last = exchange.answer.as_ref().ok().and_then(|all| all.last());
    last.is_some_and(|last| last.packet_kind == PacketKind::RowsEnd)
}

/// Whether all of `fewer` are among `all`, and not all of these are.
fn is_part(fewer: &[&[u8]], all: &[&[u8]]) -> bool {
    let mut rest = all.to_vec();
    let are_there = fewer.iter().all(|one| {
        let found = rest.iter().position(|other| other == one);
        found.map(|at| rest.swap_remove(at)).is_some()
    });
    are_there && !rest.is_empty()
}

/// The payloads of an answer's packets of some roles.
fn payloads(exchange: &Exchange, of: impl Fn(PacketKind) -> bool) -> Vec<&[u8]> {
    let packets = exchange.answer.iter().flatten();
    let packets = packets.filter(|packet| of(packet.packet_kind));
    packets.map(|packet| &packet.payload[..]).collect()
}

/// The code of an error that says that another session is in the way.
fn lock_conflict(exchange: &Exchange) -> Option<u16> {
    /// Lock wait timeout, deadlock, NOWAIT.
    const CONFLICTS: [u16; 3] = [LOCK_WAIT_TIMEOUT, 1213, 3572];
    error(exchange).filter(|code| CONFLICTS.contains(code))
}

/// The code of the error that an answer ends with.
fn error(exchange: &Exchange) -> Option<u16> {
    let packets = exchange.answer.as_ref().ok()?;
    let last = packets
        .last()
        .filter(|last| last.packet_kind == PacketKind::Err)?;
    Some(reply::Err::decode(&last.payload).ok()?.code)
}

//! What the tracker reports of responses: captured ones, long ones, and small ones that are written out here with one
//! packet a line, as MySQL 9 and MariaDB 10.11 sent them.

mod captured;
mod case;
mod long;
mod replay;

use super::*;
use crate::wire::command;
use crate::wire::packet::encode_packet;

/// COM_STMT_EXECUTE of statement 1, with these flags.
const fn execution(flags: u8) -> [u8; 10] {
    [command::STMT_EXECUTE, 1, 0, 0, 0, flags, 1, 0, 0, 0]
}

const QUERY: &[u8] = b"\x03CALL p()";

/// The payloads of a response.
fn payloads(answer: &str) -> Vec<Vec<u8>> {
    let lines = answer.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let bytes = line.split(' ').map(|byte| u8::from_str_radix(byte, 16));
            bytes.collect::<Result<_, _>>().expect("bytes in hex")
        })
        .collect()
}

/// Tracks the response to `command` while its bytes become available one at a time. All of them must belong to the
/// response.
fn walk(command: &[u8], capabilities: u64, answer: &str) -> (Vec<PacketKind>, ResponseTracker) {
    let mut stream = Vec::new();
    for (sequence_id, payload) in (1..).zip(payloads(answer)) {
        encode_packet(&mut stream, sequence_id, &payload);
    }
    let mut tracker = ResponseTracker::new(ResponseKind::of(command), capabilities);
    let (mut roles, mut at, mut there) = (Vec::new(), 0, 0);
    while !tracker.is_done() {
        assert!(
            at < stream.len(),
            "more is awaited than was sent: {roles:?}"
        );
        match tracker.next(&stream[at..there.max(at)]) {
            Next::Need(wanted) => {
                assert!(at + wanted > there, "what is there is asked for");
                there += 1;
                assert!(
                    there <= stream.len(),
                    "more is awaited than was sent: {roles:?}"
                );
            }
            Next::Packet {
                packet_kind,
                length,
            } => {
                roles.push(packet_kind);
                at += length;
            }
        }
    }
    assert_eq!(at, stream.len(), "the answer goes on after {roles:?}");
    (roles, tracker)
}

/// The packets as letters: Count, Definition, Separator, Row, End, Ok, X for an error.
fn told(command: &[u8], capabilities: u64, answer: &str) -> String {
    let letter = |packet_kind: &PacketKind| match packet_kind {
        PacketKind::ColumnCount => 'C',
        PacketKind::Column => 'D',
        PacketKind::Separator => 'S',
        PacketKind::Row => 'R',
        PacketKind::RowsEnd => 'E',
        PacketKind::Ok => 'O',
        PacketKind::Err => 'X',
        _ => '?',
    };
    walk(command, capabilities, answer)
        .0
        .iter()
        .map(letter)
        .collect()
}

const OUT_PARAMETER: &str = "
    01
    03 64 65 66 02 70 76 01 6f 01 6f 01 61 01 61 0c 3f 00 0b 00 00 00 03 00 00 00 00 00
    fe 00 00 0a 10
    00 00 07 00 00 00
    fe 00 00 02 00
    00 00 00 02 00 00 00";

#[test]
fn an_ok_follows_output_parameters() {
    let of_mariadb = OUT_PARAMETER.replace("fe 00 00 02 00", "fe 00 00 0a 10");
    for command in [execution(0), execution(1)] {
        assert_eq!(told(&command, 0, OUT_PARAMETER), "CDSREO");
        assert_eq!(told(&command, 0, &of_mariadb), "CDSREO");
    }
    let (_, tracker) = walk(&execution(0), 0, OUT_PARAMETER);
    assert!(tracker.is_multi_result());
    assert_eq!(tracker.status(), Some(status::AUTOCOMMIT), "of the OK");
}

#[test]
fn results_come_before_output_parameters() {
    let first = "
        01
        03 64 65 66 00 00 00 01 31 00 0c 3f 00 02 00 00 00 08 81 00 00 00 00
        fe 00 00 0a 00
        00 00 01 00 00 00 00 00 00 00
        fe 00 00 0a 00";
    let answer = [first, OUT_PARAMETER].concat();
    assert_eq!(told(&execution(1), 0, &answer), "CDSRECDSREO");
    let error = "
        ff 1e 04 23 34 32 53 32 32 55 6e 6b 6e 6f 77 6e";
    assert_eq!(told(&execution(1), 0, &[first, error].concat()), "CDSREX");
}

#[test]
fn output_parameters_without_the_old_eof() {
    let answer = "
        01
        03 64 65 66 02 70 76 01 6f 01 6f 01 61 01 61 0c 3f 00 0b 00 00 00 03 00 00 00 00 00
        00 00 07 00 00 00
        fe 00 00 0a 10 00 00
        00 00 00 02 00 00 00";
    assert_eq!(
        told(&execution(0), capability::DEPRECATE_EOF, answer),
        "CDREO"
    );
}

#[test]
fn a_cursor_ends_the_answer() {
    let answer = "
        01
        03 64 65 66 00 00 00 01 31 01 31 0c 3f 00 02 00 00 00 08 01 00 00 00 00
        fe 00 00 62 00";
    assert_eq!(told(&execution(1), 0, answer), "CDE");
    let answer = answer.replace("fe 00 00 62 00", "fe 00 00 62 00 00 00");
    assert_eq!(
        told(&execution(1), capability::DEPRECATE_EOF, &answer),
        "CDE"
    );
}

#[test]
fn a_cursor_that_is_not_opened_does_not() {
    let answer = "
        01
        03 64 65 66 00 00 00 05 4c 65 76 65 6c 00 0c 2d 00 1c 00 00 00 fd 01 00 27 00 00
        fe 00 00 02 00
        fe 00 00 02 00";
    assert_eq!(told(&execution(1), 0, answer), "CDSE");
}

#[test]
fn the_cursor_of_a_routine_is_none_of_the_clients() {
    // CALL of a procedure that fetched from a cursor of its own before it sends rows.
    let called = "
        01
        03 64 65 66 00 00 00 01 31 01 31 0c 3f 00 02 00 00 00 08 01 00 00 00 00
        fe 00 00 6a 00
        00 00 01 00 00 00 00 00 00 00
        00 00 02 00 00 00 00 00 00 00
        fe 00 00 6a 00
        00 00 00 62 00 00 00";
    for command in [&execution(0)[..], &execution(1), QUERY] {
        assert_eq!(told(command, 0, called), "CDSRREO");
    }
    // The procedure set its output parameter from there.
    let set = OUT_PARAMETER
        .replace("0a 10", "4a 10")
        .replace("02 00", "42 00");
    assert_eq!(told(&execution(1), 0, &set), "CDSREO");
    // SELECT id FROM t WHERE id = f(), for which the optimizer called the function.
    let selected = "
        01
        03 64 65 66 02 70 76 01 74 01 74 02 69 64 02 69 64 0c 3f 00 0b 00 00 00 03 03 50 00 00 00
        fe 00 00 42 00
        00 00 05 00 00 00
        fe 00 00 42 00";
    assert_eq!(told(QUERY, 0, selected), "CDSRE");
    assert_eq!(told(&execution(0), 0, selected), "CDSRE");
}

#[test]
fn an_execution_says_whether_it_is_to_open_a_cursor() {
    assert_eq!(ResponseKind::of(&execution(0)), ResponseKind::Results);
    assert_eq!(ResponseKind::of(&execution(1)), ResponseKind::Cursor);
    assert_eq!(ResponseKind::of(&execution(8 | 4)), ResponseKind::Cursor);
    assert_eq!(
        ResponseKind::of(&execution(8)),
        ResponseKind::Results,
        "a parameter count alone"
    );
    assert_eq!(
        ResponseKind::of(&execution(1)[..5]),
        ResponseKind::Results,
        "cut short"
    );
    assert_eq!(
        ResponseKind::of(b"\x03\x01\x01\x01\x01\x01"),
        ResponseKind::Results
    );
    assert_eq!(ResponseKind::of(&[]), ResponseKind::Single);
}

/// `SELECT likes - 60 ..`, out of range, in the response of MariaDB 10.11 when a cursor is asked for: no EOF follows
/// the columns.
#[test]
fn a_cursor_that_cannot_be_filled_ends_with_its_error() {
    const ANSWER: &str = "01
        03 64 65 66 00 00 00 01 76 00 0c 3f 00 0b 00 00 00 08 a1 00 00 00 00
        ff 9a 06 23 32 32 30 30 33 6f 75 74";
    assert_eq!(told(&execution(1), 0, ANSWER), "CDX");
    assert_eq!(
        told(&execution(1), capability::DEPRECATE_EOF, ANSWER),
        "CDX"
    );
}

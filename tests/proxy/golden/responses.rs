//! What the servers answer to commands, byte by byte: `tests/cases/responses/*.txt`, which the tests of the tracker
//! read (`src/wire/response/tests`).
//!
//! Each case is captured anew, and must have the form that its file says. COUNTERSINK_REGENERATE=1 writes what was
//! captured into the file. A new case is a file with a head alone, written that way.
//!
//! Nothing that is tested takes part in where a response ends. Behind the command a COM_PING and a COM_QUIT are sent,
//! so that what is captured is all that comes until the server closes, but for the OK to the ping.

#[path = "../../../src/wire/response/tests/case.rs"]
#[allow(dead_code, reason = "the tests of the tracker take the other parts")]
mod case;
#[path = "../../../src/wire/response/tests/replay.rs"]
#[allow(dead_code, reason = "the tests of the tracker take the other parts")]
mod replay;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use case::{Case, Response, cases, flags, payload};
use countersink::driver::{Driver, Login};
use countersink::wire::packet::{HEADER_LENGTH, Header, encode_packet};
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink::wire::{capability, command};
use countersink_sandbox::{Address, Flavour};
use replay::told_whole;

use crate::support;
use crate::support::client::{connect, create_schema, prepare, rows, run};
use crate::support::twin::single;

const SCHEMA: &str = "responses";

const TABLES: &str = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), n INT NOT NULL); \
     INSERT INTO item VALUES (1, 'bolt', 10), (2, NULL, 20), (3, '', 30); \
     CREATE TABLE part (item INT, PRIMARY KEY (item)); INSERT INTO part VALUES (1), (2); \
     CREATE TABLE note (text VARCHAR(100)); \
     CREATE TABLE variable (name VARCHAR(64)) SELECT VARIABLE_NAME AS name FROM @.session_variables; \
     CREATE PROCEDURE two() BEGIN SELECT id FROM item; SELECT name FROM item WHERE id = 1; END; \
     CREATE PROCEDURE told(OUT n INT) SET n = 7; \
     CREATE PROCEDURE rows_and_output(OUT n INT) BEGIN SELECT id FROM item; SET n = 7; END; \
     CREATE PROCEDURE fails() BEGIN SELECT id FROM item; SELECT * FROM missing; END";

#[test]
fn responses_have_the_form_that_was_captured() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let catalog = match flavour {
                Flavour::MySql => "performance_schema",
                Flavour::MariaDb => "information_schema",
            };
            let tables = TABLES.replace('@', catalog);
            create_schema(single(flavour), SCHEMA, &tables).await;
        }
        for case in cases() {
            check(case).await;
        }
    });
}

/// Captures a case's responses; compares them, or writes them into the file.
async fn check(mut case: Case) {
    let mut captured = Vec::new();
    for flavour in Flavour::ALL {
        if case.value("on").is_none_or(|only| only == name(flavour)) {
            captured.extend(capture_all(&case, flavour).await);
        }
    }
    if std::env::var_os("COUNTERSINK_REGENERATE").is_some() {
        case.responses = captured;
        case.write();
        return;
    }
    let response_kind = case.response_kind();
    // Texts and times differ from capture to capture, and which sets of capabilities have the same response.
    let shapes = |responses: &[Response]| {
        let mut shapes = BTreeMap::new();
        for response in responses {
            for capabilities in &response.capabilities {
                let told = told_whole(response_kind, *capabilities, &response.stream());
                let flavour = response.server.split(' ').next().map(str::to_owned);
                let roles = told.expect("a response").roles;
                shapes.insert((flavour, *capabilities), shape(&roles));
            }
        }
        shapes
    };
    assert_eq!(
        shapes(&captured),
        shapes(&case.responses),
        "{}: other responses than it says; COUNTERSINK_REGENERATE=1 writes them into it",
        case.path.display()
    );
}

/// The responses of one server: with and without the old EOF packets, with and without session state changes.
async fn capture_all(case: &Case, flavour: Flavour) -> Vec<Response> {
    let server = single(flavour);
    let version = rows(&mut connect(server, None).await, "SELECT VERSION()").await;
    let further = case.value("with").map_or(0, flags);
    let mut responses: Vec<Response> = Vec::new();
    for deprecate_eof in [0, capability::DEPRECATE_EOF] {
        for session_track in [0, capability::SESSION_TRACK] {
            let capabilities = further | deprecate_eof | session_track;
            let packets = capture(case, server, capabilities).await;
            let same = responses.iter_mut().find(|other| other.packets == packets);
            match same {
                Some(same) => same.capabilities.push(capabilities),
                None => responses.push(Response {
                    server: format!("{} {}", name(flavour), version[0][0]),
                    capabilities: vec![capabilities],
                    packets,
                    expected: String::new(),
                }),
            }
        }
    }
    responses
}

fn name(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => "MySQL",
        Flavour::MariaDb => "MariaDB",
    }
}

/// The packets of one response.
async fn capture(case: &Case, server: &Address, chosen: u64) -> Vec<(u8, Vec<u8>)> {
    let mut socket = TcpStream::connect((server.host.as_str(), server.port)).expect("a connection");
    let mut driver = log_in(&socket, server, chosen).await;
    assert_eq!(
        driver.capabilities() & chosen,
        chosen,
        "a server without them"
    );
    let mut statement_id = 0;
    for (key, value) in case.steps() {
        match key {
            "query" => drop(run(&mut driver, value).await),
            "prepare" => statement_id = prepare(&mut driver, value).await,
            "send" => {
                let command = payload(value, statement_id);
                driver.send(&command).await.expect("sent");
                driver
                    .packets(ResponseKind::of(&command))
                    .await
                    .expect("a response");
            }
            _ => {}
        }
    }
    let mut sent = Vec::new();
    encode_packet(&mut sent, 0, &case.command(statement_id));
    if let Some(file) = case.value("file") {
        let next = encode_packet(&mut sent, 2, &payload(file, 0));
        encode_packet(&mut sent, next, &[]);
    }
    encode_packet(&mut sent, 0, &[command::PING]);
    encode_packet(&mut sent, 0, &[command::QUIT]);
    // The driver has read all that was sent to it, and does not read on.
    socket.set_nonblocking(false).expect("a socket");
    socket.write_all(&sent).expect("sent");
    let mut stream = Vec::new();
    socket.read_to_end(&mut stream).expect("a response");
    let mut packets = packets(&stream);
    let (sequence_id, pong) = packets.pop().expect("the OK to the ping");
    assert_eq!(
        (sequence_id, pong.first()),
        (1, Some(&0)),
        "{}",
        case.name()
    );
    packets
}

async fn log_in(socket: &TcpStream, server: &Address, chosen: u64) -> Driver {
    let copy = socket.try_clone().expect("a socket");
    copy.set_nonblocking(true).expect("a socket");
    let stream = tokio::net::TcpStream::from_std(copy).expect("a socket");
    let mut capabilities = Driver::CAPABILITIES & !capability::DEPRECATE_EOF
        | capability::MULTI_STATEMENTS
        | capability::LOCAL_FILES
        | chosen;
    if chosen >> 32 != 0 {
        // Set, it says that none of MariaDB's own follow.
        capabilities &= !capability::LONG_PASSWORD;
    }
    let login = Login {
        schema: Some(SCHEMA),
        capabilities,
        ..Login::new(&server.user, &server.password)
    };
    let driver = Driver::connect(Box::new(stream), &login).await;
    driver.expect("a login")
}

/// The packets of a stream: sequence ids and payloads.
fn packets(mut stream: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut packets = Vec::new();
    while let Some(header) = Header::decode(stream) {
        let (packet, rest) = stream.split_at(header.packet_length());
        packets.push((header.sequence_id, packet[HEADER_LENGTH..].to_vec()));
        stream = rest;
    }
    packets
}

/// The roles of a response, but not how many rows, columns or reports stand in a row.
fn shape(roles: &[PacketKind]) -> Vec<PacketKind> {
    let mut shape = roles.to_vec();
    shape.dedup();
    shape
}

//! The ways in which clients misbehave: garbage, stalls, and connections that end in the middle of something.

use std::time::{Duration, Instant};

use countersink_sandbox::Address;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::io::AsyncWriteExt;

use super::raw::{Raw, connect_tcp, read_some, read_to_the_close};
use super::stage::{Session, Stage};
use crate::support::client::{connect, run};

/// Each of the misbehaving clients' logins may take so long, and the control account's. Half a second was not enough
/// for it on a busy machine.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

/// Bytes that are no handshake response; each way ends in a close.
pub(super) async fn send_garbage_in_the_handshake(address: &Address) {
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0xFF; 70_000],
        &[0x00; 64],
        b"\x05\x00\x00\x01hello",
    ];
    let mut sockets = Vec::new();
    for bytes in garbage {
        let mut socket = connect_tcp(address).await;
        socket.write_all(bytes).await.ok(); // the close may come first
        sockets.push(socket);
    }
    for mut socket in sockets {
        read_to_the_close(&mut socket).await;
    }
}

/// The proxy's handshake_timeout ends it.
pub(super) async fn stall_before_the_handshake(address: &Address) {
    let started = Instant::now();
    let mut socket = connect_tcp(address).await;
    read_to_the_close(&mut socket).await;
    let waited = started.elapsed();
    assert!(waited >= HANDSHAKE_TIMEOUT, "closed after {waited:?}");
}

pub(super) async fn stall_in_the_handshake(address: &Address) {
    let mut half = connect_tcp(address).await;
    read_some(&mut half).await;
    let beginning_of_a_response = b"\x50\x00\x00\x01\x85\xa6";
    let sent = half.write_all(beginning_of_a_response).await;
    sent.expect("sent");
    read_to_the_close(&mut half).await;
}

pub(super) async fn send_garbage_as_a_command(stage: &Stage) {
    for bytes in [
        &b"\xff\xff\xff\x00"[..],
        b"\x01\x00\x00\x07\x0e",
        b"\x10\x00\x00\x00\x03SELECT",
    ] {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.socket.write_all(bytes).await.expect("sent");
    }
}

/// The servers look for their client only every 5 s.
pub(super) async fn vanish_in_queries(stage: &Stage) {
    let mut clients = Vec::new();
    for text in ["SELECT SLEEP(1000)", "SELECT SLEEP(1001), views FROM posts"] {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.query(text).await;
        clients.push(client);
    }
    for text in ["SLEEP(1000)", "SLEEP(1001)"] {
        let runs = |session: &Session| session.info.contains(text);
        stage.wait_for("the query to run", runs).await;
    }
    drop(clients);
    stage.wait_until_alone().await;
}

pub(super) async fn vanish_in_a_result(stage: &Stage) {
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    read_some(&mut client.socket).await;
    drop(client);
}

pub(super) async fn vanish_in_a_statement(stage: &Stage) {
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client
        .socket
        .write_all(b"\x00\x00\x10\x00\x03UPDATE posts SET views = views + 1")
        .await
        .expect("sent");
    drop(client);
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    client.query("BEGIN").await;
    client.read_result().await;
    client.query("UPDATE posts SET views = views + 1").await;
    client.read_result().await;
    drop(client); // with its transaction open
}

/// Clients that send a part of a file: one is gone, the other has miscounted its packets and waits. For the rest the
/// server waits longer than the test does.
pub(super) async fn break_off_a_local_file(stage: &Stage) -> Raw {
    let mut direct = connect(&stage.root, None).await;
    run(&mut direct, "SET GLOBAL local_infile = 1").await;
    let begin = async |sequence_id| {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        client.query("SET net_read_timeout = 100000").await;
        client.read_result().await;
        client
            .query("LOAD DATA LOCAL INFILE 'any' INTO TABLE numbers")
            .await;
        read_some(&mut client.socket).await;
        let packet = [&[2, 0, 0, sequence_id][..], b"9\n"].concat();
        client.socket.write_all(&packet).await.expect("sent");
        client
    };
    drop(begin(2).await);
    begin(7).await
}

/// Some bytes that a client may send.
pub(super) fn anything(dice: &mut StdRng) -> Vec<u8> {
    const TEXTS: [&str; 12] = [
        "SELECT * FROM numbers",
        "SELECT views FROM posts",
        "SELECT views, SLEEP(0.01) FROM posts FOR UPDATE",
        "UPDATE posts SET views = views + 1 WHERE id = 1",
        "UPDATE posts SET views = 7",
        "BEGIN",
        "COMMIT",
        "LOCK TABLES posts WRITE",
        "LOAD DATA LOCAL INFILE '/none' INTO TABLE numbers",
        "PREPARE p FROM 'SELECT views FROM posts'",
        "EXECUTE p",
        "SELECT '",
    ];
    const COM_QUERY: u8 = 0x03;
    /// A server that is shut down, and sessions that are killed, would be others' loss.
    const TAKEN_OUT: [u8; 2] = [0x08, 0x0C];
    let payload = match dice.random_range(0..4) {
        0 => {
            let mut payload = vec![0; dice.random_range(0..200)];
            dice.fill(&mut payload[..]);
            payload
        }
        1 => {
            let mut payload = vec![0; dice.random_range(1..40)];
            dice.fill(&mut payload[..]);
            payload[0] = dice.random_range(0..0x20);
            payload
        }
        2 => {
            let text = TEXTS[dice.random_range(0..TEXTS.len())];
            let command = [0x03, 0x16, 0x04][dice.random_range(0..3)];
            [&[command], text.as_bytes()].concat()
        }
        _ => {
            let text = TEXTS[dice.random_range(0..TEXTS.len())];
            [&[COM_QUERY], text.as_bytes()].concat()
        }
    };
    if payload
        .first()
        .is_some_and(|command| TAKEN_OUT.contains(command))
    {
        return Vec::new();
    }
    let told = match dice.random_range(0..8) {
        0 => dice.random_range(0..70_000),
        _ => payload.len(),
    };
    let sequence_id = match dice.random_range(0..8) {
        0 => dice.random_range(0..=255),
        _ => 0,
    };
    let mut bytes = u32::try_from(told).expect("small").to_le_bytes()[..3].to_vec();
    bytes.push(sequence_id);
    bytes.extend_from_slice(&payload);
    if dice.random_bool(0.1) {
        let end = dice.random_range(0..bytes.len());
        bytes.truncate(end);
    }
    bytes
}

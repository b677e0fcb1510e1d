//! Large results pass through in little memory, and whatever clients do, no connection is left behind.
//!
//! The proxy is the `countersink` binary in a process of its own.

mod misbehaving;
mod raw;
mod stage;

use std::time::Duration;

use countersink_sandbox::Flavour;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::client::{connect, number, rows, run};
use crate::support::thorough::say;
use crate::support::{from_environment, on_both};
use misbehaving::{
    HANDSHAKE_TIMEOUT, anything, break_off_a_local_file, send_garbage_as_a_command,
    send_garbage_in_the_handshake, stall_before_the_handshake, stall_in_the_handshake,
    vanish_in_a_result, vanish_in_a_statement, vanish_in_queries,
};
use raw::{Raw, connect_tcp, read_some, read_to_the_close};
use stage::{MIB, Stage};

on_both![
    a_gibibyte_of_rows_takes_no_memory,
    a_client_that_does_not_read_takes_no_memory,
    a_long_statement_takes_no_memory,
    clients_that_misbehave_leave_nothing_upstream,
    clients_that_send_anything_leave_nothing_upstream,
    a_write_whose_client_vanishes_is_done,
    commands_sent_before_the_close_are_done,
];

async fn a_gibibyte_of_rows_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_down", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    let passed = client.read_result().await;
    stage.expect_no_growth("a result of 1 GiB", &before);
    assert_eq!(passed / MIB, 1024, "all of it came");
}

async fn a_client_that_does_not_read_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_slow", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client
        .query("SELECT REPEAT('x', 1048576) FROM numbers")
        .await;
    // By then the sockets' buffers are full, and the server waits to write: all of it would have come in 3 s.
    stage
        .wait_for("the server to wait for the client", |session| {
            session.info.starts_with("SELECT REPEAT") && session.seconds >= 2
        })
        .await;
    stage.expect_no_growth("a client that does not read", &before);
    drop(client);
    stage.wait_until_alone().await;
}

async fn a_long_statement_takes_no_memory(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_up", "").await;
    let mut client = Raw::login(&stage.address(), &stage.schema).await;
    let before = stage.warm(&mut client).await;
    client.send_and_read(128 * MIB).await;
    stage.expect_no_growth("a statement of 128 MiB", &before);
}

async fn clients_that_misbehave_leave_nothing_upstream(flavour: Flavour) {
    let timeout = format!("handshake_timeout: {}ms\n", HANDSHAKE_TIMEOUT.as_millis());
    let stage = Stage::new(flavour, "cs_stream_rude", &timeout).await;
    let address = stage.address();
    tokio::join!(
        send_garbage_in_the_handshake(&address),
        stall_before_the_handshake(&address),
        stall_in_the_handshake(&address),
    );
    drop(connect_tcp(&address).await); // gone before the initial handshake
    let mut greeted = connect_tcp(&address).await;
    read_some(&mut greeted).await;
    drop(greeted); // gone after it
    send_garbage_as_a_command(&stage).await;
    vanish_in_queries(&stage).await;
    vanish_in_a_result(&stage).await;
    vanish_in_a_statement(&stage).await;
    let miscounts = break_off_a_local_file(&stage).await;
    stage.wait_until_alone().await;
    drop(miscounts);
    // And the proxy goes on.
    let mut client = connect(&address, Some(&stage.schema)).await;
    assert_eq!(rows(&mut client, "SELECT views FROM posts").await, [["5"]]);
}

/// Packets and what is none, several at once, answers read or not; then a close of one kind or another. The seed and
/// the number of clients may be set: COUNTERSINK_SEED, COUNTERSINK_CLIENTS.
async fn clients_that_send_anything_leave_nothing_upstream(flavour: Flavour) {
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    let clients = from_environment("COUNTERSINK_CLIENTS").unwrap_or(200);
    say(&format!(
        "{flavour}, clients that send anything: seed {seed}, {clients} clients"
    ));
    let stage = Stage::new(flavour, "cs_stream_any", "").await;
    let mut dice = StdRng::seed_from_u64(seed);
    for _ in 0..clients {
        let mut client = Raw::login(&stage.address(), &stage.schema).await;
        for _ in 0..dice.random_range(1..4) {
            let bytes = anything(&mut dice);
            // Whoever is not welcome any more is told so by the close.
            client.socket.write_all(&bytes).await.ok();
            if dice.random_bool(0.5) {
                let mut some = [0; 64];
                let read = client.socket.read(&mut some);
                tokio::time::timeout(Duration::from_millis(5), read)
                    .await
                    .ok();
            }
        }
        match dice.random_range(0..3) {
            0 => drop(client),
            1 => {
                client.socket.shutdown().await.ok();
                let mut some = [0; 64];
                let read = client.socket.read(&mut some);
                tokio::time::timeout(Duration::from_millis(5), read)
                    .await
                    .ok();
            }
            _ => {
                let socket = socket2::SockRef::from(&client.socket);
                socket.set_linger(Some(Duration::ZERO)).expect("an option");
            }
        }
    }
    stage.wait_until_alone().await;
    let mut client = connect(&stage.address(), Some(&stage.schema)).await;
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM posts").await, 1);
}

/// As MySQL completes what it has received, whoever is left to be told.
async fn a_write_whose_client_vanishes_is_done(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_stream_last", "").await;
    for address in [stage.server.clone(), stage.address()] {
        // No increment: it is folded first, and committed by the proxy.
        let mut client = Raw::login(&address, &stage.schema).await;
        client
            .query("UPDATE posts SET views = views * 3 + SLEEP(1)")
            .await;
        stage
            .wait_for("the update to run", |session| {
                session.info.contains("SLEEP(1)")
            })
            .await;
        drop(client);
        stage.wait_until_alone().await;
    }
    let mut client = connect(&stage.address(), Some(&stage.schema)).await;
    assert_eq!(rows(&mut client, "SELECT views FROM posts").await, [["45"]]);
}

/// A client may send ahead, and close when the first answer is still to come.
async fn commands_sent_before_the_close_are_done(flavour: Flavour) {
    const AHEAD: [&str; 4] = [
        "INSERT INTO numbers VALUES (2000 + SLEEP(1))",
        "INSERT INTO numbers VALUES (2001)",
        "UPDATE posts SET views = views + 1",
        "INSERT INTO numbers SELECT 2000 + views FROM posts",
    ];
    let stage = Stage::new(flavour, "cs_stream_ahead", "").await;
    let mut reader = connect(&stage.address(), Some(&stage.schema)).await;
    for (is_half, expected) in [(true, Some("2000 2001 2006 6")), (false, None)] {
        let mut done = Vec::new();
        for address in [stage.server.clone(), stage.address()] {
            run(&mut reader, "DELETE FROM numbers WHERE n >= 2000").await;
            run(&mut reader, "UPDATE posts SET views = 5").await;
            let mut client = Raw::login(&address, &stage.schema).await;
            for text in AHEAD {
                client.query(text).await;
            }
            client.socket.shutdown().await.expect("closed for writing");
            match is_half {
                true => read_to_the_close(&mut client.socket).await,
                // Answers that come now are refused.
                false => drop(client),
            }
            stage.wait_until_left(1).await;
            let written = "SELECT views FROM posts UNION ALL SELECT n FROM numbers WHERE n >= 2000";
            let mut written: Vec<_> = rows(&mut reader, written).await.concat();
            written.sort();
            done.push(written.join(" "));
        }
        let [directly, proxied] = &done[..] else {
            panic!("{done:?}");
        };
        assert_eq!(proxied, directly, "closed by half: {is_half}");
        assert_eq!(expected.unwrap_or(directly), directly);
    }
}

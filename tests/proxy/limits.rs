//! How many clients are let in, and what the others are told, which is what MySQL tells them.

use std::time::Duration;

use countersink::driver::{Driver, Error, ServerError, command_packet};
use countersink::net::ReadError;
use countersink::wire::response::ResponseKind;
use countersink::wire::{command, reply};
use countersink_sandbox::{Address, Flavour};

use crate::support::binary::{Serving, rules_file};
use crate::support::client::{connect, connect_as, create_schema, number, prepare, run, run_all};
use crate::support::on_both;
use crate::support::proxy::{Proxy, rules_head};

use crate::support::twin::{alone, twin};

on_both![
    whoever_finds_no_place_is_told_at_once,
    an_account_has_its_share,
    those_that_say_nothing_keep_nobody_out,
    a_reload_makes_room,
    whoever_is_idle_for_too_long_is_told_as_by_the_server,
    more_text_than_a_session_remembers_is_exact,
    a_hot_table_is_seen_however_late_it_is_named,
];

const TABLE: &str =
    "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 0)";

/// Accounts `ann`, `bob` and `dba`, who may do everything to the schema, which is made.
async fn people(server: &Address, schema: &str) -> Driver {
    let mut direct = create_schema(server, schema, TABLE).await;
    for name in ["ann", "bob", "dba"] {
        let account = format!("{name}_{schema}");
        run_all(
            &mut direct,
            &format!(
                "DROP USER IF EXISTS {account}@'%'; CREATE USER {account}@'%' IDENTIFIED BY ''; \
                 GRANT ALL ON {schema}.* TO {account}@'%'"
            ),
        )
        .await;
    }
    direct
}

/// Logs in as one of these. The error is what the server, or the proxy, says.
async fn login(to: &Address, schema: &str, name: &str) -> Result<Driver, ServerError> {
    let to = Address {
        user: format!("{name}_{schema}"),
        password: String::new(),
        ..to.clone()
    };
    match connect_as(&to, Some(schema), Driver::CAPABILITIES).await {
        Ok(driver) => Ok(driver),
        Err(Error::Login(error)) => Err(error),
        Err(error) => panic!("{name}: {error}"),
    }
}

async fn refused(to: &Address, schema: &str, name: &str) -> ServerError {
    let answer = login(to, schema, name).await;
    answer.err().unwrap_or_else(|| panic!("{name} is let in"))
}

/// Logs in as soon as there is a place: that of a client that has gone is free when the proxy has seen it.
async fn login_in_the_end(to: &Address, schema: &str, name: &str) -> Driver {
    let in_the_end = async {
        loop {
            match login(to, schema, name).await {
                Ok(driver) => return driver,
                Err(error) => assert_eq!(error.code, 1040, "{}", error.message),
            }
        }
    };
    let limit = Duration::from_secs(30);
    let entered = tokio::time::timeout(limit, in_the_end).await;
    entered.unwrap_or_else(|_| panic!("{name} is not let in"))
}

fn rules(limits: &str, schema: &str) -> String {
    format!("{limits}\ncounters:\n- {{table: {schema}.posts, columns: [views]}}\n")
}

async fn whoever_finds_no_place_is_told_at_once(flavour: Flavour) {
    let schema = "cs_limits_full";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let limits = format!(
        "max_connections: 3\nreserved_connections: {{connections: 1, users: [dba_{schema}]}}"
    );
    let proxy = Proxy::start(server, &rules(&limits, schema));
    let to = &proxy.address;
    let ann = login(to, schema, "ann").await.expect("a place");
    let mut bob = login(to, schema, "bob").await.expect("a place");
    let told = refused(to, schema, "ann").await;
    assert_eq!(told.code, 1040);
    let mut dba = login(to, schema, "dba").await.expect("a reserved place");
    // Now nobody gets in, whoever it is.
    let told_before_greeting = refused(to, schema, "dba").await;
    assert_eq!(told_before_greeting.code, 1040);
    for client in [&mut bob, &mut dba] {
        run(client, "UPDATE posts SET views = views + 1 WHERE id = 1").await;
    }
    for client in [ann, dba] {
        client.quit().await.expect("gone");
    }
    login_in_the_end(to, schema, "ann").await;

    // MySQL tells the same, in the same two ways.
    if flavour == Flavour::MySql {
        let (server, _turn) = alone(flavour).await;
        let mut direct = people(server, schema).await;
        run(&mut direct, "SET GLOBAL max_connections = 1").await;
        let second = refused(server, schema, "ann").await;
        run(&mut direct, "SET GLOBAL max_connections = 1000").await;
        assert_eq!(second.code, told.code);
        for told in [told, told_before_greeting] {
            let same = told.message.starts_with(&second.message);
            assert!(same, "{told} where MySQL says {second}");
        }
    }
}

async fn an_account_has_its_share(flavour: Flavour) {
    let schema = "cs_limits_account";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let proxy = Proxy::start(server, &rules("max_user_connections: 1", schema));
    let to = &proxy.address;
    let _ann = login(to, schema, "ann").await.expect("a place");
    let told = refused(to, schema, "ann").await;
    let _bob = login(to, schema, "bob").await.expect("a place of his own");
    assert_eq!(told.code, 1203);
    if flavour == Flavour::MySql {
        let (server, _turn) = alone(flavour).await;
        let mut direct = people(server, schema).await;
        run(&mut direct, "SET GLOBAL max_user_connections = 1").await;
        let first = login(server, schema, "ann").await;
        let second = refused(server, schema, "ann").await;
        run(&mut direct, "SET GLOBAL max_user_connections = 0").await;
        drop(first);
        assert_eq!(second.code, told.code);
        let same = told.message.starts_with(&second.message);
        assert!(same, "{told} where MySQL says {second}");
    }
}

/// They have places of their own, by their address too.
async fn those_that_say_nothing_keep_nobody_out(flavour: Flavour) {
    let schema = "cs_limits_silent";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let limits = "max_connections: 2\nmax_logins: 3\nhandshake_timeout: 10m";
    let proxy = Proxy::start(server, &rules(limits, schema));
    let to = &proxy.address;
    let port = (to.host.as_str(), to.port);
    let mut silent = Vec::new();
    for _ in 0..2 {
        let stream = tokio::net::TcpStream::connect(port)
            .await
            .expect("it connects");
        // The greeting says that it has a place.
        stream.readable().await.expect("a greeting");
        silent.push(stream);
    }
    let _ann = login(to, schema, "ann").await.expect("a place");
    let third = tokio::net::TcpStream::connect(port)
        .await
        .expect("it connects");
    third.readable().await.expect("a greeting");
    silent.push(third);
    let told = refused(to, schema, "bob").await;
    assert_eq!(told.code, 1040);
    assert!(told.message.contains("max_logins"), "{told}");
    silent.clear();
    login_in_the_end(to, schema, "bob").await;
}

/// Two megabytes of prepared statements are remembered; further long ones fold, as any does that is too long.
async fn more_text_than_a_session_remembers_is_exact(flavour: Flavour) {
    const STATEMENTS: usize = 300;
    let schema = "cs_limits_texts";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let limits = "memory: {prepared_statements: 2MiB}";
    let proxy = Proxy::start(server, &rules(limits, schema));
    let mut client = connect(&proxy.address, Some(schema)).await;
    let comment = "x".repeat(15_000);
    let mut ids = Vec::new();
    let add = format!("UPDATE posts SET views = views + 1 WHERE id = 1 /* {comment} */");
    for _ in 0..STATEMENTS {
        ids.push(prepare(&mut client, &add).await);
    }
    for id in ids {
        let answer = client.refusal(&execute(id), ResponseKind::Results).await;
        assert_eq!(answer.expect("an answer"), None);
    }
    let views = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
    assert_eq!(views, STATEMENTS as i64);
    let folded = proxy.counted("folded:too-long");
    let remembered = 2 * 1024 * 1024 / add.len();
    assert_eq!(folded, (STATEMENTS - remembered) as u64);
    assert_eq!(proxy.counted("slotted") + folded, STATEMENTS as u64);
}

/// A text that is read whole, and one that is longer than that: all hot tables are folded for it.
async fn a_hot_table_is_seen_however_late_it_is_named(flavour: Flavour) {
    const LENGTH: usize = 3 * 512 * 1024;
    let schema = "cs_limits_late";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let padding = "x".repeat(LENGTH);
    for (limits, is_read) in [("", true), ("memory: {statement: 1MiB}", false)] {
        let rules = rules(limits, schema).replace("[views]", "[views], rest: never");
        let proxy = Proxy::start(server, &rules);
        let mut client = connect(&proxy.address, Some(schema)).await;
        let mut views = 0;
        let mut increment = async |client: &mut Driver| {
            run(client, "UPDATE posts SET views = views + 1 WHERE id = 1").await;
            views += 1;
            views
        };
        let query = format!("SELECT /* {padding} */ views FROM posts WHERE id = 1");
        let expected = increment(&mut client).await;
        let now = number(&mut client, &query).await;
        assert_eq!(now, i64::from(expected), "{limits}");

        let expected = increment(&mut client).await;
        let id = prepare(&mut client, &query).await;
        client.send_raw(&execute(id)).await.expect("sent");
        let answer = client.packets(ResponseKind::Rows).await.expect("rows");
        // The row: a header, no NULL, and int<4>.
        let row = [&[0, 0], &i32::to_le_bytes(expected)[..]].concat();
        assert!(
            answer.iter().any(|packet| packet.payload == row),
            "{limits}: {answer:?}"
        );

        increment(&mut client).await;
        run(
            &mut client,
            &format!("UPDATE /* {padding} */ posts SET views = 100 WHERE id = 1"),
        )
        .await;
        let now = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        assert_eq!(now, 100, "{limits}");
        run(&mut client, "UPDATE posts SET views = 0 WHERE id = 1").await;

        // One that names no hot table passes, if that can be told.
        let folded = proxy.counted("folded:too-long");
        run(&mut client, &format!("DO LENGTH('{padding}')")).await;
        let more = proxy.counted("folded:too-long") - folded;
        assert_eq!(more, u64::from(!is_read), "{limits}");
    }
}

/// A whole COM_STMT_EXECUTE packet, without parameters.
fn execute(id: u32) -> Vec<u8> {
    let mut arguments = id.to_le_bytes().to_vec();
    arguments.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
    command_packet(command::STMT_EXECUTE, &arguments)
}

async fn a_reload_makes_room(flavour: Flavour) {
    let schema = "cs_limits_reload";
    let server = &twin(flavour).plain;
    people(server, schema).await;
    let text = |limits| rules_head(server) + &rules(limits, schema);
    let (_folder, file) = rules_file(&text("max_address_connections: 1"));
    let mut serving = Serving::start(&file).expect("it serves");
    let to = &serving.in_front_of(server);
    let _ann = login(to, schema, "ann").await.expect("a place");
    let told = refused(to, schema, "ann").await;
    assert_eq!(told.code, 1040);
    assert!(told.message.contains("max_address_connections"), "{told}");
    std::fs::write(&file, text("max_address_connections: 2")).expect("written");
    serving.binary.signal("HUP");
    serving.binary.wait_for("and in force").expect("it is read");
    let _second = login(to, schema, "ann").await.expect("a place");
    let told = refused(to, schema, "bob").await;
    assert_eq!(told.code, 1040);
    assert_eq!(serving.stop().code, Some(0));
}

/// What is read from a connection until it is closed: sequence ids and payloads.
async fn last_words(client: &mut Driver) -> Vec<(u8, Vec<u8>)> {
    let mut words = Vec::new();
    loop {
        match client.packets(ResponseKind::Single).await {
            Ok(packets) => words.extend(packets.into_iter().map(|it| (it.sequence_id, it.payload))),
            // MariaDB resets the connection.
            Err(Error::Read(ReadError::Closed | ReadError::Io(_))) => return words,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Its transaction is rolled back. A reload reaches those that are idle already.
async fn whoever_is_idle_for_too_long_is_told_as_by_the_server(flavour: Flavour) {
    let schema = "cs_limits_idle";
    let server = &twin(flavour).plain;
    let mut direct = people(server, schema).await;
    let text = |limits| rules_head(server) + &rules(limits, schema);
    let (_folder, file) = rules_file(&text(""));
    let serving = Serving::start(&file).expect("it serves");
    let mut client = connect(&serving.in_front_of(server), Some(schema)).await;
    run(&mut client, "BEGIN").await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    std::fs::write(&file, text("idle_timeout: 1s")).expect("written");
    serving.binary.signal("HUP");
    let told = last_words(&mut client).await;
    let views = number(
        &mut direct,
        "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
    );
    assert_eq!(views.await, 0);
    run(&mut direct, "SET SESSION wait_timeout = 1").await;
    let by_the_server = last_words(&mut direct).await;
    assert_eq!(told.len(), by_the_server.len());
    for ((id, told), (server_id, by_the_server)) in told.iter().zip(&by_the_server) {
        let told = reply::Err::decode(told).expect("an ERR packet");
        let by_the_server = reply::Err::decode(by_the_server).expect("an ERR packet");
        assert_eq!((id, told.code), (server_id, by_the_server.code));
        assert_eq!(told.sql_state, by_the_server.sql_state);
        assert!(String::from_utf8_lossy(told.message).contains("idle_timeout"));
    }
    assert_eq!(serving.stop().code, Some(0));
}

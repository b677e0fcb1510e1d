//! Successful logins by plugins whose packets pass unchanged.

use super::*;

#[tokio::test]
async fn every_byte_of_greeting_and_response_passes_but_for_tls() {
    let mut stage = Stage::new(plain());
    let mut expected = GREETING.to_vec();
    expected[23] &= !0x08;
    assert_eq!(stage.greet().await, expected);
    let asked = CLIENT | capability::OPTIONAL_RESULTSET_METADATA;
    let sent = response(asked, b"12345678901234567890", "mysql_native_password");
    stage.client.send(1, &sent).await;
    assert_eq!(stage.upstream.receive(1).await, sent);
    stage.upstream.send(2, OK).await;
    assert_eq!(stage.client.receive(2).await, OK);
    let connected = stage.success().await;
    assert_eq!(connected.capabilities, asked);
    assert_eq!(connected.server_capabilities, 0xDFFF_FFFF);
    assert_eq!(connected.server_version, "9.7.4-2");
    assert_eq!((connected.thread_id, connected.mariadb), (22, false));
    let login = connected.login;
    assert_eq!(
        (&login.user[..], login.schema.as_deref()),
        (&b"ann"[..], Some(&b"shop"[..]))
    );
    assert_eq!((login.collation, login.status), (45, 2));
}

#[tokio::test]
async fn both_sides_are_compressed_from_the_ok_packet_on() {
    /// COM_PING, not compressed, in a compressed packet.
    const COMMAND: &[u8] = b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e";
    for flag in [capability::COMPRESS, capability::ZSTD_COMPRESSION] {
        let mut stage = Stage::new(plain());
        stage.greet().await;
        let mut sent = response(CLIENT | flag, b"", "mysql_native_password");
        if flag == capability::ZSTD_COMPRESSION {
            sent.push(3);
        }
        stage.client.send(1, &sent).await;
        assert_eq!(stage.upstream.receive(1).await, sent);
        stage.upstream.send(2, OK).await;
        assert_eq!(stage.client.receive(2).await, OK);
        stage.client.0.write_all(COMMAND).await.expect("room");
        let Stage {
            client: _client,
            upstream: mut server,
            relay,
        } = stage;
        let mut connected = relay.await.unwrap().expect("connected");
        assert_eq!(connected.capabilities, CLIENT | flag);
        let mut ping = Vec::new();
        let read = connected.client.read_payload(&mut ping, 1).await;
        assert_eq!((read.expect("a command"), &ping[..]), (0, &[0x0e][..]));
        let written = connected.upstream.write(&COMMAND[7..]).await;
        written.expect("room");
        let mut arrived = vec![0; COMMAND.len()];
        server.0.read_exact(&mut arrived).await.expect("a command");
        assert_eq!(arrived, COMMAND);
    }
}

#[tokio::test]
async fn the_upstream_is_asked_for_the_compression_of_the_rules() {
    const ZLIB: u64 = capability::COMPRESS;
    const ZSTD: u64 = capability::ZSTD_COMPRESSION;
    for (upstream_compression, wanted) in [
        (UpstreamCompression::Disabled, 0),
        (UpstreamCompression::Zlib, ZLIB),
        (UpstreamCompression::Zstd, ZSTD),
    ] {
        for (of_client, level) in [
            (0, None),
            (ZLIB, None),
            (ZSTD, Some(9)),
            (ZLIB | ZSTD, Some(9)),
        ] {
            let mut stage = Stage::new(ConnectSetup {
                upstream_compression,
                ..plain()
            });
            stage.greet().await;
            let mut sent = response(CLIENT | of_client, b"", "mysql_native_password");
            sent.extend(level);
            stage.client.send(1, &sent).await;
            let mut expected = response(CLIENT | wanted, b"", "mysql_native_password");
            expected.extend((wanted == ZSTD).then(|| level.unwrap_or(3)));
            let what = format!("{upstream_compression:?}, client {of_client:x}");
            assert_eq!(stage.upstream.receive(1).await, expected, "{what}");
            stage.upstream.send(2, OK).await;
            assert_eq!(stage.client.receive(2).await, OK, "{what}");
            let connected = stage.success().await;
            let compressed = (of_client != 0, wanted != 0);
            let sides = (&connected.client, &connected.upstream);
            let are = (sides.0.is_compressed(), sides.1.is_compressed());
            assert_eq!(are, compressed, "{what}");
        }
    }
}

#[tokio::test]
async fn each_side_counts_its_own_packets() {
    let mut stage = Stage::new(tls_for_clients());
    let initial_handshake = stage.greet().await;
    assert_eq!(initial_handshake[23] & 0x08, 0x08, "SSL is offered");
    let mut client = begin_tls(stage.client).await;
    let sent = response(CLIENT | capability::SSL, b"", "mysql_native_password");
    client.send(2, &sent).await;
    let passed = stage.upstream.receive(1).await;
    assert_eq!(passed, response(CLIENT, b"", "mysql_native_password"));
    // Any number of rounds of an unknown plugin, with a server that sends two packets in succession.
    stage
        .upstream
        .send(2, &switch("rounds", b"\x02Name?"))
        .await;
    assert_eq!(client.receive(3).await, switch("rounds", b"\x02Name?"));
    client.send(4, b"ann\0").await;
    assert_eq!(stage.upstream.receive(3).await, b"ann\0");
    stage.upstream.send(4, b"\x05Password?").await;
    stage.upstream.send(5, b"").await;
    assert_eq!(client.receive(5).await, b"\x05Password?");
    assert_eq!(client.receive(6).await, b"");
    client.send(7, b"secret\0").await;
    assert_eq!(stage.upstream.receive(6).await, b"secret\0");
    stage.upstream.send(7, OK).await;
    assert_eq!(client.receive(8).await, OK);
    let connected = stage.relay.await.unwrap().ok().unwrap();
    assert_eq!(connected.capabilities, CLIENT | capability::SSL);
}

#[tokio::test]
async fn the_switch_of_before_4_1_passes() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, b"\xfe").await;
    assert_eq!(stage.client.receive(2).await, b"\xfe");
    stage.client.send(3, b"oldhash\0").await;
    assert_eq!(stage.upstream.receive(3).await, b"oldhash\0");
    stage.upstream.send(4, OK).await;
    stage.success().await;
}

#[tokio::test]
async fn tls_toward_the_upstream_begins_with_an_ssl_request_of_the_clients_flags() {
    let setup = plain();
    let connector = connector_to(&setup.route.address());
    let mut stage = Stage::new(ConnectSetup {
        upstream_tls: UpstreamTls::Preferred(connector),
        ..setup
    });
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    assert_eq!(
        stage.upstream.receive(1).await,
        ssl_request(CLIENT | capability::SSL)
    );
    let acceptor = tls::self_signed_acceptor(vec!["db".to_owned()]).unwrap();
    let mut upstream = Script(acceptor.accept(stage.upstream.0).await.unwrap());
    let expected = response(CLIENT | capability::SSL, b"", "mysql_native_password");
    assert_eq!(upstream.receive(2).await, expected);
    upstream.send(3, OK).await;
    assert_eq!(stage.client.receive(2).await, OK);
    let connected = stage.relay.await.unwrap().ok().unwrap();
    assert_eq!(connected.capabilities, CLIENT, "the client has no TLS");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_upstream_costs_the_client_no_time() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.upstream.send(2, OK).await;
    stage.success().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stalls_in_the_exchange_is_closed() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    stage
        .upstream
        .send(2, &switch("mysql_native_password", NONCE))
        .await;
    let begun = tokio::time::Instant::now();
    stage.client.rest().await;
    assert_eq!(begun.elapsed().as_secs(), 4);
    assert!(matches!(stage.failure().await, ConnectError::ClientStalled));
}

#[tokio::test]
async fn a_client_that_leaves_while_the_upstream_thinks_is_not_kept() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    drop(stage.client);
    assert_eq!(stage.upstream.rest().await, b"");
    assert!(matches!(
        stage.relay.await.unwrap(),
        Err(ConnectError::Client(_))
    ));
}

#[tokio::test]
async fn commands_sent_ahead_wait_in_the_clients_stream() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    assert_eq!(stage.client.receive(2).await, OK);
    stage.client.send(0, b"\x0e").await;
    let Stage { relay, client, .. } = stage;
    let mut connected = relay.await.unwrap().ok().unwrap();
    let mut payload = Vec::new();
    connected
        .client
        .read_payload(&mut payload, 10)
        .await
        .unwrap();
    assert_eq!(payload, b"\x0e");
    drop(client);
}

/// A setup with TLS to the upstream for clients that use TLS.
fn as_client(is_required: bool) -> ConnectSetup {
    let setup = tls_for_clients();
    let connector = connector_to(&setup.route.address());
    ConnectSetup {
        upstream_tls: UpstreamTls::AsClient {
            connector,
            is_required,
        },
        ..setup
    }
}

#[tokio::test]
async fn as_the_client_a_plain_one_goes_on_plain_and_with_the_servers_own_key() {
    let mut stage = Stage::new(as_client(true));
    stage.greet().await;
    let sent = response(CLIENT, &[b's'; 32], "caching_sha2_password");
    stage.client.send(1, &sent).await;
    assert_eq!(stage.upstream.receive(1).await, sent);
    stage.upstream.send(2, b"\x01\x04").await;
    stage.client.receive(2).await;
    // Encrypted with the server's key, which the client obtained elsewhere.
    stage.client.send(3, &[7; 256]).await;
    assert_eq!(stage.upstream.receive(3).await, [7; 256]);
    stage.upstream.send(4, OK).await;
    stage.success().await;
}

#[tokio::test]
async fn as_the_client_one_with_tls_goes_on_in_tls() {
    let mut stage = Stage::new(as_client(false));
    stage.greet().await;
    let mut client = begin_tls(stage.client).await;
    let sent = response(CLIENT | capability::SSL, b"", "mysql_native_password");
    client.send(2, &sent).await;
    let request = stage.upstream.receive(1).await;
    assert_eq!(request, ssl_request(CLIENT | capability::SSL));
    let acceptor = tls::self_signed_acceptor(vec!["db".to_owned()]).unwrap();
    let mut upstream = Script(acceptor.accept(stage.upstream.0).await.unwrap());
    assert_eq!(upstream.receive(2).await, sent);
    upstream.send(3, OK).await;
    assert_eq!(client.receive(3).await, OK);
}

//! Clients and upstreams that cannot be connected.

use tokio::time::Instant;

use super::*;
use crate::metrics::Fault;

/// The upstream gets a login of an account that does not exist, rather than an aborted handshake, and then sees the
/// connection close.
async fn upstream_is_left_politely(upstream: &mut Script) {
    let payload = upstream.receive(1).await;
    assert!(payload[32..].starts_with(b"countersink-client-left\0\0"));
    upstream.send(2, b"\xff\x15\x04#28000Access denied").await;
    assert_eq!(upstream.rest().await, b"");
}

#[tokio::test(start_paused = true)]
async fn an_error_in_place_of_the_greeting_reaches_the_client_as_it_is() {
    let mut stage = Stage::new(plain());
    let full = b"\xff\x10\x04Too many connections";
    stage.upstream.send(0, full).await;
    assert_eq!(stage.client.receive(0).await, full);
    assert_eq!(stage.client.rest().await, b"");
    let error = stage.failure().await;
    assert!(matches!(error, ConnectError::Refused { code: 1040, .. }));
    assert_eq!(error.fault(), Fault::Upstream);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_mysql_server_is_told_without_an_sqlstate() {
    for (hello, names) in [
        (&b"\x09old"[..], "version 9"),
        (b"\ntruncated", "Malformed"),
        (b"SSH-2.0-OpenSSH", "version 83"),
    ] {
        let mut stage = Stage::new(plain());
        stage.upstream.send(0, hello).await;
        let told = stage.client.receive(0).await;
        assert_eq!(code(&told), 1429);
        let text = String::from_utf8(told[3..].to_vec()).unwrap();
        assert!(!text.starts_with('#') && text.contains(names) && text.contains("db:3306"));
        assert_eq!(stage.failure().await.fault(), Fault::Upstream);
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_vanishes_before_its_greeting_is_told() {
    let mut stage = Stage::new(plain());
    drop(stage.upstream);
    assert_eq!(code(&stage.client.receive(0).await), 1158);
    assert_eq!(stage.client.rest().await, b"");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_upstream_is_named_with_the_remedy() {
    let setup = ConnectSetup {
        route: Arc::new(Route::to(Address::Unix("/nonexistent/mysqld.sock".into()))),
        ..plain()
    };
    let (client, end) = duplex(4096);
    let connected = super::super::connect(Box::new(end), Origin::Unix, &setup).await;
    assert!(matches!(connected, Err(ConnectError::Unreachable(_))));
    let told = Script(client).receive(0).await;
    assert_eq!(code(&told), 1429);
    let text = String::from_utf8_lossy(&told).into_owned();
    assert!(text.contains("Can't connect to MySQL server on 'unix:/nonexistent/mysqld.sock'"));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_never_greets_is_given_up() {
    let mut stage = Stage::new(plain());
    assert_eq!(code(&stage.client.receive(0).await), 1429);
    assert!(matches!(
        stage.failure().await,
        ConnectError::UpstreamSilent(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_silent_upstream_of_several_is_doubted_before_clients_give_up() {
    // The kernel accepts connections for it.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let setup = ConnectSetup {
        route: Arc::new(Route::to(tcp("127.0.0.1", port))),
        failover_patience: Duration::from_secs(3),
        ..plain()
    };
    let (start, (client, end)) = (Instant::now(), duplex(4096));
    let (connected, (doubted, told)) = tokio::join!(
        super::super::connect(Box::new(end), Origin::Unix, &setup),
        async {
            setup.route.doubted().await;
            let doubted = start.elapsed();
            Script(client).receive(0).await;
            (doubted.as_secs(), start.elapsed().as_secs())
        }
    );
    assert!(matches!(connected, Err(ConnectError::UpstreamSilent(_))));
    assert_eq!((doubted, told), (3, 6));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_speaks_http_is_refused_and_the_upstream_left_politely() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .0
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(code(&stage.client.receive(1).await), 1156);
    upstream_is_left_politely(&mut stage.upstream).await;
    assert_eq!(stage.failure().await.fault(), Fault::Client);
}

#[tokio::test(start_paused = true)]
async fn garbage_in_a_packet_is_a_bad_handshake() {
    for garbage in [&b""[..], b"x", b"\xff\xff\xff", &ssl_request(CLIENT)] {
        let mut stage = Stage::new(plain());
        stage.greet().await;
        stage.client.send(1, garbage).await;
        assert_eq!(code(&stage.client.receive(2).await), 1043, "{garbage:?}");
        upstream_is_left_politely(&mut stage.upstream).await;
        assert!(matches!(
            stage.failure().await,
            ConnectError::ClientPacket(_)
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_beyond_64_kib_is_refused() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage.client.send(1, &vec![0xFF; 64 * 1024 + 1]).await;
    assert_eq!(code(&stage.client.receive(1).await), 1153);
    upstream_is_left_politely(&mut stage.upstream).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_older_than_4_1_is_told_to_upgrade() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage.client.send(1, b"\x85\x24\0\0\0old\0").await;
    assert_eq!(code(&stage.client.receive(2).await), 1043);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stalls_is_closed_after_the_timeout_and_the_upstream_left_politely() {
    let mut stage = Stage::new(plain());
    let begun = tokio::time::Instant::now();
    stage.greet().await;
    // An occasional byte does not extend the time limit.
    for byte in [0x28, 0, 0, 1, 0, 0, 0, 0, 0] {
        tokio::time::sleep(Duration::from_millis(1100)).await;
        stage.client.0.write_all(&[byte]).await.unwrap();
    }
    assert_eq!(stage.client.rest().await, b"");
    assert_eq!(begun.elapsed().as_secs(), 10);
    upstream_is_left_politely(&mut stage.upstream).await;
    assert!(matches!(stage.failure().await, ConnectError::ClientStalled));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_before_its_response_does_not_count_as_a_connection_error() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    drop(stage.client);
    upstream_is_left_politely(&mut stage.upstream).await;
    assert_eq!(
        stage.relay.await.unwrap().err().unwrap().fault(),
        Fault::Client
    );
}

#[tokio::test(start_paused = true)]
async fn plain_bytes_behind_the_ssl_request_never_count_as_sent_inside_tls() {
    let mut stage = Stage::new(tls_for_clients());
    stage.greet().await;
    let mut injected = Vec::new();
    encode_packet(&mut injected, 1, &ssl_request(CLIENT | capability::SSL));
    encode_packet(
        &mut injected,
        2,
        &response(CLIENT | capability::SSL, b"", "x"),
    );
    stage.client.0.write_all(&injected).await.unwrap();
    upstream_is_left_politely(&mut stage.upstream).await;
    assert!(matches!(stage.failure().await, ConnectError::ClientTls(_)));
}

#[tokio::test(start_paused = true)]
async fn tls_that_was_not_offered_is_refused() {
    let mut stage = Stage::new(plain());
    let initial_handshake = stage.greet().await;
    assert_eq!(initial_handshake[29] & 0x08, 0, "no SSL flag");
    stage
        .client
        .send(1, &ssl_request(CLIENT | capability::SSL))
        .await;
    assert_eq!(code(&stage.client.receive(2).await), 1043);
}

/// Clients over TCP must use TLS.
fn tls_required() -> ConnectSetup {
    ConnectSetup {
        client_tls: Some(OfferedTls {
            is_required: true,
            ..offered()
        }),
        ..plain()
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_the_tls_that_is_required_is_told_as_by_the_server() {
    let mysql = b"\xff\x57\x0c#HY000Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    let mariadb =
        b"\xff\x15\x04#28000Access denied: countersink: connections without TLS are prohibited";
    // MariaDB's servers do not set CLIENT_LONG_PASSWORD. These are the flags' first byte.
    for (flags, told) in [(0xff, &mysql[..]), (0xfe, mariadb)] {
        let mut stage = Stage::new(tls_required());
        let mut greeting = GREETING.to_vec();
        greeting[22] = flags;
        stage.upstream.send(0, &greeting).await;
        stage.client.receive(0).await;
        let sent = response(CLIENT, b"", "mysql_native_password");
        stage.client.send(1, &sent).await;
        let payload = stage.client.receive(2).await;
        assert!(payload.starts_with(told), "{payload:?}");
        assert_eq!(stage.client.rest().await, b"");
        upstream_is_left_politely(&mut stage.upstream).await;
        assert_eq!(stage.failure().await.fault(), Fault::Client);
    }
}

#[tokio::test(start_paused = true)]
async fn a_unix_socket_is_as_good_as_the_tls_that_is_required() {
    let mut stage = Stage::from(Origin::Unix, tls_required());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    assert_eq!(stage.upstream.receive(1).await, sent);
}

#[tokio::test(start_paused = true)]
async fn a_client_without_the_certificate_that_is_required_is_told_in_tls() {
    let mut stage = Stage::new(ConnectSetup {
        client_tls: Some(OfferedTls {
            needs_certificate: true,
            ..offered()
        }),
        ..plain()
    });
    stage.greet().await;
    let Stage {
        client,
        mut upstream,
        relay,
    } = stage;
    let mut client = begin_tls(client).await;
    let sent = response(CLIENT | capability::SSL, b"", "mysql_native_password");
    client.send(2, &sent).await;
    let told = client.receive(3).await;
    assert_eq!(code(&told), 1045);
    assert!(String::from_utf8_lossy(&told).contains("a client certificate is required"));
    upstream_is_left_politely(&mut upstream).await;
    let error = relay.await.unwrap().err().expect("it is refused");
    assert!(matches!(error, ConnectError::ClientWithoutCertificate));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_without_the_tls_that_is_required_is_named() {
    let setup = plain();
    let connector = connector_to(&setup.route.address());
    let mut stage = Stage::new(ConnectSetup {
        upstream_tls: UpstreamTls::Required(connector),
        ..setup
    });
    let mut without = GREETING.to_vec();
    // The second byte of the flags, after the version, the thread id, and the first part of auth_plugin_data.
    without[23] &= !0x08;
    stage.upstream.send(0, &without).await;
    stage.client.receive(0).await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    let told = stage.client.receive(2).await;
    assert_eq!(code(&told), 1429);
    assert!(String::from_utf8_lossy(&told).contains("TLS toward 'db:3306' is required"));
    upstream_is_left_politely(&mut stage.upstream).await;
}

#[tokio::test(start_paused = true)]
async fn mysqls_refusal_reaches_the_client_as_it_is() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "caching_sha2_password"))
        .await;
    stage.upstream.receive(1).await;
    let denied = b"\xff\x15\x04#28000Access denied for user 'ann'@'%'";
    stage.upstream.send(2, denied).await;
    assert_eq!(stage.client.receive(2).await, denied);
    assert_eq!(stage.client.rest().await, b"");
    assert!(matches!(
        stage.failure().await,
        ConnectError::Denied { code: 1045, .. }
    ));
}

//! Passwords that pass between a secure side and a plain one.

use zeroize::Zeroizing;

use super::super::password::encrypt;
use super::*;

const SCRAMBLE: &[u8] = &[b's'; 32];
const FULL: &[u8] = b"\x01\x04";
const OTHER_NONCE: &[u8] = b"abcdefghijklmnopqrst";

/// Plays the upstream over a plain connection: sends its key when asked, and returns the password that it then gets.
async fn password_by_rsa(
    upstream: &mut Script,
    ask: &[u8],
    next: u8,
    auth_plugin_data: &[u8],
) -> Vec<u8> {
    let key = key();
    assert_eq!(upstream.receive(next).await, ask);
    let pem = key.public_pem().await.unwrap();
    upstream
        .send(next + 1, &[b"\x01", pem.as_bytes()].concat())
        .await;
    let encrypted = upstream.receive(next + 2).await;
    key.decrypt(&encrypted, auth_plugin_data)
        .await
        .unwrap()
        .to_vec()
}

/// Plays the client over a plain connection: asks for a key, and sends the password encrypted with it.
async fn send_password_by_rsa(client: &mut Script, ask: &[u8], next: u8, auth_plugin_data: &[u8]) {
    client.send(next, ask).await;
    let key = client.receive(next + 1).await;
    assert!(key.starts_with(b"\x01-----BEGIN PUBLIC KEY-----"));
    let password = Zeroizing::new(b"secret\0".to_vec());
    let encrypted = encrypt(&password, auth_plugin_data, &key[1..]).unwrap();
    client.send(next + 2, &encrypted).await;
}

/// A client with TLS that `plugin` asks for its password, and a plain upstream.
async fn asked_in_tls(
    setup: ConnectSetup,
    plugin: &str,
) -> (
    Script<impl Transport>,
    Script,
    JoinHandle<Result<Connected, ConnectError>>,
) {
    let mut stage = Stage::new(setup);
    stage.greet().await;
    let mut client = begin_tls(stage.client).await;
    let sent = response(CLIENT | capability::SSL, SCRAMBLE, "caching_sha2_password");
    client.send(2, &sent).await;
    stage.upstream.receive(1).await;
    let question = match plugin {
        "caching_sha2_password" => FULL.to_vec(),
        other => switch(other, NONCE),
    };
    stage.upstream.send(2, &question).await;
    assert_eq!(client.receive(3).await, question);
    (client, stage.upstream, stage.relay)
}

#[tokio::test]
async fn from_tls_to_a_plain_upstream_under_the_key_that_is_known_beforehand() {
    for plugin in ["caching_sha2_password", "sha256_password"] {
        let pem = key().public_pem().await.unwrap().as_bytes().to_vec();
        let setup = ConnectSetup {
            upstream_key: Some(Arc::new(ArcSwap::from_pointee(pem))),
            ..tls_for_clients()
        };
        let (mut client, mut upstream, relay) = asked_in_tls(setup, plugin).await;
        client.send(4, b"secret\0").await;
        let encrypted = upstream.receive(3).await;
        let password = key().decrypt(&encrypted, NONCE).await.unwrap();
        assert_eq!(password[..], *b"secret\0");
        upstream.send(4, OK).await;
        assert_eq!(client.receive(5).await, OK);
        assert!(relay.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn from_tls_to_a_plain_upstream_no_secret_goes_under_a_key_that_anybody_may_send_nor_in_the_clear()
 {
    for plugin in [
        "caching_sha2_password",
        "sha256_password",
        "mysql_clear_password",
        "dialog",
    ] {
        let (mut client, mut upstream, relay) = asked_in_tls(tls_for_clients(), plugin).await;
        client.send(4, b"secret\0").await;
        let told = client.receive(5).await;
        assert!(
            told.starts_with(b"\xff\x51\x04#HY000"),
            "{plugin}: {told:?}"
        );
        let text = String::from_utf8_lossy(&told).into_owned();
        assert!(
            text.contains(plugin) && text.contains("upstream_tls.mode"),
            "{text}"
        );
        assert_eq!(upstream.receive(3).await, [b'-'; 20], "{plugin}");
        drop(upstream);
        assert!(matches!(
            relay.await.unwrap(),
            Err(ConnectError::Password { .. })
        ));
    }
}

#[tokio::test]
async fn a_secret_in_the_first_packet_is_withheld_from_a_plain_upstream() {
    let mut stage = Stage::new(tls_for_clients());
    stage.greet().await;
    let mut client = begin_tls(stage.client).await;
    let flags = CLIENT | capability::SSL;
    let sent = response(flags, b"secret\0", "mysql_clear_password");
    client.send(2, &sent).await;
    let passed = stage.upstream.receive(1).await;
    assert_eq!(passed, response(CLIENT, b"", "countersink_asks_again"));
}

#[tokio::test]
async fn a_secret_in_the_clear_passes_where_the_client_sends_it_so_and_to_a_unix_socket() {
    let local = ConnectSetup {
        client_tls: tls_for_clients().client_tls,
        ..local_upstream()
    };
    let (mut client, mut upstream, _) = asked_in_tls(local, "mysql_clear_password").await;
    client.send(4, b"secret\0").await;
    assert_eq!(upstream.receive(3).await, b"secret\0");

    let mut stage = Stage::new(plain());
    stage.greet().await;
    let sent = response(CLIENT, b"secret\0", "mysql_clear_password");
    stage.client.send(1, &sent).await;
    assert_eq!(stage.upstream.receive(1).await, sent);
}

/// A client on a unix socket that `plugin` asks for its password.
async fn asked_over_a_socket(setup: ConnectSetup, plugin: &str) -> Stage {
    let mut stage = Stage::from(Origin::Unix, setup);
    stage.greet().await;
    let sent = response(CLIENT, SCRAMBLE, "caching_sha2_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    let question = match plugin {
        "caching_sha2_password" => FULL.to_vec(),
        other => switch(other, NONCE),
    };
    stage.upstream.send(2, &question).await;
    assert_eq!(stage.client.receive(2).await, question);
    stage
}

#[tokio::test]
async fn from_a_unix_socket_to_another_passes_as_it_comes() {
    for (plugin, sent) in [
        ("caching_sha2_password", &b"secret\0"[..]),
        ("mysql_clear_password", b"secret\0"),
        // It takes no unix socket for secure.
        ("sha256_password", b"\x01"),
    ] {
        let mut stage = asked_over_a_socket(local_upstream(), plugin).await;
        stage.client.send(3, sent).await;
        assert_eq!(stage.upstream.receive(3).await, sent, "{plugin}");
    }
}

#[tokio::test]
async fn from_a_unix_socket_to_a_plain_upstream_under_the_key_that_is_known_beforehand() {
    let pem = key().public_pem().await.unwrap().as_bytes().to_vec();
    let setup = ConnectSetup {
        upstream_key: Some(Arc::new(ArcSwap::from_pointee(pem))),
        ..plain()
    };
    let mut stage = asked_over_a_socket(setup, "caching_sha2_password").await;
    stage.client.send(3, b"secret\0").await;
    let encrypted = stage.upstream.receive(3).await;
    let password = key().decrypt(&encrypted, NONCE).await.unwrap();
    assert_eq!(password[..], *b"secret\0");
    stage.upstream.send(4, OK).await;
    assert_eq!(stage.client.receive(4).await, OK);
    stage.success().await;
}

#[tokio::test]
async fn from_a_unix_socket_to_a_plain_upstream_nothing_goes_in_the_clear() {
    for plugin in ["caching_sha2_password", "mysql_clear_password", "dialog"] {
        let mut stage = asked_over_a_socket(plain(), plugin).await;
        stage.client.send(3, b"secret\0").await;
        let told = stage.client.receive(4).await;
        assert_eq!(code(&told), 1105, "{plugin}");
        assert_eq!(stage.upstream.receive(3).await, [b'-'; 20], "{plugin}");
    }
}

#[tokio::test]
async fn caching_sha2_from_a_plain_client_to_a_unix_socket() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, SCRAMBLE, "caching_sha2_password"))
        .await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, FULL).await;
    assert_eq!(stage.client.receive(2).await, FULL);
    send_password_by_rsa(&mut stage.client, b"\x02", 3, NONCE).await;
    assert_eq!(stage.upstream.receive(3).await, b"secret\0");
    stage.upstream.send(4, OK).await;
    tell_plugin(&mut stage.upstream, "caching_sha2_password").await;
    assert_eq!(stage.client.receive(6).await, OK);
    stage.success().await;
}

#[tokio::test]
async fn the_nonce_is_that_of_the_last_switch() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    stage
        .upstream
        .send(2, &switch("caching_sha2_password", OTHER_NONCE))
        .await;
    stage.client.receive(2).await;
    stage.client.send(3, SCRAMBLE).await;
    stage.upstream.receive(3).await;
    stage.upstream.send(4, FULL).await;
    stage.client.receive(4).await;
    send_password_by_rsa(&mut stage.client, b"\x02", 5, OTHER_NONCE).await;
    assert_eq!(stage.upstream.receive(5).await, b"secret\0");
}

#[tokio::test]
async fn the_fast_path_passes_untouched() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    let sent = response(CLIENT, SCRAMBLE, "caching_sha2_password");
    stage.client.send(1, &sent).await;
    assert_eq!(stage.upstream.receive(1).await, sent);
    stage.upstream.send(2, b"\x01\x03").await;
    stage.upstream.send(3, OK).await;
    tell_plugin(&mut stage.upstream, "caching_sha2_password").await;
    assert_eq!(stage.client.receive(2).await, b"\x01\x03");
    assert_eq!(stage.client.receive(3).await, OK);
    stage.success().await;
}

#[tokio::test]
async fn both_sides_plain_use_the_servers_own_key() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, SCRAMBLE, "caching_sha2_password"))
        .await;
    stage.upstream.receive(1).await;
    for (from_upstream, from_client) in [(FULL, &b"\x02"[..]), (b"\x01PEM", b"encrypted")] {
        let next = if from_upstream == FULL { 2 } else { 4 };
        stage.upstream.send(next, from_upstream).await;
        assert_eq!(stage.client.receive(next).await, from_upstream);
        stage.client.send(next + 1, from_client).await;
        assert_eq!(stage.upstream.receive(next + 1).await, from_client);
    }
}

#[tokio::test]
async fn sha256_by_switch_from_tls_to_a_unix_socket_which_it_takes_for_plain() {
    let mut stage = Stage::new(ConnectSetup {
        client_tls: tls_for_clients().client_tls,
        ..local_upstream()
    });
    stage.greet().await;
    let mut client = begin_tls(stage.client).await;
    client
        .send(
            2,
            &response(CLIENT | capability::SSL, b"", "mysql_native_password"),
        )
        .await;
    stage.upstream.receive(1).await;
    stage
        .upstream
        .send(2, &switch("sha256_password", OTHER_NONCE))
        .await;
    client.receive(3).await;
    client.send(4, b"secret\0").await;
    let password = password_by_rsa(&mut stage.upstream, b"\x01", 3, OTHER_NONCE).await;
    assert_eq!(password, b"secret\0");
}

#[tokio::test]
async fn sha256_data_of_the_first_packet_are_withheld_and_asked_for_again() {
    let setup = plain();
    let connector = connector_to(&setup.route.address());
    let mut stage = Stage::new(ConnectSetup {
        upstream_tls: UpstreamTls::Preferred(connector),
        ..setup
    });
    stage.greet().await;
    // A plain client asks for the key at once. An upstream with TLS would take that for a password.
    stage
        .client
        .send(1, &response(CLIENT, b"\x01", "sha256_password"))
        .await;
    stage.upstream.receive(1).await;
    let acceptor = tls::self_signed_acceptor(vec!["db".to_owned()]).unwrap();
    let mut upstream = Script(acceptor.accept(stage.upstream.0).await.unwrap());
    let passed = upstream.receive(2).await;
    assert_eq!(
        passed,
        response(CLIENT | capability::SSL, b"", "countersink_asks_again")
    );
    upstream
        .send(3, &switch("sha256_password", OTHER_NONCE))
        .await;
    stage.client.receive(2).await;
    send_password_by_rsa(&mut stage.client, b"\x01", 3, OTHER_NONCE).await;
    assert_eq!(upstream.receive(4).await, b"secret\0");
}

#[tokio::test]
async fn an_account_without_password_sends_none_across() {
    let mut stage = Stage::new(tls_for_clients());
    stage.greet().await;
    let mut client = begin_tls(stage.client).await;
    client
        .send(
            2,
            &response(CLIENT | capability::SSL, b"", "mysql_native_password"),
        )
        .await;
    stage.upstream.receive(1).await;
    stage
        .upstream
        .send(2, &switch("sha256_password", OTHER_NONCE))
        .await;
    client.receive(3).await;
    client.send(4, b"\0").await;
    assert_eq!(stage.upstream.receive(3).await, b"\0");
}

#[tokio::test]
async fn a_password_for_another_key_is_refused_with_the_remedy() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, SCRAMBLE, "caching_sha2_password"))
        .await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, FULL).await;
    stage.client.receive(2).await;
    stage.client.send(3, &[7; 256]).await;
    let told = stage.client.receive(4).await;
    assert!(told.starts_with(b"\xff\x15\x04#28000"));
    assert!(String::from_utf8_lossy(&told).contains("server-public-key-path"));
    assert_eq!(
        stage.upstream.receive(3).await,
        [b'-'; 20],
        "the password went nowhere"
    );
}

#[tokio::test]
async fn an_upstream_that_gives_no_key_is_told() {
    let setup = ConnectSetup {
        client_tls: tls_for_clients().client_tls,
        ..local_upstream()
    };
    let (mut client, mut upstream, _) = asked_in_tls(setup, "sha256_password").await;
    client.send(4, b"secret\0").await;
    assert_eq!(upstream.receive(3).await, b"\x01");
    upstream.send(4, b"\x01no key").await;
    assert!(client.receive(5).await.starts_with(b"\xff\x51\x04#HY000"));
    let answer = upstream.receive(5).await;
    assert_eq!(answer, [b'-'; 20], "the password went nowhere");
}

#[tokio::test]
async fn an_answer_that_is_no_encrypted_password_is_left_to_mysql_to_judge() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    let sent = response(CLIENT, SCRAMBLE, "caching_sha2_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, FULL).await;
    stage.client.receive(2).await;
    stage.client.send(3, SCRAMBLE).await;
    assert_eq!(stage.upstream.receive(3).await, SCRAMBLE);
}

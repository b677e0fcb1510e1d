//! Clients that leave or fail in the middle of a login. The upstream sees a failed login, which does not count against
//! the proxy's host, rather than an aborted one.

use super::*;

const DENIED: &[u8] = b"\xff\x15\x04#28000Access denied";

/// A login up to the upstream's first request.
async fn asked(question: &[u8]) -> Stage {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, question).await;
    assert_eq!(stage.client.receive(2).await, question);
    stage
}

/// The upstream gets a response of this length, denies access, and sees the connection close.
async fn refuse(upstream: &mut Script, sequence_id: u8, length: usize) {
    let answer = upstream.receive(sequence_id).await;
    assert_eq!(answer, vec![b'-'; length]);
    upstream.send(sequence_id + 1, DENIED).await;
    assert_eq!(upstream.rest().await, b"");
}

#[tokio::test(start_paused = true)]
async fn a_question_left_open_is_answered_wrongly_in_the_length_that_its_plugin_takes() {
    for (plugin, length) in [
        ("mysql_native_password", 20),
        ("caching_sha2_password", 20),
        ("client_ed25519", 64),
        ("dialog", 20),
    ] {
        let mut stage = asked(&switch(plugin, NONCE)).await;
        drop(stage.client);
        refuse(&mut stage.upstream, 3, length).await;
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_follow_are_answered_wrongly_too() {
    let mut stage = asked(&switch("client_ed25519", NONCE)).await;
    drop(stage.client);
    stage.upstream.receive(3).await;
    let next = switch("mysql_native_password", NONCE);
    stage.upstream.send(4, &next).await;
    refuse(&mut stage.upstream, 5, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stalls_leaves_a_failed_login() {
    let mut stage = asked(&switch("mysql_native_password", NONCE)).await;
    refuse(&mut stage.upstream, 3, 20).await;
    assert!(matches!(stage.failure().await, ConnectError::ClientStalled));
}

#[tokio::test(start_paused = true)]
async fn what_the_upstream_asks_of_a_client_that_has_gone_is_answered() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    drop(stage.client);
    let question = switch("mysql_native_password", NONCE);
    stage.upstream.send(2, &question).await;
    refuse(&mut stage.upstream, 3, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_behind_the_right_password_is_logged_out() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    drop(stage.client);
    tokio::time::sleep(Duration::from_millis(1)).await;
    stage.upstream.send(2, OK).await;
    assert_eq!(stage.upstream.receive(0).await, b"\x01", "COM_QUIT");
}

#[tokio::test(start_paused = true)]
async fn a_number_out_of_order_is_refused_with_the_one_that_was_due() {
    for sequence_id in [0, 2, 9, 255] {
        let mut stage = Stage::new(plain());
        stage.greet().await;
        let sent = response(CLIENT, b"", "mysql_native_password");
        stage.client.send(sequence_id, &sent).await;
        let told = stage.client.receive(1).await;
        assert!(told.starts_with(b"\xff\x84\x04#08S01"), "{told:?}");
        assert!(stage.upstream.receive(1).await[32..].starts_with(b"countersink-client-left\0"));

        let mut stage = asked(&switch("mysql_native_password", NONCE)).await;
        stage.client.send(sequence_id, &[1; 20]).await;
        let told = stage.client.receive(3).await;
        assert!(told.starts_with(b"\xff\x84\x04#08S01"), "{told:?}");
        refuse(&mut stage.upstream, 3, 20).await;
    }
}

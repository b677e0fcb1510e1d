//! Accounts that authenticate by the operating system user at the other end of a unix socket, which is the proxy's.

use super::*;
use crate::metrics::Fault;

async fn answered(plugin: &str) -> Stage {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    tell_plugin(&mut stage.upstream, plugin).await;
    stage
}

#[tokio::test]
async fn they_are_refused_with_the_remedy_and_the_upstream_is_left() {
    for plugin in ["auth_socket", "unix_socket"] {
        let mut stage = answered(plugin).await;
        let told = stage.client.receive(2).await;
        assert!(told.starts_with(b"\xff\x15\x04#28000"));
        let text = String::from_utf8_lossy(&told).into_owned();
        assert!(text.contains(plugin) && text.contains("over TCP"), "{text}");
        assert_eq!(stage.upstream.receive(0).await, b"\x01", "COM_QUIT");
        assert_eq!(stage.client.rest().await, b"");
        assert_eq!(stage.failure().await.fault(), Fault::Proxy);
    }
}

#[tokio::test]
async fn all_others_are_let_in() {
    let mut stage = answered("caching_sha2_password").await;
    assert_eq!(stage.client.receive(2).await, OK);
    stage.success().await;
}

#[tokio::test]
async fn a_server_that_does_not_tell_lets_nobody_in() {
    let mut stage = Stage::new(local_upstream());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    stage.upstream.receive(0).await;
    stage.upstream.receive(0).await;
    let denied = b"\xff\x1c\x07#HY000You must SET PASSWORD";
    stage.upstream.send(1, denied).await;
    let told = stage.client.receive(2).await;
    assert!(told.starts_with(b"\xff\x15\x04#28000"));
    assert!(String::from_utf8_lossy(&told).contains("You must SET PASSWORD"));
    assert!(matches!(
        stage.failure().await,
        ConnectError::UnknownAccount { .. }
    ));
}

#[tokio::test]
async fn over_tcp_nobody_is_asked() {
    let mut stage = Stage::new(plain());
    stage.greet().await;
    let sent = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &sent).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    assert_eq!(stage.client.receive(2).await, OK);
    stage.success().await;
}

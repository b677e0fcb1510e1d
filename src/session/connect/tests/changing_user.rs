//! COM_CHANGE_USER.

use super::super::{ChangeUserOutcome, change_user};
use super::*;

const COMMAND: &[u8] = b"\x11bob\0\0other\0\x2d\0mysql_native_password\0";

async fn logged_in(setup: ConnectSetup) -> (Connected, Script, Script) {
    let is_local = setup.route.address().is_local();
    let mut stage = Stage::new(setup);
    stage.greet().await;
    stage
        .client
        .send(1, &response(CLIENT, b"", "mysql_native_password"))
        .await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    if is_local {
        tell_plugin(&mut stage.upstream, "caching_sha2_password").await;
    }
    stage.client.receive(2).await;
    (
        stage.relay.await.unwrap().ok().unwrap(),
        stage.client,
        stage.upstream,
    )
}

#[tokio::test]
async fn nobody_becomes_an_account_that_has_its_share() {
    let admission = admission("max_user_connections: 1");
    let mut bob = admission.arrive().unwrap();
    bob.log_in(b"bob").unwrap();
    let setup = ConnectSetup {
        admission,
        ..plain()
    };
    let (mut connected, mut client, mut upstream) = logged_in(setup).await;
    let script = async {
        assert_eq!(upstream.receive(0).await, COMMAND);
        upstream.send(1, OK).await;
        let told = client.receive(1).await;
        assert_eq!(code(&told), 1203);
        assert!(told[3..].starts_with(b"#42000User bob already has"));
        assert_eq!(client.rest().await, b"");
        drop(client);
    };
    let (outcome, ()) = tokio::join!(run(&mut connected), script);
    assert!(matches!(outcome, Err(ConnectError::Full(_))));
}

async fn run(connected: &mut Connected) -> Result<ChangeUserOutcome, ConnectError> {
    let (client, upstream) = (&mut connected.client, &mut connected.upstream);
    let context = &connected.reauthentication;
    change_user(context, &mut connected.place, client, upstream, COMMAND).await
}

#[tokio::test]
async fn the_exchange_is_relayed_and_the_login_replaced() {
    let (mut connected, mut client, mut upstream) = logged_in(plain()).await;
    let script = async {
        assert_eq!(upstream.receive(0).await, COMMAND);
        upstream
            .send(1, &switch("mysql_native_password", NONCE))
            .await;
        assert_eq!(
            client.receive(1).await,
            switch("mysql_native_password", NONCE)
        );
        client.send(2, b"scramble").await;
        assert_eq!(upstream.receive(2).await, b"scramble");
        upstream.send(3, OK).await;
        assert_eq!(client.receive(3).await, OK);
    };
    let (outcome, ()) = tokio::join!(run(&mut connected), script);
    let Ok(ChangeUserOutcome::Changed(login)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (&login.user[..], login.schema.as_deref()),
        (&b"bob"[..], Some(&b"other"[..]))
    );
    assert_eq!((login.collation, login.status), (45, 2));
}

#[tokio::test]
async fn a_password_crosses_as_at_login() {
    let (mut connected, mut client, mut upstream) = logged_in(local_upstream()).await;
    let script = async {
        upstream.receive(0).await;
        upstream
            .send(1, &switch("caching_sha2_password", NONCE))
            .await;
        client.receive(1).await;
        client.send(2, &[b's'; 32]).await;
        upstream.receive(2).await;
        upstream.send(3, b"\x01\x04").await;
        client.receive(3).await;
        client.send(4, b"\x02").await;
        let key = client.receive(5).await;
        let password = zeroize::Zeroizing::new(b"secret\0".to_vec());
        let encrypted = super::super::password::encrypt(&password, NONCE, &key[1..]).unwrap();
        client.send(6, &encrypted).await;
        assert_eq!(upstream.receive(4).await, b"secret\0");
        upstream.send(5, OK).await;
        tell_plugin(&mut upstream, "caching_sha2_password").await;
    };
    let (outcome, ()) = tokio::join!(run(&mut connected), script);
    assert!(matches!(outcome, Ok(ChangeUserOutcome::Changed(_))));
}

#[tokio::test]
async fn a_refusal_is_relayed_and_left_to_the_server_to_end() {
    let (mut connected, mut client, mut upstream) = logged_in(plain()).await;
    let denied = b"\xff\x15\x04#28000Access denied for user 'bob'@'%'";
    let script = async {
        upstream.receive(0).await;
        upstream.send(1, denied).await;
        assert_eq!(client.receive(1).await, denied);
    };
    let (outcome, ()) = tokio::join!(run(&mut connected), script);
    assert!(matches!(
        outcome,
        Ok(ChangeUserOutcome::Refused { code: 1045, .. })
    ));
}

#[tokio::test]
async fn a_client_whose_password_cannot_cross_is_told() {
    let (mut connected, mut client, mut upstream) = logged_in(local_upstream()).await;
    let script = async {
        upstream.receive(0).await;
        upstream
            .send(1, &switch("caching_sha2_password", NONCE))
            .await;
        client.receive(1).await;
        client.send(2, &[b's'; 32]).await;
        upstream.receive(2).await;
        upstream.send(3, b"\x01\x04").await;
        client.receive(3).await;
        client.send(4, &[7; 256]).await;
        let told = client.receive(5).await;
        drop(client);
        told
    };
    let (outcome, told) = tokio::join!(run(&mut connected), script);
    assert!(told.starts_with(b"\xff\x15\x04#28000"));
    assert!(matches!(outcome, Err(ConnectError::Password { .. })));
}

#[tokio::test]
async fn an_account_of_the_proxys_own_user_is_refused_there_too() {
    let (mut connected, mut client, mut upstream) = logged_in(local_upstream()).await;
    let script = async {
        upstream.receive(0).await;
        upstream.send(1, OK).await;
        tell_plugin(&mut upstream, "auth_socket").await;
        let told = client.receive(1).await;
        drop(client);
        assert_eq!(upstream.receive(0).await, b"\x01", "COM_QUIT");
        told
    };
    let (outcome, told) = tokio::join!(run(&mut connected), script);
    assert!(told.starts_with(b"\xff\x15\x04#28000"));
    assert!(matches!(outcome, Err(ConnectError::SocketAccount { .. })));
}

//! How many clients are let in.

use super::super::{Full, Place};
use super::*;
use crate::metrics::Fault;

fn from(last: u8) -> Origin {
    origin(([127, 0, 0, last], 1).into())
}

/// A client that has connected from there.
fn arrived(admission: &Arc<Admission>, origin: Origin) -> Result<Place, Full> {
    let mut place = admission.arrive()?;
    place.comes_from(origin)?;
    Ok(place)
}

fn logged_in(admission: &Arc<Admission>, user: &str) -> Result<Place, Full> {
    let mut place = admission.arrive()?;
    place.log_in(user.as_bytes())?;
    Ok(place)
}

#[test]
fn there_are_no_more_clients_than_may_be_until_one_goes() {
    let admission = admission("max_connections: 2");
    let first = logged_in(&admission, "ann").unwrap();
    let _second = logged_in(&admission, "bob").unwrap();
    assert_eq!(
        arrived(&admission, from(1)).unwrap_err(),
        Full::Connections { most: 2 }
    );
    drop(first);
    logged_in(&admission, "ann").unwrap();
}

#[test]
fn operators_get_in_where_others_do_not() {
    let reserved = "max_connections: 3\nreserved_connections: {connections: 2, users: [dba]}";
    let admission = admission(reserved);
    let _first = logged_in(&admission, "ann").unwrap();
    let full = logged_in(&admission, "ann").unwrap_err();
    assert_eq!(full, Full::Connections { most: 1 });
    let _second = logged_in(&admission, "dba").unwrap();
    let _third = logged_in(&admission, "dba").unwrap();
    assert!(logged_in(&admission, "dba").is_err());
}

#[test]
fn an_account_has_its_share_and_gives_it_back_when_it_becomes_another() {
    let admission = admission("max_user_connections: 1");
    let mut place = logged_in(&admission, "ann").unwrap();
    place.log_in(b"ann").unwrap();
    let full = logged_in(&admission, "ann").unwrap_err();
    let user = "ann".to_owned();
    assert_eq!(full, Full::User { user, most: 1 });
    place.log_in(b"bob").unwrap();
    let _ann = logged_in(&admission, "ann").unwrap();
    assert!(place.log_in(b"ann").is_err());
    assert!(logged_in(&admission, "bob").is_err(), "it is still bob");
}

#[test]
fn an_address_counts_before_it_has_logged_in_and_a_socket_is_none() {
    let admission = admission("max_address_connections: 1");
    let _first = arrived(&admission, from(1)).unwrap();
    assert!(matches!(
        arrived(&admission, from(1)),
        Err(Full::Address { most: 1, .. })
    ));
    let mapped = "[::ffff:127.0.0.1]:5".parse().unwrap();
    assert!(arrived(&admission, origin(mapped)).is_err());
    let _others = [from(2), Origin::Unix, Origin::Unix].map(|from| arrived(&admission, from));
}

#[test]
fn those_that_do_not_log_in_have_places_of_their_own() {
    let admission = admission("max_connections: 1\nmax_logins: 2");
    let mut silent = [(); 2].map(|()| arrived(&admission, from(1)).unwrap());
    assert!(matches!(
        arrived(&admission, from(1)),
        Err(Full::Logins { most: 2 })
    ));
    silent[0].log_in(b"ann").unwrap();
    assert!(matches!(
        silent[1].log_in(b"ann"),
        Err(Full::Connections { .. })
    ));
}

#[test]
fn nothing_is_remembered_of_those_that_have_gone() {
    let admission = admission("max_connections: 9");
    drop(logged_in(&admission, "ann"));
    drop(arrived(&admission, from(1)));
    assert!(admission.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_beyond_the_limit_is_told_before_the_server_hears_of_it() {
    let setup = ConnectSetup {
        admission: admission("max_connections: 1"),
        // There is nothing.
        route: Arc::new(Route::to(Address::Unix("/nonexistent/mysqld.sock".into()))),
        ..plain()
    };
    let _ann = logged_in(&setup.admission, "ann").unwrap();
    let (client, end) = duplex(4096);
    let mut client = Script(client);
    let (connected, ()) = tokio::join!(
        super::super::connect(Box::new(end), Origin::Unix, &setup),
        async {
            let told = client.receive(0).await;
            assert_eq!(code(&told), 1040);
            assert!(
                told[3..].starts_with(b"Too many connections"),
                "no SQLSTATE"
            );
            assert_eq!(client.rest().await, b"");
            drop(client);
        }
    );
    assert!(matches!(connected, Err(ConnectError::Full(_))));
}

#[tokio::test(start_paused = true)]
async fn an_account_that_has_its_share_is_told_when_it_has_logged_in() {
    let admission = admission("max_user_connections: 1");
    let _first = logged_in(&admission, "ann").unwrap();
    let mut stage = Stage::new(ConnectSetup {
        admission: Arc::clone(&admission),
        ..plain()
    });
    stage.greet().await;
    let response = response(CLIENT, b"", "mysql_native_password");
    stage.client.send(1, &response).await;
    stage.upstream.receive(1).await;
    stage.upstream.send(2, OK).await;
    let told = stage.client.receive(2).await;
    assert_eq!(code(&told), 1203);
    assert!(told[3..].starts_with(b"#42000User ann already has more than"));
    assert_eq!(
        stage.upstream.receive(0).await,
        [crate::wire::command::QUIT]
    );
    assert_eq!(stage.failure().await.fault(), Fault::Proxy);
}

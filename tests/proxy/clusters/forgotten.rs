//! A transaction is rolled back by what arrives from another member, and the next statement in it is one that has MySQL
//! forget the loss: the proxy must not let the rest be committed.

use std::sync::Arc;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Replication};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::load::LOST;
use super::{Cluster, GROUP, KEYS, RULES, SCHEMA, TABLES};
use crate::replica::until;
use crate::support::block_on;
use crate::support::client::{connect, number, run};
use crate::support::proxy::Proxy;

const SAVEPOINT: &[u8] = b"SAVEPOINT countersink_fold";

#[test]
fn a_loss_before_a_savepoint_is_told_on_galera() {
    block_on(a_loss_before_a_savepoint_is_told(Replication::Galera));
}

#[test]
fn a_loss_before_a_savepoint_is_told_in_a_group() {
    block_on(a_loss_before_a_savepoint_is_told(GROUP));
}

#[test]
fn a_loss_before_a_whole_table_is_locked_is_told_on_galera() {
    block_on(a_loss_before_a_whole_table_is_locked_is_told(
        Replication::Galera,
    ));
}

#[test]
fn a_loss_before_a_whole_table_is_locked_is_told_in_a_group() {
    block_on(a_loss_before_a_whole_table_is_locked_is_told(GROUP));
}

/// The other change arrives after the proxy has asked whether there was a loss, and before its savepoint is set.
async fn a_loss_before_a_savepoint_is_told(replication: Replication) {
    let mut cluster = Cluster::members(replication, SCHEMA, TABLES).await;
    let upstreams: Vec<_> = cluster
        .members
        .iter()
        .map(|member| member.address())
        .collect();
    let relay = Relay::start(&upstreams[0]).await;
    cluster.proxies = vec![
        Proxy::start(&relay.address, RULES),
        Proxy::start(&upstreams[1], RULES),
    ];
    for proxy in &cluster.proxies {
        proxy.arrives("enforced").await;
    }
    let mut client = begun(&cluster).await;
    // The statement may have to fold in a snapshot that is older.
    run(&mut client, "SELECT COUNT(title) FROM posts WHERE id = 3").await;
    let write = tokio::spawn(async move {
        let answer = client
            .query("UPDATE posts SET views = views * 1 + 4 WHERE id = 1")
            .await;
        (client, answer.expect("an answer"))
    });
    relay.held.notified().await;
    another_is_first(&cluster).await;
    relay.go_on.notify_one();
    let (client, answer) = write.await.expect("no panic");
    all_or_nothing(&cluster, client, answer).await;
}

/// The other change arrives before a statement that has the proxy lock all rows of a table.
async fn a_loss_before_a_whole_table_is_locked_is_told(replication: Replication) {
    let cluster = Cluster::start(replication).await;
    for proxy in &cluster.proxies {
        proxy.arrives("enforced").await;
    }
    // There is no loss at first.
    let whole = "UPDATE posts SET stars = stars * 1 + 4";
    let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
    if let Replication::Group { .. } = replication {
        run(&mut client, "SET SESSION max_join_size = 1").await;
    }
    for text in ["START TRANSACTION", whole, "COMMIT"] {
        run(&mut client, text).await;
    }
    for (member, _) in cluster.members.iter().enumerate() {
        let mut session = cluster.session(member).await;
        let stars = "SELECT SUM(stars) FROM posts";
        assert_eq!(number(&mut session, stars).await, 4 * KEYS);
    }
    let mut client = begun(&cluster).await;
    another_is_first(&cluster).await;
    let answer = client.query("UPDATE small SET n = n * 1 + 4").await;
    all_or_nothing(&cluster, client, answer.expect("an answer")).await;
}

/// A transaction through the first proxy, with something in a slot of row 2.
async fn begun(cluster: &Cluster) -> Driver {
    let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
    run(&mut client, "START TRANSACTION").await;
    let increment = "UPDATE posts SET views = views + 2 WHERE id = 2";
    run(&mut client, increment).await;
    assert_eq!(cluster.proxies[0].counted("slotted"), 1);
    client
}

/// Another member folds row 2, and the first has heard of it.
async fn another_is_first(cluster: &Cluster) {
    let mut other = connect(&cluster.proxies[1].address, Some(SCHEMA)).await;
    run(
        &mut other,
        "UPDATE posts SET views = views * 1 + 10 WHERE id = 2",
    )
    .await;
    let mut watch = connect(&cluster.members[0].address(), Some(SCHEMA)).await;
    until("the change arrives", async || {
        number(&mut watch, "SELECT views FROM posts WHERE id = 2").await == 10
    })
    .await;
}

/// The client is told that its transaction is lost, at this statement or at COMMIT, and nothing of it is there, on any
/// member.
async fn all_or_nothing(cluster: &Cluster, mut client: Driver, answer: Reply) {
    let is_lost =
        |answer: &Reply| matches!(answer, Reply::Err(error) if LOST.contains(&error.code));
    let is_told = is_lost(&answer) || is_lost(&client.query("COMMIT").await.expect("an answer"));
    let mut values = Vec::new();
    for member in 0..cluster.members.len() {
        let mut session = cluster.session(member).await;
        for key in 1..=KEYS {
            let value = format!(
                "SELECT views + (SELECT COALESCE(SUM(s.views), 0) FROM posts_slots AS s WHERE s.id = {key}) FROM posts \
                 WHERE id = {key}"
            );
            values.push(number(&mut session, &value).await);
        }
        values.push(number(&mut session, "SELECT n FROM small WHERE id = 1").await);
    }
    assert_eq!(values, [0, 10, 0, 0].repeat(cluster.members.len()));
    assert!(is_told);
}

/// Leads to a server, and holds the first savepoint that a proxy sets there.
struct Relay {
    address: Address,
    /// It has come.
    held: Arc<Notify>,
    /// It may pass.
    go_on: Arc<Notify>,
}

impl Relay {
    async fn start(server: &Address) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let relay = Self {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port: listener.local_addr().expect("an address").port(),
                ..server.clone()
            },
            held: Arc::default(),
            go_on: Arc::default(),
        };
        let (held, go_on) = (Arc::clone(&relay.held), Arc::clone(&relay.go_on));
        let server = (server.host.clone(), server.port);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(server.clone())
                    .await
                    .expect("the server");
                let (mut from_near, mut to_near) = near.into_split();
                let (mut from_far, mut to_far) = far.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_far, &mut to_near).await });
                let (held, go_on) = (Arc::clone(&held), Arc::clone(&go_on));
                tokio::spawn(async move {
                    let mut bytes = vec![0; 64 * 1024];
                    while let Ok(length @ 1..) = from_near.read(&mut bytes).await {
                        let bytes = &bytes[..length];
                        if bytes.windows(SAVEPOINT.len()).any(|part| part == SAVEPOINT) {
                            held.notify_one();
                            go_on.notified().await;
                            go_on.notify_one();
                        }
                        if to_far.write_all(bytes).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        relay
    }
}

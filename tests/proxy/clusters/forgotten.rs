//! A transaction is rolled back by what arrives from another member, and the next command in it is one that has the
//! server forget the loss: the proxy must not let the rest be committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersink::driver::{Driver, Reply, query_packet};
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink::wire::{command, reply};
use countersink_sandbox::{Address, Replication};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::load::LOST;
use super::{Cluster, GROUP, KEYS, RULES, SCHEMA, TABLES};
use crate::replica::until;
use crate::support::block_on;
use crate::support::client::{connect, number, prepare, run};
use crate::support::proxy::Proxy;

/// The proxy's own.
const SAVEPOINT: &[u8] = b"SAVEPOINT countersink_fold";

/// How long to wait for what is to come.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// The other change arrives while the server closes a statement that the proxy has prepared: Galera rolls the
/// transaction back, and has no answer in which to say so.
#[test]
fn a_loss_while_the_proxy_closes_a_statement_is_told_on_galera() {
    block_on(async {
        let (cluster, relay) = relayed(Replication::Galera, On::Close).await;
        let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
        run(&mut client, "START TRANSACTION").await;
        run(
            &mut client,
            "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
        )
        .await;
        relay.arm();
        // The proxy asks the server first what it makes of the text.
        let write = "UPDATE posts SET views = NULL, title = 'lost' WHERE id = 1";
        let answer = client.query(write).await.expect("an answer");
        relay.has_come().await;
        assert!(is_lost(&answer), "{answer:?}");
        for member in 0..cluster.members.len() {
            let mut session = cluster.session(member).await;
            let views = "SELECT views FROM posts WHERE id = 1";
            assert_eq!(number(&mut session, views).await, 0, "on member {member}");
        }
    });
}

/// The same while it closes a statement of the client's, whatever the client does before and next.
#[test]
fn a_loss_while_the_client_closes_a_statement_is_told_on_galera() {
    block_on(async {
        let (cluster, relay) = relayed(Replication::Galera, On::Close).await;
        let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
        let increment = "UPDATE posts SET views = views + 2 WHERE id = 2";
        let refused = "INSERT INTO likes VALUES (1, 1)";
        for (before, next) in [
            (increment, "COMMIT"),
            (refused, "COMMIT"),
            (
                increment,
                "INSERT INTO likes (post) VALUES (9 + ROW_COUNT())",
            ),
        ] {
            let id = prepare(&mut client, "SELECT 1").await;
            run(&mut client, "START TRANSACTION").await;
            run(&mut client, increment).await;
            let before = client.query(before).await.expect("an answer");
            assert!(!is_lost(&before), "{before:?}");
            relay.arm();
            close(&mut client, id).await;
            let answer = client.query(next).await.expect("an answer");
            relay.has_come().await;
            assert!(is_lost(&answer), "{answer:?} to {next}");
            // What is told is told once.
            run(&mut client, "ROLLBACK").await;
            let views = "SELECT views FROM posts WHERE id = 2";
            assert_eq!(number(&mut client, views).await, 0);
            let likes = "SELECT COUNT(*) FROM likes WHERE post > 8";
            assert_eq!(number(&mut client, likes).await, 0);
        }
    });
}

/// A loss that comes in answer to COM_STMT_PREPARE is the client's to know, and is not told a second time.
#[test]
fn a_loss_is_told_once_on_galera() {
    block_on(async {
        let cluster = Cluster::start(Replication::Galera).await;
        cluster.arrives("enforced").await;
        let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
        let id = prepare(&mut client, "SELECT 1").await;
        let mut client = begun_in(&cluster, client).await;
        another_is_first(&cluster).await;
        let hot = "UPDATE posts SET views = views * 1 + 4 WHERE id = 1";
        let payload = [&[command::STMT_PREPARE], hot.as_bytes()].concat();
        client.send(&payload).await.expect("sent");
        let answer = client.packets(ResponseKind::Prepared).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer[0].packet_kind, PacketKind::Err);
        close(&mut client, id).await;
        run(&mut client, "ROLLBACK").await;
        assert_eq!(number(&mut client, "SELECT 5").await, 5);
    });
}

/// Where nothing is lost, closing a statement changes nothing: neither behind an error that has ended the transaction,
/// or has not, nor where the session begins anew, nor for who asks about the statement before.
#[test]
fn closing_a_statement_changes_nothing_on_galera() {
    block_on(async {
        let cluster = Cluster::start(Replication::Galera).await;
        cluster.arrives("enforced").await;
        let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
        let one = "INSERT INTO likes (post) VALUES (9)";
        for (error, statement) in [
            (1062, "INSERT INTO likes VALUES (1, 1)"),
            (1050, "CREATE TABLE likes (id INT)"),
            (1264, "INSERT INTO small VALUES (2, 40000)"),
        ] {
            run(&mut client, "START TRANSACTION").await;
            let id = prepare(&mut client, "SELECT 1").await;
            run(&mut client, one).await;
            let refused = client.query(statement).await.expect("an answer");
            assert!(
                matches!(&refused, Reply::Err(told) if told.code == error),
                "{refused:?}"
            );
            close(&mut client, id).await;
            assert_eq!(number(&mut client, "SELECT ROW_COUNT()").await, -1);
            run(&mut client, "COMMIT").await;
        }
        // Who does not commit, and begins anew.
        let id = prepare(&mut client, "SELECT 1").await;
        run(&mut client, "START TRANSACTION").await;
        run(&mut client, one).await;
        close(&mut client, id).await;
        let reset = [command::RESET_CONNECTION];
        client.send(&reset).await.expect("sent");
        let answer = client.packets(ResponseKind::Single).await;
        assert_eq!(answer.expect("an answer")[0].packet_kind, PacketKind::Ok);
        run(&mut client, "SET autocommit = 0").await;
        for is_prepared in [false, true] {
            let id = prepare(&mut client, "SELECT 1").await;
            let insert = "INSERT INTO likes (post) VALUES (9), (9), (9)";
            run(&mut client, insert).await;
            close(&mut client, id).await;
            let changed = match is_prepared {
                false => number(&mut client, "SELECT ROW_COUNT()").await,
                true => {
                    let asking = prepare(&mut client, "SELECT ROW_COUNT()").await;
                    executed(&mut client, asking).await
                }
            };
            assert_eq!(changed, 3);
            run(&mut client, "COMMIT").await;
        }
        let likes = "SELECT COUNT(*) FROM likes WHERE post = 9";
        assert_eq!(number(&mut client, likes).await, 3 + 6);
    });
}

/// COM_STMT_CLOSE.
async fn close(client: &mut Driver, id: u32) {
    let close = [&[command::STMT_CLOSE][..], &id.to_le_bytes()].concat();
    client.send(&close).await.expect("sent");
}

/// The one number, of eight bytes, that a prepared query gives.
async fn executed(client: &mut Driver, id: u32) -> i64 {
    const BEFORE: usize = 2;
    let arguments = [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
    let execute = [&[command::STMT_EXECUTE][..], &arguments].concat();
    client.send(&execute).await.expect("sent");
    let packets = client.packets(ResponseKind::Results).await;
    let packets = packets.expect("an answer");
    let mut rows = packets
        .iter()
        .filter(|packet| packet.packet_kind == PacketKind::Row);
    let row = rows.next().expect("a row");
    let number = row.payload[BEFORE..].try_into();
    i64::from_le_bytes(number.expect("eight bytes"))
}

/// A cluster with proxies before the first two members; this happens on the way to the first.
async fn relayed(replication: Replication, on: On) -> (Cluster, Relay) {
    let mut cluster = Cluster::members(replication, SCHEMA, TABLES).await;
    let upstreams: Vec<_> = cluster
        .members
        .iter()
        .map(|member| member.address())
        .collect();
    let relay = Relay::start(&upstreams[0], on).await;
    cluster.proxies = vec![
        Proxy::start(&relay.address, RULES),
        Proxy::start(&upstreams[1], RULES),
    ];
    cluster.arrives("enforced").await;
    (cluster, relay)
}

/// The other change arrives after the proxy has asked whether there was a loss, and before its savepoint is set.
async fn a_loss_before_a_savepoint_is_told(replication: Replication) {
    let (cluster, relay) = relayed(replication, On::Savepoint).await;
    relay.arm();
    let mut client = begun(&cluster).await;
    // The statement may have to fold in a snapshot that is older.
    run(&mut client, "SELECT COUNT(title) FROM posts WHERE id = 3").await;
    let write = tokio::spawn(async move {
        let answer = client
            .query("UPDATE posts SET views = views * 1 + 4 WHERE id = 1")
            .await;
        (client, answer.expect("an answer"))
    });
    relay.has_come().await;
    another_is_first(&cluster).await;
    relay.go_on.notify_one();
    let (client, answer) = write.await.expect("no panic");
    all_or_nothing(&cluster, client, answer).await;
}

/// The other change arrives before a statement that has the proxy lock all rows of a table.
async fn a_loss_before_a_whole_table_is_locked_is_told(replication: Replication) {
    let cluster = Cluster::start(replication).await;
    cluster.arrives("enforced").await;
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
    let client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
    begun_in(cluster, client).await
}

async fn begun_in(cluster: &Cluster, mut client: Driver) -> Driver {
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

fn is_lost(answer: &Reply) -> bool {
    matches!(answer, Reply::Err(error) if LOST.contains(&error.code))
}

/// What happens on the way to a server, once.
#[derive(Clone, Copy, Debug)]
enum On {
    /// A savepoint of the proxy's is held.
    Savepoint,
    /// The transaction is rolled back behind a COM_STMT_CLOSE.
    Close,
}

impl On {
    /// Whether it waits for this packet.
    fn is(self, packet: &[u8]) -> bool {
        match self {
            Self::Savepoint => packet.ends_with(SAVEPOINT),
            Self::Close => packet.get(HEADER_LENGTH) == Some(&command::STMT_CLOSE),
        }
    }
}

/// Leads to a server.
struct Relay {
    address: Address,
    way: Arc<Way>,
    /// What is held may pass.
    go_on: Arc<Notify>,
}

/// What the connections of a relay share.
#[derive(Debug)]
struct Way {
    on: On,
    is_armed: AtomicBool,
    /// What was waited for has come.
    came: Notify,
    go_on: Arc<Notify>,
}

impl Relay {
    async fn start(server: &Address, on: On) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let go_on = Arc::new(Notify::new());
        let relay = Self {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port: listener.local_addr().expect("an address").port(),
                ..server.clone()
            },
            way: Arc::new(Way {
                on,
                is_armed: AtomicBool::new(false),
                came: Notify::new(),
                go_on: Arc::clone(&go_on),
            }),
            go_on,
        };
        let way = Arc::clone(&relay.way);
        let server = (server.host.clone(), server.port);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(server.clone())
                    .await
                    .expect("the server");
                let (from_near, to_near) = near.into_split();
                let (from_far, to_far) = far.into_split();
                let rolled_back = Arc::new(RolledBack::default());
                let back = answers(from_far, to_near, Arc::clone(&rolled_back));
                tokio::spawn(back);
                tokio::spawn(commands(from_near, to_far, Arc::clone(&way), rolled_back));
            }
        });
        relay
    }

    /// From now on it waits for what is to come.
    fn arm(&self) {
        self.way.is_armed.store(true, Ordering::SeqCst);
    }

    async fn has_come(&self) {
        let came = tokio::time::timeout(PATIENCE, self.way.came.notified());
        came.await.expect("it comes");
    }
}

/// A ROLLBACK of the relay's own in a connection.
#[derive(Debug, Default)]
struct RolledBack {
    is_asked: AtomicBool,
    is_done: Notify,
}

async fn commands(
    mut from_near: OwnedReadHalf,
    mut to_far: OwnedWriteHalf,
    way: Arc<Way>,
    rolled_back: Arc<RolledBack>,
) {
    while let Some(packet) = read_packet(&mut from_near).await {
        let has_come = way.on.is(&packet) && way.is_armed.swap(false, Ordering::SeqCst);
        if has_come && let On::Savepoint = way.on {
            way.came.notify_one();
            way.go_on.notified().await;
        }
        if to_far.write_all(&packet).await.is_err() {
            break;
        }
        if is_tls_request(&packet) {
            tokio::io::copy(&mut from_near, &mut to_far).await.ok();
            break;
        }
        if has_come && let On::Close = way.on {
            rolled_back.is_asked.store(true, Ordering::SeqCst);
            let rollback = query_packet("ROLLBACK");
            to_far.write_all(&rollback).await.expect("the server");
            rolled_back.is_done.notified().await;
            way.came.notify_one();
        }
    }
}

/// But for the one to the ROLLBACK: nothing else is under way then.
async fn answers(
    mut from_far: OwnedReadHalf,
    mut to_near: OwnedWriteHalf,
    rolled_back: Arc<RolledBack>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from_far.read(&mut buffer).await {
        let bytes = &buffer[..read];
        if rolled_back.is_asked.swap(false, Ordering::SeqCst) {
            let length = Header::decode(bytes).map(|header| header.packet_length());
            assert_eq!((length, bytes[HEADER_LENGTH]), (Some(read), reply::OK));
            rolled_back.is_done.notify_one();
        } else if to_near.write_all(bytes).await.is_err() {
            break;
        }
    }
}

/// Whether what follows this packet of a client's is TLS.
fn is_tls_request(packet: &[u8]) -> bool {
    const LENGTH: usize = 32;
    const SEQUENCE_ID: usize = 3;
    packet.len() == HEADER_LENGTH + LENGTH && packet[SEQUENCE_ID] == 1
}

/// The next packet, with its header.
async fn read_packet(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let mut packet = vec![0; HEADER_LENGTH];
    from.read_exact(&mut packet).await.ok()?;
    let length = Header::decode(&packet)?.packet_length();
    packet.resize(length, 0);
    from.read_exact(&mut packet[HEADER_LENGTH..]).await.ok()?;
    Some(packet)
}

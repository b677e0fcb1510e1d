//! Clients go past the proxies, and change the rows that slots are being moved into: roll-ups are lost to them, and
//! must be lost as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink::driver::Reply;
use countersink_sandbox::{Address, Replication};
use tokio::task::JoinSet;

use super::killed::serve;
use super::load::LOST;
use super::{Cluster, GROUP, SCHEMA, TABLES};
use crate::replica::until;
use crate::support::block_on;
use crate::support::client::{connect, number};
use crate::support::proxy::Proxy;

/// Clients past the proxies, on one member.
const DIRECT: usize = 8;

/// Clients of each proxy.
const THROUGH: usize = 2;

/// How many roll-ups must have taken place meanwhile.
const ROLL_UPS: u64 = 300;

/// How often a proxy starts.
const STARTS: usize = 10;

const RULES: &str =
    "counters:\n- {table: cs_clusters.posts, columns: [views, stars], rollup: 10ms}\n";

#[test]
fn roll_ups_are_lost_as_a_whole_on_galera() {
    block_on(roll_ups_are_lost_as_a_whole(Replication::Galera));
}

#[test]
fn roll_ups_are_lost_as_a_whole_in_a_group() {
    block_on(roll_ups_are_lost_as_a_whole(GROUP));
}

#[test]
fn proxies_start_while_rows_change_on_galera() {
    block_on(proxies_start_while_rows_change(Replication::Galera));
}

#[test]
fn proxies_start_while_rows_change_in_a_group() {
    block_on(proxies_start_while_rows_change(GROUP));
}

/// A proxy that starts looks whether its server locks rows, and loses the lock to what arrives from another member.
async fn proxies_start_while_rows_change(replication: Replication) {
    let cluster = Cluster::members(replication, SCHEMA, TABLES).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for address in std::iter::repeat_n(cluster.members[1].address(), DIRECT) {
        clients.spawn(increments(address, Arc::clone(&stop)));
    }
    for _ in 0..STARTS {
        let (_serving, address) = serve(&cluster.members[0].address(), RULES);
        let mut client = connect(&address, Some(SCHEMA)).await;
        number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
    }
    stop.store(true, Ordering::Relaxed);
    clients.join_all().await;
}

async fn roll_ups_are_lost_as_a_whole(replication: Replication) {
    let mut cluster = Cluster::members(replication, SCHEMA, TABLES).await;
    let proxies = cluster.members.iter();
    cluster.proxies = proxies
        .map(|member| Proxy::start(&member.address(), RULES))
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    let direct = std::iter::repeat_n(cluster.members[0].address(), DIRECT);
    let through = cluster.proxies.iter();
    let through = through.flat_map(|proxy| std::iter::repeat_n(proxy.address.clone(), THROUGH));
    for address in direct.chain(through) {
        clients.spawn(increments(address, Arc::clone(&stop)));
    }
    let metrics = |of: fn(&Proxy) -> u64| cluster.proxies.iter().map(of).sum::<u64>();
    until("slots are rolled up", async || {
        metrics(|proxy| proxy.shared.metrics.roll_ups()) > ROLL_UPS
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged: i64 = clients.join_all().await.into_iter().sum();
    for member in 0..cluster.members.len() {
        let mut session = cluster.session(member).await;
        let sum = "SELECT views + (SELECT COALESCE(SUM(s.views), 0) FROM posts_slots AS s WHERE s.id = 1) \
                   FROM posts WHERE id = 1";
        assert_eq!(
            number(&mut session, sum).await,
            acknowledged,
            "on member {member}"
        );
    }
    assert_eq!(metrics(|proxy| proxy.shared.metrics.drifted()), 0);
}

/// Increments one row until it is told to stop. How often that was acknowledged.
async fn increments(address: Address, stop: Arc<AtomicBool>) -> i64 {
    let mut client = connect(&address, Some(SCHEMA)).await;
    let mut acknowledged = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = "UPDATE posts SET views = views + 1 WHERE id = 1";
        match client.query(text).await.expect("an answer") {
            Reply::Err(error) => assert!(LOST.contains(&error.code), "{error}"),
            _ => acknowledged += 1,
        }
    }
    acknowledged
}

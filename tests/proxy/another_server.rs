//! The upstream's address leads to another server while the old one goes on (a failover that nobody told the old one
//! of, a load balancer, DNS): what is known of the one is not believed of the other, and the proxy's own connections
//! follow.

use std::time::{Duration, Instant};

use countersink::catalog;
use countersink::counter::control::Control;
use countersink::counter::locks;
use countersink::driver::Driver;
use countersink_sandbox::Flavour;

use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::forwarder::Forwarder;
use crate::support::on_both;
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::twin;

const SCHEMA: &str = "cs_another_server";

const CREATE: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL);";

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

/// How long the proxy's own connections may take to follow.
const PATIENCE: Duration = Duration::from_secs(30);

/// base, and what lies in slots, directly.
async fn value(server: &mut Driver) -> (i64, i64) {
    let base = number(server, "SELECT views FROM posts WHERE id = 1").await;
    let slots = "SELECT COALESCE(SUM(views), 0) FROM posts_slots WHERE id = 1";
    (base, number(server, slots).await)
}

async fn until(what: &str, server: &mut Driver, question: &str) {
    let deadline = Instant::now() + PATIENCE;
    while number(server, question).await != 1 {
        assert!(Instant::now() < deadline, "{what}: {question}");
    }
}

async fn what_is_known_of_one_server_is_not_believed_of_another(flavour: Flavour) {
    let servers = twin(flavour);
    let mut first = create_schema(&servers.plain, SCHEMA, CREATE).await;
    let mut second = create_schema(&servers.proxied, SCHEMA, CREATE).await;
    for server in [&mut first, &mut second] {
        run(server, "INSERT INTO posts VALUES (1, 100)").await;
    }
    let forwarder = Forwarder::start(&servers.plain).await;
    let upstream = forwarder.upstream();
    // No roll-up comes in between.
    let rules = format!("counters:\n  - {{table: {SCHEMA}.posts, columns: [views], rollup: 5s}}\n");
    let proxy = Proxy::start(&upstream, &rules);
    // The other server is a copy.
    let create = rows(&mut first, "SHOW CREATE TABLE posts_slots").await;
    run(&mut second, &create[0][1]).await;
    let mut old = connect(&proxy.address, Some(SCHEMA)).await;
    for _ in 0..3 {
        run(&mut old, INCREMENT).await;
    }
    // A fold has the proxy look at slots, on a connection that it keeps; then there are none.
    run(&mut old, "UPDATE posts SET views = 100 WHERE id = 1").await;
    assert_eq!(value(&mut first).await, (100, 0));

    forwarder.lead_to(&servers.proxied);
    let mut new = connect(&proxy.address, Some(SCHEMA)).await;
    for _ in 0..7 {
        run(&mut new, INCREMENT).await;
    }
    run(&mut new, "UPDATE posts SET views = 0 WHERE id = 1").await;
    assert_eq!(value(&mut second).await, (0, 0), "nothing is left in slots");
    for _ in 0..7 {
        run(&mut new, INCREMENT).await;
    }
    run(&mut new, "UPDATE posts SET views = 5").await;
    assert_eq!(value(&mut second).await, (5, 0), "nor of the whole table");

    // Sessions of both are exact each on its own server, also in turn and on keys that they share.
    for _ in 0..4 {
        run(&mut old, INCREMENT).await;
        run(&mut new, INCREMENT).await;
    }
    run(&mut old, "UPDATE posts SET views = 50 WHERE id = 1").await;
    assert_eq!(value(&mut first).await, (50, 0));
    let (base, slots) = value(&mut second).await;
    assert_eq!(base + slots, 9);

    // The proxy's own connections follow: its number is claimed there, and what lies in slots there is rolled up.
    until(
        "the number of the proxy is claimed on the other server",
        &mut second,
        "SELECT COALESCE(IS_USED_LOCK('countersink.node.0') IS NOT NULL, 0)",
    )
    .await;
    run(&mut new, INCREMENT).await;
    until(
        "slots on the other server are rolled up",
        &mut second,
        "SELECT views = 10 FROM posts WHERE id = 1",
    )
    .await;
    // And back again.
    forwarder.lead_to(&servers.plain);
    let mut newest = connect(&proxy.address, Some(SCHEMA)).await;
    for session in [&mut newest, &mut new, &mut old] {
        run(session, INCREMENT).await;
    }
    run(&mut newest, "UPDATE posts SET views = 7 WHERE id = 1").await;
    run(&mut new, "UPDATE posts SET views = 8 WHERE id = 1").await;
    assert_eq!(value(&mut first).await, (7, 0));
    assert_eq!(value(&mut second).await, (8, 0));
}

/// A row that is locked once on each of two servers is not locked twice.
async fn a_load_balancer_is_not_taken_for_a_server_without_locks(flavour: Flavour) {
    const SCHEMA: &str = "cs_balanced";
    let servers = twin(flavour);
    for server in [&servers.plain, &servers.proxied] {
        let mut server = create_schema(server, SCHEMA, CREATE).await;
        run(&mut server, "INSERT INTO posts VALUES (1, 100)").await;
    }
    let forwarder = Forwarder::start(&servers.plain).await;
    let rules = format!("counters:\n  - {{table: {SCHEMA}.posts, columns: [views]}}\n");
    let config = config_of(&(rules_head(&forwarder.upstream()) + &rules));
    let control = Control::open(&config).await.expect("the control account");
    let mut conn = control.connect().await.expect("a connection");
    let catalog = catalog::load(&mut conn, &config).await.expect("the table");
    assert!(!locks::are_none(&control, &catalog).await, "one server");
    forwarder.balance(&[&servers.plain, &servers.proxied]);
    assert!(!locks::are_none(&control, &catalog).await, "two servers");
}

on_both![
    what_is_known_of_one_server_is_not_believed_of_another,
    a_load_balancer_is_not_taken_for_a_server_without_locks,
];

//! Servers that hang, and names that change hands, at the worst moment.

use std::time::{Duration, Instant};

use countersink::config::Mode;
use countersink::driver::{Driver, Reply};
use countersink_sandbox::Flavour;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::hanging::Hanging;
use super::load::{INCREMENT, SCHEMA, TABLE, app};
use super::{Pair, until};
use crate::support::client::{connect_as, number, run};
use crate::support::forwarder::Forwarder;
use crate::support::on_both;
use crate::support::proxy::Proxy;

on_both![
    a_primary_that_hangs_while_the_proxy_starts_is_left,
    a_server_that_hangs_while_the_proxy_moves_there_is_left,
    names_that_change_hands_lead_to_the_primary,
];

/// Longer than all that is to happen within it.
const LONG: Duration = Duration::from_secs(60);

/// The rules; without TLS, so that it can be seen what is asked.
fn rules(rest: &str) -> String {
    format!(
        "upstream_tls: {{mode: disabled}}\n\
         counters:\n- {{table: {SCHEMA}.posts, columns: [views], rest: {rest}, rollup: 50ms}}\n"
    )
}

/// Whether a client that connects through the proxy can increment.
async fn can_increment(proxy: &Proxy) -> bool {
    let address = app(&proxy.address);
    match connect_as(&address, Some(SCHEMA), Driver::CAPABILITIES).await {
        Ok(mut client) => matches!(client.query(INCREMENT).await, Ok(Reply::Ok(_))),
        Err(_) => false,
    }
}

async fn a_primary_that_hangs_while_the_proxy_starts_is_left(flavour: Flavour) {
    let mut pair = Pair::start(flavour).await;
    pair.until_replicated().await;
    // Only the rules ask so.
    let mut primary = Hanging::at(&pair.primary.address(), "IS_USED_LOCK").await;
    let addresses = [pair.replica.address(), primary.address()];
    let (ready, proxy) = oneshot::channel();
    // On a thread that nobody waits for.
    std::thread::spawn(move || {
        let proxy = Proxy::start_before(&[&addresses[0], &addresses[1]], &rules("never"));
        ready.send(proxy).ok();
    });
    primary.until_it_hangs().await;
    // On a connection that is kept, and is idle for most of the time.
    let looks = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Sleep'";
    let mut seen = 0;
    until("the proxy has looked at the replica", async || {
        seen += i32::from(number(&mut pair.of_replica, looks).await > 0);
        seen > 10
    })
    .await;
    pair.promote().await;
    let proxy = timeout(LONG, proxy).await.expect("it starts");
    let proxy = proxy.expect("no panic");
    until("increments reach the new primary", async || {
        can_increment(&proxy).await
    })
    .await;
}

async fn a_server_that_hangs_while_the_proxy_moves_there_is_left(flavour: Flavour) {
    let mut pair = Pair::start(flavour).await;
    pair.until_replicated().await;
    // Only the rules ask so, and not before the proxy moves.
    let mut promoted = Hanging::at(&pair.replica.address(), "information_schema").await;
    let addresses = [pair.primary.address(), promoted.address()];
    let proxy = Proxy::start_before(&[&addresses[0], &addresses[1]], &rules("auto"));
    until("the table rests", async || {
        proxy.rules.show()[0].stage == "at rest"
    })
    .await;
    run(&mut pair.of_primary, "SET GLOBAL read_only = 1").await;
    pair.promote().await;
    promoted.until_it_hangs().await;
    // The old one is made the primary again.
    run(&mut pair.of_primary, "SET GLOBAL read_only = 0").await;
    let asked = timeout(LONG, proxy.rules.set_mode(TABLE, Mode::Enforce)).await;
    let answer = asked.expect("the rules are not held up");
    answer.expect("it goes on");
    until("increments reach the primary", async || {
        can_increment(&proxy).await
    })
    .await;
}

async fn names_that_change_hands_lead_to_the_primary(flavour: Flavour) {
    let mut pair = Pair::start(flavour).await;
    let servers = [pair.primary.address(), pair.replica.address()];
    let primary = Forwarder::start(&servers[0]).await;
    let replica = Forwarder::start(&servers[1]).await;
    let upstreams = [primary.upstream(), replica.upstream()];
    let proxy = Proxy::start_before(&[&upstreams[0], &upstreams[1]], &rules("never"));
    pair.until_replicated().await;
    assert!(can_increment(&proxy).await);
    run(&mut pair.of_primary, "SET GLOBAL read_only = 1").await;
    // Connections that there are stay where they are.
    primary.lead_to(&servers[1]);
    replica.lead_to(&servers[0]);
    pair.promote().await;
    let promoted = Instant::now();
    until("increments reach the new primary", async || {
        can_increment(&proxy).await
    })
    .await;
    let silence = promoted.elapsed();
    eprintln!("{flavour}, names that change hands: {silence:.1?} of silence");
    // By then a connection that is kept would have been made anew.
    assert!(silence < Duration::from_secs(15), "{silence:?}");
}

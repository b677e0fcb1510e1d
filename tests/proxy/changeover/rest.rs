//! Tables that rest without slots until transactions wait for each other's rows, and come back to that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink_sandbox::Flavour;
use tokio::task::JoinSet;

use crate::changeover::load::Load;
use crate::changeover::stage::{Stage, arrives, waits_for};
use crate::support::client::{connect, number, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::of_all;

const ADD: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const READ: &str = "SELECT views FROM posts WHERE id = 1";
const RESTING: &str = "columns: [views], rollup: 20ms, rest: auto";

on_both! {
    autocommit_leaves_a_table_at_rest,
    transactions_that_wait_set_a_table_in_motion,
    a_transaction_that_stays_open_holds_a_change_back,
    a_snapshot_from_slots_stays_what_it_was,
    to_and_fro_under_load,
    two_proxies_follow_each_other,
    transactions_that_wait_for_those_of_another_proxy_count,
}

/// Says whether the table needs slots.
fn force(proxy: &Proxy, needs_slots: Option<bool>) {
    let hot = proxy.shared.hot();
    let (table, _) = hot.tables().next().expect("a hot table");
    proxy.shared.motion.force(table, needs_slots);
}

async fn autocommit_leaves_a_table_at_rest(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_autocommit").await;
    let proxy = stage.proxy(RESTING);
    arrives(&proxy, "at rest").await;
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let mut client = stage.client(&proxy).await;
        tasks.spawn(async move {
            for _ in 0..50 {
                run(&mut client, ADD).await;
                number(&mut client, READ).await;
                run(&mut client, "UPDATE posts SET views = 5 WHERE id = 2").await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("a client that does not panic");
    }
    assert_eq!(number(&mut stage.direct, READ).await, 800, "base alone");
    assert_eq!(stage.slot_rows().await, 0);
    assert_eq!(proxy.counted("forwarded:on-base"), 800);
    assert_eq!(proxy.counted("batched"), 800);
    assert!(proxy.counted("combined") >= 800);
    arrives(&proxy, "at rest").await;
}

async fn transactions_that_wait_set_a_table_in_motion(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_transactions").await;
    let proxy = stage.proxy(RESTING);
    arrives(&proxy, "at rest").await;
    let ended = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let mut client = stage.client(&proxy).await;
        let ended = Arc::clone(&ended);
        tasks.spawn(async move {
            let mut count = 0;
            while !ended.load(Ordering::SeqCst) {
                run(&mut client, "BEGIN").await;
                run(&mut client, ADD).await;
                run(&mut client, "DO 0").await;
                run(&mut client, "COMMIT").await;
                count += 1;
            }
            count
        });
    }
    arrives(&proxy, "enforced").await;
    while stage.slot_rows().await == 0 {
        tokio::task::yield_now().await;
    }
    ended.store(true, Ordering::SeqCst);
    let mut expected = 0_i64;
    while let Some(done) = tasks.join_next().await {
        expected += done.expect("a client that does not panic");
    }
    let mut client = stage.client(&proxy).await;
    assert_eq!(number(&mut client, READ).await, expected);
    force(&proxy, Some(false));
    arrives(&proxy, "at rest").await;
    assert_eq!(number(&mut client, READ).await, expected);
    assert_eq!(
        number(&mut stage.direct, READ).await,
        expected,
        "base alone"
    );
}

/// The catalog that it began with is not the one that slots need.
async fn a_transaction_that_stays_open_holds_a_change_back(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_open").await;
    let proxy = stage.proxy(RESTING);
    arrives(&proxy, "at rest").await;
    let (mut open, mut other) = (stage.client(&proxy).await, stage.client(&proxy).await);
    run(&mut open, "BEGIN").await;
    run(&mut open, ADD).await;
    assert_eq!(number(&mut open, READ).await, 1);
    force(&proxy, Some(true));
    waits_for(&proxy, "transactions and statements that are under way").await;
    assert_eq!(number(&mut other, READ).await, 0);
    run(
        &mut other,
        "UPDATE posts SET views = views + 1 WHERE id = 3",
    )
    .await;
    assert_eq!(stage.slot_rows().await, 0);
    run(&mut open, "COMMIT").await;
    arrives(&proxy, "enforced").await;
    run(&mut other, ADD).await;
    assert_eq!(number(&mut open, READ).await, 2);
    run(&mut open, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    run(&mut other, ADD).await;
    force(&proxy, Some(false));
    assert_eq!(number(&mut open, READ).await, 2);
    run(&mut open, "COMMIT").await;
    arrives(&proxy, "at rest").await;
    assert_eq!(number(&mut open, READ).await, 3);
    assert_eq!(number(&mut stage.direct, READ).await, 3, "base alone");
}

async fn a_snapshot_from_slots_stays_what_it_was(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_snapshot").await;
    // Slots are not rolled up before the table comes to rest.
    let proxy = stage.proxy("columns: [views], rollup: 1h, rest: auto");
    arrives(&proxy, "at rest").await;
    force(&proxy, Some(true));
    arrives(&proxy, "enforced").await;
    let (mut reader, mut other) = (stage.client(&proxy).await, stage.client(&proxy).await);
    run(&mut other, ADD).await;
    force(&proxy, Some(false));
    // It may begin before the change, on the way, or after it: what it sees stays the same.
    run(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    assert_eq!(number(&mut reader, READ).await, 1);
    run(
        &mut other,
        "UPDATE posts SET views = views + 1 WHERE id = 2",
    )
    .await;
    assert_eq!(number(&mut reader, READ).await, 1);
    run(&mut reader, "UPDATE posts SET title = 'x' WHERE id = 1").await;
    assert_eq!(number(&mut reader, READ).await, 1);
    run(&mut reader, "COMMIT").await;
    arrives(&proxy, "at rest").await;
    assert_eq!(number(&mut reader, READ).await, 1);
    assert_eq!(number(&mut stage.direct, READ).await, 1, "base alone");
}

async fn to_and_fro_under_load(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_load").await;
    let proxy = stage.proxy(RESTING);
    let mut load = Load::start(std::slice::from_ref(&proxy.address), stage.schema, 2);
    let rounds = of_all(&format!("changeover on {flavour}, rounds of rest"), 3, 12);
    for _ in 0..rounds {
        for (needs_slots, name) in [(true, "enforced"), (false, "at rest")] {
            load.goes_on(50, &mut stage.direct).await;
            force(&proxy, Some(needs_slots));
            arrives(&proxy, name).await;
        }
    }
    let expected = load.end().await;
    assert_eq!(number(&mut stage.direct, READ).await, expected);
}

async fn two_proxies_follow_each_other(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_two").await;
    let (first, second) = (stage.proxy(RESTING), stage.proxy(RESTING));
    for proxy in [&first, &second] {
        arrives(proxy, "at rest").await;
    }
    let addresses = [first.address.clone(), second.address.clone()];
    let mut load = Load::start(&addresses, stage.schema, 2);
    load.goes_on(50, &mut stage.direct).await;
    force(&first, Some(true));
    for proxy in [&first, &second] {
        arrives(proxy, "enforced").await;
    }
    load.goes_on(50, &mut stage.direct).await;
    for proxy in [&first, &second] {
        force(proxy, Some(false));
    }
    for proxy in [&first, &second] {
        arrives(proxy, "at rest").await;
    }
    load.goes_on(50, &mut stage.direct).await;
    let expected = load.end().await;
    assert_eq!(number(&mut stage.direct, READ).await, expected);
    let mut client = connect(&second.address, Some(stage.schema)).await;
    assert_eq!(number(&mut client, READ).await, expected);
}

/// Each proxy has one client, as beside an application's processes, and so none that another of its own waits for.
async fn transactions_that_wait_for_those_of_another_proxy_count(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_rest_sidecars").await;
    let proxies = [stage.proxy(RESTING), stage.proxy(RESTING)];
    for proxy in &proxies {
        arrives(proxy, "at rest").await;
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for proxy in &proxies {
        let mut client = stage.client(proxy).await;
        let ended = Arc::clone(&ended);
        tasks.spawn(async move {
            let mut count = 0;
            while !ended.load(Ordering::SeqCst) {
                // It holds the row for as long as a transaction with more work would.
                for statement in ["BEGIN", ADD, "DO SLEEP(0.05)", "COMMIT"] {
                    run(&mut client, statement).await;
                }
                count += 1;
            }
            count
        });
    }
    for proxy in &proxies {
        arrives(proxy, "enforced").await;
    }
    ended.store(true, Ordering::SeqCst);
    let mut expected = 0_i64;
    while let Some(done) = tasks.join_next().await {
        expected += done.expect("a client that does not panic");
    }
    for proxy in &proxies {
        let mut client = stage.client(proxy).await;
        assert_eq!(number(&mut client, READ).await, expected);
        force(proxy, Some(false));
    }
    for proxy in &proxies {
        arrives(proxy, "at rest").await;
    }
    assert_eq!(number(&mut stage.direct, READ).await, expected);
}

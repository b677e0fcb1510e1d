//! Clients that come, work and leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Server};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use crate::process::{expect_as_before, held};
use crate::support::binary::{Serving, rules_file};
use crate::support::client::{connect, create_schema, number, run};
use crate::support::proxy::rules_head;
use crate::{Arguments, SCHEMA};

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, stock INT UNSIGNED NOT NULL); \
                      INSERT INTO posts VALUES (1, 0, 4000000000), (2, 0, 4000000000), (3, 0, 4000000000)";
const RULES: &str = "counters:\n- {table: cs_soak.posts, columns: [views, stock]}\n";

/// By how much it may be more at the end than at a quarter of the time: the allocator keeps some of what it had.
const MOST_GROWTH: f64 = 1.15;

#[derive(Debug, Default)]
struct Counts {
    done: AtomicI64,
    statements: AtomicU64,
    came: AtomicU64,
    stop: AtomicBool,
}

pub async fn soak(server: &Server, arguments: &Arguments) {
    let mut direct = create_schema(&server.address(), SCHEMA, TABLES).await;
    let (_folder, rules) = rules_file(&(rules_head(&server.address()) + RULES));
    let proxy = Serving::start(&rules).unwrap_or_else(|ended| panic!("{ended:?}"));
    let through = proxy.in_front_of(&server.address());
    let process = proxy.binary.id();
    let before = held(process, &mut direct).await;
    println!(
        "{}, {} clients at a time",
        server.version, arguments.clients
    );
    println!("  time  statements/s  clients  resident  descriptors  connections");
    let counts = Arc::new(Counts::default());
    let mut clients = JoinSet::new();
    for seed in 0..arguments.clients {
        clients.spawn(come_and_go(
            through.clone(),
            seed as u64,
            Arc::clone(&counts),
        ));
    }
    let begun = Instant::now();
    let mut looks = Vec::new();
    let mut statements = 0;
    for look in 1..=arguments.seconds / arguments.every {
        let next = Duration::from_secs(look * arguments.every);
        tokio::time::sleep(next.saturating_sub(begun.elapsed())).await;
        let now = held(process, &mut direct).await;
        let total = counts.statements.load(Ordering::Relaxed);
        println!(
            "{:4} s  {:12}  {:7}  {:4.1} MiB  {:11}  {:11}",
            look * arguments.every,
            (total - statements) / arguments.every,
            counts.came.load(Ordering::Relaxed),
            now.resident_mib,
            now.descriptors,
            now.connections
        );
        statements = total;
        looks.push(now);
    }
    counts.stop.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.expect("a client that does not panic");
    }
    let early = &looks[looks.len() / 4];
    let last = &looks[looks.len() - 1];
    let growth = last.resident_mib / early.resident_mib;
    assert!(
        growth < MOST_GROWTH,
        "it has grown to {growth:.2} of {early:?}"
    );
    expect_as_before(process, &mut direct, &before).await;
    let expected = counts.done.load(Ordering::Relaxed);
    let value = number(
        &mut connect(&through, Some(SCHEMA)).await,
        "SELECT SUM(views) + SUM(4000000000 - stock) FROM posts",
    )
    .await;
    println!(
        "{expected} acknowledged, {value} counted; resident {growth:.2} of what it was at a quarter of the time"
    );
    assert_eq!(value, expected);
}

/// One client after the other, each of which works for a while.
async fn come_and_go(address: Address, seed: u64, counts: Arc<Counts>) {
    let mut random = StdRng::seed_from_u64(seed);
    while !counts.stop.load(Ordering::Relaxed) {
        let mut client = connect(&address, Some(SCHEMA)).await;
        counts.came.fetch_add(1, Ordering::Relaxed);
        let leaves = Instant::now() + Duration::from_millis(random.random_range(100..10_000));
        while Instant::now() < leaves && !counts.stop.load(Ordering::Relaxed) {
            work(&mut client, &mut random, &counts).await;
        }
        // Some say that they go, and some are just gone.
        if random.random() {
            client.send(&[countersink::wire::command::QUIT]).await.ok();
        }
    }
}

async fn work(client: &mut Driver, random: &mut StdRng, counts: &Counts) {
    let row = random.random_range(1..4);
    let increment = format!("UPDATE posts SET views = views + 1 WHERE id = {row}");
    let (mut done, mut statements) = (0, 1);
    match random.random_range(0..20) {
        0..12 => done += changed(client, &increment).await,
        12..15 => {
            let sell =
                format!("UPDATE posts SET stock = stock - 1 WHERE id = {row} AND stock >= 1");
            done += changed(client, &sell).await;
        }
        15..17 => {
            run(client, "BEGIN").await;
            let changed = changed(client, &increment).await;
            run(client, "COMMIT").await;
            done += changed;
            statements += 2;
        }
        17 => {
            run(client, &format!("PREPARE s FROM '{increment}'")).await;
            done += changed(client, "EXECUTE s").await;
            run(client, "DEALLOCATE PREPARE s").await;
            statements += 2;
        }
        _ => {
            let read = format!("SELECT views, stock FROM posts WHERE id = {row}");
            run(client, &read).await;
        }
    }
    counts.done.fetch_add(done, Ordering::Relaxed);
    counts.statements.fetch_add(statements, Ordering::Relaxed);
}

/// How many rows were changed, which is one, or none where the server gave a transaction up.
pub async fn changed(client: &mut Driver, text: &str) -> i64 {
    match client.query(text).await.expect("an answer") {
        Reply::Ok(rows) => i64::try_from(rows).expect("a count"),
        other => panic!("{other:?} in: {text}"),
    }
}

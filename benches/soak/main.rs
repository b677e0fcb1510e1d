//! Ten minutes at full speed, with clients that come, work and leave: what the proxy holds must not grow, and the value
//! must be right in the end.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour, Options, Server};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::binary::{Serving, rules_file};
use support::client::{connect, create_schema, number, run};
use support::proxy::rules_head;
use support::twin::{installation, options};
use tokio::task::JoinSet;

/// Clients that come, work and leave, for long.
#[derive(Debug, Parser)]
struct Arguments {
    /// Clients at a time.
    #[arg(long, default_value_t = 500)]
    clients: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// How often it is looked, in seconds.
    #[arg(long, default_value_t = 30)]
    every: u64,
    /// The server's family.
    #[arg(long, default_value = "mysql", value_parser = ["mysql", "mariadb"])]
    family: String,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

const SCHEMA: &str = "cs_soak";
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

/// What is held at a time.
#[derive(Debug)]
struct Held {
    resident_mib: f64,
    descriptors: usize,
    connections: i64,
}

fn main() {
    let arguments = Arguments::parse();
    let flavour = match arguments.family.as_str() {
        "mariadb" => Flavour::MariaDb,
        _ => Flavour::MySql,
    };
    let mut with_connections = Options {
        durable: true,
        ..options()
    };
    let most = arguments.clients + 100;
    let extra = &mut with_connections.extra;
    extra.push(format!("--max-connections={most}"));
    let server = Server::start(&installation(flavour), &with_connections).expect("a server");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(soak(&server, &arguments));
}

async fn soak(server: &Server, arguments: &Arguments) {
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

/// Waits until all that the clients had is given back: the last of them are on their way out.
async fn expect_as_before(process: u32, direct: &mut Driver, before: &Held) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let now = held(process, direct).await;
        // Some of the proxy's own connections were made only when they were needed.
        let own = 8;
        if now.descriptors <= before.descriptors + own && now.connections <= before.connections + 8
        {
            println!("before {before:?}, afterwards {now:?}");
            return;
        }
        assert!(Instant::now() < deadline, "{now:?} are left of {before:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn held(process: u32, direct: &mut Driver) -> Held {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.expect("a size").parse().expect("a number");
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).expect("Linux has it");
    Held {
        resident_mib: kib / 1024.0,
        descriptors: descriptors.count(),
        connections: number(
            direct,
            "SELECT COUNT(*) FROM information_schema.processlist",
        )
        .await,
    }
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
async fn changed(client: &mut Driver, text: &str) -> i64 {
    match client.query(text).await.expect("an answer") {
        Reply::Ok(rows) => i64::try_from(rows).expect("a count"),
        other => panic!("{other:?} in: {text}"),
    }
}

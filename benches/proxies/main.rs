//! One hot row behind many proxies, as sidecars are: what each of them keeps of the rate that one alone reaches.
//!
//! Clients run transactions that increment first and stay open for a while. Directly they wait for each other, one
//! after the other. The ways take turns of equal length, round after round.

#[path = "../workloads/spread.rs"]
mod spread;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour, Options, Server};
use spread::Spread;
use support::binary::{Serving, rules_file};
use support::client::{connect, create_schema, number, run};
use support::proxy::rules_head;
use support::twin::{installation, options};
use tokio::task::JoinSet;

/// Transactions on one row, through one proxy and through all.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many there are.
    #[arg(long, default_value_t = 16)]
    proxies: usize,
    /// Clients of each, and of the server directly.
    #[arg(long, default_value_t = 4)]
    clients: usize,
    /// How long a transaction stays open behind its increment, in milliseconds.
    #[arg(long, default_value_t = 50)]
    open: u64,
    /// Rounds; in each, every way has one turn.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Length of a turn in milliseconds.
    #[arg(long, default_value_t = 8000)]
    turn: u64,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

const SCHEMA: &str = "cs_proxies";
const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL); INSERT INTO posts VALUES (1, 0)";
const RULES: &str = "counters:\n- {table: cs_proxies.posts, columns: [views]}\n";
const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

fn main() {
    let arguments = Arguments::parse();
    let durable = Options {
        durable: true,
        ..options()
    };
    let server = Server::start(&installation(Flavour::MySql), &durable).expect("a server");
    println!(
        "MySQL {}, {} proxies with {} clients each, transactions of {} ms",
        server.version, arguments.proxies, arguments.clients, arguments.open
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(&server, &arguments));
}

async fn measure(server: &Server, arguments: &Arguments) {
    let direct = server.address();
    let mut session = create_schema(&direct, SCHEMA, TABLES).await;
    let (_folder, rules) = rules_file(&(rules_head(&direct) + RULES));
    let proxies: Vec<_> = (0..arguments.proxies)
        .map(|_| {
            Serving::start(&rules)
                .unwrap_or_else(|ended| panic!("a proxy does not start: {ended:?}"))
        })
        .collect();
    let through: Vec<_> = proxies
        .iter()
        .map(|proxy| proxy.in_front_of(&direct))
        .collect();
    let ways: [(&str, &[Address]); 3] = [
        ("directly", std::slice::from_ref(&direct)),
        ("one proxy", &through[..1]),
        ("all proxies", &through),
    ];
    let mut rates = vec![Vec::new(); ways.len()];
    let mut expected = 0;
    for _ in 0..arguments.rounds {
        for (at, (_, targets)) in ways.iter().enumerate() {
            let (committed, took) = play(targets, arguments).await;
            expected += committed;
            rates[at].push(committed as f64 / took.as_secs_f64() / targets.len() as f64);
        }
    }
    for ((name, _), rates) in ways.iter().zip(&rates) {
        println!("{name}: {:.1}/s each", Spread::of(rates.iter().copied()));
    }
    let kept = rates[2].iter().zip(&rates[1]).map(|(all, one)| all / one);
    println!("each keeps {:.2} of one alone", Spread::of(kept));
    let value = number(
        &mut connect(&through[0], Some(SCHEMA)).await,
        "SELECT views FROM posts",
    )
    .await;
    println!("{expected} acknowledged, {value} counted");
    assert_eq!(value, i64::try_from(expected).expect("a count"));
    let slots = "SELECT COUNT(*) FROM posts_slots";
    println!("{} slot rows", number(&mut session, slots).await);
}

/// Has the clients of these targets increment for a turn. How many transactions were committed, in what time.
async fn play(targets: &[Address], arguments: &Arguments) -> (u64, Duration) {
    let stop = Arc::new(AtomicBool::new(false));
    let mut sessions = Vec::new();
    for target in targets {
        for _ in 0..arguments.clients {
            sessions.push(connect(target, Some(SCHEMA)).await);
        }
    }
    let open = Duration::from_millis(arguments.open);
    let mut playing = JoinSet::new();
    let begun = Instant::now();
    for session in sessions {
        playing.spawn(repeat(session, open, Arc::clone(&stop)));
    }
    tokio::time::sleep(Duration::from_millis(arguments.turn)).await;
    stop.store(true, Ordering::Relaxed);
    let mut committed = 0;
    while let Some(of_client) = playing.join_next().await {
        committed += of_client.expect("a client that does not panic");
    }
    (committed, begun.elapsed())
}

async fn repeat(mut session: Driver, open: Duration, stop: Arc<AtomicBool>) -> u64 {
    let mut committed = 0;
    while !stop.load(Ordering::Relaxed) {
        run(&mut session, "BEGIN").await;
        match session.query(INCREMENT).await.expect("an answer") {
            Reply::Ok(1) => {}
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(open).await;
        run(&mut session, "COMMIT").await;
        committed += 1;
    }
    session.quit().await.ok();
    committed
}

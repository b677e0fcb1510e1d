//! One hot row of a cluster whose members all take writes: clients on one member, clients on all, and clients of a
//! proxy before each. How many transactions a second, how many of them fail, and whether the value is right in the end.
//!
//! The ways take turns of equal length, round after round, so that whatever else the machine does falls on all alike.

#[path = "../workloads/spread.rs"]
mod spread;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Replication, Server, start_cluster};
use spread::Spread;
use support::binary::{Serving, rules_file};
use support::client::{connect, create_schema, number, run};
use support::proxy::rules_head;
use support::twin::{installation, options};
use tokio::task::JoinSet;

/// Transactions on one hot row of a cluster with several writers.
#[derive(Debug, Parser)]
struct Arguments {
    /// What the members replicate by.
    #[arg(long, value_enum, default_value_t = Kind::Galera)]
    kind: Kind,
    /// Members, and proxies.
    #[arg(long, default_value_t = 3)]
    members: usize,
    /// Clients, on all members together.
    #[arg(long, default_value_t = 24)]
    clients: usize,
    /// Rounds; in each, every way has one turn for each kind of work.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Length of a turn in milliseconds.
    #[arg(long, default_value_t = 3000)]
    turn: u64,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Galera,
    Group,
}

/// What a client does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Autocommit,
    Transaction,
}

/// Where the clients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    OneMember,
    AllMembers,
    Proxies,
}

const WAYS: [Way; 3] = [Way::OneMember, Way::AllMembers, Way::Proxies];
const SCHEMA: &str = "cs_clusters";
const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL); \
                      CREATE TABLE likes (id BIGINT PRIMARY KEY AUTO_INCREMENT, post INT); \
                      INSERT INTO posts VALUES (1, 0)";
const RULES: &str = "counters:\n- {table: cs_clusters.posts, columns: [views]}\n";

/// What became of the transactions of one or more turns.
#[derive(Clone, Debug, Default)]
struct Outcome {
    committed: u64,
    /// By error code.
    failed: BTreeMap<u16, u64>,
    took: Duration,
}

impl Outcome {
    fn rate(&self) -> f64 {
        self.committed as f64 / self.took.as_secs_f64()
    }

    fn failures(&self) -> f64 {
        let failed: u64 = self.failed.values().sum();
        failed as f64 / (self.committed + failed).max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        for (code, count) in &other.failed {
            *self.failed.entry(*code).or_default() += count;
        }
    }
}

fn main() {
    let arguments = Arguments::parse();
    let replication = match arguments.kind {
        Kind::Galera => Replication::Galera,
        Kind::Group => Replication::Group {
            single_primary: false,
        },
    };
    let installation = installation(replication.flavour());
    let members = start_cluster(&installation, replication, arguments.members, &options());
    let members = members.unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{replication:?}, {} members, {} clients",
        members.len(),
        arguments.clients
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(&members, replication, &arguments));
}

async fn measure(members: &[Server], replication: Replication, arguments: &Arguments) {
    let mut session = create_schema(&members[0].address(), SCHEMA, TABLES).await;
    let proxies: Vec<_> = members.iter().map(proxy_before).collect();
    let direct: Vec<_> = members.iter().map(Server::address).collect();
    let through: Vec<_> = proxies.iter().map(|proxy| proxy.address.clone()).collect();
    let mut expected = 0;
    for work in [Work::Autocommit, Work::Transaction] {
        let mut rates: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut sums = vec![Outcome::default(); WAYS.len()];
        for _ in 0..arguments.rounds {
            for (at, way) in WAYS.into_iter().enumerate() {
                let targets = match way {
                    Way::OneMember => &direct[..1],
                    Way::AllMembers => &direct[..],
                    Way::Proxies => &through[..],
                };
                let turn = Duration::from_millis(arguments.turn);
                let outcome = play(targets, work, arguments.clients, turn).await;
                rates.entry(at).or_default().push(outcome.rate());
                sums[at].add(&outcome);
                expected += outcome.committed;
            }
        }
        println!("\n{work:?}");
        for (at, way) in WAYS.into_iter().enumerate() {
            let spread = Spread::of(rates[&at].iter().copied());
            let failed = 100.0 * sums[at].failures();
            println!(
                "{way:?}: {spread:.0}/s, {failed:.2} % failed {:?}",
                sums[at].failed
            );
        }
    }
    // Reads wait for what the other members have committed.
    let waits = match replication {
        Replication::Galera => "SET SESSION wsrep_sync_wait = 1",
        Replication::Group { .. } => "SET SESSION group_replication_consistency = 'BEFORE'",
    };
    let mut client = connect(&through[0], Some(SCHEMA)).await;
    run(&mut client, waits).await;
    let through = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
    let sum = "SELECT views + (SELECT COALESCE(SUM(s.views), 0) FROM posts_slots AS s WHERE s.id = 1) FROM posts \
               WHERE id = 1";
    println!("\n{expected} acknowledged, {through} through a proxy");
    for member in members {
        let mut session = connect(&member.address(), Some(SCHEMA)).await;
        run(&mut session, waits).await;
        let value = number(&mut session, sum).await;
        println!("{value} on {}", member.address().port);
        assert_eq!(value, i64::try_from(expected).expect("a count"));
    }
    let slots = "SELECT COUNT(*) FROM posts_slots";
    println!("{} slot rows", number(&mut session, slots).await);
}

/// A proxy of its own, and where it is.
struct ProxyBefore {
    address: Address,
    _serving: Serving,
    _folder: tempfile::TempDir,
}

fn proxy_before(member: &Server) -> ProxyBefore {
    let address = member.address();
    let (folder, rules) = rules_file(&(rules_head(&address) + RULES));
    let Ok(serving) = Serving::start(&rules) else {
        panic!("a proxy does not start");
    };
    ProxyBefore {
        address: serving.in_front_of(&address),
        _serving: serving,
        _folder: folder,
    }
}

async fn play(targets: &[Address], work: Work, clients: usize, turn: Duration) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let mut playing = JoinSet::new();
    let mut sessions = Vec::new();
    for client in 0..clients {
        sessions.push(connect(&targets[client % targets.len()], Some(SCHEMA)).await);
    }
    let begun = Instant::now();
    for session in sessions {
        let stop = Arc::clone(&stop);
        playing.spawn(async move { repeat(session, work, &stop).await });
    }
    tokio::time::sleep(turn).await;
    stop.store(true, Ordering::Relaxed);
    let mut sum = Outcome::default();
    while let Some(outcome) = playing.join_next().await {
        sum.add(&outcome.expect("a client that does not panic"));
    }
    sum.took = begun.elapsed();
    sum
}

async fn repeat(mut session: Driver, work: Work, stop: &AtomicBool) -> Outcome {
    let mut outcome = Outcome::default();
    let statements: &[&str] = match work {
        Work::Autocommit => &[INCREMENT],
        Work::Transaction => &[
            "START TRANSACTION",
            "INSERT INTO likes (post) VALUES (1)",
            INCREMENT,
            "COMMIT",
        ],
    };
    while !stop.load(Ordering::Relaxed) {
        let mut error = None;
        for statement in statements {
            if let Reply::Err(failed) = session.query(statement).await.expect("an answer") {
                error = Some(failed.code);
                break;
            }
        }
        match error {
            None => outcome.committed += 1,
            Some(code) => {
                *outcome.failed.entry(code).or_default() += 1;
                run(&mut session, "ROLLBACK").await;
            }
        }
    }
    session.quit().await.ok();
    outcome
}

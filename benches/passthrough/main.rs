//! What the proxy adds to the latency of a point SELECT that it passes through, beside what HAProxy adds in TCP mode.
//!
//! Direct, by way of HAProxy and by way of Countersink the same client sends the same statement, in turns of equal
//! length, round after round, so that whatever else the machine does falls on all of them alike. The figure that
//! counts is (countersink - direct) / (haproxy - direct), taken in each round.
//!
//! Linux only; `haproxy` must be on PATH. All statements run on one thread of this process, which measures itself too:
//! what the client costs is in all the latencies and in none of the differences.

mod idle;
mod load;
mod machine;
mod report;
mod stream;
mod target;

#[path = "../../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use countersink_sandbox::{Address, Flavour, Server};
use load::Clients;
use machine::Activity;
use report::Report;
use support::client::{connect, run_all};
use support::twin::{installation, options};
use target::{Haproxy, Target};

/// Added latency of a passed-through point SELECT, beside HAProxy's.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rounds; in each, every target has one turn.
    #[arg(long, default_value_t = 61)]
    rounds: usize,
    /// Length of a turn in milliseconds.
    #[arg(long, default_value_t = 200)]
    turn: u64,
    /// Numbers of connections.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_values_t = [1, 16, 64])]
    connections: Vec<usize>,
    /// Rounds of large results; 0 leaves them out.
    #[arg(long, default_value_t = 9)]
    streams: usize,
    /// How many idle sessions to open for their memory; 0 leaves them out.
    #[arg(long, default_value_t = 5000)]
    idle: usize,
    /// The server is a MariaDB.
    #[arg(long)]
    mariadb: bool,
    /// Sets Countersink's `upstream_tls` to `preferred`: encrypted, which HAProxy's relay is not.
    #[arg(long)]
    upstream_tls: bool,
    /// Another build of Countersink to measure beside this one.
    #[arg(long)]
    against: Option<PathBuf>,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

const SCHEMA: &str = "cs_passthrough";
const STATEMENT: &str = "SELECT title FROM posts_cold WHERE id = 1";

fn main() {
    let arguments = Arguments::parse();
    let flavour = match arguments.mariadb {
        true => Flavour::MariaDb,
        false => Flavour::MySql,
    };
    let mut options = options();
    let most = format!("--max-connections={}", arguments.idle + 1000);
    options.extra.push(most);
    let server = Server::start(&installation(flavour), &options).expect("a server");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(make_tables(&server.address()));
    let upstream = server.address();
    let countersink = |name, binary: &Path| {
        Target::countersink(name, binary, &upstream, SCHEMA, arguments.upstream_tls)
    };
    let mut targets = vec![
        Target::direct(&upstream),
        Target::haproxy(&upstream, Haproxy::OneThread),
        Target::haproxy(&upstream, Haproxy::Default),
    ];
    if let Some(other) = &arguments.against {
        targets.push(countersink("countersink, other", other));
    }
    let ours = Path::new(env!("CARGO_BIN_EXE_countersink"));
    targets.push(countersink("countersink", ours));
    println!("{STATEMENT}\n{flavour} {}", server.version.text);
    println!("{}", machine::description());
    for &connections in &arguments.connections {
        println!(
            "\n{connections} connections, {} rounds, turns of {} ms",
            arguments.rounds, arguments.turn
        );
        let measured = measure(&runtime, &targets, connections, &arguments);
        print!("{measured}");
    }
    if arguments.streams > 0 {
        runtime.block_on(stream::measure(&targets, &arguments));
    }
    if arguments.idle > 0 {
        runtime.block_on(idle::measure(&targets, arguments.idle));
    }
}

async fn make_tables(upstream: &Address) {
    let mut driver = connect(upstream, None).await;
    let script = format!(
        "CREATE DATABASE {SCHEMA};
        USE {SCHEMA};
        CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
        CREATE TABLE posts_cold (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL);
        INSERT INTO posts_cold VALUES (1, 'a title');
        CREATE TABLE numbers (n INT PRIMARY KEY);
        INSERT INTO numbers WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 31)
            SELECT a.i * 32 + b.i FROM n AS a JOIN n AS b"
    );
    run_all(&mut driver, &script).await;
}

fn measure(
    runtime: &tokio::runtime::Runtime,
    targets: &[Target],
    connections: usize,
    arguments: &Arguments,
) -> Report {
    let turn = Duration::from_millis(arguments.turn);
    let mut clients: Vec<Clients> = targets
        .iter()
        .map(|target| runtime.block_on(Clients::connect(&target.address, SCHEMA, connections)))
        .collect();
    // Caches fill, and threads find their places.
    for clients in &mut clients {
        runtime.block_on(clients.run(STATEMENT, turn));
    }
    let names = targets.iter().map(|target| target.name);
    let mut report = Report::new(names, Activity::now());
    for round in 0..arguments.rounds {
        for position in 0..targets.len() {
            // Each target comes first, second, .. equally often.
            let which = (round + position) % targets.len();
            let before = targets[which].processor_time();
            let latencies = runtime.block_on(clients[which].run(STATEMENT, turn));
            let processor_time = targets[which].processor_time() - before;
            report.add(which, &latencies, turn, processor_time);
        }
    }
    report.finish(Activity::now());
    report
}

//! Countersink beside MySQL Router and HAProxy, under sysbench: what each lets through of what the server does alone.
//!
//! In one run the same clients send the same statement directly, by way of HAProxy, of MySQL Router and of Countersink,
//! in turns of equal length, round after round; each target comes first, second, .. equally often. What counts are
//! ratios of turns of one round. A table and plots are written into a folder.
//!
//! Linux only. `sysbench`, `haproxy` and `mysqlrouter` are those of the Debian packages `sysbench`, `haproxy` and
//! `mysql-router`; the last is in no stable release, and may be unpacked rather than installed (`--router`).

mod plot;
mod programs;
mod results;
mod router;
mod sysbench;

#[path = "../passthrough/machine.rs"]
#[allow(dead_code, reason = "the other benchmark takes other parts")]
mod machine;
#[path = "../../tests/support/mod.rs"]
mod support;
#[path = "../passthrough/target.rs"]
#[allow(dead_code, reason = "the other benchmark takes other parts")]
mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use countersink_sandbox::{Address, Flavour, Options, Server};
use machine::Activity;
use results::{Results, Workload};
use router::Router;
use support::client::{connect, run_all};
use support::twin::{installation, options};
use target::{Haproxy, Target};

/// Throughput and latency beside HAProxy and MySQL Router, by sysbench.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rounds; in each, every target has one turn.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Length of a turn in seconds.
    #[arg(long, default_value_t = 2)]
    turn: u64,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Folder with MySQL Router's package and all that it depends on, unpacked by `dpkg-deb --extract`; unless given,
    /// `mysqlrouter` is taken from PATH.
    #[arg(long)]
    router: Option<PathBuf>,
    /// Does without MySQL Router.
    #[arg(long)]
    without_router: bool,
    /// Folder that the table and the plots are written into.
    #[arg(long, default_value = "target/compare")]
    into: PathBuf,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

const SCHEMA: &str = "cs_compare";

/// What the clients send, and under which name it is shown.
const STATEMENTS: [(&str, &str, &str); 3] = [
    ("nothing", "A statement that does nothing", "DO 0"),
    (
        "select",
        "A point SELECT on a table without a rule",
        "SELECT title FROM posts_cold WHERE id = 1",
    ),
    (
        "increment",
        "Increments of one hot row",
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    ),
];

fn main() -> ExitCode {
    match compare(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let router = match (arguments.without_router, &arguments.router) {
        (true, _) => None,
        (false, Some(root)) => Some(Router::Unpacked(root.clone())),
        (false, None) => Some(Router::Installed),
    };
    let mut versions = versions(router.as_ref())?;
    let options = Options {
        durable: true,
        ..options()
    };
    let server = Server::start(&installation(Flavour::MySql), &options)
        .map_err(|error| error.to_string())?;
    versions.insert(0, format!("MySQL {}", server.version.text));
    let upstream = server.address();
    runtime().block_on(make_tables(&upstream));
    let router = router.map(|router| router.start(&upstream)).transpose()?;
    let haproxy = Target::haproxy(&upstream, Haproxy::Default);
    let binary = Path::new(env!("CARGO_BIN_EXE_countersink"));
    let countersink = Target::countersink("countersink", binary, &upstream, SCHEMA, false);
    let mut targets = vec![
        ("direct", upstream.clone()),
        ("HAProxy", haproxy.address.clone()),
    ];
    if let Some(router) = &router {
        targets.push(("MySQL Router", router.address.clone()));
    }
    targets.push(("Countersink", countersink.address.clone()));
    let began = Activity::now();
    let mut workloads = Vec::new();
    for (name, title, statement) in STATEMENTS {
        let mut workload = Workload::new(name, title, statement);
        for &clients in &arguments.clients {
            let results = measure(&targets, statement, clients, arguments)?;
            eprintln!("{title}, {clients} clients\n{results}");
            workload.by_clients.push((clients, results));
        }
        workloads.push(workload);
    }
    let load = Activity::now().since(began);
    let head = format!(
        "{}\n\n{}\n\n{} rounds, turns of {} s; {load}; each commit is on disk before it is answered\n",
        versions.join("; "),
        machine::description(),
        arguments.rounds,
        arguments.turn
    );
    write(&arguments.into, &head, &workloads)
        .map_err(|error| format!("{}: {error}", arguments.into.display()))
}

/// What is measured, and with what.
fn versions(router: Option<&Router>) -> Result<Vec<String>, String> {
    let mut versions = vec![
        format!("Countersink {}", env!("CARGO_PKG_VERSION")),
        programs::version(Command::new("haproxy").arg("-v"), "haproxy")?,
    ];
    if let Some(router) = router {
        versions.push(router.version()?);
    }
    versions.push(programs::version(
        Command::new("sysbench").arg("--version"),
        "sysbench",
    )?);
    Ok(versions)
}

fn measure(
    targets: &[(&'static str, Address)],
    statement: &str,
    clients: usize,
    arguments: &Arguments,
) -> Result<Results, String> {
    let run = sysbench::Run {
        statement,
        schema: SCHEMA,
        clients,
        length: arguments.turn,
    };
    let mut results = Results::new(targets.iter().map(|(name, _)| *name));
    for round in 0..arguments.rounds {
        for position in 0..targets.len() {
            let which = (round + position) % targets.len();
            results.add(which, sysbench::run(&targets[which].1, &run)?);
        }
    }
    Ok(results)
}

fn write(into: &Path, head: &str, workloads: &[Workload]) -> std::io::Result<()> {
    fs::create_dir_all(into)?;
    let mut table = format!("# Countersink beside other proxies\n\n{head}\n");
    for workload in workloads {
        table += &workload.to_string();
        fs::write(
            into.join(format!("{}.svg", workload.name)),
            plot::of(workload),
        )?;
    }
    fs::write(into.join("README.md"), &table)?;
    print!("{table}");
    Ok(())
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

async fn make_tables(upstream: &Address) {
    let mut driver = connect(upstream, None).await;
    let script = format!(
        "CREATE DATABASE {SCHEMA};
        USE {SCHEMA};
        CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
        INSERT INTO posts VALUES (1, 0);
        CREATE TABLE posts_cold (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL);
        INSERT INTO posts_cold VALUES (1, 'a title')"
    );
    run_all(&mut driver, &script).await;
}

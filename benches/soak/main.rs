//! Ten minutes at full speed, with clients that come, work and leave: what the proxy holds must not grow, and the value
//! must be right in the end. Or, with `--held`, thousands of sessions that mostly wait: what each of them takes, and
//! what a client beyond the limit is told.

#[path = "../../tests/support/mod.rs"]
mod support;

mod coming;
mod holding;
mod process;

use clap::Parser;
use countersink_sandbox::{Flavour, Options, Server};
use support::twin::{installation, options};

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
    /// Has so many sessions at a time instead, of which `clients` work for a while.
    #[arg(long)]
    held: Option<usize>,
    /// The server's family.
    #[arg(long, default_value = "mysql", value_parser = ["mysql", "mariadb"])]
    family: String,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

const SCHEMA: &str = "cs_soak";

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
    let most = arguments.held.unwrap_or(arguments.clients) + 100;
    let extra = &mut with_connections.extra;
    extra.push(format!("--max-connections={most}"));
    let server = Server::start(&installation(flavour), &with_connections).expect("a server");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    match arguments.held {
        Some(held) => runtime.block_on(holding::hold(&server, held, &arguments)),
        None => runtime.block_on(coming::soak(&server, &arguments)),
    }
}

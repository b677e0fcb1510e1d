//! Countersink under two published workloads, TPC-C and LinkBench, beside the server alone and HAProxy in TCP mode.
//!
//! Each target has a schema of its own with the same rows. The targets take turns of equal length, round after round,
//! and in a round all of them draw the same random numbers; each comes first, second, .. equally often. What counts are
//! ratios of turns of one round.
//!
//! After the last round each schema must be consistent, and must have all that was acknowledged: that of Countersink
//! through the proxy, and again on the server after a drain. If it is not, the exit code is 1.
//!
//! Linux only. Without `haproxy` on PATH the other two are measured. The workloads are written from their published
//! descriptions, and scaled down: the figures are no results of these benchmarks, and compare with none.

mod checks;
mod course;
mod figures;
mod linkbench;
mod schemas;
mod session;
mod spread;
mod tpcc;
mod turn;
mod ways;
mod workload;

#[path = "../passthrough/machine.rs"]
#[allow(dead_code, reason = "the other benchmark takes other parts")]
mod machine;
#[path = "../../tests/support/mod.rs"]
mod support;
#[path = "../passthrough/target.rs"]
#[allow(dead_code, reason = "the other benchmark takes other parts")]
mod target;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use countersink_sandbox::{Options, Server};
use course::Course;
use figures::Figures;
use machine::Activity;
use support::twin::{installation, options};
use ways::Ways;
use workload::Workload;

/// TPC-C and LinkBench: directly, through HAProxy and through Countersink.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    workload: Chosen,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum Chosen {
    /// The five transactions of TPC-C in their standard mix, without keying and think times.
    Tpcc {
        #[command(flatten)]
        course: Course,
        #[command(flatten)]
        workload: tpcc::Arguments,
    },
    /// The ten operations of LinkBench in their default mix.
    Linkbench {
        #[command(flatten)]
        course: Course,
        #[command(flatten)]
        workload: linkbench::Arguments,
    },
}

fn main() -> ExitCode {
    let done = match &Arguments::parse().workload {
        Chosen::Tpcc { course, workload } => measure(&tpcc::Tpcc::new(workload), course),
        Chosen::Linkbench { course, workload } => {
            measure(&linkbench::LinkBench::new(workload), course)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("workloads: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure<W: Workload>(workload: &W, course: &Course) -> Result<(), String> {
    let mut options = Options {
        durable: true,
        ..options()
    };
    options
        .extra
        .push("--innodb-buffer-pool-size=1G".to_owned());
    let server = Server::start(&installation(course.kind.flavour()), &options)
        .map_err(|error| error.to_string())?;
    println!("{}\n{course}", workload.title());
    println!("{} {}", server.flavour, server.version.text);
    println!("{}", machine::description());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(take_turns(workload, course, &server))
}

async fn take_turns<W: Workload>(
    workload: &W,
    course: &Course,
    server: &Server,
) -> Result<(), String> {
    let upstream = server.address();
    let schemas = ways::schemas(W::NAME);
    schemas::load(workload, &upstream, &schemas).await?;
    let ways = Ways::start(&upstream, schemas, |schema| workload.rules(schema))?;
    let began = Activity::now();
    let mut figures = Figures::new(ways.names(), W::KINDS);
    for round in 0..course.rounds.get() {
        for position in 0..ways.all.len() {
            let which = (round + position) % ways.all.len();
            let turn = turn::play(workload, &ways.all[which], course, round).await?;
            figures.add(which, turn, course.turn);
        }
        eprintln!("round {}: {}", round + 1, figures.last());
    }
    let load = Activity::now().since(began);
    println!("{load}; each commit is on disk before it is answered\n\n{figures}");
    checks::check(workload, &ways, &upstream, &figures).await
}

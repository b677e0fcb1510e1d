//! `countersink bench`: what the proxy is worth on a server of the user's own, measured in a schema that comes and
//! goes.

mod arguments;
mod error;
mod mode;

mod facts;
mod schema;
mod tables;

mod course;
mod rules;
mod sum;

mod figures;
mod statistics;

mod closing;
mod json;
mod report;

use countersink_terminal::{self as terminal, Interrupt, Progress};
use tokio::runtime::{Builder, Handle, Runtime};

use super::clients::Turn;
use super::target::{Named, Target};
use crate::config::UpstreamTls;
use course::Course;
use facts::Facts;
use figures::Figures;
use schema::Schema;

pub(super) use arguments::{BenchArguments, EXAMPLES};
pub use error::Error;

/// Runs the benchmark; the proxy lives on `runtime`.
pub(super) fn run(arguments: &BenchArguments, runtime: &Runtime) -> Result<(), super::Error> {
    // Few threads are enough for clients this cheap, and leave the rest of the machine to what is measured.
    let clients = Builder::new_multi_thread()
        .worker_threads(arguments.threads())
        .thread_name("clients")
        .enable_all()
        .build()
        .map_err(|source| super::Error::Runtime { source })?;
    let done = runtime.block_on(bench(arguments, clients.handle().clone()));
    clients.shutdown_background();
    done
}

/// From the first connection to the report, with a live line that leaves no trace.
async fn bench(arguments: &BenchArguments, runtime: Handle) -> Result<(), super::Error> {
    let target = target(arguments)?;
    let progress = Progress::new("statements");
    let turn = Turn {
        length: arguments.turn,
        runtime,
        progress: progress.clone(),
    };
    let line = progress.clone();
    let left = format!(
        "the schema {} may be left behind; the next run removes it",
        arguments.schema
    );
    let interrupt = Interrupt::listen(move || line.step("Stopping".to_owned()), left)
        .map_err(|source| super::Error::Runtime { source })?;
    let done = stages(arguments, &target, &turn, &interrupt).await;
    progress.clear();
    let figures = done?;
    // The schema is gone by now, whoever reads this or does not.
    let lines = match arguments.json {
        true => vec![json::text(&figures)],
        false => report::lines(&figures),
    };
    terminal::print(&lines).map_err(Error::Output)?;
    match figures.sums.iter().all(sum::Sum::is_exact) {
        true => Ok(()),
        false => Err(Error::NotExact.into()),
    }
}

/// The clients of the benchmark speak no TLS.
fn target(arguments: &BenchArguments) -> Result<Target, super::Error> {
    match arguments.target.find()? {
        Named::ByArguments(target) => Ok(target),
        Named::InRules(config) => {
            let needs_tls = matches!(config.upstream_tls, UpstreamTls::Required(_));
            if needs_tls && arguments.target.upstream.is_none() && !config.upstream.is_local() {
                return Err(Error::OnlyWithTls.into());
            }
            Ok(Target::from(*config))
        }
    }
}

/// The schema goes when this returns, whichever way.
async fn stages(
    arguments: &BenchArguments,
    target: &Target,
    turn: &Turn,
    interrupt: &Interrupt,
) -> Result<Figures, super::Error> {
    let schema = &arguments.schema;
    let interrupted = |number| Error::Interrupted {
        number,
        schema: schema.clone(),
    };
    let asked = interrupt.or(Facts::ask(target, arguments)).await;
    let facts = asked.map_err(interrupted)??;
    if !arguments.json {
        terminal::print(&report::heading(arguments, target, &facts)).map_err(Error::Output)?;
    }
    // From here on nothing is given up in the middle, for what is half made would be left.
    turn.progress
        .step(format!("Making the schema {}", arguments.schema));
    let schema = Schema::claim(target, arguments).await?;
    let measured = match schema.make().await {
        Ok(()) => {
            let course = Course::new(arguments, target, turn);
            let run = interrupt.or(course.run(facts)).await;
            run.unwrap_or_else(|number| Err(interrupted(number).into()))
        }
        Err(error) => Err(error.into()),
    };
    turn.progress.step("Removing the schema".to_owned());
    match (measured, schema.remove().await) {
        (measured, Ok(())) => measured,
        (measured, Err(why)) => Err(Error::Left {
            schema: arguments.schema.clone(),
            why: Box::new(why),
            before: measured.err().map(Box::new),
        }
        .into()),
    }
}

//! `countersink bench`: measures what the proxy gains on the user's own server, in a schema that is created and removed
//! again.

mod error;
mod mode;
mod options;

mod facts;
mod schema;
mod tables;
mod work;

mod rules;
mod runner;
mod sum;

mod figures;
mod statistics;

mod conclusions;
mod journal;
mod json;
mod report;

use countersink_terminal::{self as terminal, Interrupt, Progress};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::clients::Turn;
use crate::lent::{Account, Proxy};
use facts::Facts;
use figures::Figures;
use runner::Course;
use schema::Schema;

pub use error::Error;
pub use mode::Mode;
pub use options::{Options, Workload};
pub use rules::rules;
pub use work::Work;

/// Runs the benchmark on the server of this account. The proxy runs on `runtime`.
///
/// # Errors
///
/// See [`Error`].
pub fn run<P: Proxy>(
    options: &Options,
    upstream: &P::Account,
    runtime: &Runtime,
) -> Result<(), Error> {
    // Such cheap clients need few threads, which leaves the rest of the machine to what is measured.
    let clients = Builder::new_multi_thread()
        .worker_threads(options.workload.threads)
        .thread_name("clients")
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let done = runtime.block_on(bench::<P>(options, upstream, clients.handle().clone()));
    clients.shutdown_background();
    done
}

/// The whole run, from the first connection to the report, with a live line that is cleared afterwards.
async fn bench<P: Proxy>(
    options: &Options,
    upstream: &P::Account,
    runtime: Handle,
) -> Result<(), Error> {
    if options.modes.is_empty() {
        return Err(Error::NoMode);
    }
    let progress = Progress::new("statements");
    let turn = Turn {
        length: options.workload.turn,
        runtime,
        progress: progress.clone(),
    };
    let line = progress.clone();
    let left = format!(
        "the schema {} may be left behind; the next run removes it",
        options.schema
    );
    let interrupt = Interrupt::listen(move || line.step("Stopping".to_owned()), left)
        .map_err(Error::Threads)?;
    let done = stages::<P>(options, upstream, &turn, &interrupt).await;
    progress.clear();
    let figures = done?;
    // The schema is gone by now, whether or not anybody reads the report.
    let lines = match options.json {
        true => vec![json::text(&figures)],
        false => report::lines(&figures),
    };
    terminal::print(&lines)?;
    match figures.sums.iter().all(sum::Sum::is_exact) {
        true => Ok(()),
        false => Err(Error::NotExact),
    }
}

/// The part of the run that has the schema. It is removed when this returns, whatever the result.
async fn stages<P: Proxy>(
    options: &Options,
    upstream: &P::Account,
    turn: &Turn,
    interrupt: &Interrupt,
) -> Result<Figures, Error> {
    let schema = &options.schema;
    let interrupted = |number| Error::Interrupted {
        number,
        schema: schema.clone(),
    };
    let asked = interrupt.or(Facts::ask(upstream, options)).await;
    let facts = asked.map_err(interrupted)??;
    if !options.json {
        terminal::print(&report::heading(options, &upstream.address(), &facts))?;
    }
    // From here on, no step is abandoned in the middle, because a half-made schema would be left behind.
    turn.progress
        .step(format!("Making the schema {}", options.schema));
    let schema = Schema::claim(upstream, options).await?;
    let measured = match schema.make().await {
        Ok(()) => {
            let course = Course::<P>::new(options, upstream, turn);
            let run = interrupt.or(course.run(facts)).await;
            run.unwrap_or_else(|number| Err(interrupted(number)))
        }
        Err(error) => Err(error),
    };
    turn.progress.step("Removing the schema".to_owned());
    match (measured, schema.remove().await) {
        (measured, Ok(())) => measured,
        (measured, Err(why)) => Err(Error::Left {
            schema: options.schema.clone(),
            why: Box::new(why),
            before: measured.err().map(Box::new),
        }),
    }
}

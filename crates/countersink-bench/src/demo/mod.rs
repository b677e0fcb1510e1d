//! `countersink demo`: a real server, one hot row and many clients, directly and through the proxy, with the results.
//!
//! The sandbox owns the server and its data. It removes both when this process ends, however it ends.

mod error;
mod options;

mod blocking;
mod home;
mod upstream;

mod rules;
mod sample;

mod rounds;

mod proof;
mod report;

use countersink_terminal::{self as terminal, Interrupt, Progress};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::clients::{Client, Turn};
use crate::lent::{Account, Proxy};
use blocking::or_blocking;
use home::Home;
use proof::Proof;
use rounds::Rounds;
use sample::SCHEMA;
use upstream::Upstream;

pub use error::Error;
pub use options::Options;
pub use rules::rules;

/// Runs the demo. The proxy runs on `runtime`.
///
/// `anybody` is an account that logs in as root without a password. Its address is replaced by that of the server or of
/// the proxy.
///
/// # Errors
///
/// See [`Error`].
pub fn run<P: Proxy>(
    options: &Options,
    anybody: &P::Account,
    runtime: &Runtime,
) -> Result<(), Error> {
    // Such cheap clients need only one thread, which leaves the rest of the machine to what is measured.
    let clients = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("clients")
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let done = runtime.block_on(demo::<P>(options, anybody, clients.handle().clone()));
    clients.shutdown_background();
    done
}

/// The whole run, from nothing to the report, with a live line that is cleared afterwards.
async fn demo<P: Proxy>(
    options: &Options,
    anybody: &P::Account,
    clients: Handle,
) -> Result<(), Error> {
    let progress = Progress::new("increments");
    let line = progress.clone();
    // The sandbox's guard notices that this process is gone, and needs no help.
    let left = "the server and its folder go by themselves";
    let interrupt = Interrupt::listen(move || line.step("Stopping".to_owned()), left)
        .map_err(Error::Threads)?;
    let turn = Turn {
        length: options.round(),
        runtime: clients,
        progress: progress.clone(),
    };
    let done = stages::<P>(options, anybody, &turn, &interrupt).await;
    progress.clear();
    done
}

/// The part of the run that has the server. It is removed when this returns, whatever the result.
async fn stages<P: Proxy>(
    options: &Options,
    anybody: &P::Account,
    turn: &Turn,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let home = Home::find()?;
    let (flavour, count) = (options.flavour, options.clients);
    let line = turn.progress.clone();
    let starting = move || upstream::start(flavour, &home, count, &line);
    let upstream = or_blocking(interrupt, starting).await?;
    let interrupted = |number| Error::Interrupted { number };
    let shown = interrupt.or(show::<P>(options, anybody, &upstream, turn));
    let proxy = shown.await.map_err(interrupted)??;
    if options.keep {
        terminal::print(&report::invitation(&upstream, proxy.address())?)?;
        return Err(interrupted(interrupt.caught().await));
    }
    proxy.stop().await;
    Ok(())
}

/// Compares, checks the sums and reports. Returns the proxy, which is still running.
async fn show<P: Proxy>(
    options: &Options,
    anybody: &P::Account,
    upstream: &Upstream,
    turn: &Turn,
) -> Result<P, Error> {
    let server = anybody.at(upstream.address());
    sample::create(&mut Client::connect(&server).await?).await?;
    let direct = server.in_schema(SCHEMA);
    let mut client = Client::connect(&direct).await?;
    let first = sample::views(&mut client).await?;
    let rules = rules(&options.listen, upstream.address());
    let proxy = P::start(&rules, &server).await?;
    let proxied = direct.at(proxy.address());
    turn.progress.clear();
    terminal::print(&report::heading(upstream, options.clients))?;

    let rounds = Rounds {
        direct,
        proxy: proxied.clone(),
        clients: options.clients,
    };
    let compared = rounds.run(turn).await?;
    let mut through = Client::connect(&proxied).await?;
    let proof = Proof {
        first,
        direct: compared.direct.acknowledged(),
        proxied: compared.proxy.acknowledged(),
        read: sample::views(&mut through).await?,
        tables: sample::tables(&mut client).await?,
    };
    turn.progress.clear();
    terminal::print(&report::charts(&compared))?;
    terminal::print(&report::proof(&proof))?;
    match proof.holds() {
        true => Ok(proxy),
        false => Err(Error::NotExact),
    }
}

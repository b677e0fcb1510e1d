//! `countersink demo`: a real server, one hot row, many clients; directly and through the proxy, and what came of it.
//!
//! The server and its data are the sandbox's, which removes both when this process ends, however it ends.

mod arguments;
mod error;

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

use super::clients::{Client, Turn};
use super::proxy::Proxy;
use crate::config::{Address, Config};
use blocking::or_blocking;
use home::Home;
use proof::Proof;
use rounds::Rounds;
use sample::{SCHEMA, account};
use upstream::Upstream;

pub(super) use arguments::{DemoArguments, EXAMPLES};
pub use error::Error;

/// Runs the demo; the proxy lives on `runtime`.
pub(super) fn run(arguments: &DemoArguments, runtime: &Runtime) -> Result<(), super::Error> {
    // One thread is enough for clients this cheap, and leaves the rest of the machine to what is measured.
    let clients = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("clients")
        .enable_all()
        .build()
        .map_err(|source| super::Error::Runtime { source })?;
    let done = runtime.block_on(demo(arguments, clients.handle().clone()));
    clients.shutdown_background();
    done
}

/// From nothing to the report, with a live line that leaves no trace.
async fn demo(arguments: &DemoArguments, clients: Handle) -> Result<(), super::Error> {
    let progress = Progress::new("increments");
    let line = progress.clone();
    // The sandbox's guard sees us gone, and needs no help.
    let left = "the server and its folder go by themselves";
    let interrupt = Interrupt::listen(move || line.step("Stopping".to_owned()), left)
        .map_err(|source| super::Error::Runtime { source })?;
    let done = stages(arguments, clients, &interrupt, &progress).await;
    progress.clear();
    done
}

/// The server goes when this returns, whichever way.
async fn stages(
    arguments: &DemoArguments,
    clients: Handle,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<(), super::Error> {
    let home = Home::find()?;
    let (flavour, count) = (arguments.flavour.into(), arguments.clients);
    let line = progress.clone();
    let starting = move || upstream::start(flavour, &home, count, &line);
    let upstream = or_blocking(interrupt, starting).await?;
    let turn = Turn {
        length: arguments.round(),
        runtime: clients,
        progress: progress.clone(),
    };
    let interrupted = |number| Error::Interrupted { number };
    let shown = interrupt.or(show(arguments, &upstream, &turn)).await;
    let proxy = shown.map_err(interrupted)??;
    if arguments.keep {
        let lines = report::invitation(&upstream, &proxy).map_err(Error::Output)?;
        terminal::print(&lines).map_err(Error::Output)?;
        return Err(interrupted(interrupt.caught().await).into());
    }
    proxy.stop().await;
    Ok(())
}

/// Compares, proves and reports; returns the proxy, which still serves.
async fn show(
    arguments: &DemoArguments,
    upstream: &Upstream,
    turn: &Turn,
) -> Result<Proxy, super::Error> {
    let direct = upstream.address();
    let connect = async |address: &Address, schema| {
        let connected = Client::connect(&account(address, schema)).await;
        connected.map_err(Error::Client)
    };
    let made = sample::create(&mut connect(&direct, None).await?).await;
    made.map_err(Error::Client)?;
    let mut client = connect(&direct, Some(SCHEMA)).await?;
    let first = sample::views(&mut client).await.map_err(Error::Client)?;
    let rules = rules::rules(&arguments.listen, &direct);
    let proxy = Proxy::start(Config::from_str(&rules, &|_| None)?).await?;
    let proxied = Address::Tcp(proxy.address.clone());
    turn.progress.clear();
    terminal::print(&report::heading(upstream, arguments.clients)).map_err(Error::Output)?;

    let rounds = Rounds {
        direct,
        proxy: proxied.clone(),
        clients: arguments.clients,
    };
    let compared = rounds.run(turn).await.map_err(Error::Client)?;
    let mut through = connect(&proxied, Some(SCHEMA)).await?;
    let read = sample::views(&mut through).await;
    let proof = Proof {
        first,
        direct: compared.direct.acknowledged(),
        proxied: compared.proxy.acknowledged(),
        read: read.map_err(Error::Client)?,
        tables: sample::tables(&mut client).await.map_err(Error::Client)?,
    };
    turn.progress.clear();
    terminal::print(&report::charts(&compared)).map_err(Error::Output)?;
    terminal::print(&report::proof(&proof)).map_err(Error::Output)?;
    match proof.holds() {
        true => Ok(proxy),
        false => Err(Error::NotExact.into()),
    }
}

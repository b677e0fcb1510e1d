//! `countersink demo`: a real server, one hot row, many clients; directly and through the proxy, and what came of it.
//!
//! The server and its data are the sandbox's, which removes both when this process ends, however it ends.

mod arguments;
mod error;

mod home;
mod interrupt;
mod progress;
mod upstream;

mod proxy;
mod sample;

mod load;
mod rounds;

mod chart;
mod number;
mod paint;
mod proof;
mod report;

use tokio::runtime::{Builder, Handle, Runtime};

use home::Home;
use interrupt::Interrupt;
use progress::Progress;
use proof::Proof;
use proxy::Proxy;
use rounds::Rounds;
use sample::{Client, SCHEMA};
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
    let progress = Progress::new();
    let line = progress.clone();
    let interrupt = Interrupt::listen(move || line.step("Stopping".to_owned()))
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
    let upstream = interrupt.or_blocking(starting).await?;
    let showing = show(arguments, &upstream, clients, progress);
    let proxy = interrupt.or(showing).await?;
    if arguments.keep {
        let lines = report::invitation(&upstream, &proxy).map_err(Error::Output)?;
        report::print(&lines).map_err(Error::Output)?;
        return Err(interrupt.caught().await.into());
    }
    proxy.stop().await;
    Ok(())
}

/// Compares, proves and reports; returns the proxy, which still serves.
async fn show(
    arguments: &DemoArguments,
    upstream: &Upstream,
    clients: Handle,
    progress: &Progress,
) -> Result<Proxy, super::Error> {
    let direct = upstream.address();
    Client::connect(&direct, None).await?.create().await?;
    let mut client = Client::connect(&direct, Some(SCHEMA)).await?;
    let first = client.views().await?;
    let proxy = Proxy::start(&arguments.listen, &direct).await?;
    progress.clear();
    report::print(&report::heading(upstream, arguments.clients)).map_err(Error::Output)?;

    let rounds = Rounds {
        direct,
        proxy: proxy.address.clone(),
        clients: arguments.clients,
        length: arguments.round(),
        runtime: clients,
    };
    let compared = rounds.run(progress).await?;
    let mut through = Client::connect(&proxy.address, Some(SCHEMA)).await?;
    let proof = Proof {
        first,
        direct: compared.direct.increments,
        proxied: compared.proxy.increments,
        read: through.views().await?,
        tables: client.tables().await?,
    };
    progress.clear();
    report::print(&report::charts(&compared)).map_err(Error::Output)?;
    report::print(&report::proof(&proof)).map_err(Error::Output)?;
    match proof.holds() {
        true => Ok(proxy),
        false => Err(Error::NotExact.into()),
    }
}

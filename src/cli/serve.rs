//! `countersink serve`: everything that must be right before the first client.

use std::future::Future;
use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::Error;
use crate::admin::{Console, Desk, Http, RecentLog, State};
use crate::catalog::{self, Catalog};
use crate::config::{Config, HostPort};
use crate::counter::control::Control;
use crate::counter::provision;
use crate::server::Server;

/// Prepares, then serves until told to stop.
pub(super) async fn serve(
    config: Config,
    take_over: bool,
    log: Arc<RecentLog>,
) -> Result<(), Error> {
    let control = Control::open(&config).await?;
    let catalog = prepare_with(&control, &config).await?;
    let stop = stop_signal().map_err(|source| Error::Runtime { source })?;
    let upstream = config.upstream.to_string();
    let read = Arc::new(config.clone());
    let server = Server::bind(config, catalog, control.clone(), take_over).await?;
    let address = server
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("listening on {address}, upstream {upstream}");
    tell_systemd(NotifyState::Ready);
    let shared = server.shared();
    let state = Arc::new(State::new(Arc::clone(&shared), control.clone()));
    let http = match &read.http {
        Some(address) => Some(show(address, &state).await?),
        None => None,
    };
    let desk = Desk::new(Arc::clone(&shared), control, read, log);
    let console = open_console(desk).await?;
    let stop = async {
        tokio::select! {
            () = stop => {}
            () = shared.sessions.asked_to_stop() => {}
        }
        state.stop();
        tell_systemd(NotifyState::Stopping);
    };
    server.run(stop).await;
    for task in http.into_iter().chain(console) {
        task.abort();
    }
    for (reason, count) in shared.metrics.statements() {
        tracing::info!("{count} statements: {reason}");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Metrics and health, from now on.
async fn show(address: &HostPort, state: &Arc<State>) -> Result<JoinHandle<()>, Error> {
    let http = Http::bind(address, Arc::clone(state)).await?;
    let address = http.address().map_err(|source| Error::Runtime { source })?;
    tracing::info!("metrics at http://{address}/metrics");
    Ok(tokio::spawn(http.run()))
}

/// The SQL console, if there is one, from now on.
async fn open_console(desk: Desk) -> Result<Option<JoinHandle<()>>, Error> {
    let Some(console) = Console::bind(desk).await? else {
        return Ok(None);
    };
    let address = console
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("console at {address}");
    if !address.ip().is_loopback() {
        tracing::warn!(
            "admin: other machines reach the console at {address}, which has no TLS; its statements and answers can be read              on the way, and whoever has its password can stop the proxy: prefer 127.0.0.1"
        );
    }
    Ok(Some(tokio::spawn(console.run())))
}

/// Where systemd has started the process and wants to know (manual: sd_notify(3)).
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("cannot tell systemd: {error}");
    }
}

/// Ready when the process is told to stop: SIGTERM or Ctrl-C.
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Connects the control account, loads the catalog and provides the slot tables.
///
/// # Errors
///
/// What an operator has to put right; see [`Error::exit_code`].
pub async fn prepare(config: &Config) -> Result<Catalog, Error> {
    let control = Control::open(config).await?;
    let prepared = prepare_with(&control, config).await;
    control.close().await;
    prepared
}

/// [`prepare`] over connections that are there already.
///
/// # Errors
///
/// As [`prepare`].
pub async fn prepare_with(control: &Control, config: &Config) -> Result<Catalog, Error> {
    warn_unserved(config);
    let mut conn = control.connect().await?;
    let catalog = catalog::load(&mut conn, config).await?;
    let by_rule = |error| Error::provision(error, config);
    provision::refuse_unserved(&mut conn, config, &catalog)
        .await
        .map_err(by_rule)?;
    let report = provision::provision(&mut conn, &catalog)
        .await
        .map_err(by_rule)?;
    for line in report.to_string().lines() {
        tracing::info!("slot table {line}");
    }
    Ok(catalog)
}

/// Says of each rule that this version does not serve that its statements are forwarded.
pub(super) fn warn_unserved(config: &Config) {
    for rule in &config.rules {
        if let Some(warning) = rule.unserved() {
            tracing::warn!("{}{warning}", rule.place("mode"));
        }
    }
}

//! `countersink serve`: everything that must be right before the first client.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

use super::Error;
use crate::catalog::{self, Catalog};
use crate::config::Config;
use crate::counter::control::Control;
use crate::counter::provision;
use crate::server::Server;

/// Prepares, then serves until told to stop.
pub(super) async fn serve(config: Config) -> Result<(), Error> {
    let control = Control::open(&config).await?;
    let catalog = prepare_with(&control, &config).await?;
    let stop = stop_signal().map_err(|source| Error::Runtime { source })?;
    let upstream = config.upstream.to_string();
    let server = Server::bind(config, catalog, control).await?;
    let address = server
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("listening on {address}, upstream {upstream}");
    let shared = server.shared();
    server.run(stop).await;
    for (reason, count) in shared.metrics.statements() {
        tracing::info!("{count} statements: {reason}");
    }
    tracing::info!("stopped");
    Ok(())
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

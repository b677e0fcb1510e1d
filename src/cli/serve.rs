//! `countersink serve`: prepares everything that must be right before the first client, then serves.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use mysql_async::Conn;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Error;
use crate::admin::{self, Desk, Port, RecentLog, State};
use crate::catalog::{self, Catalog};
use crate::config::{Config, Mode, Rule};
use crate::counter::control::Control;
use crate::counter::provision;
use crate::server::{Rules, Server};

/// Prepares, then serves until the process is told to stop.
pub(super) async fn serve(
    config: Config,
    file: &Path,
    take_over: bool,
    log: Arc<RecentLog>,
) -> Result<(), Error> {
    let control = Control::open(&config).await?;
    let catalog = prepare_with(&control, &config).await?;
    let stop = stop_signal().map_err(|source| Error::Runtime { source })?;
    let hangups = signal(SignalKind::hangup()).map_err(|source| Error::Runtime { source })?;
    let upstream = config.upstream.to_string();
    // All ports are opened before anything is announced or served.
    let http = match config.http.clone() {
        Some(address) => Some(Port::open("http", address, take_over).await?),
        None => None,
    };
    let console = match config.admin.clone() {
        Some(admin) => {
            let port = Port::open("admin", admin.address.clone(), take_over).await?;
            Some((port, admin))
        }
        None => None,
    };
    let with = (catalog, control.clone());
    let server = Server::bind(config, Some(file.to_owned()), with, take_over).await?;
    let address = server
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("listening on {address}, upstream {upstream}");
    let shared = server.shared();
    let state = Arc::new(State::new(Arc::clone(&shared), control.clone()));
    let mut tasks = vec![tokio::spawn(reload_on_hangup(server.rules(), hangups))];
    if let Some(port) = http {
        tasks.push(tokio::spawn(admin::serve_http(port, Arc::clone(&state))));
    }
    if let Some((port, admin)) = console {
        let desk = Desk::new(Arc::clone(&shared), control, server.rules(), log);
        let desk = Arc::new(desk);
        tasks.push(tokio::spawn(admin::serve_console(port, admin, desk)));
    }
    tell_systemd(NotifyState::Ready);
    let stop = async {
        tokio::select! {
            () = stop => {}
            () = shared.sessions.asked_to_stop() => {}
        }
        state.stop();
        tell_systemd(NotifyState::Stopping);
    };
    server.run(stop).await;
    for task in tasks {
        task.abort();
    }
    for (reason, count) in shared.metrics.statements() {
        tracing::info!("{count} statements: {reason}");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Reloads the rules at each SIGHUP.
async fn reload_on_hangup(rules: Rules, mut hangups: Signal) {
    while hangups.recv().await.is_some() {
        match rules.reload().await {
            Ok(done) => tracing::info!("{done}"),
            Err(why) => tracing::error!("the rules stay as they are: {why}"),
        }
    }
}

/// Notifies systemd, if it started the process and wants to know (manual: sd_notify(3)).
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("cannot tell systemd: {error}");
    }
}

/// A future that completes when the process is told to stop: by SIGTERM or Ctrl-C.
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
/// Errors that the operator must correct; see [`Error::exit_code`].
pub async fn prepare(config: &Config) -> Result<Catalog, Error> {
    let control = Control::open(config).await?;
    let prepared = prepare_with(&control, config).await;
    control.close().await;
    prepared
}

/// Like [`prepare`], over connections that exist already.
///
/// # Errors
///
/// The same as [`prepare`].
pub async fn prepare_with(control: &Control, config: &Config) -> Result<Catalog, Error> {
    let mut conn = control.connect().await?;
    let catalog = catalog::load(&mut conn, config).await?;
    catalog::refuse_socket_accounts(&mut conn, config).await?;
    let by_rule = |error| Error::provision(error, config);
    provision::refuse_unserved(&mut conn, config, &catalog)
        .await
        .map_err(by_rule)?;
    can_be_emptied(&mut conn, config, &catalog).await?;
    let report = provision::provision(&mut conn, &catalog)
        .await
        .map_err(by_rule)?;
    for line in report.to_string().lines() {
        tracing::info!("slot table {line}");
    }
    Ok(catalog)
}

/// Checks that the slots of rules that do not rewrite can be folded into base. Such a rule is in force until its slots
/// are empty, so its table must fit it.
async fn can_be_emptied(conn: &mut Conn, config: &Config, catalog: &Catalog) -> Result<(), Error> {
    let rules = config.rules.iter();
    for rule in rules.filter(|rule| !rule.acts() && rule.slots > 0) {
        let holds = provision::holds_values(conn, catalog, rule).await;
        if holds.map_err(|error| Error::provision(error, config))? {
            let one = Config {
                rules: vec![Rule {
                    mode: Mode::Enforce,
                    ..rule.clone()
                }],
                ..config.clone()
            };
            catalog::load(conn, &one).await?;
            tracing::info!(
                "{}: slots hold values, which are moved into the rows first",
                rule.table
            );
        }
    }
    Ok(())
}

//! `countersink serve`: everything that must be right before the first client.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::Error;
use crate::admin::{Console, Desk, Http, RecentLog, State};
use crate::catalog::{self, Catalog};
use crate::config::{Config, HostPort, Mode, Rule};
use crate::counter::control::Control;
use crate::counter::provision;
use crate::server::{Rules, Server};

/// Prepares, then serves until told to stop.
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
    let http_address = config.http.clone();
    let with = (catalog, control.clone());
    let server = Server::bind(config, Some(file.to_owned()), with, take_over).await?;
    let address = server
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("listening on {address}, upstream {upstream}");
    tell_systemd(NotifyState::Ready);
    let reload = tokio::spawn(reload_on_hangup(server.rules(), hangups));
    let shared = server.shared();
    let state = Arc::new(State::new(Arc::clone(&shared), control.clone()));
    let http = match &http_address {
        Some(address) => Some(show(address, &state, take_over).await?),
        None => None,
    };
    let desk = Desk::new(Arc::clone(&shared), control, server.rules(), log);
    let console = open_console(Arc::new(desk), take_over).await?;
    let stop = async {
        tokio::select! {
            () = stop => {}
            () = shared.sessions.asked_to_stop() => {}
        }
        state.stop();
        tell_systemd(NotifyState::Stopping);
    };
    server.run(stop).await;
    reload.abort();
    for task in http.into_iter().chain(console) {
        task.abort();
    }
    for (reason, count) in shared.metrics.statements() {
        tracing::info!("{count} statements: {reason}");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Reads the rules again at each SIGHUP.
async fn reload_on_hangup(rules: Rules, mut hangups: Signal) {
    while hangups.recv().await.is_some() {
        match rules.reload().await {
            Ok(done) => tracing::info!("{done}"),
            Err(why) => tracing::error!("the rules stay as they are: {why}"),
        }
    }
}

/// How often an address is looked at that another process has still.
const GLANCE: Duration = Duration::from_millis(200);

/// Metrics and health, from now on. A process whose port is taken over goes on showing its own until it ends: were both to
/// answer at one address, their counters would seem to jump.
async fn show(
    address: &HostPort,
    state: &Arc<State>,
    take_over: bool,
) -> Result<JoinHandle<()>, Error> {
    match Http::bind(address, Arc::clone(state)).await {
        Err(error) if take_over && error.is_in_use() => {
            tracing::info!("metrics at http://{address}/metrics when the other process has ended");
            Ok(tokio::spawn(show_later(address.clone(), Arc::clone(state))))
        }
        bound => Ok(tokio::spawn(said(bound?)?.run())),
    }
}

async fn show_later(address: HostPort, state: Arc<State>) {
    let bound = loop {
        tokio::time::sleep(GLANCE).await;
        match Http::bind(&address, Arc::clone(&state)).await {
            Err(error) if error.is_in_use() => {}
            bound => break bound,
        }
    };
    match bound.map_err(Error::from).and_then(said) {
        Ok(http) => http.run().await,
        Err(error) => tracing::warn!("{error}"),
    }
}

/// Says where it listens.
fn said(http: Http) -> Result<Http, Error> {
    let address = http.address().map_err(|source| Error::Runtime { source })?;
    tracing::info!("dashboard at http://{address}/dashboard, metrics at http://{address}/metrics");
    Ok(http)
}

/// The SQL console, if there is one, from now on.
async fn open_console(desk: Arc<Desk>, take_over: bool) -> Result<Option<JoinHandle<()>>, Error> {
    match Console::bind(Arc::clone(&desk)).await {
        Err(error) if take_over && error.is_in_use() => {
            tracing::info!("the console answers when the other process has ended");
            Ok(Some(tokio::spawn(open_later(desk))))
        }
        bound => match bound? {
            Some(console) => Ok(Some(tokio::spawn(opened(console)?.run()))),
            None => Ok(None),
        },
    }
}

async fn open_later(desk: Arc<Desk>) {
    let bound = loop {
        tokio::time::sleep(GLANCE).await;
        match Console::bind(Arc::clone(&desk)).await {
            Err(error) if error.is_in_use() => {}
            bound => break bound,
        }
    };
    match bound
        .map_err(Error::from)
        .map(|console| console.map(opened))
    {
        Ok(Some(Ok(console))) => console.run().await,
        Ok(None) => {}
        Ok(Some(Err(error))) | Err(error) => tracing::warn!("{error}"),
    }
}

/// Says where it answers.
fn opened(console: Console) -> Result<Console, Error> {
    let address = console
        .address()
        .map_err(|source| Error::Runtime { source })?;
    tracing::info!("console at {address}");
    if !address.ip().is_loopback() {
        tracing::warn!(
            "admin: other machines reach the console at {address}, which has no TLS; its statements and answers can be \
             read on the way, and whoever has its password can stop the proxy: prefer 127.0.0.1"
        );
    }
    Ok(console)
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
    let mut conn = control.connect().await?;
    let catalog = catalog::load(&mut conn, config).await?;
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

/// A rule that does not rewrite is in force until its slots are empty; so its table must fit it.
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

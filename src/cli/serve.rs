//! `countersink serve`: prepares everything that must be right before the first client, then serves.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use super::Error;
use crate::admin::{self, Desk, Port, RecentLog, State};
use crate::catalog::{self, Catalog};
use crate::config::{Config, Mode, Rule};
use crate::counter::control::Control;
use crate::counter::server::is_read_only;
use crate::counter::{provision, unfit};
use crate::server::{Rules, Server};

/// The pauses between two tries to reach the server: the first, which grows, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// Prepares, then serves until the process is told to stop. Waits for a server that is not there yet.
pub(super) async fn serve(
    config: Config,
    file: &Path,
    take_over: bool,
    log: Arc<RecentLog>,
) -> Result<(), Error> {
    let stop = stop_signal().map_err(|source| Error::Runtime { source })?;
    let mut stop = pin!(stop);
    let hangups = signal(SignalKind::hangup()).map_err(|source| Error::Runtime { source })?;
    let upstream = config.upstream.to_string();
    let state = Arc::new(State::starting());
    let mut tasks = JoinSet::new();
    if let Some(address) = config.http.clone() {
        let port = Port::open("http", address, take_over).await?;
        tasks.spawn(admin::serve_http(port, Arc::clone(&state)));
    }
    let (control, catalog) = tokio::select! {
        prepared = until_prepared(&config, &state) => prepared?,
        () = &mut stop => {
            tracing::info!("stopped before the server could be reached");
            return Ok(());
        }
    };
    // Both ports are opened before anything is announced or served.
    let console = match config.admin.clone() {
        Some(admin) => {
            let port = Port::open("admin", admin.address.clone(), take_over).await?;
            Some((port, admin))
        }
        None => None,
    };
    let with = (catalog, control.clone());
    let server = Server::bind(config, Some(file.to_owned()), with, take_over).await?;
    let addresses = server
        .addresses()
        .map_err(|source| Error::Runtime { source })?;
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    tracing::info!(
        "listening on {}, upstream {upstream}",
        addresses.join(" and ")
    );
    let shared = server.shared();
    state.serves(Arc::clone(&shared), control.clone());
    tasks.spawn(reload_on_hangup(server.rules(), hangups));
    if let Some((port, admin)) = console {
        let desk = Desk::new(Arc::clone(&shared), control, server.rules(), log);
        tasks.spawn(admin::serve_console(port, admin, Arc::new(desk)));
    }
    tell_systemd(NotifyState::Ready);
    let stop = async {
        tokio::select! {
            () = &mut stop => {}
            () = shared.sessions.asked_to_stop() => {}
        }
        state.stop();
        tell_systemd(NotifyState::Stopping);
    };
    server.run(stop).await;
    drop(tasks);
    for (reason, count) in shared.metrics.statements() {
        tracing::info!("{count} statements: {reason}");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Prepares as soon as the server is there. The error is one that waiting does not help.
async fn until_prepared(config: &Config, state: &State) -> Result<(Control, Catalog), Error> {
    let [mut pause, longest] = PAUSES;
    let mut told = String::new();
    loop {
        let why = match prepare_present(config).await {
            Err(error) if error.may_pass() => error.to_string(),
            prepared => return prepared,
        };
        if why != told {
            state.waits_for(&why);
            tracing::warn!("not serving yet: {why}");
            told = why;
        }
        tell_systemd(NotifyState::Status(&told));
        // It takes the time that a start may take from the last such word.
        tell_systemd(NotifyState::ExtendTimeoutUsec(30_000_000));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// Like [`prepare`], but rules whose tables are not there yet hold nothing up.
async fn prepare_present(config: &Config) -> Result<(Control, Catalog), Error> {
    let control = Control::open(config).await?;
    let mut conn = control.connect().await?;
    let catalog = catalog::load_present(&mut conn, config).await?;
    let catalog = as_a_member(&control, catalog);
    provide((&control, &mut conn), config, &catalog).await?;
    drop(conn);
    Ok((control, catalog))
}

/// The tables of a server that may be one of several which take writes.
fn as_a_member(control: &Control, catalog: Catalog) -> Catalog {
    match control.has_several_writers() {
        true => catalog.of_several_writers(),
        false => catalog,
    }
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
    let catalog = as_a_member(control, catalog);
    provide((control, &mut conn), config, &catalog).await?;
    Ok(catalog)
}

/// Provides the slot tables of the catalog, once nothing speaks against it.
async fn provide(
    (control, conn): (&Control, &mut Conn),
    config: &Config,
    catalog: &Catalog,
) -> Result<(), Error> {
    catalog::refuse_logins(conn, config).await?;
    let by_rule = |error| Error::provision(error, config);
    let unfit = unfit::find(control, conn, catalog).await;
    if let Some(source) = unfit.map_err(Error::Cluster)? {
        return Err(Error::Unfit { source });
    }
    provision::refuse_unserved(conn, config, catalog)
        .await
        .map_err(by_rule)?;
    can_be_emptied(conn, config, catalog).await?;
    if is_read_only(conn).await.map_err(Error::ReadOnly)? {
        return Ok(());
    }
    control.agreement().provide(control).await?;
    let report = provision::provide(control, conn, catalog).await;
    let report = report.map_err(by_rule)?;
    for line in report.to_string().lines() {
        tracing::info!("slot table {line}");
    }
    Ok(())
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
            catalog::load_present(conn, &one).await?;
            tracing::info!(
                "{}: slots hold values, which are moved into the rows first",
                rule.table
            );
        }
    }
    Ok(())
}

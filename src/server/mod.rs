//! Accepts clients, gives each a session, and closes them when told to stop.

mod altered;
mod certificate;
mod descriptors;
mod failover;
mod listener;
mod pardon;
mod refusals;
mod rules;
mod tls;
mod workers;

use std::fs;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::catalog::Catalog;
use crate::config::{Address, Config};
use crate::counter::control::Control;
use crate::counter::node::{self, Claims, Node};
use crate::counter::rollup::{Adoption, RollUp};
use crate::net::tls::TlsError;
use crate::net::{Cut, Origin};
use crate::sentinel::{self, Watched};
use crate::session::connect::{self, Admission, ConnectSetup, PasswordKey};
use crate::session::{Session, Shared};
use certificate::Renewal;
use listener::{Accepted, Listener};
use refusals::Refusals;
use rules::Keeper;
pub use rules::{Answer, RuleStatus, Rules};
use workers::Workers;

/// For how long after the signal to stop clients are still accepted: they have connected before they could know.
const SETTLING: Duration = Duration::from_millis(200);

/// For how long after that clients are accepted that have begun to connect.
const LAST: Duration = Duration::from_millis(10);

/// How long the last roll-up may take without rolling anything up.
const ROLL_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is given that time again.
const ROLL_UP_TIMEOUTS: usize = 6;

/// How long to wait after an accept that failed because file descriptors or memory ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The listening address cannot be used.
    #[error(
        "listen: {address}: {source}; choose another address, or stop what listens there (serve --take-over takes the port over from a running Countersink)"
    )]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// A file that rules.yaml names cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A certificate or key is not usable.
    #[error("tls: {0}")]
    Tls(#[from] TlsError),
    /// The threads that serve sessions do not start.
    #[error("cannot start threads: {source}")]
    Threads {
        /// Why.
        source: io::Error,
    },
}

/// A server that listens and does not accept yet.
pub struct Server {
    listeners: Vec<Listener>,
    config: Arc<ArcSwap<Config>>,
    setup: Arc<ConnectSetup>,
    shared: Arc<Shared>,
    keeper: Keeper,
    rules: Rules,
    control: Control,
    roll_up: RollUp,
    node: JoinHandle<()>,
    rights: JoinHandle<()>,
    altered: JoinHandle<()>,
    servers: JoinHandle<()>,
    adoption: JoinHandle<()>,
    failover: JoinHandle<()>,
    certificates: JoinHandle<()>,
    sentinel: Option<JoinHandle<()>>,
    workers: Workers,
}

impl Server {
    /// Listens, prepares what sessions share, and puts the rules in force. `file` is their file, which is read again
    /// when it changes. `take_over` says that another process listens on the port and will stop.
    pub async fn bind(
        config: Config,
        file: Option<PathBuf>,
        (catalog, control): (Catalog, Control),
        take_over: bool,
    ) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        for address in config.listen.addresses() {
            let listening = Listener::open(address, take_over).await;
            listeners.push(listening.map_err(|source| Error::Listen {
                address: address.to_string(),
                source,
            })?);
        }
        descriptors::claim(&config.connections);
        let config = Arc::new(ArcSwap::from_pointee(config));
        let mut renewals = Vec::new();
        let setup = setup(&config, &control, &mut renewals)?;
        let setup = Arc::new(setup);
        let workers = Workers::start().map_err(|source| Error::Threads { source })?;
        let (requests, refreshes) = mpsc::channel(16);
        let shared = Arc::new(Shared::new(
            catalog,
            config.load().memory.plan_cache,
            requests,
            control.clone(),
        ));
        let node = Node::claim(&control).await;
        let node = node.inspect_err(|why| node::warn_of_none(why)).ok();
        if let Some(node) = &node {
            shared.slots.set_node(node.number);
        }
        let claims = Arc::new(Claims::of(node.as_ref(), !control.has_several_writers()));
        if control.has_several_writers() {
            shared.lease.go_by(Arc::clone(&claims));
        }
        let (mut keeper, rules) = Keeper::new(
            Arc::clone(&config),
            file,
            (control.clone(), Arc::clone(&claims)),
            Arc::clone(&shared),
            refreshes,
        );
        let said = Arc::clone(&claims);
        let control_for_rights = control.clone();
        let control_servers = control.servers();
        let failover = failover::Failover {
            control: control.clone(),
            claims: Arc::clone(&claims),
            rules: rules.clone(),
            shared: Arc::clone(&shared),
        };
        let roll_up = RollUp::new(control.clone(), Arc::clone(&shared.metrics));
        let pardoning = control.clone();
        let listener_of_node = Arc::clone(&shared);
        let node = tokio::spawn(async move {
            node::keep(&control, node, &claims, &*listener_of_node).await;
        });
        let watching = Arc::clone(&shared);
        let rights = tokio::spawn(async move {
            watching.rights.watch(&control_for_rights).await;
        });
        let (watched, asking) = (Arc::clone(&shared), pardoning.clone());
        let altered = tokio::spawn(async move { altered::watch(&watched, &asking).await });
        let (following, mut servers) = (Arc::clone(&shared), control_servers);
        let servers = tokio::spawn(async move {
            while servers.changed().await.is_ok() {
                following.read_tables_again().await;
            }
        });
        let adoption = Adoption::new(pardoning.clone(), Arc::clone(&shared.metrics));
        let adopting = Arc::clone(&shared);
        let adoption = tokio::spawn(adoption.keep(move || adopting.hot().catalog.adopting()));
        // Before the rules ask anything: a server that hangs now may have to be left.
        let failover = tokio::spawn(failover.keep());
        let certificates = tokio::spawn(certificate::keep(renewals));
        let sentinel = config.load().sentinel.map(|server_id| {
            let reading = (pardoning.clone(), said);
            tokio::spawn(watch_past(server_id, reading, Arc::clone(&shared)))
        });
        keeper.start().await;
        Ok(Self {
            listeners,
            config,
            setup,
            shared,
            keeper,
            rules,
            control: pardoning,
            roll_up,
            node,
            rights,
            altered,
            servers,
            adoption,
            failover,
            certificates,
            sentinel,
            workers,
        })
    }

    /// The addresses that clients connect to, with the ports that the system has chosen.
    pub fn addresses(&self) -> io::Result<Vec<Address>> {
        self.listeners.iter().map(Listener::address).collect()
    }

    /// The first of them that is a TCP port, if any.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listeners.iter().find_map(Listener::port)
    }

    /// What the sessions share: metrics among it.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Asks for changes of the rules.
    pub fn rules(&self) -> Rules {
        self.rules.clone()
    }

    /// Serves clients until `stop` is ready. Then it accepts no more, closes sessions as they become idle, and gives
    /// open transactions `drain_timeout` to end.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (ended, last_roll_up) = oneshot::channel();
        let (rolling, shared) = (self.roll_up, Arc::clone(&self.shared));
        let roll_up = tokio::spawn(async move {
            let stop = async { last_roll_up.await.unwrap_or_default() };
            rolling.keep(&shared.slots, stop).await;
        });
        let keeper = tokio::spawn(self.keeper.keep());
        let pardon = Arc::<Notify>::default();
        let pardoning = tokio::spawn(pardon::keep(Arc::clone(&pardon), self.control.clone()));
        let config = Arc::clone(&self.config);
        let shared = Arc::clone(&self.shared);
        let mut clients = Clients {
            listeners: self.listeners,
            turn: 0,
            setup: self.setup,
            shared: self.shared,
            config: self.config,
            workers: self.workers,
            refusals: Arc::new(Refusals::new(pardon)),
            sessions: JoinSet::new(),
        };
        tokio::select! {
            () = clients.accept_unless_paused() => {}
            () = stop => {}
        }
        shared.sessions.stop();
        let deadline = tokio::time::Instant::now() + config.load().drain_timeout;
        // Connections that were already made belong to this process alone: the port may be shared with another one by
        // now.
        let settled = tokio::time::timeout(SETTLING, clients.accept()).await;
        debug_assert!(settled.is_err(), "it accepts until it is told to stop");
        for listener in &clients.listeners {
            listener.takes_no_more();
        }
        let last = tokio::time::timeout(LAST, clients.accept()).await;
        debug_assert!(last.is_err(), "it accepts until it is told to stop");
        let mut sessions = clients.sessions;
        drop(clients.listeners);
        let all_ended = async { while sessions.join_next().await.is_some() {} };
        if tokio::time::timeout_at(deadline, all_ended).await.is_err() {
            tracing::warn!(
                "{} sessions closed in mid-transaction: drain_timeout is over",
                sessions.len()
            );
            sessions.shutdown().await;
        }
        keeper.abort();
        pardoning.abort();
        self.node.abort();
        // Nothing is said any more.
        self.node.await.ok();
        self.control.agreement().leave(&self.control).await;
        self.rights.abort();
        self.altered.abort();
        self.servers.abort();
        self.adoption.abort();
        self.failover.abort();
        self.certificates.abort();
        if let Some(sentinel) = self.sentinel {
            sentinel.abort();
        }
        // Values are as safe in slots; but others read base.
        shared.spans.flush().await;
        ended.send(()).ok();
        if !finished(roll_up, || shared.metrics.rolled_up()).await {
            tracing::warn!("stopped before everything was rolled up; the next start goes on");
        }
    }
}

/// Reports who changes counters past the proxy.
async fn watch_past(
    server_id: u32,
    (control, claims): (Control, Arc<Claims>),
    shared: Arc<Shared>,
) {
    let watched = || Watched::of(&shared.hot().catalog);
    let told = (&*shared.sentinel, &*shared.metrics);
    sentinel::keep(server_id, (&control, &claims), watched, told).await;
}

/// Waits for the last roll-up as long as it makes progress, but not for ever: other proxies may fill slots all the time
/// and keep it from finishing. Returns whether it has finished.
async fn finished(mut roll_up: JoinHandle<()>, rolled_up: impl Fn() -> u64) -> bool {
    for _ in 0..ROLL_UP_TIMEOUTS {
        let before = rolled_up();
        if tokio::time::timeout(ROLL_UP_TIMEOUT, &mut roll_up)
            .await
            .is_ok()
        {
            return true;
        }
        if rolled_up() == before {
            break;
        }
    }
    false
}

/// The clients that connect, and their sessions.
struct Clients {
    listeners: Vec<Listener>,
    /// Which of them had the last one.
    turn: usize,
    setup: Arc<ConnectSetup>,
    shared: Arc<Shared>,
    config: Arc<ArcSwap<Config>>,
    workers: Workers,
    refusals: Arc<Refusals>,
    sessions: JoinSet<()>,
}

impl Clients {
    /// Accepts clients until it is cancelled, except while the console pauses them. Cancel safe.
    async fn accept_unless_paused(&mut self) {
        let operator = Arc::clone(&self.shared.sessions);
        loop {
            operator.until_paused(false).await;
            tokio::select! {
                biased;
                () = operator.until_paused(true) => {}
                () = self.accept() => {}
            }
        }
    }

    /// Accepts clients until it is cancelled. Cancel safe.
    async fn accept(&mut self) {
        loop {
            match listener::accept(&self.listeners, &mut self.turn).await {
                Ok((client, origin)) => {
                    let on_thread = self.workers.place();
                    let runtime = on_thread.runtime.clone();
                    let setup = Arc::clone(&self.setup);
                    let shared = Arc::clone(&self.shared);
                    let config = self.config.load_full();
                    let refusals = Arc::clone(&self.refusals);
                    let session = async move {
                        serve((client, origin), &setup, shared, config, &refusals).await;
                        drop(on_thread);
                    };
                    self.sessions.spawn_on(session, &runtime);
                }
                Err(error) => {
                    self.refusals.note_failed_accept(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            while self.sessions.try_join_next().is_some() {}
        }
    }
}

/// One client, from its connection to its close, on the thread where it stays.
async fn serve(
    (accepted, origin): (Accepted, Origin),
    setup: &ConnectSetup,
    shared: Arc<Shared>,
    config: Arc<Config>,
    refusals: &Refusals,
) {
    let cut = Arc::<Cut>::default();
    let client = match accepted.on_this_thread(&cut) {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(peer = %origin, "cannot serve: {error}");
            return;
        }
    };
    let metrics = Arc::clone(&shared.metrics);
    let _session = metrics.count_session();
    // Boxed, so that the session's task does not stay as large as a login needs to be.
    let connected = match Box::pin(connect::connect(client, origin, setup)).await {
        Ok(connected) => connected,
        Err(error) => {
            refusals.note(origin, &error, &metrics);
            return;
        }
    };
    let bypass = config.bypass.clone();
    drop(config);
    let origin = connected.origin;
    let threads = Arc::clone(shared.control.threads());
    let _thread = threads.enter(connected.thread_id);
    let mut session = Session::new(connected, (origin, cut), shared, bypass);
    match session.run().await {
        Ok(()) => tracing::debug!(peer = %origin, "session closed"),
        Err(error) => {
            metrics.count_lost(error.fault());
            tracing::info!(peer = %origin, "session lost: {error}");
        }
    }
    session.part().await;
}

/// What connections are made with. What becomes of changes of certificates goes into `renewals`.
fn setup(
    config: &Arc<ArcSwap<Config>>,
    control: &Control,
    renewals: &mut Vec<Renewal>,
) -> Result<ConnectSetup, Error> {
    let admission = Arc::new(Admission::new(Arc::clone(config)));
    let config = config.load_full();
    let client_tls = tls::offered(config.tls.as_ref(), renewals)?;
    let upstream_tls = tls::toward_upstream(&config, control, renewals)?;
    let upstream_key = tls::upstream_key(&config, renewals)?;
    Ok(ConnectSetup {
        admission,
        proxy_protocol: config.proxy_protocol.clone(),
        route: Arc::clone(control.route()),
        failover_patience: failover::patience(&config.upstream),
        upstream_tls,
        client_tls,
        password_key: Arc::new(PasswordKey::new()),
        upstream_key,
        upstream_compression: config.upstream_compression,
        handshake_timeout: config.handshake_timeout,
    })
}

/// When a file was last changed.
fn last_change(path: &Path) -> Option<SystemTime> {
    let changed = fs::metadata(path).and_then(|data| data.modified());
    changed.ok()
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File {
        path: path.display().to_string(),
        source,
    })
}

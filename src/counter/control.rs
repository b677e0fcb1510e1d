//! The control account: the proxy's own connections, for the catalog, slot tables, folds and roll-up.

mod error;
mod way;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use mysql_async::{Conn, Error as DriverFailure, Row, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::agreement::Agreement;
use super::cluster;
use super::fold::{self, OpenRow};
use super::held_locks;
use super::key::{Key, KeyForm};
use super::looks::Looks;
use super::primary::{self, Look};
use super::registry::Registry;
use super::server::{self, Server};
use super::threads::Threads;
use super::turns::Turns;
use super::unpoisoned;
use crate::catalog::HotTable;
use crate::config::{Address, Config, UpstreamFiles};
use crate::net::Route;
use crate::wire::error_code::ER_NO_SUCH_TABLE;
pub use error::Error;
use error::Remedies;
pub(super) use error::no_answer;
pub(super) use way::Way;
pub(crate) use way::{Ways, any_certificate, signed_for_any_host};

/// How long a fold waits to learn which slot rows exist, before it goes on without knowing.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// The least time between two looks at whether the address leads to another server: with a load balancer in between,
/// each session may be on one of its own.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Connections of the control account, kept in small pools.
#[derive(Clone, Debug)]
pub struct Control {
    /// How the server is reached.
    way: Arc<ArcSwap<Way>>,
    /// Where sessions find it.
    route: Arc<Route>,
    /// How any server is reached.
    ways: Arc<Ways>,
    /// Connections that read what is not committed, and do nothing else.
    looks: Arc<Looks>,
    /// The server to which the address leads.
    server: Arc<watch::Sender<Server>>,
    /// When it was last looked whether that is another one.
    looked: Arc<Mutex<Option<Instant>>>,
    /// The runtime in which it was opened, and in which its connections live: the sessions that ask for slot rows may
    /// live in another one, which may end earlier.
    runtime: Handle,
    timeout: Duration,
    remedies: Remedies,
    /// How the proxies hear each other.
    agreement: Agreement,
    /// Roll-ups take turns with statements that wait for no lock.
    turns: Turns,
    /// The server's threads that serve this proxy.
    threads: Arc<Threads>,
}

impl Control {
    /// Connects once, to see whether it works and, in TLS modes `preferred` and `as_client`, whether the server has
    /// TLS. Of several servers it is the one that takes writes.
    ///
    /// # Errors
    ///
    /// Why it does not work, with the remedy.
    pub async fn open(config: &Config) -> Result<Self, Error> {
        let config = Arc::new(config.clone());
        let ways = Arc::new(Ways::of(Arc::clone(&config))?);
        let mut agreement = Agreement::Locks;
        let Look { way, server, .. } = match config.upstream.only() {
            Some(address) => {
                let limit = config.handshake_timeout;
                let (look, mut conn) = Self::look_at(&ways, address, limit).await?;
                let cluster = cluster::read(&mut conn).await;
                let cluster =
                    cluster.map_err(|failure| Remedies::of(&config).explain(address, failure))?;
                if let Some(cluster) =
                    cluster.filter(|cluster| cluster.has_several_writers(&config))
                {
                    let registry = Registry::new(cluster.is_galera());
                    agreement = Agreement::Rows(Arc::new(registry));
                }
                leave(conn).await;
                look
            }
            None => primary::find(&ways).await?,
        };
        Ok(Self {
            route: Arc::new(Route::to(way.address.clone())),
            looks: Arc::new(Looks::new(way.looks.clone())),
            way: Arc::new(ArcSwap::from_pointee(way)),
            server: Arc::new(watch::Sender::new(server)),
            looked: Arc::default(),
            runtime: Handle::current(),
            timeout: config.handshake_timeout,
            remedies: Remedies::of(&config),
            ways,
            agreement,
            turns: Turns::default(),
            threads: Arc::default(),
        })
    }

    /// Connects to the server at this address, and asks what it is. The connection may be kept, or is closed when it
    /// is dropped.
    pub(super) async fn look_at(
        ways: &Ways,
        address: &Address,
        limit: Duration,
    ) -> Result<(Look, Conn), Error> {
        let config = ways.config();
        match Self::look_by(config, ways.encrypted(address), limit).await {
            Err(Error::Tls { why, .. }) if let Some(plain) = ways.plain(address) => {
                tracing::debug!("no TLS toward {address}: {why}");
                Self::look_by(config, plain, limit).await
            }
            looked => looked,
        }
    }

    async fn look_by(config: &Config, way: Way, limit: Duration) -> Result<(Look, Conn), Error> {
        let look = async {
            let mut conn = Conn::new(way.pooled.clone()).await?;
            let server = server::ask(&mut conn).await?;
            let writes = server::writes(&mut conn).await?;
            Ok((server, writes, conn))
        };
        match tokio::time::timeout(limit, look).await {
            Ok(Ok((server, writes, conn))) => {
                let look = Look {
                    way,
                    server,
                    writes,
                };
                Ok((look, conn))
            }
            Ok(Err(failure)) => Err(Remedies::of(config).explain(&way.address, failure)),
            Err(_) => Err(no_answer(&way.address, limit)),
        }
    }

    /// Whether other members of the server's cluster take writes, too, as it was at start.
    pub fn has_several_writers(&self) -> bool {
        matches!(self.agreement, Agreement::Rows(_))
    }

    /// Whether the server may forget to tell a session that its transaction was rolled back; see [`held_locks`].
    pub(crate) fn forgets_losses(&self) -> bool {
        matches!(&self.agreement, Agreement::Rows(registry) if !registry.is_galera())
    }

    /// Whether the server may tell a session that its transaction was rolled back in answer to a command that has no
    /// response, and so tell nobody. Galera does.
    pub(crate) fn tells_losses_to_nobody(&self) -> bool {
        matches!(&self.agreement, Agreement::Rows(registry) if registry.is_galera())
    }

    /// How the proxies hear each other.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Who may lock rows now: roll-ups, or statements that wait for no lock.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The server's threads that serve this proxy.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.threads
    }

    /// Where sessions find the server.
    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// The settings as they were at start.
    pub(crate) fn config(&self) -> &Arc<Config> {
        self.ways.config()
    }

    /// How any server is reached.
    pub(crate) fn ways(&self) -> &Arc<Ways> {
        &self.ways
    }

    /// This server takes the place of the one before. Sessions are led there by [`Control::route`], which the caller
    /// changes once the rest of the proxy has followed.
    pub(crate) fn move_to(&self, found: Look) {
        self.server.send_modify(|known| {
            let way = self.ways.renewed(found.way);
            // Before anybody hears of it.
            self.looks.lead_to(way.looks.clone());
            self.way.store(Arc::new(way));
            *known = found.server;
        });
    }

    /// Makes connections with these files of `upstream_tls` from now on.
    pub(crate) fn renew(&self, files: UpstreamFiles) {
        // As in Control::move_to, so that neither undoes the other. The server is the same.
        self.server.send_if_modified(|_| {
            if self.ways.renew(files) {
                let way = self.ways.encrypted(&self.address());
                self.looks.lead_to(way.looks.clone());
                self.way.store(Arc::new(way));
            }
            false
        });
    }

    /// The server to which the address leads, as far as is known.
    pub fn server(&self) -> Server {
        self.server.borrow().clone()
    }

    /// Tells when the address leads to another server.
    pub fn servers(&self) -> watch::Receiver<Server> {
        self.server.subscribe()
    }

    /// A session is on this server: where that is another one, it is looked whether the address leads there now.
    pub fn see(&self, server: &Server) {
        if *self.server.borrow() == *server {
            return;
        }
        {
            let mut looked = unpoisoned(&self.looked);
            if looked.is_some_and(|at| at.elapsed() < BETWEEN_LOOKS) {
                return;
            }
            *looked = Some(Instant::now());
        }
        let control = self.clone();
        self.runtime.spawn(async move {
            let look = control.looks.ask(None, "DO 0");
            match tokio::time::timeout(LOOK_TIMEOUT, look).await {
                Ok(Ok(answer)) => control.follow(answer.server),
                Ok(Err(error)) => tracing::debug!("where {}: {error}", control.address()),
                Err(_) => {}
            }
        });
    }

    /// The address leads to this server.
    fn follow(&self, server: Server) {
        let is_another = self.server.send_if_modified(|known| {
            let is_another = *known != server;
            if is_another {
                // Before anybody hears of it.
                self.way.store(Arc::new(self.way.load().anew()));
                *known = server.clone();
            }
            is_another
        });
        if is_another {
            let upstream = self.address();
            tracing::warn!(
                "upstream: {upstream} leads to another server now ({server}); the proxy's own connections follow"
            );
        }
    }

    /// A connection in autocommit mode and a strict sql_mode; it goes back to the pool when dropped.
    ///
    /// Cancel safe: a connection that is being made is given up.
    ///
    /// # Errors
    ///
    /// Why there is none, with the remedy.
    pub async fn connect(&self) -> Result<Conn, Error> {
        let way = self.way.load_full();
        self.in_time(&way, way.pool.get_conn()).await
    }

    /// Asks something on a connection of [`Control::connect`]. If another server takes the place of this one meanwhile,
    /// that is given up, and the connection is closed: a server that hangs may never answer.
    ///
    /// # Errors
    ///
    /// As [`Control::connect`], [`Error::Replaced`], and those of the question.
    pub(crate) async fn ask<T, E: From<Error>>(
        &self,
        question: impl AsyncFnOnce(&mut Conn) -> Result<T, E>,
    ) -> Result<T, E> {
        self.unless_replaced(async {
            let mut conn = self.connect().await?;
            question(&mut conn).await
        })
        .await
    }

    /// Does this on the server as it is, and drops it if another server takes its place meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`], and those of the work.
    pub(crate) async fn unless_replaced<T, E: From<Error>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut servers = self.servers();
        tokio::select! {
            biased;
            done = work => done,
            _ = servers.changed() => Err(Error::Replaced.into()),
        }
    }

    /// A connection that does not wait for locks, and whose locking reads lock no gaps. It belongs to no pool: if it is
    /// dropped in mid-transaction, it is closed, and the server rolls back.
    ///
    /// # Errors
    ///
    /// As [`Control::connect`].
    pub async fn roll_up_connection(&self) -> Result<Conn, Error> {
        let way = self.way.load_full();
        self.in_time(&way, Conn::new(way.roll_ups.clone())).await
    }

    /// Logs in and out again. Connections that are open do not show whether the server still lets this host in, and
    /// each login that goes through clears what the server holds against it (manual: max_connect_errors).
    ///
    /// # Errors
    ///
    /// As [`Control::connect`].
    pub async fn log_in_anew(&self) -> Result<(), Error> {
        let conn = self.roll_up_connection().await?;
        let left = conn.disconnect().await;
        left.map_err(|failure| self.remedies.explain(&self.address(), failure))
    }

    /// Where the server is.
    fn address(&self) -> Address {
        self.way.load().address.clone()
    }

    async fn in_time(
        &self,
        way: &Way,
        connecting: impl Future<Output = Result<Conn, DriverFailure>>,
    ) -> Result<Conn, Error> {
        match tokio::time::timeout(self.timeout, connecting).await {
            Ok(Ok(conn)) => {
                self.threads.note(conn.id());
                Ok(conn)
            }
            Ok(Err(failure)) => Err(self.remedies.explain(&way.address, failure)),
            Err(_) => Err(no_answer(&way.address, self.timeout)),
        }
    }

    /// Runs a task where the control account's connections live.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(task)
    }

    /// The open slot rows of these keys, or of all, as they are now on this server, committed or not; see
    /// [`fold::open_rows`]. `None` when there are too many, when the answer does not come in time, or when it would be
    /// another server's.
    pub async fn open_rows(
        &self,
        server: &Server,
        table: &HotTable,
        form: &KeyForm,
        keys: Option<&[Key]>,
    ) -> Option<Vec<OpenRow>> {
        let (schema, name) = (&table.schema, &table.name);
        let rows = match self.look(server, fold::open_rows(table, form, keys)).await {
            Looked::Rows(rows) => rows,
            // Away, as for DDL: then nothing is in slots, and what comes there asks for the base row first.
            Looked::Failed(DriverFailure::Server(error)) if error.code == ER_NO_SUCH_TABLE => {
                return Some(Vec::new());
            }
            Looked::Failed(error) => {
                tracing::warn!("cannot see the slots of {schema}.{name}: {error}");
                return None;
            }
            Looked::Late => {
                tracing::warn!(
                    "no answer within {LOOK_TIMEOUT:?} about the slots of {schema}.{name}"
                );
                return None;
            }
            Looked::Elsewhere => return None,
        };
        if rows.len() > fold::MOST_ROWS {
            return None;
        }
        let rows = rows.into_iter().map(|row| {
            let mut values = texts(row);
            let slot = values.pop()??;
            Some(OpenRow {
                key: form.read(&values)?,
                slot: std::str::from_utf8(&slot).ok()?.parse().ok()?,
            })
        });
        rows.collect()
    }

    /// Whether this thread's transaction holds locks; see [`held_locks`]. `None` when the answer does not come in time,
    /// or when it would be another server's.
    pub(crate) async fn holds_locks(&self, server: &Server, thread: u32) -> Option<bool> {
        match self.look(server, held_locks::question(thread)).await {
            Looked::Rows(rows) => Some(!rows.is_empty()),
            Looked::Failed(error) => {
                tracing::warn!("cannot see the locks of a session: {error}");
                None
            }
            Looked::Late => {
                tracing::warn!("no answer within {LOOK_TIMEOUT:?} about the locks of a session");
                None
            }
            Looked::Elsewhere => None,
        }
    }

    /// Asks this server about something that is not committed.
    async fn look(&self, server: &Server, question: String) -> Looked {
        let (looks, wanted) = (Arc::clone(&self.looks), server.clone());
        let look = self.runtime.spawn(async move {
            tokio::time::timeout(LOOK_TIMEOUT, looks.ask(Some(&wanted), &question)).await
        });
        match look.await {
            Ok(Ok(Ok(answer))) if answer.server == *server => Looked::Rows(answer.rows),
            Ok(Ok(Ok(answer))) => {
                self.follow(answer.server);
                Looked::Elsewhere
            }
            Ok(Ok(Err(error))) => Looked::Failed(error),
            Ok(Err(_)) => Looked::Late,
            // A runtime that ends sends no answer.
            Err(_) => Looked::Elsewhere,
        }
    }

    /// The rows of a question that any account may ask, as text; `None` when there is no answer in time.
    pub(crate) async fn ask_on_look(&self, question: &str) -> Option<Vec<Vec<Option<Vec<u8>>>>> {
        let server = self.server();
        let look = self.looks.ask(Some(&server), question);
        let answer = tokio::time::timeout(LOOK_TIMEOUT, look).await.ok()?;
        let answer = answer.inspect_err(|error| tracing::debug!("{question}: {error}"));
        let answer = answer.ok()?;
        if answer.server != server {
            self.follow(answer.server);
            return None;
        }
        Some(answer.rows.into_iter().map(texts).collect())
    }

    /// Closes all connections in good order.
    pub async fn close(self) {
        let pool = self.way.load().pool.clone();
        if let Err(error) = pool.disconnect().await {
            tracing::debug!("closing the control connections: {error}");
        }
        self.looks.close().await;
    }
}

/// What came of a question.
enum Looked {
    Rows(Vec<Row>),
    Failed(DriverFailure),
    /// There was no answer in time.
    Late,
    /// It would have been another server's, or the runtime ends.
    Elsewhere,
}

/// Servers note clients that do not say that they leave.
pub(super) async fn leave(conn: Conn) {
    if let Err(error) = conn.disconnect().await {
        tracing::debug!("closing a control connection: {error}");
    }
}

/// The values of a row of the text protocol.
pub(super) fn texts(row: Row) -> Vec<Option<Vec<u8>>> {
    let values = row.unwrap_raw().into_iter().map(|value| match value {
        Some(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    values.collect()
}

#[cfg(test)]
mod tests;

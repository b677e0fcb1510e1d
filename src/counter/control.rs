//! The control account: the proxy's own connections, for the catalog, slot tables, folds and roll-up.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use mysql_async::{
    Conn, DriverError, Error as DriverFailure, IoError, Opts, OptsBuilder, Pool, PoolConstraints,
    PoolOpts, Row, SslOpts, TlsError, Value,
};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::fold::{self, OpenRow};
use super::grants;
use super::key::{Key, KeyForm};
use super::looks::Looks;
use super::server::{self, Server};
use super::unpoisoned;
use crate::catalog::HotTable;
use crate::config::{Address, Config, UpstreamTls};
use crate::wire::error_code::{ER_NO_SUCH_TABLE, is_login_refused};

/// How long a fold waits to learn which slot rows exist, before it goes on without knowing.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// The least time between two looks at whether the address leads to another server: with a load balancer in between,
/// each session may be on one of its own.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Connections of the control account, kept in small pools.
#[derive(Clone, Debug)]
pub struct Control {
    pool: Arc<ArcSwap<Pool>>,
    pool_options: Opts,
    /// Connections that read what is not committed, and do nothing else.
    looks: Arc<Looks>,
    /// The server to which the address leads.
    server: Arc<watch::Sender<Server>>,
    /// When it was last looked whether that is another one.
    looked: Arc<Mutex<Option<Instant>>>,
    /// For connections that roll up.
    roll_ups: Opts,
    /// The runtime in which it was opened, and in which its connections live: the sessions that ask for slot rows may
    /// live in another one, which may end earlier.
    runtime: Handle,
    timeout: Duration,
    remedies: Remedies,
}

/// What to tell an operator when a connection fails.
#[derive(Clone, Debug)]
struct Remedies {
    upstream: String,
    user: String,
    grants: Vec<String>,
}

/// Why the control account has no connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing answers there.
    #[error("upstream: {address} cannot be reached: {why}; start the server, or correct upstream")]
    Unreachable {
        /// The address.
        address: String,
        /// Why.
        why: String,
    },
    /// The server refuses the account.
    #[error(
        "control: the server refuses the account: {message}; correct control.user and control.password, or make the account:{statements}"
    )]
    Denied {
        /// The server's words.
        message: String,
        /// Statements for a DBA, each on a line of its own.
        statements: String,
    },
    /// TLS fails or is missing.
    #[error("upstream_tls: {address}: {why}; {remedy}")]
    Tls {
        /// The address.
        address: String,
        /// Why.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Something else.
    #[error("upstream: {address}: {source}")]
    Other {
        /// The address.
        address: String,
        /// Why.
        source: DriverFailure,
    },
}

impl Error {
    /// Whether rules.yaml (or the account that it names) is to be corrected, rather than the server waited for.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::Tls { .. })
    }
}

impl Control {
    /// Connects once, to see whether it works and, in TLS modes `preferred` and `as_client`, whether the server has
    /// TLS.
    ///
    /// # Errors
    ///
    /// Why it does not work, with the remedy.
    pub async fn open(config: &Config) -> Result<Self, Error> {
        let encrypted = tls(&config.upstream_tls, &config.upstream);
        match Self::reach(config, encrypted).await {
            Err(Error::Tls { why, .. }) if is_optional(&config.upstream_tls) => {
                tracing::debug!("no TLS toward the upstream: {why}");
                Self::reach(config, None).await
            }
            reached => reached,
        }
    }

    async fn reach(config: &Config, encrypted: Option<SslOpts>) -> Result<Self, Error> {
        let pool_options = options(config, encrypted.clone());
        let control = Self {
            pool: Arc::new(ArcSwap::from_pointee(Pool::new(pool_options.clone()))),
            pool_options,
            looks: Arc::new(Looks::new(looking(config, encrypted.clone()))),
            server: Arc::new(watch::Sender::new(Server::new(b""))),
            looked: Arc::default(),
            roll_ups: rolling_up(config, encrypted),
            runtime: Handle::current(),
            timeout: config.handshake_timeout,
            remedies: Remedies {
                upstream: config.upstream.to_string(),
                user: config.control.user.clone(),
                grants: grants::for_control(config, "ACCOUNT"),
            },
        };
        let mut conn = control.connect().await?;
        let asked = server::ask(&mut conn).await;
        let server = asked.map_err(|failure| control.remedies.explain(failure))?;
        control.server.send_replace(server);
        drop(conn);
        Ok(control)
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
                Ok(Err(error)) => tracing::debug!("where {}: {error}", control.remedies.upstream),
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
                self.pool
                    .store(Arc::new(Pool::new(self.pool_options.clone())));
                *known = server.clone();
            }
            is_another
        });
        if is_another {
            let upstream = &self.remedies.upstream;
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
        self.in_time(self.pool.load().get_conn()).await
    }

    /// A connection that does not wait for locks, and whose locking reads lock no gaps. It belongs to no pool: if it is
    /// dropped in mid-transaction, it is closed, and the server rolls back.
    ///
    /// # Errors
    ///
    /// As [`Control::connect`].
    pub async fn roll_up_connection(&self) -> Result<Conn, Error> {
        self.in_time(Conn::new(self.roll_ups.clone())).await
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
        left.map_err(|failure| self.remedies.explain(failure))
    }

    async fn in_time(
        &self,
        connecting: impl Future<Output = Result<Conn, DriverFailure>>,
    ) -> Result<Conn, Error> {
        match tokio::time::timeout(self.timeout, connecting).await {
            Ok(Ok(conn)) => Ok(conn),
            Ok(Err(failure)) => Err(self.remedies.explain(failure)),
            Err(_) => Err(Error::Unreachable {
                address: self.remedies.upstream.clone(),
                why: format!("no answer within {:?}", self.timeout),
            }),
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
        let text = fold::open_rows(table, form, keys);
        let (looks, wanted) = (Arc::clone(&self.looks), server.clone());
        let look = self.runtime.spawn(async move {
            tokio::time::timeout(LOOK_TIMEOUT, looks.ask(Some(&wanted), &text)).await
        });
        // A runtime that ends sends no answer.
        let rows = match look.await.ok()? {
            Ok(Ok(answer)) if answer.server == *server => answer.rows,
            Ok(Ok(answer)) => {
                self.follow(answer.server);
                return None;
            }
            // Away, as for DDL: then nothing is in slots, and what comes there asks for the base row first.
            Ok(Err(DriverFailure::Server(error))) if error.code == ER_NO_SUCH_TABLE => {
                return Some(Vec::new());
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    "cannot see the slots of {}.{}: {error}",
                    table.schema,
                    table.name
                );
                return None;
            }
            Err(_) => {
                let (schema, name) = (&table.schema, &table.name);
                tracing::warn!(
                    "no answer within {LOOK_TIMEOUT:?} about the slots of {schema}.{name}"
                );
                return None;
            }
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
        let pool = Pool::clone(&self.pool.load());
        if let Err(error) = pool.disconnect().await {
            tracing::debug!("closing the control connections: {error}");
        }
        self.looks.close().await;
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

const CERTIFICATE: &str = "let upstream_tls.ca name the certificate that signed the server's";

/// The handshake of TLS reports its errors as I/O errors.
fn is_tls(error: &std::io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
}

impl Remedies {
    fn explain(&self, failure: DriverFailure) -> Error {
        let address = self.upstream.clone();
        match failure {
            DriverFailure::Io(IoError::Io(why)) if is_tls(&why) => Error::Tls {
                address,
                why: why.to_string(),
                remedy: CERTIFICATE,
            },
            DriverFailure::Io(IoError::Io(why)) => Error::Unreachable {
                address,
                why: why.to_string(),
            },
            DriverFailure::Io(IoError::Tls(TlsError::Tls(why))) => Error::Tls {
                address,
                why: why.to_string(),
                remedy: CERTIFICATE,
            },
            DriverFailure::Io(IoError::Tls(why)) => Error::Tls {
                address,
                why: why.to_string(),
                remedy: "correct upstream_tls.ca",
            },
            DriverFailure::Driver(DriverError::NoClientSslFlagFromServer) => Error::Tls {
                address,
                why: "the server has no TLS".to_owned(),
                remedy: "use mode preferred, or let the server have TLS",
            },
            DriverFailure::Server(error) if is_login_refused(error.code) => Error::Denied {
                statements: self.statements(&error.message),
                message: error.message,
            },
            source => Error::Other { address, source },
        }
    }

    /// CREATE USER and the GRANTs, for the host from which the server saw us come.
    fn statements(&self, message: &str) -> String {
        let host = message
            .split_once("'@'")
            .and_then(|(_, rest)| rest.split_once('\''))
            .or_else(|| message.strip_prefix("Host '")?.split_once('\''))
            .map_or("%", |(host, _)| host);
        let account = format!("'{}'@'{host}'", self.user);
        let create = format!("CREATE USER {account} IDENTIFIED BY '<control.password>';");
        std::iter::once(create)
            .chain(
                self.grants
                    .iter()
                    .map(|grant| grant.replace("ACCOUNT", &account)),
            )
            .map(|statement| format!("\n  {statement}"))
            .collect()
    }
}

/// The name that certificates are checked against. It makes mysql_async accept any name, as the sessions' connections
/// do.
///
/// mysql_async up to 0.37 ignores an error that has this word in its text, because that is how rustls once reported a
/// wrong name. Today's text has another wording, but quotes the expected name; no other error of rustls quotes one. If
/// that changes too, certificates are refused rather than accepted. Later versions of mysql_async compare the error
/// itself (blackbeam/mysql_async#408), and need no name of this kind.
const ANY_NAME: &str = "NotValidForName";

/// `None` for a connection without TLS.
fn tls(tls: &UpstreamTls, upstream: &Address) -> Option<SslOpts> {
    match (tls, upstream) {
        (UpstreamTls::Disabled, _) | (_, Address::Unix(_)) => None,
        (UpstreamTls::Preferred | UpstreamTls::AsClient(None), _) => {
            Some(SslOpts::default().with_danger_accept_invalid_certs(true))
        }
        (UpstreamTls::AsClient(Some(verify)) | UpstreamTls::Required(verify), _) => {
            let verified = SslOpts::default()
                .with_disable_built_in_roots(true)
                .with_root_certs(vec![verify.ca.clone().into()]);
            Some(match verify.host {
                true => verified,
                false => verified
                    .with_danger_skip_domain_validation(true)
                    .with_danger_tls_hostname_override(Some(ANY_NAME)),
            })
        }
    }
}

/// Whether a server without TLS will do. The control account has no client whose TLS it could follow.
fn is_optional(tls: &UpstreamTls) -> bool {
    matches!(tls, UpstreamTls::Preferred | UpstreamTls::AsClient(None))
}

fn options(config: &Config, tls: Option<SslOpts>) -> Opts {
    // MariaDB lets a global switch off CHECK, on which slots rely; MySQL takes that part for a comment.
    let setup = "SET autocommit = 1, completion_type = 'NO_CHAIN', \
                 sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
                 sql_quote_show_create = 1 /*M!100201 , check_constraint_checks = 1 */";
    builder(config, tls, pool()).setup(vec![setup]).into()
}

/// For connections that see what is not committed. They keep no state that would have to be reset.
fn looking(config: &Config, tls: Option<SslOpts>) -> Opts {
    let setup = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
    builder(config, tls, pool()).setup(vec![setup]).into()
}

/// Row locks are not waited for at all; tables that are locked, for a second, which is the least (manual:
/// lock_wait_timeout). The statements name keys and few rows, whatever the server's globals have sessions beware of.
/// Times are read and written where no hour comes twice.
fn rolling_up(config: &Config, tls: Option<SslOpts>) -> Opts {
    let setup = "SET autocommit = 1, completion_type = 'NO_CHAIN', sql_safe_updates = 0, sql_big_selects = 1, \
                 time_zone = '+00:00', \
                 sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait_timeout = 1, \
                 innodb_lock_wait_timeout = 1 /*M!100201 , check_constraint_checks = 1 */";
    let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    builder(config, tls, pool())
        .setup(vec![setup, isolation])
        .into()
}

fn pool() -> PoolOpts {
    let idle = Duration::from_secs(60);
    // The default of no idle time opens a new connection for nearly every use.
    PoolOpts::new()
        .with_constraints(PoolConstraints::new(0, 8).expect("0 is not more than 8"))
        .with_inactive_connection_ttl(idle)
}

fn builder(config: &Config, tls: Option<SslOpts>, pool: PoolOpts) -> OptsBuilder {
    let builder = OptsBuilder::default()
        .user(Some(config.control.user.as_str()))
        .pass(Some(config.control.password.reveal()))
        .pool_opts(pool)
        .prefer_socket(false)
        .tcp_nodelay(true)
        .connect_attribute("program_name", "countersink")
        .ssl_opts(tls);
    match &config.upstream {
        Address::Tcp(tcp) => builder.ip_or_hostname(tcp.host.clone()).tcp_port(tcp.port),
        Address::Unix(path) => builder.socket(Some(path.to_string_lossy())),
    }
}

#[cfg(test)]
mod tests;

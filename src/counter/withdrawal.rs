//! Slot tables that are taken away for as long as DDL runs on their hot tables.
//!
//! RENAME, EXCHANGE PARTITION, TRUNCATE and the like wait for a metadata lock, then give a name to other rows. An
//! increment of a known slot row needs no lock on the hot table: it would go on meanwhile, into slots that then belong
//! to other rows. So the slot table is emptied and dropped first, under LOCK TABLES of both tables. While it does not
//! exist, base alone is the value for every proxy: each learns that from the server, with the first statement that
//! needs the slot table, and no message is necessary. Once the statement has run, a slot table is made again for the
//! table that then has the name.
//!
//! Two user locks are used. The session that runs the DDL holds [`lock_name`] on its own connection, and every proxy
//! that makes the slot table takes that lock first; so the slot table stays away for exactly as long as the statement
//! can run, even if the proxy is lost. The session waits for the other lock, which the control account holds until it
//! is done: so a KILL of the client's statement, or of its connection, ends a wait that the server knows of.

use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::control::{Control, Error as ControlError};
use super::fold;
use super::node::short;
use super::quote;
use super::server::{self, Server, is_read_only};
use crate::catalog::HotTable;
use crate::wire::error_code::ER_NO_SUCH_TABLE;

/// The user lock of the connection that makes a table's slot table, or keeps it away.
pub fn lock_name(table: &HotTable) -> String {
    format!("countersink.ddl.{}", short(&slots(table)))
}

/// A slot table as SQL names it.
pub(crate) fn slots(table: &HotTable) -> String {
    quote::pair(&table.slot_schema, &table.slot_name)
}

/// The query that takes a user lock: 1, or 0 if the wait timed out.
pub fn lock(name: &str, seconds: u64) -> String {
    format!("SELECT GET_LOCK('{name}', {seconds}) LIMIT 1")
}

/// Gives a user lock back.
pub fn release(name: &str) -> String {
    format!("DO RELEASE_LOCK('{name}')")
}

/// Asks for how long the session waits for metadata locks, in seconds.
pub const PATIENCE: &str = "SELECT @@lock_wait_timeout LIMIT 1";

/// Why slots are not away.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection(#[from] ControlError),
    /// The server refuses a statement.
    #[error(transparent)]
    Server(#[from] DriverFailure),
    /// A replica, which refuses the DDL as well.
    #[error("the server is read-only")]
    ReadOnly,
    /// The runtime of the control account ends.
    #[error("the proxy stops")]
    Stopped,
}

impl Error {
    /// Code, state and message, where the server has refused a statement.
    pub fn of_server(&self) -> Option<(u16, &str, &str)> {
        match self {
            Self::Server(DriverFailure::Server(error)) => {
                Some((error.code, &error.state, &error.message))
            }
            _ => None,
        }
    }

    /// Whether it was given up for another server.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::NoConnection(ControlError::Replaced))
    }

    /// Whether a hot table is not there.
    pub fn is_missing_table(&self) -> bool {
        self.of_server()
            .is_some_and(|(code, ..)| code == ER_NO_SUCH_TABLE)
    }
}

/// Slot tables that are being taken away. When this is dropped, that is given up: no lock is held or waited for any
/// more.
#[derive(Debug)]
pub struct Withdrawal {
    /// The user lock that is held until it is done.
    pub lock: String,
    connection: u32,
    /// On which that is.
    server: Server,
    task: JoinHandle<Result<(), Error>>,
    control: Control,
}

impl Withdrawal {
    /// Begins to take away the slots of these tables, and waits no longer than this for the sessions that use them. The
    /// session with this number asked for it, and holds the lock of each.
    ///
    /// # Errors
    ///
    /// Nothing has been begun.
    pub async fn begin(
        control: &Control,
        tables: &[Arc<HotTable>],
        session: u32,
        seconds: u64,
    ) -> Result<Self, Error> {
        let lock = format!("countersink.ddl.done.{session}");
        let (ready, is_ready) = oneshot::channel();
        let task = {
            let (tables, name) = (tables.to_vec(), lock.clone());
            let owner = control.clone();
            let take = async move {
                // The address may lead there already, and the control account follow it now.
                let connected = match owner.unless_replaced(connect(&owner)).await {
                    Err(error) if error.is_replaced() => {
                        owner.unless_replaced(connect(&owner)).await
                    }
                    connected => connected,
                };
                let (mut conn, on) = connected?;
                let mut servers = owner.servers();
                let prepare = async {
                    conn.query_drop(self::lock(&name, 0)).await?;
                    let wait = format!("SET SESSION lock_wait_timeout = {seconds}");
                    Ok::<_, Error>(conn.query_drop(wait).await?)
                };
                owner.unless_replaced(prepare).await?;
                ready.send((conn.id(), on.clone())).ok();
                let replaced =
                    async { while servers.changed().await.is_ok() && *servers.borrow() == on {} };
                let taken = tokio::select! {
                    biased;
                    taken = take_away(&mut conn, tables) => taken,
                    // It may hang.
                    () = replaced => return Err(ControlError::Replaced.into()),
                };
                // Closing the connection releases all locks.
                conn.disconnect().await.ok();
                taken
            };
            control.spawn(take)
        };
        match is_ready.await {
            Ok((connection, server)) => Ok(Self {
                lock,
                connection,
                server,
                task,
                control: control.clone(),
            }),
            Err(_) => match task.await {
                Ok(Err(error)) => Err(error),
                _ => Err(Error::Stopped),
            },
        }
    }

    /// Waits until it is done: until its lock is free, there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// The slot tables are there still, and what they hold.
    pub async fn finish(mut self) -> Result<(), Error> {
        (&mut self.task).await.map_err(|_| Error::Stopped)?
    }

    /// Gives it up, and waits until it has ended: slot tables may be gone by then, or not.
    pub async fn cancel(mut self) {
        self.kill();
        (&mut self.task).await.ok();
    }

    fn kill(&self) {
        let (control, kill) = (self.control.clone(), format!("KILL {}", self.connection));
        let server = self.server.clone();
        self.control.spawn(async move {
            let killed: Result<(), Error> = control
                .ask(async |conn| {
                    // On another server the number is somebody else's.
                    if server::ask(conn).await? == server {
                        conn.query_drop(kill).await?;
                    }
                    Ok(())
                })
                .await;
            if let Err(error) = killed {
                tracing::warn!("slots that are being taken away for DDL cannot be left: {error}");
            }
        });
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if !self.task.is_finished() {
            self.kill();
        }
    }
}

/// A connection to a server that takes writes, and which one that is.
async fn connect(control: &Control) -> Result<(Conn, Server), Error> {
    let mut conn = control.roll_up_connection().await?;
    let on = server::ask(&mut conn).await?;
    match is_read_only(&mut conn).await? {
        true => Err(Error::ReadOnly),
        false => Ok((conn, on)),
    }
}

async fn take_away(conn: &mut Conn, tables: Vec<Arc<HotTable>>) -> Result<(), Error> {
    let mut there = Vec::new();
    for table in tables {
        if is_there(conn, &table).await? {
            there.push(table);
        }
    }
    if there.is_empty() {
        return Ok(());
    }
    let lock = fold::lock_alone(there);
    conn.query_drop(fold::lock_tables(&lock)).await?;
    for fold in fold::under_locks(&lock) {
        conn.query_drop(fold).await?;
    }
    for table in &lock.tables {
        conn.query_drop(format!("DROP TABLE {}", slots(table)))
            .await?;
    }
    Ok(conn.query_drop(fold::UNLOCK).await?)
}

/// Whether a table has its slot table.
///
/// # Errors
///
/// What the server says.
pub async fn is_there(conn: &mut Conn, table: &HotTable) -> Result<bool, DriverFailure> {
    let question = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
        quote::text(&table.slot_schema),
        quote::text(&table.slot_name)
    );
    let found: Option<u64> = conn.query_first(question).await?;
    Ok(found == Some(1))
}

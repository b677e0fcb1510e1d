//! The proxies before a cluster whose members all take writes. User locks are heard on one member only, so each proxy
//! has a row in a table that is replicated: the row has its number, what it says, and a beat that grows while it lives.
//!
//! A row is written by one statement in autocommit, which the cluster certifies: of two that change the same row on
//! different members one fails as a whole, and is tried again. It is read by one SELECT that first waits for all that
//! other members have committed: two proxies that first write and then read cannot both miss the other's word.
//!
//! No clocks are compared. A reader takes a row for silent when it has seen the same beat for `SILENCE` by its own
//! clock; who writes the row takes it for lost `LEASE` after the last beat at the latest, which is earlier.

mod hold;
mod member;
mod tracker;

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::time::Instant;

use super::control::{Control, Error as ControlError};
use super::grants;
use super::held_locks;
use super::node::MOST_NODES;
use super::server::Server;
use super::unpoisoned;
use crate::config::TableName;
use crate::wire::error_code::{
    ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE, is_rolled_back, lacks_privilege, may_be_tried_again,
};
pub use hold::Hold;
pub(super) use member::Member;
pub(super) use tracker::Entry;
use tracker::{Row, Tracker};

/// A row whose beat has stood still for this long is no proxy's that is here.
pub(super) const SILENCE: Duration = super::node::SILENCE;

/// For how long a proxy may act by what it has said, from when it sent its last beat.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// How often a beat is written.
pub(super) const BEAT: Duration = Duration::from_secs(2);

/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Rows that have been silent for so long are deleted.
pub(super) const FORGOTTEN: Duration = Duration::from_secs(600);

/// What is said of a table, and is about to be changed for all, is not forgotten with the one who said it: while a row
/// has been silent for less than this, its word counts.
pub(super) const GRACE: Duration = Duration::from_secs(60);

/// The numbers of proxies.
pub(super) const PROXIES: Range<u16> = 0..MOST_NODES;

/// The numbers of others that say something for a while, such as drains.
pub(super) const GUESTS: Range<u16> = 1000..u16::MAX;

/// The schema of the table.
const SCHEMA: &str = "countersink";

/// Its name.
const TABLE: &str = "proxies";

/// The table.
pub(crate) fn table() -> TableName {
    TableName {
        schema: SCHEMA.to_owned(),
        name: TABLE.to_owned(),
    }
}

/// The statements that make it.
const MAKE: [&str; 2] = [
    "CREATE DATABASE IF NOT EXISTS countersink",
    "CREATE TABLE IF NOT EXISTS countersink.proxies (\
     number SMALLINT UNSIGNED NOT NULL PRIMARY KEY, \
     proxy CHAR(32) NOT NULL, \
     beat BIGINT UNSIGNED NOT NULL, \
     says MEDIUMTEXT NOT NULL, \
     host VARCHAR(255) NOT NULL\
     ) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COMMENT = 'Which Countersink proxies are there'",
];

/// All that is known of all of them.
const READ: &str = "SELECT number, proxy, beat, says FROM countersink.proxies ORDER BY number";

/// Why the others cannot be heard, or told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection(#[from] ControlError),
    /// The control account may not use the table.
    #[error(
        "the control account may not use countersink.proxies ({message}), by which proxies on several members of a cluster hear each other; allow it: {grant}"
    )]
    Forbidden {
        /// The server's words.
        message: String,
        /// The GRANT.
        grant: String,
    },
    /// The control account may not see which locks sessions hold.
    #[error(
        "the control account may not see which locks sessions hold ({message}), by which a transaction is known that MySQL has rolled back for another member; allow it: {grant}"
    )]
    MayNotSeeLocks {
        /// The server's words.
        message: String,
        /// The GRANT.
        grant: String,
    },
    /// Nobody can see them.
    #[error(
        "performance_schema is off, which shows the transactions that MySQL has rolled back for another member; set performance_schema = ON in the server's configuration and start it again"
    )]
    NoPerformanceSchema,
    /// The server refuses a statement.
    #[error(transparent)]
    Server(DriverFailure),
    /// It does not answer in time.
    #[error("no answer within {ANSWER:?}")]
    Late,
    /// Another has taken the row, since it seemed to be nobody's, or somebody has deleted it.
    #[error("its row in countersink.proxies was taken, or deleted")]
    Taken,
    /// There is no free number.
    #[error("all numbers in countersink.proxies are taken")]
    Full,
}

impl From<DriverFailure> for Error {
    fn from(failure: DriverFailure) -> Self {
        match failure {
            DriverFailure::Server(error) if lacks_privilege(error.code) => Self::Forbidden {
                message: error.message,
                grant: grants::for_registry(".."),
            },
            failure => Self::Server(failure),
        }
    }
}

impl Error {
    fn is_missing_table(&self) -> bool {
        matches!(self, Self::Server(DriverFailure::Server(error))
            if matches!(error.code, ER_NO_SUCH_TABLE | ER_BAD_DB_ERROR))
    }
}

/// The table, as the proxies on this control account's connections see it.
#[derive(Debug)]
pub struct Registry {
    is_galera: bool,
    tracker: Mutex<Tracker>,
    /// A connection that waits for other members before it reads, and the server to which it leads.
    reader: tokio::sync::Mutex<Option<(Server, Conn)>>,
    /// The row of this proxy, from before it was claimed.
    own: Mutex<Option<(u16, String)>>,
}

impl Registry {
    /// Of a Galera cluster, or of a group.
    pub(super) fn new(is_galera: bool) -> Self {
        Self {
            is_galera,
            tracker: Mutex::default(),
            reader: tokio::sync::Mutex::default(),
            own: Mutex::default(),
        }
    }

    /// Whether it is one of a Galera cluster.
    pub(super) fn is_galera(&self) -> bool {
        self.is_galera
    }

    /// Makes the table where it is missing, and makes sure that a group shows what it must.
    ///
    /// # Errors
    ///
    /// What the server says; the GRANT, where one is missing.
    pub(super) async fn provide(&self, control: &Control) -> Result<(), Error> {
        if !self.is_galera {
            let mut conn = control.roll_up_connection().await?;
            let seen = see_locks(&mut conn).await;
            conn.disconnect().await.ok();
            seen?;
        }
        match self.read(control).await {
            Err(error) if error.is_missing_table() => {}
            // Who may not see the table is not told that it is missing.
            Err(Error::Forbidden { .. }) => {}
            read => return read.map(drop),
        }
        let mut conn = control.roll_up_connection().await?;
        for statement in MAKE {
            conn.query_drop(statement).await?;
        }
        conn.disconnect().await.ok();
        tracing::info!("{}: there now, for the proxies to hear each other", table());
        self.read(control).await.map(drop)
    }

    /// All rows, once this member has what the others have committed.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub(super) async fn read(&self, control: &Control) -> Result<Vec<Entry>, Error> {
        let rows = async {
            let (mut kept, server, mut conn) = self.reader(control).await?;
            let asked = Instant::now();
            let rows: Vec<Row> = conn.query(READ).await?;
            let answered = Instant::now();
            *kept = Some((server, conn));
            Ok((rows, asked, answered))
        };
        let rows = tokio::time::timeout(ANSWER, rows).await;
        let (rows, asked, answered) = rows.map_err(|_| Error::Late).flatten()?;
        Ok(unpoisoned(&self.tracker).see(rows, asked, answered))
    }

    /// The connection for reading. It is put back when it has answered: one whose answer was not waited for is closed.
    async fn reader(
        &self,
        control: &Control,
    ) -> Result<
        (
            tokio::sync::MutexGuard<'_, Option<(Server, Conn)>>,
            Server,
            Conn,
        ),
        Error,
    > {
        let mut kept = self.reader.lock().await;
        let server = control.server();
        if let Some((of, conn)) = kept.take()
            && of == server
        {
            return Ok((kept, server, conn));
        }
        let mut conn = control.roll_up_connection().await?;
        // A member that has lost the majority is not to answer by what it knew.
        let wait = match self.is_galera {
            true => "SET SESSION wsrep_sync_wait = 1, wsrep_dirty_reads = 0",
            false => "SET SESSION group_replication_consistency = 'BEFORE'",
        };
        conn.query_drop(wait).await?;
        Ok((kept, server, conn))
    }

    /// Deletes a row that has been silent for long. If it is written meanwhile, it stays.
    pub(super) async fn forget(&self, control: &Control, entry: &Entry) -> Result<(), Error> {
        let delete = format!(
            "DELETE FROM countersink.proxies WHERE number = {} AND proxy = '{}' AND beat = {}",
            entry.number, entry.proxy, entry.beat
        );
        let deleted = async {
            let (mut kept, server, mut conn) = self.reader(control).await?;
            conn.query_drop(delete).await?;
            *kept = Some((server, conn));
            Ok(())
        };
        let deleted = tokio::time::timeout(ANSWER, deleted).await;
        deleted.map_err(|_| Error::Late).flatten()
    }

    /// Gives up the row of this proxy, if it has one, so that nobody has to wait until it is silent.
    pub(super) async fn leave(&self, control: &Control) -> Result<(), Error> {
        let own = unpoisoned(&self.own).clone();
        let Some((number, proxy)) = own else {
            return Ok(());
        };
        member::delete_by_another(control, number, &proxy).await?;
        unpoisoned(&self.own).take_if(|(_, named)| *named == proxy);
        Ok(())
    }
}

/// Makes sure that the account sees which locks sessions hold.
async fn see_locks(conn: &mut Conn) -> Result<(), Error> {
    let is_on: Option<bool> = conn.query_first("SELECT @@performance_schema").await?;
    if is_on == Some(false) {
        return Err(Error::NoPerformanceSchema);
    }
    let seen = conn.query_drop(held_locks::question(conn.id())).await;
    seen.map_err(|failure| match Error::from(failure) {
        Error::Forbidden { message, .. } => Error::MayNotSeeLocks {
            message,
            grant: grants::to_see_locks(".."),
        },
        error => error,
    })
}

/// Whether a statement that writes one row may simply be sent again: another member's came first, or is under way.
fn has_lost(failure: &DriverFailure) -> bool {
    match failure {
        DriverFailure::Server(error) => {
            is_rolled_back(error.code, error.message.as_bytes()) || may_be_tried_again(error.code)
        }
        _ => false,
    }
}

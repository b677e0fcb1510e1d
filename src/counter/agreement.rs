//! What the proxies in front of one server tell each other about a hot table, so that none reads base alone while
//! another puts values into slots. They do so by user locks (GET_LOCK), which each holds under its number: see
//! [`Claims`]. Before a cluster whose members all take writes they do so by the rows of a table: see
//! [`registry`].
//!
//! A proxy that puts increments into slots says so, and so does one that takes base alone for the value. Each first
//! says it, then asks whether another proxy says the contrary; if so, neither goes on. Between the two is a state that
//! agrees with both: increments go to base, and reads add up the slots that exist. Every rule that is switched on or
//! off goes through it.
//!
//! A proxy that has lost its connection says nothing, and acts as before until it notices. So the connection shows
//! whether a proxy was there all the time: see [`Here`].
//!
//! [`Claims`]: super::node::Claims

mod by_locks;
mod by_rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::control::{Control, Error as ControlError};
use super::node::{has_locked, short};
use super::registry::{self, Entry, Hold, Registry};
use super::withdrawal::lock_name;
use crate::catalog::HotTable;
use crate::config::TableName;
use crate::wire::error_code::lacks_privilege;

/// What a proxy says about a hot table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may put increments into slots.
    Slots,
    /// It reads slots, and has them moved into base before it writes there.
    Reads,
    /// It takes base alone for the value.
    Base,
    /// Its sessions need slots.
    Motion,
}

impl Claim {
    /// What [`Claims::want`] takes, by the name of the slot table.
    ///
    /// [`Claims::want`]: super::node::Claims::want
    pub fn name(self, slots: &TableName) -> String {
        let word = match self {
            Self::Slots => "slots",
            Self::Reads => "reads",
            Self::Base => "base",
            Self::Motion => "motion",
        };
        format!("countersink.{word}.{}", short(&slots.to_string()))
    }
}

/// What a proxy says that knows the table by these columns: it would overlook values of other columns.
pub fn knows(slots: &TableName, columns: &[String]) -> String {
    let columns = columns.join(",").to_lowercase();
    format!("countersink.knows.{}", short(&format!("{slots}:{columns}")))
}

/// What a drain of this table says as long as it lasts.
fn drain(slots: &TableName) -> String {
    format!("countersink.drain.{}", short(&slots.to_string()))
}

/// By what the others know this proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its number.
    pub number: u16,
    /// The connection whose locks say it; `None` where a row does. While its loss is not noticed, another proxy may
    /// have the number.
    pub connection: Option<u64>,
}

/// The other proxies that are here: their numbers, and what shows that each was here all the time, such as the
/// connection by which it says what it says. As long as this does not change, all of them have said it all the time.
pub type Here = BTreeMap<usize, u64>;

/// Which proxies have a part in which slot tables: with what shows them in [`Here`], and their numbers.
pub type Partners = Vec<((TableName, u64), usize)>;

/// Why the others cannot be heard.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection(#[from] ControlError),
    /// The server refuses a question.
    #[error(transparent)]
    Server(#[from] DriverFailure),
    /// The table of proxies cannot be read or written.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// What was said is said no longer.
    #[error("the connection was lost by which other proxies were told")]
    Lost,
}

impl Error {
    /// Whether trying again may help: the server is not there or does not answer, or what was said is lost.
    pub fn is_passing(&self) -> bool {
        use registry::Error as Registry;
        let is_lasting = matches!(
            self,
            Self::Registry(
                Registry::Full | Registry::NoPerformanceSchema | Registry::MayNotSeeLocks { .. }
            )
        );
        let is_denied = matches!(
            self,
            Self::Server(DriverFailure::Server(error)) if lacks_privilege(error.code)
        );
        !is_lasting && !is_denied && !self.is_configuration()
    }

    /// Whether an account is to be corrected, rather than the server waited for.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::NoConnection(error) | Self::Registry(registry::Error::NoConnection(error)) => {
                error.is_configuration()
            }
            Self::Registry(registry::Error::Forbidden { .. }) => true,
            _ => false,
        }
    }
}

/// How the proxies hear each other.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// By user locks of the one server.
    Locks,
    /// By rows of a table that the members of a cluster replicate.
    Rows(Arc<Registry>),
}

impl Agreement {
    /// Makes what it needs.
    ///
    /// # Errors
    ///
    /// What the server says; the GRANT, where one is missing.
    pub async fn provide(&self, control: &Control) -> Result<(), Error> {
        match self {
            Self::Locks => Ok(()),
            Self::Rows(registry) => Ok(registry.provide(control).await?),
        }
    }

    /// Begins a drain, which lasts as long as what this returns; `None` while another one is under way.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn begin_drain(
        &self,
        control: &Control,
        slots: &TableName,
    ) -> Result<Option<Said>, Error> {
        match self {
            Self::Locks => {
                // The lock lasts as long as this connection, which must not go back to a pool.
                let mut conn = control.roll_up_connection().await?;
                let is_held = has_locked(&mut conn, &drain(slots)).await?;
                Ok(is_held.then_some(Said::Lock(conn)))
            }
            Self::Rows(registry) => {
                let says = BTreeSet::from([drain(slots)]);
                let hold = Hold::begin(registry, control, says).await?;
                Ok(hold.map(Said::Row))
            }
        }
    }

    /// Has this member catch up with what the others have committed.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn catch_up(&self, control: &Control) -> Result<(), Error> {
        self.numbers(control).await.map(drop)
    }

    /// Keeps the proxies on other members from making or changing the slot table of this table, as long as what this
    /// returns lasts; `None` while another does so. On one server user locks see to that.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn begin_ddl(
        &self,
        control: &Control,
        table: &HotTable,
    ) -> Result<Option<Said>, Error> {
        match self {
            Self::Locks => Ok(Some(Said::Nothing)),
            Self::Rows(registry) => {
                let says = BTreeSet::from([lock_name(table)]);
                let hold = Hold::begin(registry, control, says).await?;
                Ok(hold.map(Said::Row))
            }
        }
    }

    /// Which of these tables are being drained: positions in the list.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn drained(
        &self,
        control: &Control,
        tables: &[TableName],
    ) -> Result<Vec<usize>, Error> {
        let by_locks = async |conn: &mut Conn| by_locks::drained(conn, tables).await;
        let by_rows = |entries: &[Entry]| by_rows::drained(entries, tables);
        self.ask(control, by_locks, by_rows).await
    }

    /// The other proxies that are here.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn here(&self, control: &Control, own: Option<Own>) -> Result<Here, Error> {
        let by_locks = async |conn: &mut Conn| by_locks::here(conn, own).await;
        let by_rows = |entries: &[Entry]| by_rows::here(entries, own.map(|own| own.number));
        self.ask(control, by_locks, by_rows).await
    }

    /// Whether the others hear this proxy, and have heard it since it has said what it says. By rows its lease shows
    /// that.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn is_heard(&self, control: &Control, own: Own) -> Result<bool, Error> {
        let by_locks = async |conn: &mut Conn| by_locks::is_heard(conn, own).await;
        self.ask(control, by_locks, |_| true).await
    }

    /// The numbers of the other proxies that say this.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn others(
        &self,
        control: &Control,
        claim: &str,
        own: Option<Own>,
    ) -> Result<Vec<usize>, Error> {
        let by_locks = async |conn: &mut Conn| by_locks::others(conn, claim, own).await;
        let number = own.map(|own| own.number);
        let by_rows = |entries: &[Entry]| by_rows::others(entries, claim, number);
        self.ask(control, by_locks, by_rows).await
    }

    /// The proxies that had a part in this slot table when they fell silent a moment ago. By user locks nobody can
    /// tell.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn silent(&self, control: &Control, slots: &TableName) -> Result<Vec<usize>, Error> {
        let by_locks = async |_: &mut Conn| Ok(Vec::new());
        self.ask(control, by_locks, |entries| by_rows::silent(entries, slots))
            .await
    }

    /// Which of these proxies have a part in which of these slot tables: they read them, or take base alone for the
    /// value.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub async fn partners(
        &self,
        control: &Control,
        tables: &[TableName],
        here: &Here,
    ) -> Result<Partners, Error> {
        let by_locks = async |conn: &mut Conn| by_locks::partners(conn, tables, here).await;
        let by_rows = |entries: &[Entry]| by_rows::partners(entries, tables, here);
        self.ask(control, by_locks, by_rows).await
    }

    /// The numbers that somebody has, where rows show it; silent rows are somebody's.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub(super) async fn numbers(&self, control: &Control) -> Result<Option<BTreeSet<u16>>, Error> {
        let Self::Rows(registry) = self else {
            return Ok(None);
        };
        let entries = registry.read(control).await?;
        Ok(Some(entries.iter().map(|entry| entry.number).collect()))
    }

    /// Gives up what this proxy has, where it does not go with its connections.
    pub async fn leave(&self, control: &Control) {
        if let Self::Rows(registry) = self
            && let Err(error) = registry.leave(control).await
        {
            tracing::debug!("the row in {} stays: {error}", registry::table());
        }
    }

    async fn ask<T>(
        &self,
        control: &Control,
        by_locks: impl AsyncFnOnce(&mut Conn) -> Result<T, DriverFailure>,
        by_rows: impl FnOnce(&[Entry]) -> T,
    ) -> Result<T, Error> {
        match self {
            Self::Locks => {
                let asked = async |conn: &mut Conn| Ok(by_locks(conn).await?);
                control.ask(asked).await
            }
            Self::Rows(registry) => {
                let read = async { Ok::<_, Error>(registry.read(control).await?) };
                Ok(by_rows(&control.unless_replaced(read).await?))
            }
        }
    }
}

/// What is said to all proxies for a while. It ends when this is dropped.
#[derive(Debug)]
pub enum Said {
    /// Nothing need be.
    Nothing,
    /// By a user lock of this connection.
    Lock(Conn),
    /// By a row.
    Row(Hold),
}

impl Said {
    /// Makes sure that it is said still.
    ///
    /// # Errors
    ///
    /// It is not.
    pub async fn check(&mut self) -> Result<(), Error> {
        match self {
            Self::Lock(conn) => Ok(conn.query_drop("DO 0").await?),
            Self::Nothing => Ok(()),
            Self::Row(hold) if hold.is_held() => Ok(()),
            Self::Row(_) => Err(Error::Lost),
        }
    }

    /// Ends it. Nothing is wrong where it has ended before.
    pub async fn end(self, control: &Control) {
        match self {
            Self::Nothing => {}
            Self::Lock(conn) => {
                conn.disconnect().await.ok();
            }
            Self::Row(hold) => {
                if let Err(error) = hold.release(control).await {
                    tracing::debug!("a row in {} stays: {error}", registry::table());
                }
            }
        }
    }
}

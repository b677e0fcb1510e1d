//! A number that is held by a user lock, and what is said by others.

use std::collections::BTreeSet;
use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::time::Instant;

use super::{HERE, MOST_NODES, has_locked, lock_of, short};
use crate::catalog::HotTable;
use crate::counter::control::Control;

/// Held as long as its connection is.
#[derive(Debug)]
pub(super) struct ByLocks {
    pub(super) number: u16,
    says: BTreeSet<String>,
    /// Whether it says that it is there.
    is_here: bool,
    conn: Conn,
    /// When it last asked something that was answered: the locks were there then.
    known_at: Instant,
}

impl ByLocks {
    pub(super) async fn claim(control: &Control) -> Result<Self, String> {
        let conn = control.connect().await;
        let mut conn = conn.map_err(|error| error.to_string())?;
        for number in 0..MOST_NODES {
            let asked_at = Instant::now();
            let locked = has_locked(&mut conn, &lock_of(number)).await;
            if locked.map_err(|error| error.to_string())? {
                return Ok(Self {
                    number,
                    says: BTreeSet::new(),
                    is_here: false,
                    conn,
                    known_at: asked_at,
                });
            }
        }
        Err(format!("{MOST_NODES} are taken"))
    }

    /// The connection, as IS_USED_LOCK shows it.
    pub(super) fn connection(&self) -> u64 {
        self.conn.id().into()
    }

    /// Makes sure that the locks are there.
    pub(super) async fn ping(&mut self) -> Result<(), DriverFailure> {
        let asked_at = Instant::now();
        self.conn.ping().await?;
        self.known_at = asked_at;
        Ok(())
    }

    /// When the locks were there for certain.
    pub(super) fn known_at(&self) -> Instant {
        self.known_at
    }

    /// Says what is wanted and no longer what is not. Returns what is said.
    pub(super) async fn say(
        &mut self,
        wanted: &BTreeSet<String>,
    ) -> Result<&BTreeSet<String>, DriverFailure> {
        let gone: Vec<_> = self.says.difference(wanted).cloned().collect();
        for name in gone {
            let release = format!("SELECT RELEASE_LOCK('{name}.{}')", self.number);
            self.conn.query_drop(release).await?;
            self.says.remove(&name);
        }
        let new: Vec<_> = wanted.difference(&self.says).cloned().collect();
        for name in new {
            // An earlier process with the same number may hold it for another moment.
            if has_locked(&mut self.conn, &format!("{name}.{}", self.number)).await? {
                self.says.insert(name);
            }
        }
        if !self.is_here && self.says == *wanted {
            self.is_here = has_locked(&mut self.conn, &format!("{HERE}.{}", self.number)).await?;
        }
        Ok(&self.says)
    }

    /// Takes the lead in tables where no proxy has it.
    pub(super) async fn lead(
        &mut self,
        leads: &mut Vec<Arc<HotTable>>,
        tables: &[Arc<HotTable>],
    ) -> Result<(), DriverFailure> {
        let is_here = |led: &Arc<HotTable>| {
            let mut tables = tables.iter();
            tables.any(|table| lock_of_leader(table) == lock_of_leader(led))
        };
        leads.retain(is_here);
        for table in tables {
            let lock = lock_of_leader(table);
            if !leads.iter().any(|led| lock_of_leader(led) == lock)
                && has_locked(&mut self.conn, &lock).await?
            {
                tracing::debug!("leads {}.{}", table.schema, table.name);
                leads.push(Arc::clone(table));
            }
        }
        Ok(())
    }
}

/// The lock of the proxy that leads in a table. Names of locks have at most 64 characters, and ignore case.
fn lock_of_leader(table: &HotTable) -> String {
    let slots = format!("{}.{}", table.slot_schema, table.slot_name);
    format!("countersink.leader.{}", short(&slots))
}

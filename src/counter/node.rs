//! Which of several proxies in front of one server this one is: each leases slots of a range of its own, so that no two
//! meet on a slot row.
//!
//! The number is claimed by a user lock of the server's (GET_LOCK), which goes with the connection that holds it. While it
//! is lost, two proxies may lease the same slots: that costs waits, and nothing else. By another such lock for each slot table
//! one of the proxies leads there: it looks after what the others leave behind. While two lead, or none, slots are looked
//! through twice, or later.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::control::Control;
use crate::catalog::HotTable;

/// So many proxies may be told apart: there are no more ranges than slots.
const MOST_NODES: u16 = 256;

/// How long to wait for a number that was lost, or could not be had.
const PAUSE: Duration = Duration::from_secs(1);

/// How often the connection that holds the locks is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// The number of this proxy, held as long as this is.
#[derive(Debug)]
pub struct Node {
    /// From 0, the lowest that was free.
    pub number: u16,
    /// Where it leads.
    leads: Vec<Arc<HotTable>>,
    conn: Conn,
}

impl Node {
    /// Claims the lowest number that no other proxy holds; `None` when the server does not give one, which is logged.
    pub async fn claim(control: &Control) -> Option<Self> {
        let mut conn = match control.connect().await {
            Ok(conn) => conn,
            Err(error) => {
                tracing::warn!("no node number: {error}");
                return None;
            }
        };
        for number in 0..MOST_NODES {
            match has_locked(&mut conn, &lock_of(number)).await {
                Ok(true) => {
                    tracing::debug!("node {number}");
                    return Some(Self {
                        number,
                        leads: Vec::new(),
                        conn,
                    });
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(
                        "no node number: {error}; two proxies may wait for each other's slots"
                    );
                    return None;
                }
            }
        }
        tracing::warn!(
            "no node number: {MOST_NODES} are taken; two proxies may wait for each other's slots"
        );
        None
    }

    /// Comes to lead where nobody does.
    async fn lead(&mut self, tables: &[Arc<HotTable>]) -> Result<(), DriverFailure> {
        let is_here = |led: &Arc<HotTable>| {
            let mut tables = tables.iter();
            tables.any(|table| lock_of_leader(table) == lock_of_leader(led))
        };
        self.leads.retain(is_here);
        for table in tables {
            let lock = lock_of_leader(table);
            let mut leads = self.leads.iter();
            if !leads.any(|led| lock_of_leader(led) == lock)
                && has_locked(&mut self.conn, &lock).await?
            {
                tracing::debug!("leads {}.{}", table.schema, table.name);
                self.leads.push(Arc::clone(table));
            }
        }
        // Nothing may have been asked.
        self.conn.ping().await
    }
}

/// What the rest of the proxy is told of its number.
pub trait Listener {
    /// The hot tables with slots, now.
    fn tables(&self) -> Vec<Arc<HotTable>>;

    /// The proxy has this number, and leads in these tables.
    fn stands(&self, number: u16, leads: &[Arc<HotTable>]);
}

/// Holds a number, claims another when it is lost, and tells of each. Never returns.
pub async fn keep(control: &Control, first: Option<Node>, listener: &impl Listener) {
    let mut node = first;
    loop {
        if let Some(node) = &mut node {
            listener.stands(node.number, &node.leads);
            while let Ok(()) = node.lead(&listener.tables()).await.inspect_err(|error| {
                tracing::warn!("node {} is lost: {error}", node.number);
            }) {
                listener.stands(node.number, &node.leads);
                tokio::time::sleep(LOOK).await;
            }
            listener.stands(node.number, &[]);
        }
        tokio::time::sleep(PAUSE).await;
        node = Node::claim(control).await;
    }
}

/// The name of the lock of the proxy with this number.
pub(super) fn lock_of(number: u16) -> String {
    format!("countersink.node.{number}")
}

/// The lock of the proxy that leads in a table. Names of locks have 64 characters at most, and do not tell case.
fn lock_of_leader(table: &HotTable) -> String {
    let slots = format!("{}.{}", table.slot_schema, table.slot_name);
    let digest = digest(&SHA256, slots.as_bytes());
    let hex = digest.as_ref().iter().take(16);
    let hex: String = hex.map(|byte| format!("{byte:02x}")).collect();
    format!("countersink.leader.{hex}")
}

/// Whether a user lock could be had at once; it is held then.
pub(super) async fn has_locked(conn: &mut Conn, lock: &str) -> Result<bool, DriverFailure> {
    let got: Option<Option<i64>> = conn
        .query_first(format!("SELECT GET_LOCK('{lock}', 0)"))
        .await?;
    Ok(got.flatten() == Some(1))
}

//! What the proxies in front of one server tell each other about a hot table, so that none reads base alone while
//! another puts values into slots. They do so by user locks (GET_LOCK), which each holds under its number: see
//! [`Claims`].
//!
//! A proxy that puts increments into slots says so, and so does one that takes base alone for the value. Each first
//! says it, then asks whether another proxy says the contrary; if so, neither goes on. Between the two is a state that
//! agrees with both: increments go to base, and reads add up the slots that exist. Every rule that is switched on or
//! off goes through it.
//!
//! A proxy that has lost its connection says nothing, and acts as before until it notices. So the connection shows
//! whether a proxy was there all the time: see [`here`].
//!
//! [`Claims`]: super::node::Claims

use std::collections::BTreeMap;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::node::{HERE, MOST_NODES, has_locked, short};
use crate::config::TableName;

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
    /// The name of the user lock, for [`Claims::want`], by the name of the slot table.
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

    /// The user lock by which the proxy of this number says it.
    fn of(self, slots: &TableName, number: usize) -> String {
        format!("{}.{number}", self.name(slots))
    }
}

/// What a proxy says that knows the table by these columns: it would overlook values of other columns.
pub fn knows(slots: &TableName, columns: &[String]) -> String {
    let columns = columns.join(",").to_lowercase();
    format!("countersink.knows.{}", short(&format!("{slots}:{columns}")))
}

/// The lock that a drain of this table holds as long as it lasts.
fn drain(slots: &TableName) -> String {
    format!("countersink.drain.{}", short(&slots.to_string()))
}

/// Begins a drain, which lasts as long as the connection; false while another one is under way.
///
/// # Errors
///
/// What the server says.
pub async fn begin_drain(conn: &mut Conn, slots: &TableName) -> Result<bool, DriverFailure> {
    has_locked(conn, &drain(slots)).await
}

/// Which of these tables are being drained: positions in the list.
///
/// # Errors
///
/// What the server says.
pub async fn drained(conn: &mut Conn, tables: &[TableName]) -> Result<Vec<usize>, DriverFailure> {
    let locks = tables.iter().map(drain).enumerate();
    let used = users(conn, locks).await?;
    Ok(used.into_keys().collect())
}

/// The other proxies that are here: their numbers, and the connections by which they say what they say. As long as this
/// does not change, all of them have said it all the time.
///
/// # Errors
///
/// What the server says.
pub async fn here(conn: &mut Conn, own: Option<u16>) -> Result<Here, DriverFailure> {
    let numbers = (0..MOST_NODES).filter(|number| Some(*number) != own);
    let locks = numbers.map(|number| (usize::from(number), format!("{HERE}.{number}")));
    users(conn, locks).await
}

/// Connections by the numbers of the proxies.
pub type Here = BTreeMap<usize, u64>;

/// The numbers of the other proxies that say this.
///
/// # Errors
///
/// What the server says.
pub async fn others(
    conn: &mut Conn,
    claim: &str,
    own: Option<u16>,
) -> Result<Vec<usize>, DriverFailure> {
    let numbers = (0..MOST_NODES).filter(|number| Some(*number) != own);
    let locks = numbers.map(|number| (usize::from(number), format!("{claim}.{number}")));
    let used = users(conn, locks).await?;
    Ok(used.into_keys().collect())
}

/// Which of these proxies have a part in which of these slot tables: they read them, or take base alone for the value.
/// By their connections, with their numbers.
///
/// # Errors
///
/// What the server says.
pub async fn partners(
    conn: &mut Conn,
    tables: &[TableName],
    here: &Here,
) -> Result<Vec<((TableName, u64), usize)>, DriverFailure> {
    let most = usize::from(MOST_NODES);
    let mut partners = Vec::new();
    for claim in [Claim::Reads, Claim::Base] {
        let locks = tables.iter().enumerate().flat_map(|(position, table)| {
            let lock = move |number| (position * most + number, claim.of(table, number));
            here.keys().copied().map(lock)
        });
        for (place, connection) in users(conn, locks).await? {
            if let Some(table) = tables.get(place / most) {
                partners.push(((table.clone(), connection), place % most));
            }
        }
    }
    Ok(partners)
}

/// The connections that hold these locks.
async fn users(
    conn: &mut Conn,
    locks: impl Iterator<Item = (usize, String)>,
) -> Result<BTreeMap<usize, u64>, DriverFailure> {
    let asked = locks.map(|(place, lock)| format!("CONCAT({place}, ' ', IS_USED_LOCK('{lock}'))"));
    let asked: Vec<_> = asked.collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    // It is NULL for a lock that is free, which is left out.
    let question = format!("SELECT CONCAT_WS(',', {})", asked.join(", "));
    let used: Option<String> = conn.query_first(question).await?;
    let used = used.unwrap_or_default();
    let user = |user: &str| {
        let (place, connection) = user.split_once(' ')?;
        Some((place.parse().ok()?, connection.parse().ok()?))
    };
    Ok(used.split(',').filter_map(user).collect())
}

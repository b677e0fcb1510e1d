//! What the proxies in front of one server tell each other of a hot table, so that none reads base alone while another puts
//! values into slots: user locks (GET_LOCK) that each holds under its number, see [`Claims`].
//!
//! A proxy that puts increments into slots says so; so does one that takes base alone for the value. Both first say it, and
//! then ask whether another says the contrary; then neither goes on. In between there is a state that goes with either:
//! increments go to base, reads add up what slots there are. Whoever is switched on or off goes through that.
//!
//! [`Claims`]: super::node::Claims

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::node::{MOST_NODES, has_locked, short};
use crate::config::TableName;

/// What a proxy says of a hot table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may put increments into slots.
    Slots,
    /// It reads slots, and has them moved into base before it writes there.
    Reads,
    /// It takes base alone for the value.
    Base,
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
        };
        format!("countersink.{word}.{}", short(&slots.to_string()))
    }
}

/// What a proxy says that knows the table by these columns: values of one that it does not know it would overlook.
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
    are_used(conn, locks).await
}

/// The numbers of the proxies that say this, but for one's own.
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
    are_used(conn, locks).await
}

/// Which of the proxies of these numbers have a part in which of these slot tables: they read them, or take base alone for
/// the value.
///
/// # Errors
///
/// What the server says.
pub async fn partners(
    conn: &mut Conn,
    tables: &[TableName],
    numbers: &[usize],
) -> Result<Vec<(TableName, usize)>, DriverFailure> {
    let most = usize::from(MOST_NODES);
    let mut locks = Vec::new();
    for (position, table) in tables.iter().enumerate() {
        for number in numbers {
            for claim in [Claim::Reads, Claim::Base] {
                let lock = format!("{}.{number}", claim.name(table));
                locks.push((position * most + number, lock));
            }
        }
    }
    let used = are_used(conn, locks.into_iter()).await?;
    let partner = |place: usize| Some((tables.get(place / most)?.clone(), place % most));
    Ok(used.into_iter().filter_map(partner).collect())
}

/// Which of these locks somebody holds.
async fn are_used(
    conn: &mut Conn,
    locks: impl Iterator<Item = (usize, String)>,
) -> Result<Vec<usize>, DriverFailure> {
    let asked = locks.map(|(number, lock)| format!("IF(IS_USED_LOCK('{lock}'), {number}, NULL)"));
    let asked: Vec<_> = asked.collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let question = format!("SELECT CONCAT_WS(',', {})", asked.join(", "));
    let used: Option<String> = conn.query_first(question).await?;
    let used = used.unwrap_or_default();
    Ok(used
        .split(',')
        .filter_map(|number| number.parse().ok())
        .collect())
}

//! Which server a connection leads to: one address may lead to different servers over time.

use std::fmt;
use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

/// An expression whose value differs on each server, and stays the same when a server restarts. MariaDB has no UUID of
/// its own; two servers that agree in all of these can hardly run at the same time. Each server ignores the other's
/// half.
pub const IDENTITY: &str = "/*!80000 @@GLOBAL.server_uuid */ \
     /*M! CONCAT_WS('|', @@GLOBAL.server_id, @@hostname, @@port, @@datadir, @@socket) */";

/// A server, by what [`IDENTITY`] says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server(Arc<[u8]>);

impl Server {
    /// By the value of [`IDENTITY`]; results may be in a character set with zeros between the letters.
    pub fn new(identity: &[u8]) -> Self {
        Self(identity.iter().copied().filter(|byte| *byte != 0).collect())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// The server at the other end.
pub(super) async fn ask(conn: &mut Conn) -> Result<Server, DriverFailure> {
    let identity: Option<Option<Vec<u8>>> = conn.query_first(format!("SELECT {IDENTITY}")).await?;
    Ok(Server::new(&identity.flatten().unwrap_or_default()))
}

/// Whether the server is read-only, as a replica is. An account with the right privilege could write nevertheless, so
/// the proxy asks before it writes of its own accord.
///
/// # Errors
///
/// What the server says.
pub async fn is_read_only(conn: &mut Conn) -> Result<bool, DriverFailure> {
    let value: Option<String> = conn
        .query_first("SELECT CAST(@@GLOBAL.read_only AS CHAR)")
        .await?;
    Ok(!matches!(value.as_deref(), Some("0" | "OFF")))
}

/// Whether a server takes writes, as one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writes {
    /// It does.
    Taken,
    /// It is read-only, as a replica is.
    ReadOnly,
    /// It does not now, as a member of a cluster: why.
    Unready(String),
}

impl fmt::Display for Writes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => formatter.write_str("takes writes"),
            Self::ReadOnly => formatter.write_str("is read-only"),
            Self::Unready(why) => formatter.write_str(why),
        }
    }
}

/// A member of Galera that is not in touch with the majority of its cluster refuses statements.
const GALERA: &str =
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status')";

/// How the members of the group look from this one: its own state, how many can be reached, and how many there are.
/// Where there is no group, the id is empty, or there is no row, or no table.
const GROUP: &str = "SELECT MAX(IF(MEMBER_ID = @@server_uuid, MEMBER_STATE, '')), \
     SUM(MEMBER_STATE <> 'UNREACHABLE'), COUNT(*) \
     FROM performance_schema.replication_group_members WHERE MEMBER_ID <> '' HAVING COUNT(*) > 0";

/// Asks whether the server takes writes.
///
/// # Errors
///
/// What the server says.
pub(super) async fn writes(conn: &mut Conn) -> Result<Writes, DriverFailure> {
    if is_read_only(conn).await? {
        return Ok(Writes::ReadOnly);
    }
    let galera: Option<(String, String)> = conn
        .query_first("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
        .await?;
    if galera.is_some_and(|(_, on)| on == "ON") {
        let states: Vec<(String, String)> = conn.query(GALERA).await?;
        let is_amiss = |(_, state): &&(String, String)| !matches!(state.as_str(), "ON" | "Primary");
        if let Some((name, state)) = states.iter().find(is_amiss) {
            return Ok(Writes::Unready(format!("has {name} = {state}")));
        }
    }
    // The control account need not see them.
    let group: Result<Option<(String, u64, u64)>, _> = conn.query_first(GROUP).await;
    Ok(match group {
        Ok(Some((state, _, _))) if state != "ONLINE" => {
            Writes::Unready(format!("is {state} in its group"))
        }
        Ok(Some((_, reached, members))) if reached * 2 <= members => {
            Writes::Unready("has lost the majority of its group".to_owned())
        }
        _ => Writes::Taken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_same_in_every_character_set() {
        assert_eq!(Server::new(b"ab"), Server::new(b"\0a\0b"));
        assert_ne!(Server::new(b"ab"), Server::new(b"ac"));
    }
}

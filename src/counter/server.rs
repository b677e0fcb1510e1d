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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_same_in_every_character_set() {
        assert_eq!(Server::new(b"ab"), Server::new(b"\0a\0b"));
        assert_ne!(Server::new(b"ab"), Server::new(b"ac"));
    }
}

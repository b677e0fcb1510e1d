//! Servers with which slots do not go, whatever the tables are.

use mysql_async::{Conn, Error as DriverFailure};

use super::cluster::{self, Cluster};
use super::control::Control;
use super::locks;
use crate::catalog::Catalog;

/// Why slots do not go with a server.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Some members of its cluster are followed from one to the next, and others may take writes, too.
    #[error(
        "the server is in {0}, of which upstreams names some members, while others may take writes, too; name one member as upstream, and let a proxy stand before each, or let one member take all writes, and say single_writer: true"
    )]
    SeveralWriters(Cluster),
    /// It is no InnoDB.
    #[error(
        "two sessions got the lock of the same row (SELECT .. FOR UPDATE SKIP LOCKED), so values would not stay exact; name a MySQL or MariaDB server as upstream"
    )]
    NoRowLocks,
}

/// Why slots of these tables would not do, if so: where there are slots, all proxies must hear each other, and rows
/// must be locked.
///
/// # Errors
///
/// What the server says.
pub async fn find(
    control: &Control,
    conn: &mut Conn,
    catalog: &Catalog,
) -> Result<Option<Unfit>, DriverFailure> {
    if catalog.tables.is_empty() {
        return Ok(None);
    }
    Ok(match cluster::read(conn).await? {
        Some(cluster) if cluster.is_refused(control.config()) => {
            Some(Unfit::SeveralWriters(cluster))
        }
        _ if locks::are_none(control, catalog).await => Some(Unfit::NoRowLocks),
        _ => None,
    })
}

//! What would keep clients from logging in, or let them in as somebody else, whatever the rules say of tables.

use mysql_async::Conn;

use super::error::{Error, Problem};
use super::{proxy_protocol, read, socket_accounts};
use crate::config::{Config, Place};

/// Refuses an upstream where that would be so.
///
/// # Errors
///
/// The first reason, with the remedy; or a query that failed.
pub async fn refuse_logins(conn: &mut Conn, config: &Config) -> Result<(), Error> {
    let upstream = |problem| Error {
        place: Box::new(Place::field("upstream")),
        problem,
    };
    let server = read::server(conn).await.map_err(upstream)?;
    let problems = problems(conn, server.mariadb, config).await;
    match problems.map_err(upstream)?.into_iter().next() {
        Some(problem) => Err(upstream(problem)),
        None => Ok(()),
    }
}

/// All reasons. The error is a query that failed.
pub(super) async fn problems(
    conn: &mut Conn,
    mariadb: bool,
    config: &Config,
) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    for refused in [
        socket_accounts::refuse(conn, mariadb, config).await,
        proxy_protocol::refuse(conn, config).await,
    ] {
        match refused {
            Err(problem @ Problem::Query { .. }) => return Err(problem),
            refused => problems.extend(refused.err()),
        }
    }
    Ok(problems)
}

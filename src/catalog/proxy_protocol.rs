//! Whether the server takes the PROXY protocol's headers, where it is sent them: to any other server they are packets
//! out of order, and nobody could log in.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::error::Problem;
use crate::config::Config;

/// Refuses a server that would not take the headers. Whether it takes them from the proxy's address is not asked: the
/// server may see another one than the proxy knows.
pub(super) async fn refuse(conn: &mut Conn, config: &Config) -> Result<(), Problem> {
    if !config.proxy_protocol.send {
        return Ok(());
    }
    let networks: Option<(String, String)> = conn
        .query_first("SHOW GLOBAL VARIABLES LIKE 'proxy_protocol_networks'")
        .await
        .map_err(|source| Problem::Query {
            what: "its variables",
            source,
        })?;
    match networks {
        Some((_, networks)) if !networks.is_empty() => Ok(()),
        Some(_) => Err(Problem::NoProxyNetworks),
        None => Err(Problem::NoProxyProtocol),
    }
}

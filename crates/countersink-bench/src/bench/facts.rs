//! Facts about the server, and a check that it permits enough connections.

use serde::Serialize;

use super::Error;
use super::options::Options;
use crate::clients::{Client, number};
use crate::lent::{Account, Row};

/// Connections besides the clients': those of the proxy's control account, and the benchmark's own.
const MORE: u64 = 18;

/// Settings of the server that affect the figures.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Facts {
    /// `VERSION()`.
    pub version: String,
    /// 1 if every commit waits until the binary log is on disk.
    pub sync_binlog: i64,
    /// 1 if every commit waits until the redo log is on disk.
    pub innodb_flush_log_at_trx_commit: i64,
    /// Whether there is a binary log.
    pub log_bin: bool,
}

impl Facts {
    /// `MySQL 9.7.4` or `MariaDB 10.11.18`, with any suffix of the server's version.
    pub fn name(&self) -> String {
        let family = match self.version.contains("MariaDB") {
            true => "MariaDB",
            false => "MySQL",
        };
        format!("{family} {}", self.version.replace("-MariaDB", ""))
    }

    /// Queries the server, and checks `max_connections` before anything is created.
    pub async fn ask(upstream: &impl Account, options: &Options) -> Result<Self, Error> {
        const QUERY: &str = "SELECT VERSION(), @@sync_binlog, @@innodb_flush_log_at_trx_commit, \
             @@log_bin, @@max_connections, @@max_user_connections";
        const IN_USE: &str = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
        let mut client = Client::connect(upstream).await?;
        let rows = client.rows(QUERY).await?;
        let numbers: Option<Vec<i64>> = (1..=5).map(|column| number(&rows, 0, column)).collect();
        let Some(&[sync_binlog, flush, log_bin, most, most_of_user]) = numbers.as_deref() else {
            return Err(client.no_number(QUERY).into());
        };
        let in_use = number(&client.rows(IN_USE).await?, 0, 1).unwrap_or_default();
        client.quit().await;
        // One of them was this client's, which has quit.
        let others = count(in_use).saturating_sub(1);
        enough(
            options.most_clients(),
            "max_connections",
            count(most),
            others,
        )?;
        if most_of_user > 0 {
            let (limit, most) = ("max_user_connections", count(most_of_user));
            enough(options.most_clients(), limit, most, 0)?;
        }
        Ok(Self {
            version: text(&rows, 0).unwrap_or_default(),
            sync_binlog,
            innodb_flush_log_at_trx_commit: flush,
            log_bin: log_bin != 0,
        })
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn text(rows: &[Row], column: usize) -> Option<String> {
    let value = rows.first()?.get(column)?.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Checks that the limit permits all clients besides the connections that exist already.
fn enough(clients: u16, limit: &'static str, most: u64, used: u64) -> Result<(), Error> {
    let needed = u64::from(clients) + MORE;
    match needed + used <= most {
        true => Ok(()),
        false => Err(Error::MaxConnections {
            clients,
            needed,
            limit,
            most,
            used,
            remedy: needed + used,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_too_few_connections_is_told_of_with_the_number_that_would_do() {
        assert!(enough(64, "max_connections", 151, 69).is_ok());
        let error = enough(64, "max_connections", 151, 70).unwrap_err();
        assert_eq!(
            error.to_string(),
            "64 clients and the proxy need 82 connections, and max_connections = 151 with 70 in use; \
             take fewer --clients, or SET GLOBAL max_connections = 152"
        );
        assert_eq!(error.exit_code(), 2);
    }
}

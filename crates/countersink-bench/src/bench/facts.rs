//! What the server says of itself, and whether it lets in as many as are to come.

use serde::Serialize;

use super::Error;
use super::options::Options;
use crate::clients::{Client, number};
use crate::lent::{Account, Row};

/// Connections besides the clients': of the proxy's control account and of ours.
const MORE: u64 = 18;

/// What figures depend on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Facts {
    /// `VERSION()`.
    pub version: String,
    /// 1 where every commit waits for the binary log to be on disk.
    pub sync_binlog: i64,
    /// 1 where every commit waits for the redo log to be on disk.
    pub innodb_flush_log_at_trx_commit: i64,
    /// Whether there is a binary log at all.
    pub log_bin: bool,
}

impl Facts {
    /// `MySQL 9.7.4`, `MariaDB 10.11.18`, with whatever the server says behind the number.
    pub fn name(&self) -> String {
        let family = match self.version.contains("MariaDB") {
            true => "MariaDB",
            false => "MySQL",
        };
        format!("{family} {}", self.version.replace("-MariaDB", ""))
    }

    /// Asks, and checks `max_connections` before anything is made.
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
        // Of those in use one is ours, and gone.
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

/// Whether the limit leaves room for all clients besides those that are there already.
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

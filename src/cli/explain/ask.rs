//! Asks a running proxy for explanations.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use super::{Error, ExplainArguments, show};
use crate::cli::password;
use crate::config::HostPort;
use crate::explain::{Line, Part};

/// The explanation of each statement, each in a session of its own at the proxy.
///
/// This uses mysql_async rather than the project's own driver because it supports all authentication plugins of MySQL.
pub(super) async fn ask(
    proxy: &HostPort,
    arguments: &ExplainArguments,
    statements: &[String],
) -> Result<Vec<String>, Error> {
    let lost = |source| Error::Proxy {
        proxy: proxy.to_string(),
        source,
    };
    let password = password::read(
        arguments.password_env.as_deref(),
        arguments.password_file.as_deref(),
    )
    .map_err(Error::Password)?;
    let options = OptsBuilder::default()
        .ip_or_hostname(proxy.host.clone())
        .tcp_port(proxy.port)
        .user(arguments.user.clone())
        .pass(password)
        .db_name(arguments.schema.clone())
        .prefer_socket(false);
    let mut conn = Conn::new(options).await.map_err(lost)?;
    if let Some(modes) = &arguments.sql_mode {
        let set = format!("SET SESSION sql_mode = '{modes}'");
        conn.query_drop(set).await.map_err(lost)?;
    }
    if arguments.transaction {
        conn.query_drop("START TRANSACTION").await.map_err(lost)?;
    }
    let mut explained = Vec::new();
    for statement in statements {
        let question = format!("EXPLAIN FORMAT=COUNTERSINK {statement}");
        let rows: Vec<(String, String, String)> =
            conn.query(question).await.map_err(|source| match source {
                mysql_async::Error::Server(error) => Error::NotAProxy {
                    proxy: proxy.to_string(),
                    message: error.to_string(),
                },
                source => lost(source),
            })?;
        let lines = rows.into_iter().map(|(part, when, text)| Line {
            // A newer proxy may have further parts.
            part: Part::of(&part).unwrap_or(Part::Note),
            when,
            text,
        });
        explained.push(show(&lines.collect::<Vec<_>>()));
    }
    conn.disconnect().await.map_err(lost)?;
    Ok(explained)
}

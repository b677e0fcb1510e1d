//! Asks a running proxy for explanations.

use std::path::Path;

use mysql_async::prelude::Queryable;
use mysql_async::{ClientIdentity, Conn, DriverError, OptsBuilder, SslOpts};

use super::{Error, ExplainArguments, show};
use crate::cli::password;
use crate::config::HostPort;
use crate::counter::control::{any_certificate, signed_for_any_host};
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
    let mut conn = match Conn::new(options.clone().ssl_opts(tls(arguments)?)).await {
        Err(mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer)) => {
            if arguments.ssl_ca.is_some() || arguments.ssl_cert.is_some() {
                return Err(Error::NoTls {
                    proxy: proxy.to_string(),
                });
            }
            Conn::new(options).await
        }
        connected => connected,
    }
    .map_err(lost)?;
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

/// As MySQL's own clients: any certificate will do, unless authorities are named.
fn tls(arguments: &ExplainArguments) -> Result<SslOpts, Error> {
    let tls = match &arguments.ssl_ca {
        Some(ca) => signed_for_any_host(read(ca)?),
        None => any_certificate(),
    };
    let own = match (&arguments.ssl_cert, &arguments.ssl_key) {
        (Some(certificate), Some(key)) => Some(ClientIdentity::new(
            read(certificate)?.into(),
            read(key)?.into(),
        )),
        _ => None,
    };
    Ok(tls.with_client_identity(own))
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|source| Error::Unreadable {
        name: file.display().to_string(),
        source,
    })
}

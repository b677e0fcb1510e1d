//! Asks the control connection for everything that findings are made of. Each statement reads.

mod accounts;
mod extremes;
mod programs;

use std::time::{SystemTime, UNIX_EPOCH};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use super::Error;
use super::evidence::{Clock, Evidence, Seen};
use crate::catalog::read::rows;
use crate::catalog::{Catalog, Examined, HotTable, Problem, examine};
use crate::config::Config;
use crate::counter::cluster;
use crate::counter::provision::{self, State};
use crate::counter::quote;
use crate::counter::rollup::unique_key;
use crate::wire::error_code::{ER_UNKNOWN_SYSTEM_VARIABLE, lacks_privilege};

pub(super) async fn gather(conn: &mut Conn, config: &Config) -> Result<Evidence, Error> {
    let examination = examine(conn, config).await?;
    let mut evidence = Evidence {
        account: quoted(&value(conn, "CURRENT_USER()").await?),
        read_only: is_on(&value(conn, "@@GLOBAL.read_only").await?),
        binlog_format: None,
        cluster: None,
        clock: clock(conn).await?,
        tables: Vec::new(),
        unserved: Vec::new(),
        accounts: None,
        examination,
    };
    // Such servers lack what would be asked.
    if evidence.examination.is_of_another_kind() {
        return Ok(evidence);
    }
    let mariadb = evidence.examination.server.mariadb;
    if is_on(&value(conn, "@@GLOBAL.log_bin").await?) {
        evidence.binlog_format = Some(value(conn, "@@GLOBAL.binlog_format").await?);
    }
    evidence.cluster = cluster::read(conn).await.map_err(|source| {
        let what = "the server's cluster";
        Error::Query(Problem::Query { what, source })
    })?;
    if !mariadb {
        fresh_statistics(conn).await;
    }
    let catalog = &evidence.examination.catalog;
    for examined in &evidence.examination.tables {
        evidence.tables.push(seen(conn, catalog, examined).await?);
    }
    evidence.unserved = unserved(conn, config, catalog).await?;
    let accounts = accounts::read(conn, mariadb).await;
    evidence.accounts = unless_denied(accounts).map_err(Error::Query)?;
    Ok(evidence)
}

/// The value of an expression as text; empty where the server has no such variable.
async fn value(conn: &mut Conn, expression: &str) -> Result<String, Error> {
    let query = format!("SELECT CAST({expression} AS CHAR)");
    let tuple = mysql_async::from_row_opt::<String>;
    match rows(conn, "its settings", &query, (), tuple).await {
        Ok(mut found) => Ok(found.pop().unwrap_or_default()),
        Err(Problem::Query {
            source: DriverFailure::Server(error),
            ..
        }) if error.code == ER_UNKNOWN_SYSTEM_VARIABLE => Ok(String::new()),
        Err(problem) => Err(Error::Query(problem)),
    }
}

/// Whether a switch is on: MySQL casts it to a number, MariaDB to a word.
fn is_on(value: &str) -> bool {
    !["", "0", "OFF"].contains(&value)
}

/// MySQL may show numbers of rows that are a day old. Where it will not, so be it: they are only estimates.
async fn fresh_statistics(conn: &mut Conn) {
    let set = "SET SESSION information_schema_stats_expiry = 0";
    if let Err(error) = conn.query_drop(set).await {
        tracing::debug!("numbers of rows may be old: {error}");
    }
}

/// `user@host` as SQL writes it.
fn quoted(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    format!("{}@{}", quote::text(user), quote::text(host))
}

async fn clock(conn: &mut Conn) -> Result<Clock, Error> {
    let asked = now();
    // In UTC, where no hour comes twice.
    let since = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000000";
    let said = value(conn, since).await?;
    Ok(Clock {
        asked,
        said: said.parse().unwrap_or(asked),
        answered: now(),
    })
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

async fn seen(conn: &mut Conn, catalog: &Catalog, examined: &Examined) -> Result<Seen, Error> {
    let table = examined.table.as_ref().filter(|table| table.slots > 0);
    let (Some(table), Some(facts)) = (table, &examined.facts) else {
        return Ok(Seen::default());
    };
    let adopted = match &table.adopted {
        Some(adopted) => unique_key(conn, adopted).await.err(),
        None => None,
    };
    let (partitioned, size) = storage(conn, table).await.map_err(Error::Query)?;
    let slots = slots(conn, catalog, table).await?;
    let lacks_schema = matches!(slots, Some(State::Missing(_)))
        && !has_schema(conn, &table.slot_schema)
            .await
            .map_err(Error::Query)?;
    let extremes = extremes::read(conn, catalog.mariadb, table, facts, size).await;
    Ok(Seen {
        slots,
        lacks_schema,
        partitioned,
        adopted: adopted.map(|error| error.to_string()),
        extremes: unless_denied(extremes)
            .map_err(Error::Query)?
            .unwrap_or_default(),
        programs: programs::read(conn, table).await.map_err(Error::Query)?,
    })
}

/// Whether the table is partitioned, and about how many rows it has.
async fn storage(conn: &mut Conn, table: &HotTable) -> Result<(bool, u64), Problem> {
    let query = "SELECT COALESCE(CREATE_OPTIONS, ''), CAST(COALESCE(TABLE_ROWS, 0) AS UNSIGNED) \
                 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
    let tuple = mysql_async::from_row_opt::<(String, u64)>;
    let names = (&table.schema, &table.name);
    let mut found = rows(conn, "the table's storage", query, names, tuple).await?;
    let (options, size) = found.pop().unwrap_or_default();
    Ok((options.contains("partitioned"), size))
}

async fn has_schema(conn: &mut Conn, schema: &str) -> Result<bool, Problem> {
    let query = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?";
    let tuple = mysql_async::from_row_opt::<String>;
    let found = rows(conn, "the schemas", query, (schema,), tuple).await?;
    Ok(!found.is_empty())
}

/// None when the control account may not look, as its grants show.
async fn slots(
    conn: &mut Conn,
    catalog: &Catalog,
    table: &HotTable,
) -> Result<Option<State>, Error> {
    match provision::survey(conn, catalog, table).await {
        Ok(state) => Ok(Some(state)),
        Err(problem) if is_denied_slots(&problem) => Ok(None),
        Err(problem) => Err(Error::Slots(problem)),
    }
}

async fn unserved(
    conn: &mut Conn,
    config: &Config,
    catalog: &Catalog,
) -> Result<Vec<(usize, provision::Problem)>, Error> {
    let mut found = Vec::new();
    for rule in config.rules.iter().filter(|rule| !rule.has_slots()) {
        match provision::survey_unserved(conn, catalog, rule).await {
            Ok(problem) => found.extend(problem.map(|problem| (rule.index, problem))),
            Err(problem) if is_denied_slots(&problem) => {}
            Err(problem) => return Err(Error::Slots(problem)),
        }
    }
    Ok(found)
}

/// None when the control account may not see what was asked for.
fn unless_denied<T>(found: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Problem::Query { source, .. }) if is_denied(&source) => Ok(None),
        Err(problem) => Err(problem),
    }
}

fn is_denied_slots(problem: &provision::Problem) -> bool {
    match problem {
        provision::Problem::Failed { source, .. }
        | provision::Problem::Catalog(Problem::Query { source, .. }) => is_denied(source),
        _ => false,
    }
}

fn is_denied(failure: &DriverFailure) -> bool {
    matches!(failure, DriverFailure::Server(error) if lacks_privilege(error.code))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn accounts_are_quoted() {
        assert_eq!(quoted("app@%"), "'app'@'%'");
        assert_eq!(quoted("a@b'c@10.0.0.%"), "'a@b''c'@'10.0.0.%'");
    }
}

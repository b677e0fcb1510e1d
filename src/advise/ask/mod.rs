//! Watches a server without the proxy: which clients wait for row locks at each look, and which statements run
//! meanwhile.
//!
//! What the account may not see, or the server does not record, is reported with the remedy, and the next best source
//! is used.

mod digests;
mod innodb_status;
mod innodb_tables;
mod performance_schema;
mod transactions;
mod waiters;

use std::future::Future;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::time::{Instant, sleep};

use super::evidence::{Evidence, Source};
use crate::catalog::Problem;
use crate::catalog::read::{self, rows};
use crate::wire::error_code::{ER_NO_SUCH_TABLE, lacks_privilege};
use digests::Digests;
use waiters::{Waiter, Waiters};

/// How often the server is looked at. InnoDB's tables in information_schema keep what they have shown for 100 ms.
const PACE: Duration = Duration::from_millis(150);

/// After a look the pause is this many times as long as the look: looking holds up the lock system for all sessions.
const PAUSE: u32 = 9;

/// Why nothing was seen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The account may see no lock waits.
    #[error(
        "{account} may not see who waits for locks: {why}; let a DBA run{}",
        lines(grants)
    )]
    Blind {
        /// As GRANT writes it.
        account: String,
        /// The server's words.
        why: String,
        /// One of these statements is enough.
        grants: Vec<String>,
    },
    /// A query failed.
    #[error(transparent)]
    Query(#[from] Problem),
}

fn lines(statements: &[String]) -> String {
    let lines = statements
        .iter()
        .map(|statement| format!("\n  {statement}"));
    lines.collect::<Vec<_>>().join("\n  -- or")
}

/// Watches for this long, or until `stop` is ready. `step` is called now and then with the elapsed time.
///
/// Not cancel safe: the connection cannot be used afterwards.
///
/// # Errors
///
/// When no lock waits can be seen, with the GRANT; or a query that failed.
pub async fn watch(
    conn: &mut Conn,
    window: Duration,
    stop: impl Future<Output = ()>,
    mut step: impl FnMut(Duration),
) -> Result<Evidence, Error> {
    let server = read::server(conn).await?;
    let records = is_on(conn).await?;
    let mut unseen = Vec::new();
    let source = source(conn, server.mariadb, records, &mut unseen).await?;
    let digests = match records {
        true => Digests::begin(conn, &mut unseen).await?,
        false => None,
    };
    if digests.is_none() && !records {
        unseen.push(
            "how often statements run, for performance_schema is off: set performance_schema = ON in the server's \
             configuration and start it again; what runs at each look is counted instead"
                .to_owned(),
        );
    }
    let locks_before = row_lock_waits(conn).await?;
    let mut waiters = Waiters::default();
    let begun = Instant::now();
    tokio::pin!(stop);
    loop {
        let look = Instant::now();
        waiters.take(source.look(conn).await?);
        if digests.is_none() {
            waiters.glimpse(&innodb_tables::running(conn).await?);
        }
        step(begun.elapsed());
        let pause = PACE.max(look.elapsed() * PAUSE);
        let next = look + pause;
        let end = begun + window;
        tokio::select! {
            () = &mut stop => break,
            () = sleep(next.min(end).saturating_duration_since(Instant::now())) => {}
        }
        if Instant::now() >= end {
            break;
        }
    }
    let window = begun.elapsed();
    let locks_after = row_lock_waits(conn).await?;
    let are_executions = digests.is_some();
    let followers = match source {
        Locks::PerformanceSchema => performance_schema::followers(conn).await?,
        Locks::Tables | Locks::Status => Vec::new(),
    };
    let statements = match digests {
        Some(digests) => digests.end(conn, &mut unseen).await?,
        None => waiters.glimpsed(),
    };
    Ok(Evidence {
        source: source.name(),
        window,
        looks: Some(waiters.looks()),
        statements,
        are_executions,
        crowds: waiters.crowds(),
        followers,
        row_lock_waits: since(locks_before, locks_after),
        unseen,
    })
}

/// Where lock waits are seen.
enum Locks {
    PerformanceSchema,
    Tables,
    Status,
}

impl Locks {
    fn name(&self) -> Source {
        match self {
            Self::PerformanceSchema => Source::PerformanceSchema,
            Self::Tables => Source::InnodbTables,
            Self::Status => Source::InnodbStatus,
        }
    }

    async fn look(&self, conn: &mut Conn) -> Result<Vec<Waiter>, Problem> {
        match self {
            Self::PerformanceSchema => performance_schema::waiters(conn).await,
            Self::Tables => innodb_tables::waiters(conn).await,
            Self::Status => innodb_status::waiters(conn).await,
        }
    }
}

/// The best that the account may see and the server has.
async fn source(
    conn: &mut Conn,
    mariadb: bool,
    records: bool,
    unseen: &mut Vec<String>,
) -> Result<Locks, Error> {
    const PROCESS: &str = "GRANT PROCESS ON *.* TO";
    const RECORDS: &str = "GRANT SELECT ON performance_schema.* TO";
    if mariadb {
        return match unless_denied(innodb_tables::waiters(conn).await)? {
            Ok(_) => Ok(Locks::Tables),
            Err(why) => Err(blind(conn, why.message, &[PROCESS]).await),
        };
    }
    let why = match records {
        true => match unless_denied(performance_schema::waiters(conn).await)? {
            Ok(_) => {
                performance_schema::consumers(conn, unseen).await?;
                return Ok(Locks::PerformanceSchema);
            }
            Err(why) if why.is_missing => why.message,
            Err(why) => format!("{}; {}", why.message, grant(RECORDS, &account(conn).await)),
        },
        false => "it is off; set performance_schema = ON in the server's configuration and start it again".to_owned(),
    };
    match unless_denied(innodb_status::waiters(conn).await)? {
        Ok(_) => {
            unseen.push(format!("rows by performance_schema.data_locks: {why}"));
            Ok(Locks::Status)
        }
        Err(why) => Err(blind(conn, why.message, &[RECORDS, PROCESS]).await),
    }
}

async fn blind(conn: &mut Conn, why: String, grants: &[&str]) -> Error {
    let account = account(conn).await;
    Error::Blind {
        grants: grants.iter().map(|start| grant(start, &account)).collect(),
        account,
        why,
    }
}

fn grant(start: &str, account: &str) -> String {
    format!("{start} {account};")
}

/// The account as the server has matched it.
async fn account(conn: &mut Conn) -> String {
    let asked: Result<Option<String>, _> = conn.query_first("SELECT CURRENT_USER()").await;
    let account = asked.ok().flatten().unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    format!("{}@{}", quoted(user), quoted(host))
}

/// Why something cannot be seen.
struct Closed {
    /// The server's words.
    message: String,
    /// There is no such table: MySQL 5.7 has no data_lock_waits.
    is_missing: bool,
}

/// What was asked, or the server's words when the account may not see it, or the server has none.
fn unless_denied<T>(asked: Result<T, Problem>) -> Result<Result<T, Closed>, Problem> {
    match asked {
        Ok(found) => Ok(Ok(found)),
        Err(Problem::Query {
            source: DriverFailure::Server(error),
            ..
        }) if lacks_privilege(error.code) || error.code == ER_NO_SUCH_TABLE => Ok(Err(Closed {
            message: error.message,
            is_missing: error.code == ER_NO_SUCH_TABLE,
        })),
        Err(problem) => Err(problem),
    }
}

/// Whether performance_schema is on.
async fn is_on(conn: &mut Conn) -> Result<bool, Problem> {
    let tuple = mysql_async::from_row_opt::<u8>;
    let on = rows(
        conn,
        "its settings",
        "SELECT @@performance_schema",
        (),
        tuple,
    )
    .await?;
    Ok(on == [1])
}

/// How often row locks were waited for since the server started, and for how long in all.
async fn row_lock_waits(conn: &mut Conn) -> Result<Option<(u64, Duration)>, Problem> {
    let query = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_time')";
    let asked: Result<Vec<(String, String)>, _> = conn.query(query).await;
    let asked = asked.map_err(|source| Problem::Query {
        what: "row lock waits",
        source,
    })?;
    let of = |name: &str| {
        let mut found = asked.iter();
        let (_, value) = found.find(|(variable, _)| variable.eq_ignore_ascii_case(name))?;
        value.parse::<u64>().ok()
    };
    let waits = of("Innodb_row_lock_waits").zip(of("Innodb_row_lock_time"));
    Ok(waits.map(|(waits, time)| (waits, Duration::from_millis(time))))
}

fn since(
    before: Option<(u64, Duration)>,
    after: Option<(u64, Duration)>,
) -> Option<(u64, Duration)> {
    let ((waits, time), (more_waits, more_time)) = before.zip(after)?;
    Some((
        more_waits.saturating_sub(waits),
        more_time.saturating_sub(time),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_server_lacks_is_closed_like_what_may_not_be_seen() {
        let failed = |code| {
            let error = mysql_async::ServerError {
                code,
                message: "no".to_owned(),
                state: String::new(),
            };
            unless_denied::<()>(Err(Problem::Query {
                what: "who waits",
                source: DriverFailure::Server(error),
            }))
        };
        for (code, missing) in [(1146, true), (1142, false)] {
            let closed = failed(code).expect("no problem").expect_err("closed");
            assert_eq!(
                (closed.message.as_str(), closed.is_missing),
                ("no", missing)
            );
        }
        assert!(failed(1317).is_err());
    }

    #[test]
    fn who_may_see_nothing_is_told_which_grants_would_do() {
        let error = Error::Blind {
            account: "'app'@'%'".to_owned(),
            why: "no".to_owned(),
            grants: vec![
                grant("GRANT PROCESS ON *.* TO", "'app'@'%'"),
                "B;".to_owned(),
            ],
        };
        assert_eq!(
            error.to_string(),
            "'app'@'%' may not see who waits for locks: no; let a DBA run\n  GRANT PROCESS ON *.* TO 'app'@'%';\n  -- or\n  B;"
        );
    }
}

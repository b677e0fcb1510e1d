//! ROLLUP, PAUSE, RESUME, SHUTDOWN, KILL.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;

use super::handles::Desk;
use super::statement::Name;
use super::table::{Answer, Code, Column, Refusal, Table, integer, text};
use crate::catalog::{Catalog, HotTable};
use crate::config::did_you_mean;
use crate::counter::rollup::{self, RollUp};
use crate::metrics::Metrics;
use crate::wire::error_code::ER_NO_SUCH_THREAD;

/// How long a session that is killed may take to come to its own end, before the server is asked to end its statement.
/// Others may have increments in what it has under way.
const OWN_END: Duration = Duration::from_millis(200);

/// How long the server may take to answer that it kills.
const SERVERS_ANSWER: Duration = Duration::from_secs(5);

/// What ROLLUP answers.
pub(super) const ROLLUP_COLUMNS: [Column; 6] = [
    text("schema", "schema of the table"),
    text("table", "the table"),
    integer("moved", "slot rows that were moved into rows"),
    integer(
        "orphans",
        "slot rows that were deleted because their rows were no more",
    ),
    integer(
        "left",
        "slot rows that hold something still, or again; NULL where it has failed",
    ),
    text("error", "why it has failed; NULL where it has not"),
];

/// Rolls up one hot table, or all.
pub(super) async fn roll_up(desk: &Desk, name: Option<Name>) -> Result<Answer, Refusal> {
    let catalog = Arc::clone(&desk.shared.hot().catalog);
    let is_named = name.is_some();
    let tables = match name {
        None => catalog.tables.clone(),
        Some(name) => vec![hot_table(&catalog, &name)?],
    };
    let mut rows = Vec::new();
    for table in tables {
        // What it alone has done.
        let counts = Arc::<Metrics>::default();
        let mut rolling = RollUp::new(desk.control.clone(), Arc::clone(&counts));
        let rolled = rolling.now(&table).await;
        desk.shared.metrics.add_roll_ups(&counts);
        if let Err(error) = &rolled {
            desk.shared
                .metrics
                .count_failed_roll_up(matches!(error, rollup::Error::Drift));
            let message = format!("roll-up of {}.{}: {error}", table.schema, table.name);
            tracing::warn!("console: {message}");
            if is_named {
                return Err(Refusal::new(Code::Failed, message));
            }
        }
        rows.push(vec![
            table.schema.as_str().into(),
            table.name.as_str().into(),
            counts.rolled_up().into(),
            counts.orphans().into(),
            rolled.as_ref().ok().map(|rolled| rolled.left).into(),
            rolled.err().map(|error| error.to_string()).into(),
        ]);
    }
    Ok(Answer::Rows(Table::of(&ROLLUP_COLUMNS, rows)))
}

/// The hot table of this name.
fn hot_table(catalog: &Catalog, name: &Name) -> Result<Arc<HotTable>, Refusal> {
    let schema = name.schema.as_deref().unwrap_or_default();
    let found = catalog.table(schema, &name.table).cloned();
    found.ok_or_else(|| {
        let named = format!("{schema}.{}", name.table);
        let known: Vec<_> = catalog
            .tables
            .iter()
            .map(|table| format!("{}.{}", table.schema, table.name))
            .collect();
        let near = did_you_mean(&named, known.iter().map(String::as_str));
        let message = format!("{named} is no hot table with slots{near}; SHOW COUNTERS lists them");
        Refusal::new(Code::NoSuchTable, message)
    })
}

/// Makes connecting clients wait, or serves them again.
pub(super) fn pause(desk: &Desk, paused: bool) -> Answer {
    tracing::info!("console: {}", if paused { "PAUSE" } else { "RESUME" });
    desk.shared.sessions.pause(paused);
    Answer::Done
}

/// Stops the proxy as SIGTERM does.
pub(super) fn shut_down(desk: &Desk) -> Answer {
    tracing::info!("console: SHUTDOWN");
    desk.shared.sessions.ask_to_stop();
    Answer::Done
}

/// Closes a session. Without a command it closes by itself; otherwise the server kills its statement and connection;
/// and if it still waits for its client, the client is disconnected.
pub(super) async fn kill(desk: &Desk, id: u32) -> Result<Answer, Refusal> {
    let sessions = &desk.shared.sessions;
    if !sessions.kill(id) {
        let message = format!("Unknown thread id: {id}; SHOW SESSIONS lists those that there are");
        return Err(Refusal::new(Code::NoSuchThread, message));
    }
    tracing::info!("console: KILL {id}");
    let has_left = async || {
        let left = tokio::time::timeout(OWN_END, sessions.until_left(id));
        left.await.is_ok()
    };
    if has_left().await {
        return Ok(Answer::Done);
    }
    let killed = tokio::time::timeout(SERVERS_ANSWER, kill_upstream(desk, id)).await;
    let killed = killed.unwrap_or_else(|_| Err("it does not answer".to_owned()));
    if has_left().await {
        return Ok(Answer::Done);
    }
    sessions.cut(id);
    match killed {
        Err(why) if !has_left().await => {
            let message = format!(
                "session {id} closes when its statement has ended, for the server does not kill it: {why}; allow it with \
                 GRANT CONNECTION_ADMIN ON *.* (MariaDB: CONNECTION ADMIN) to the control account, and SYSTEM_USER as \
                 well where the session's account has that"
            );
            tracing::warn!("console: {message}");
            Err(Refusal::new(Code::Failed, message))
        }
        _ => Ok(Answer::Done),
    }
}

async fn kill_upstream(desk: &Desk, id: u32) -> Result<(), String> {
    let connecting = desk.control.connect().await;
    let mut conn = connecting.map_err(|error| error.to_string())?;
    match conn.query_drop(format!("KILL {id}")).await {
        Err(mysql_async::Error::Server(error)) if error.code == ER_NO_SUCH_THREAD => Ok(()),
        killed => killed.map_err(|error| error.to_string()),
    }
}

//! Lock waits by MySQL's performance_schema (manual: "The data_lock_waits Table", "The data_locks Table").

use std::collections::HashSet;

use mysql_async::Conn;

use super::transactions::Transactions;
use super::waiters::Waiter;
use crate::advise::evidence::{Follower, Row};
use crate::catalog::Problem;
use crate::catalog::read::rows;
use crate::config::TableName;

/// Each lock that is waited for once, however many are before it in the queue. Of a statement within a routine the
/// innermost comes first.
const WAITERS: &str = "SELECT l.THREAD_ID, l.OBJECT_SCHEMA, l.OBJECT_NAME, l.INDEX_NAME, l.LOCK_DATA, \
     COALESCE(s.CURRENT_SCHEMA, p.PROCESSLIST_DB), COALESCE(s.SQL_TEXT, p.PROCESSLIST_INFO), t.AUTOCOMMIT \
     FROM (SELECT DISTINCT ENGINE, REQUESTING_ENGINE_LOCK_ID FROM performance_schema.data_lock_waits LIMIT 2000) AS w \
     JOIN performance_schema.data_locks AS l \
     ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = w.ENGINE \
     LEFT JOIN performance_schema.threads AS p ON p.THREAD_ID = l.THREAD_ID \
     LEFT JOIN performance_schema.events_statements_current AS s \
     ON s.THREAD_ID = l.THREAD_ID AND s.END_EVENT_ID IS NULL \
     LEFT JOIN performance_schema.events_transactions_current AS t \
     ON t.THREAD_ID = l.THREAD_ID AND t.STATE = 'ACTIVE' \
     WHERE l.LOCK_TYPE = 'RECORD' ORDER BY s.NESTING_EVENT_LEVEL DESC";

type Columns = (
    Option<u64>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<Vec<u8>>,
    Option<String>,
    Option<Vec<u8>>,
    Option<String>,
);

/// The clients that wait now.
pub(super) async fn waiters(conn: &mut Conn) -> Result<Vec<Waiter>, Problem> {
    let map = mysql_async::from_row_opt::<Columns>;
    let found = rows(conn, "who waits for row locks", WAITERS, (), map).await?;
    let mut threads = HashSet::new();
    let waiters = found.into_iter().filter(|row| threads.insert(row.0));
    Ok(waiters.map(waiter).collect())
}

fn waiter(row: Columns) -> Waiter {
    let (_, schema, name, index, data, current, statement, autocommit) = row;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let record = index.zip(data).map(|(index, data)| Row::Record {
        index,
        data: text(data),
    });
    Waiter {
        schema: current,
        statement: statement.map(text),
        table: schema
            .zip(name)
            .map(|(schema, name)| TableName { schema, name }),
        row: record,
        in_transaction: autocommit.map(|autocommit| autocommit == "NO"),
    }
}

/// The statements that each client has run last within a transaction (ten of each, unless the server is set otherwise).
const TRANSACTIONS: &str = "SELECT THREAD_ID, NESTING_EVENT_ID, CURRENT_SCHEMA, SQL_TEXT \
     FROM performance_schema.events_statements_history WHERE NESTING_EVENT_TYPE = 'TRANSACTION' \
     ORDER BY THREAD_ID, EVENT_ID LIMIT 20000";

/// What transactions run after their updates; nothing if the server does not record it.
pub(super) async fn followers(conn: &mut Conn) -> Result<Vec<Follower>, Problem> {
    type Columns = (Option<u64>, Option<u64>, Option<String>, Option<Vec<u8>>);
    let map = mysql_async::from_row_opt::<Columns>;
    let asked = rows(conn, "what transactions run", TRANSACTIONS, (), map).await;
    let found = super::unless_denied(asked)?.unwrap_or_default();
    let mut transactions = Transactions::default();
    for (thread, transaction, schema, text) in found {
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        transactions.take(
            (thread, transaction),
            schema,
            text.as_deref().unwrap_or_default(),
        );
    }
    Ok(transactions.followers())
}

/// Says what the server is set not to record.
pub(super) async fn consumers(conn: &mut Conn, unseen: &mut Vec<String>) -> Result<(), Problem> {
    const QUERY: &str = "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' \
         AND NAME IN ('global_instrumentation', 'thread_instrumentation', 'events_statements_current', 'statements_digest')";
    let map = mysql_async::from_row_opt::<String>;
    let asked = rows(conn, "what is recorded", QUERY, (), map).await;
    let Ok(off) = super::unless_denied(asked)? else {
        return Ok(());
    };
    if !off.is_empty() {
        let list: Vec<String> = off.iter().map(|name| format!("'{name}'")).collect();
        unseen.push(format!(
            "some statements, for the server does not record them: UPDATE performance_schema.setup_consumers \
             SET ENABLED = 'YES' WHERE NAME IN ({});",
            list.join(", ")
        ));
    }
    Ok(())
}

//! The same rows in several schemas.

use std::time::Duration;

use countersink_sandbox::Address;

use crate::session::{Interrupted, Session};
use crate::workload::Workload;

/// How many rows are inserted by a statement.
const ROWS_AT_A_TIME: usize = 500;

/// Makes the schemas, fills the first one directly and copies it into the others.
pub async fn load<W: Workload>(
    workload: &W,
    upstream: &Address,
    schemas: &[String],
) -> Result<(), String> {
    let mut session = Session::open(upstream, None, Duration::ZERO).await?;
    let loaded = fill(workload, &mut session, schemas).await;
    session.quit().await;
    loaded.map_err(Interrupted::told)
}

async fn fill<W: Workload>(
    workload: &W,
    session: &mut Session,
    schemas: &[String],
) -> Result<(), Interrupted> {
    for (at, schema) in schemas.iter().enumerate() {
        session.change(&format!("CREATE DATABASE {schema}")).await?;
        session.change(&format!("USE {schema}")).await?;
        for (table, definition) in W::TABLES {
            let statement = format!("CREATE TABLE {table} ({definition}) ENGINE = InnoDB");
            session.change(&statement).await?;
        }
        if at == 0 {
            workload.load(session).await?;
        }
        for (table, _) in W::TABLES {
            if at > 0 {
                let from = &schemas[0];
                let statement = format!("INSERT INTO {table} SELECT * FROM {from}.{table}");
                session.change(&statement).await?;
            }
            session.rows(&format!("ANALYZE TABLE {table}")).await?;
        }
    }
    Ok(())
}

/// Rows of one table, many of which are inserted by one statement.
pub struct Bulk {
    table: &'static str,
    rows: Vec<String>,
}

impl Bulk {
    pub fn new(table: &'static str) -> Self {
        Self {
            table,
            rows: Vec::with_capacity(ROWS_AT_A_TIME),
        }
    }

    /// Adds a row: the values of all columns, separated by commas.
    pub async fn add(&mut self, session: &mut Session, values: String) -> Result<(), Interrupted> {
        self.rows.push(values);
        match self.rows.len() < ROWS_AT_A_TIME {
            true => Ok(()),
            false => self.flush(session).await,
        }
    }

    /// Inserts what has been added since the last time.
    pub async fn flush(&mut self, session: &mut Session) -> Result<(), Interrupted> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = self.rows.join("), (");
        let statement = format!("INSERT INTO {} VALUES ({rows})", self.table);
        self.rows.clear();
        session.change(&statement).await.map(drop)
    }
}

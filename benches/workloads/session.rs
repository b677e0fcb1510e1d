//! A client's connection: statements, their rows, and why a transaction may have to begin again.

use std::time::Duration;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;
use countersink_server_errors::{ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT};

use crate::support::client::connect_as;

/// A logged-in client.
pub struct Session {
    driver: Driver,
    /// How long to wait before each statement.
    pause: Duration,
}

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub enum Interrupted {
    /// A deadlock, or a lock that was not to be had in time: the transaction is to be rolled back and tried again.
    Again(u16),
    /// Anything else, which ends the benchmark.
    Ended(String),
}

/// A row of a result. NULL is not expected in any column that is looked at, unless by [`Row::optional`].
#[derive(Debug)]
pub struct Row(Vec<Option<Vec<u8>>>);

impl Session {
    /// Logs in.
    pub async fn open(to: &Address, schema: Option<&str>, pause: Duration) -> Result<Self, String> {
        let driver = connect_as(to, schema, Driver::CAPABILITIES).await;
        let driver = driver.map_err(|error| format!("{to:?}: {error}"))?;
        Ok(Self { driver, pause })
    }

    /// Runs a statement without rows, and returns the number of affected rows.
    pub async fn change(&mut self, statement: &str) -> Result<u64, Interrupted> {
        match self.reply(statement).await? {
            Reply::Ok(affected) => Ok(affected),
            _ => Err(unexpected("rows", statement)),
        }
    }

    /// Runs a query, and returns its rows.
    pub async fn rows(&mut self, statement: &str) -> Result<Vec<Row>, Interrupted> {
        match self.reply(statement).await? {
            Reply::Rows(rows) => Ok(rows.into_iter().map(Row).collect()),
            _ => Err(unexpected("no rows", statement)),
        }
    }

    /// Runs a query that has one row.
    pub async fn row(&mut self, statement: &str) -> Result<Row, Interrupted> {
        let mut rows = self.rows(statement).await?;
        match (rows.pop(), rows.len()) {
            (Some(row), 0) => Ok(row),
            _ => Err(unexpected("not one row", statement)),
        }
    }

    /// Rolls back what is left of a transaction.
    pub async fn roll_back(&mut self) -> Result<(), Interrupted> {
        self.change("ROLLBACK").await.map(drop)
    }

    /// Logs out.
    pub async fn quit(self) {
        self.driver.quit().await.ok();
    }

    async fn reply(&mut self, statement: &str) -> Result<Reply, Interrupted> {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        match self.driver.query(statement).await {
            Ok(Reply::Err(error)) if is_to_be_tried_again(error.code) => {
                Err(Interrupted::Again(error.code))
            }
            Ok(Reply::Err(error)) => Err(unexpected(&error.to_string(), statement)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(unexpected(&error.to_string(), statement)),
        }
    }
}

impl Interrupted {
    /// The message of something that is not tried again.
    pub fn told(self) -> String {
        match self {
            Self::Again(code) => format!("ERROR {code} where nothing else was at work"),
            Self::Ended(why) => why,
        }
    }
}

impl Row {
    /// A text.
    pub fn text(&self, column: usize) -> Result<String, Interrupted> {
        let value = self.optional(column)?;
        value.ok_or_else(|| Interrupted::Ended(format!("NULL in column {column} of {self:?}")))
    }

    /// A text or NULL.
    pub fn optional(&self, column: usize) -> Result<Option<String>, Interrupted> {
        let value = self.0.get(column);
        let value =
            value.ok_or_else(|| Interrupted::Ended(format!("no column {column} in {self:?}")))?;
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Ok(value.as_ref().map(text))
    }

    /// An integer.
    pub fn number(&self, column: usize) -> Result<i64, Interrupted> {
        let text = self.text(column)?;
        text.parse()
            .map_err(|_| Interrupted::Ended(format!("no integer in column {column}: {text}")))
    }

    /// A decimal with two digits after its point, in hundredths.
    pub fn cents(&self, column: usize) -> Result<i64, Interrupted> {
        let text = self.text(column)?;
        text.replacen('.', "", 1)
            .parse()
            .map_err(|_| Interrupted::Ended(format!("no decimal in column {column}: {text}")))
    }
}

fn is_to_be_tried_again(code: u16) -> bool {
    matches!(code, ER_LOCK_DEADLOCK | ER_LOCK_WAIT_TIMEOUT)
}

fn unexpected(what: &str, statement: &str) -> Interrupted {
    Interrupted::Ended(format!("{what} in: {statement}"))
}

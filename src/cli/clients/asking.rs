//! One client that asks, and says what it asked when it is refused.

use super::{Account, Error};
use crate::driver::{Driver, Reply, ServerError};

/// A row of a text result; `None` is NULL.
pub(in crate::cli) type Row = Vec<Option<Vec<u8>>>;

/// A connected client.
pub(in crate::cli) struct Client {
    driver: Driver,
    account: Account,
}

impl Client {
    pub async fn connect(account: &Account) -> Result<Self, Error> {
        Ok(Self {
            driver: account.connect().await?,
            account: account.clone(),
        })
    }

    /// Runs a statement; its rows, if it has any. Not cancel safe.
    pub async fn rows(&mut self, statement: &str) -> Result<Vec<Row>, Error> {
        let reply = self.driver.query(statement).await;
        match reply.map_err(|source| self.account.lost(source))? {
            Reply::Ok(_) => Ok(Vec::new()),
            Reply::Rows(rows) => Ok(rows),
            Reply::Err(error) => Err(self.refused(statement, error)),
        }
    }

    /// The one number that a query answers.
    pub async fn number(&mut self, query: &str) -> Result<i64, Error> {
        let rows = self.rows(query).await?;
        number(&rows, 0, 0).ok_or_else(|| self.no_number(query))
    }

    /// Says goodbye.
    pub async fn quit(self) {
        // It is the last word, whether it is heard or not.
        self.driver.quit().await.ok();
    }

    pub fn no_number(&self, query: &str) -> Error {
        Error::NoNumber {
            address: self.account.address.to_string(),
            statement: query.to_owned(),
        }
    }

    fn refused(&self, statement: &str, source: ServerError) -> Error {
        Error::Refused {
            address: self.account.address.to_string(),
            statement: statement.to_owned(),
            source,
        }
    }
}

/// The number in a place of a result.
pub(in crate::cli) fn number(rows: &[Row], row: usize, column: usize) -> Option<i64> {
    let value = rows.get(row)?.get(column)?.as_deref()?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

//! A client that runs single statements, and whose errors name the statement that failed.

use super::Error;
use super::connecting::connect;
use crate::lent::{Account, Answer, Connection, Row, ServerError};

/// A connected client.
pub struct Client<A: Account> {
    connection: A::Connection,
    account: A,
}

impl<A: Account> Client<A> {
    pub async fn connect(account: &A) -> Result<Self, Error> {
        Ok(Self {
            connection: connect(account).await?,
            account: account.clone(),
        })
    }

    /// Runs a statement and returns its rows, if it has any. Not cancel safe.
    pub async fn rows(&mut self, statement: &str) -> Result<Vec<Row>, Error> {
        let answer = self.connection.query(statement).await;
        match answer.map_err(|source| Error::lost(&self.account, source))? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Refused(error) => Err(self.refused(statement, error)),
        }
    }

    /// Runs a query and returns the single number in its result.
    pub async fn number(&mut self, query: &str) -> Result<i64, Error> {
        let rows = self.rows(query).await?;
        number(&rows, 0, 0).ok_or_else(|| self.no_number(query))
    }

    /// Closes the connection in good order.
    pub async fn quit(self) {
        self.connection.quit().await;
    }

    pub fn no_number(&self, query: &str) -> Error {
        Error::NoNumber {
            address: self.account.address(),
            statement: query.to_owned(),
        }
    }

    fn refused(&self, statement: &str, source: ServerError) -> Error {
        Error::Refused {
            address: self.account.address(),
            statement: statement.to_owned(),
            source,
        }
    }
}

/// The number at this position of a result.
pub fn number(rows: &[Row], row: usize, column: usize) -> Option<i64> {
    let value = rows.get(row)?.get(column)?.as_deref()?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

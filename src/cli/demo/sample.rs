//! The table of the demo, and its statements.

use super::Error;
use super::proof::Tables;
use crate::config::Address;
use crate::driver::{Driver, Login, Reply};
use crate::net::dial;

/// Schema of the demo's table.
pub(super) const SCHEMA: &str = "shop";
/// Primary key of the hot row.
pub(super) const HOT: u64 = 42;
/// What every client sends, again and again.
pub(super) const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 42";
/// What an application reads.
pub(super) const READ: &str = "SELECT views FROM posts WHERE id = 42";

const CREATE: [&str; 3] = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.posts (\
     id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, \
     title VARCHAR(200) NOT NULL, \
     author_id BIGINT UNSIGNED NOT NULL, \
     views INT NOT NULL DEFAULT 0, \
     likes INT NOT NULL DEFAULT 0)",
    "INSERT INTO shop.posts (id, title, author_id, views, likes) VALUES \
     (40, 'Locks, and how to wait', 7, 310, 12), \
     (41, 'On doors', 3, 95, 4), \
     (42, 'The post that everybody reads', 7, 1000, 250), \
     (43, 'Notes on nothing', 5, 2, 0)",
];

/// A client that says what it asked when it is refused.
pub(super) struct Client {
    driver: Driver,
    address: String,
}

/// Connects as any client would. Cancel safe.
pub(super) async fn connect(address: &Address, schema: Option<&str>) -> Result<Driver, Error> {
    let failed = |source| Error::Client {
        address: address.to_string(),
        source,
    };
    let transport = dial(address).await.map_err(|error| failed(error.into()))?;
    let login = Login {
        schema,
        ..Login::new("root", "")
    };
    Driver::connect(transport, &login).await.map_err(failed)
}

impl Client {
    pub async fn connect(address: &Address, schema: Option<&str>) -> Result<Self, Error> {
        Ok(Self {
            driver: connect(address, schema).await?,
            address: address.to_string(),
        })
    }

    /// Makes the table and its rows.
    pub async fn create(&mut self) -> Result<(), Error> {
        for statement in CREATE {
            self.rows(statement).await?;
        }
        Ok(())
    }

    /// The hot row's counter.
    pub async fn views(&mut self) -> Result<i64, Error> {
        let rows = self.rows(READ).await?;
        number(&rows, 0, 0).ok_or_else(|| self.refused(READ, "no number came back"))
    }

    /// The hot row and its slots as of one moment, since a roll-up may move one into the other meanwhile.
    pub async fn tables(&mut self) -> Result<Tables, Error> {
        const SLOTS: &str =
            "SELECT slot, views FROM posts_slots WHERE id = 42 ORDER BY views DESC, slot";
        self.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
        let base = self.views().await?;
        let rows = self.rows(SLOTS).await?;
        self.rows("COMMIT").await?;
        let slots = (0..rows.len()).map(|row| {
            let slot = u16::try_from(number(&rows, row, 0)?).ok()?;
            Some((slot, number(&rows, row, 1)?))
        });
        let slots: Option<Vec<_>> = slots.collect();
        Ok(Tables {
            base,
            slots: slots.ok_or_else(|| self.refused(SLOTS, "no numbers came back"))?,
        })
    }

    async fn rows(&mut self, statement: &str) -> Result<Vec<Row>, Error> {
        let reply = self.driver.query(statement).await;
        match reply.map_err(|source| Error::Client {
            address: self.address.clone(),
            source,
        })? {
            Reply::Ok(_) => Ok(Vec::new()),
            Reply::Rows(rows) => Ok(rows),
            Reply::Err(error) => Err(self.refused(statement, &error.to_string())),
        }
    }

    fn refused(&self, statement: &str, why: &str) -> Error {
        Error::Statement {
            address: self.address.clone(),
            statement: statement.to_owned(),
            why: why.to_owned(),
        }
    }
}

type Row = Vec<Option<Vec<u8>>>;

fn number(rows: &[Row], row: usize, column: usize) -> Option<i64> {
    let value = rows.get(row)?.get(column)?.as_deref()?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

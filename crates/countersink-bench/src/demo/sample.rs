//! The demo's table and statements.

use super::proof::Tables;
use crate::clients::{Client, Error, number};
use crate::lent::Account;

/// The schema of the demo's table.
pub(super) const SCHEMA: &str = "shop";
/// The primary key of the hot row.
pub(super) const HOT: u64 = 42;
/// The statement that every client sends repeatedly.
pub(super) const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 42";
/// The statement that an application reads the counter with.
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

/// Creates the table and its rows.
pub(super) async fn create(client: &mut Client<impl Account>) -> Result<(), Error> {
    for statement in CREATE {
        client.rows(statement).await?;
    }
    Ok(())
}

/// Reads the hot row's counter.
pub(super) async fn views(client: &mut Client<impl Account>) -> Result<i64, Error> {
    client.number(READ).await
}

/// The hot row and its slots, as of the same moment, since a roll-up may move values between them.
pub(super) async fn tables(client: &mut Client<impl Account>) -> Result<Tables, Error> {
    const SLOTS: &str =
        "SELECT slot, views FROM posts_slots WHERE id = 42 ORDER BY views DESC, slot";
    client
        .rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .await?;
    let base = views(client).await?;
    let rows = client.rows(SLOTS).await?;
    client.rows("COMMIT").await?;
    let slots = (0..rows.len()).map(|row| {
        let slot = u16::try_from(number(&rows, row, 0)?).ok()?;
        Some((slot, number(&rows, row, 1)?))
    });
    let slots: Option<Vec<_>> = slots.collect();
    Ok(Tables {
        base,
        slots: slots.ok_or_else(|| client.no_number(SLOTS))?,
    })
}

//! Bookkeepers: transactions of all kinds, each of which writes into a ledger what it does to a value.

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;
use tokio::task::JoinSet;

use super::stage::{Errors, Stage, mix, outcome_of, to_number};
use crate::support::client::{connect, run};

impl Stage {
    /// Bookkeepers at work on four posts; the errors that they met.
    pub(super) async fn mixed(
        &self,
        address: &Address,
        bookkeepers: usize,
        transactions: u64,
    ) -> Errors {
        let mut tasks = JoinSet::new();
        for number in 0..bookkeepers {
            let client = connect(address, Some(&self.schema)).await;
            tasks.spawn(keep_books(
                client,
                to_number(number).unsigned_abs(),
                transactions,
            ));
        }
        let mut errors = Errors::new();
        while let Some(theirs) = tasks.join_next().await {
            for (code, count) in theirs.expect("a bookkeeper that does not panic") {
                *errors.entry(code).or_default() += count;
            }
        }
        errors
    }
}

/// Transactions of all kinds on four posts. One that fails is rolled back and begun anew.
async fn keep_books(mut client: Driver, number: u64, transactions: u64) -> Errors {
    let mut errors = Errors::new();
    for round in 0..transactions {
        let chance = mix(number << 32 | round);
        loop {
            match book(&mut client, chance).await {
                Ok(()) => break,
                Err(code) => {
                    *errors.entry(code).or_default() += 1;
                    run(&mut client, "ROLLBACK").await;
                    let attempts: usize = errors.values().sum();
                    assert!(
                        attempts < 10_000,
                        "a transaction never comes through: {errors:?}"
                    );
                }
            }
        }
    }
    errors
}

async fn book(client: &mut Driver, chance: u64) -> Result<(), u16> {
    let id = 1 + (chance >> 8) % 4;
    let amount = (chance >> 16) % 100;
    outcome_of(client, "BEGIN").await?;
    match chance % 10 {
        // Increments, mostly.
        0..=4 => {
            outcome_of(
                client,
                &format!("UPDATE posts SET views = views + {amount} WHERE id = {id}"),
            )
            .await?;
            note(client, id, i128::from(amount)).await?;
        }
        // Increments of two, then a read of what this transaction has done.
        5 => {
            let other = 1 + id % 4;
            outcome_of(
                client,
                &format!("UPDATE posts SET views = views + 1 WHERE id IN ({id}, {other})"),
            )
            .await?;
            note(client, id, 1).await?;
            note(client, other, 1).await?;
            let before = value(client, id).await?;
            outcome_of(
                client,
                &format!("UPDATE posts SET views = views - 2 WHERE id = {id}"),
            )
            .await?;
            note(client, id, -2).await?;
            assert_eq!(
                value(client, id).await?,
                before - 2,
                "under the lock of its own write"
            );
        }
        // A new value.
        6 | 7 => {
            let before = locked_value(client, id).await?;
            outcome_of(
                client,
                &format!("UPDATE posts SET views = {amount} WHERE id = {id}"),
            )
            .await?;
            note(client, id, i128::from(amount) - before).await?;
        }
        // Doubled.
        8 => {
            let before = locked_value(client, id).await?;
            outcome_of(
                client,
                &format!("UPDATE posts SET views = views * 2 - views + 3 WHERE id = {id}"),
            )
            .await?;
            note(client, id, 3).await?;
            assert_eq!(value(client, id).await?, before + 3, "under its own lock");
        }
        // Away and back.
        _ => {
            let before = locked_value(client, id).await?;
            outcome_of(client, &format!("DELETE FROM posts WHERE id = {id}")).await?;
            outcome_of(
                client,
                &format!("INSERT INTO posts (id, views) VALUES ({id}, {amount})"),
            )
            .await?;
            note(client, id, i128::from(amount) - before).await?;
            assert_eq!(value(client, id).await?, i128::from(amount), "a new row");
        }
    }
    let end = if chance >> 40 & 3 == 0 {
        "ROLLBACK"
    } else {
        "COMMIT"
    };
    outcome_of(client, end).await
}

async fn note(client: &mut Driver, id: u64, amount: i128) -> Result<(), u16> {
    outcome_of(
        client,
        &format!("INSERT INTO ledger (post_id, amount) VALUES ({id}, {amount})"),
    )
    .await
}

async fn value(client: &mut Driver, id: u64) -> Result<i128, u16> {
    ask(client, &format!("SELECT views FROM posts WHERE id = {id}")).await
}

async fn locked_value(client: &mut Driver, id: u64) -> Result<i128, u16> {
    ask(
        client,
        &format!("SELECT views FROM posts WHERE id = {id} FOR UPDATE"),
    )
    .await
}

async fn ask(client: &mut Driver, text: &str) -> Result<i128, u16> {
    match client.query(text).await.expect("an answer") {
        Reply::Rows(rows) => {
            let value = rows.first().and_then(|row| row[0].as_deref());
            let value = value.unwrap_or_else(|| panic!("no row: {text}"));
            Ok(String::from_utf8_lossy(value).parse().expect("a number"))
        }
        Reply::Err(error) => Err(error.code),
        Reply::Ok(_) => panic!("no rows: {text}"),
    }
}

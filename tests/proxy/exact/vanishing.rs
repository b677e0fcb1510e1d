//! Clients whose connections end at any point of their work.

use countersink::driver::Driver;

use super::stage::{Outcome, increment};
use crate::support::client::run;

/// Stands among the errors for an increment whose answer nobody waited for.
pub(super) const AMBIGUOUS: u16 = 0;

const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

/// One connection, from its login to a random end. The connection must not be used afterwards.
pub(super) async fn live_and_vanish(client: &mut Driver, chance: u64, outcome: &mut Outcome) {
    let increments = 1 + (chance >> 8) % 4;
    let query = |client: &Driver, text: &str| client.query_payload(text);
    match chance % 6 {
        // In autocommit: acknowledged, then gone with a statement on its way.
        0 => {
            increment(client, 1, 1).await.expect("an increment");
            outcome.acknowledged += 1;
            let payload = query(client, INCREMENT);
            client.send(&payload).await.expect("sent");
            outcome.error(AMBIGUOUS);
        }
        // In mid-transaction.
        1 => {
            run(client, "BEGIN").await;
            for _ in 0..increments {
                increment(client, 1, 1).await.expect("an increment");
            }
        }
        // In mid-transaction, with a statement on its way.
        2 => {
            run(client, "BEGIN").await;
            increment(client, 1, 1).await.expect("an increment");
            let payload = query(client, INCREMENT);
            client.send(&payload).await.expect("sent");
        }
        // With its COMMIT on the way.
        3 => {
            run(client, "BEGIN").await;
            for _ in 0..increments {
                increment(client, 1, 1).await.expect("an increment");
                outcome.error(AMBIGUOUS);
            }
            let payload = query(client, "COMMIT");
            client.send(&payload).await.expect("sent");
        }
        // After a read of its own increments, which folds.
        4 => {
            // Of a row, and by a statement, of its own: others may be at the same, and those may deadlock. Who loses
            // is rolled back, and gone all the same.
            run(client, "BEGIN").await;
            for text in [
                "UPDATE posts SET views = 1 + views WHERE id = 3",
                "SELECT views FROM posts WHERE id = 3",
            ] {
                client.query(text).await.expect("an answer");
            }
        }
        // In good order.
        _ => {
            run(client, "BEGIN").await;
            for _ in 0..increments {
                increment(client, 1, 1).await.expect("an increment");
            }
            run(client, "COMMIT").await;
            outcome.acknowledged += i64::try_from(increments).expect("few");
        }
    }
}

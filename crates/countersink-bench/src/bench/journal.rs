//! The insert-only journal, written by hand: each increment is a row of its own. Now and then the journal is swapped
//! for an empty one, and what was in it is added up.

use std::time::Duration;

use tokio::sync::Notify;

use super::error::Error;
use crate::clients::Client;
use crate::lent::Account;

/// The table whose journal it is.
pub(super) const JOURNALED: &str = "bench_journaled";

/// The journal.
pub(super) const JOURNAL: &str = "bench_journal_entries";

/// An empty one.
pub(super) const NEXT: &str = "bench_journal_next";

/// One that is added up.
pub(super) const FULL: &str = "bench_journal_full";

/// How often it is swapped.
const INTERVAL: Duration = Duration::from_millis(500);

/// The statement that makes it.
pub(super) fn create() -> String {
    format!(
        "CREATE TABLE {JOURNAL} (entry BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, id BIGINT UNSIGNED NOT NULL) \
         ENGINE = InnoDB"
    )
}

/// Swaps it until the clients are done, as a job beside the application would.
pub(super) async fn swap<A: Account>(account: &A, done: &Notify) -> Result<(), Error> {
    let mut client = Client::connect(account).await?;
    loop {
        let is_done = tokio::time::timeout(INTERVAL, done.notified())
            .await
            .is_ok();
        for statement in [
            format!("CREATE TABLE {NEXT} LIKE {JOURNAL}"),
            format!("RENAME TABLE {JOURNAL} TO {FULL}, {NEXT} TO {JOURNAL}"),
            format!(
                "UPDATE {JOURNALED} JOIN (SELECT id, COUNT(*) AS entries FROM {FULL} GROUP BY id) AS added USING (id) \
                 SET views = views + entries"
            ),
            format!("DROP TABLE {FULL}"),
        ] {
            client.rows(&statement).await?;
        }
        if is_done {
            client.quit().await;
            return Ok(());
        }
    }
}

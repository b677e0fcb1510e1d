//! Well-behaved clients beside the others, and the ledger that they keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::stage::{INNOCENT_ROWS, SCHEMA};
use crate::support::client::connect;

/// Codes of errors that say that locks were waited for too long: hostile clients hold them.
const GIVEN_UP: [u16; 2] = [1205, 1213];

/// What was done to a row.
#[derive(Debug, Default)]
struct Account {
    begun: AtomicI64,
    acknowledged: AtomicI64,
}

/// Clients at work, one step for each session of a hostile client that is over.
pub(super) struct Innocents {
    accounts: Arc<[Account; INNOCENT_ROWS.len()]>,
    over: watch::Sender<u64>,
    tasks: Vec<JoinHandle<u64>>,
}

impl Innocents {
    /// Two for each row.
    pub(super) async fn start(to: &Address) -> Self {
        let accounts: Arc<[Account; INNOCENT_ROWS.len()]> = Arc::default();
        let over = watch::Sender::new(0);
        let mut tasks = Vec::new();
        for number in 0..2 * INNOCENT_ROWS.len() {
            let place = number % INNOCENT_ROWS.len();
            let schema = std::str::from_utf8(SCHEMA).expect("a name");
            let mut driver = connect(to, Some(schema)).await;
            let (accounts, mut over) = (Arc::clone(&accounts), over.subscribe());
            tasks.push(tokio::spawn(async move {
                let mut done = 0;
                while over.changed().await.is_ok() {
                    step(&mut driver, &accounts[place], INNOCENT_ROWS[place]).await;
                    done += 1;
                }
                driver.quit().await.expect("the proxy is there");
                done
            }));
        }
        Self {
            accounts,
            over,
            tasks,
        }
    }

    /// A session of a hostile client is over.
    pub(super) fn go_on(&self) {
        self.over.send_modify(|over| *over += 1);
    }

    /// Stops them. Returns how many steps they have done, and what the value of each row must be. No answer was lost,
    /// so nothing is in doubt.
    pub(super) async fn stop(self) -> (u64, Vec<i64>) {
        drop(self.over);
        let mut done = 0;
        for task in self.tasks {
            done += task.await.expect("no innocent is harmed");
        }
        let accounts = self.accounts.iter();
        let values = accounts.map(|account| account.acknowledged.load(Ordering::SeqCst));
        (done, values.collect())
    }
}

/// An increment, and a read that must lie between what was done before it and what was begun before its end.
async fn step(driver: &mut Driver, account: &Account, row: i64) {
    account.begun.fetch_add(1, Ordering::SeqCst);
    let increment = format!("UPDATE posts SET views = views + 1 WHERE id = {row}");
    match driver.query(&increment).await {
        Ok(Reply::Ok(1)) => account.acknowledged.fetch_add(1, Ordering::SeqCst),
        Ok(Reply::Err(error)) if GIVEN_UP.contains(&error.code) => {
            account.begun.fetch_sub(1, Ordering::SeqCst)
        }
        Ok(other) => panic!("{increment} was answered {other:?}"),
        Err(error) => panic!("{increment}: {error}"),
    };
    let least = account.acknowledged.load(Ordering::SeqCst);
    let read = format!("SELECT views FROM posts WHERE id = {row}");
    let value = match driver.query(&read).await {
        Ok(Reply::Rows(rows)) => {
            let text = rows.first().and_then(|row| row.first()?.clone());
            let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
            text.parse::<i64>()
                .unwrap_or_else(|_| panic!("{read} gave {rows:?}"))
        }
        Ok(Reply::Err(error)) if GIVEN_UP.contains(&error.code) => return,
        other => panic!("{read} was answered {other:?}"),
    };
    let most = account.begun.load(Ordering::SeqCst);
    assert!(
        (least..=most).contains(&value),
        "row {row} was read as {value}, of {least} to {most}"
    );
}

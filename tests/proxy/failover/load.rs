//! Clients that increment one row while servers come and go, and what they were told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;

use crate::support::client::connect_as;

pub const SCHEMA: &str = "cs_failover";
pub const TABLE: &str = "cs_failover.posts";
pub const VALUE: &str = "SELECT views FROM posts WHERE id = 1";
pub const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const CLIENTS: usize = 8;

/// A server that is read-only, or shuts down, refuses increments.
const REFUSALS: [u16; 5] = [1290, 1205, 1836, 1053, 1927];

/// What the clients were told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    pub acknowledged: i64,
    /// Their connection was lost before the answer.
    pub ambiguous: i64,
}

impl std::ops::Add for Ledger {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            acknowledged: self.acknowledged + other.acknowledged,
            ambiguous: self.ambiguous + other.ambiguous,
        }
    }
}

/// The application's account, which may not write to a read-only server.
pub fn app(address: &Address) -> Address {
    Address {
        user: "app".to_owned(),
        password: "app".to_owned(),
        ..address.clone()
    }
}

/// Clients that increment one row, in autocommit and in transactions, and connect again when they lose the connection,
/// until they are told to stop.
pub struct Load {
    stop: Arc<AtomicBool>,
    clients: tokio::task::JoinSet<Ledger>,
}

impl Load {
    pub fn start(address: &Address) -> Self {
        Self::start_before(address, &REFUSALS)
    }

    /// Before servers that refuse increments with these errors.
    pub fn start_before(address: &Address, refusals: &'static [u16]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..CLIENTS {
            let (address, stop) = (app(address), Arc::clone(&stop));
            clients.spawn(async move { work(&address, (number, refusals), &stop).await });
        }
        Self { stop, clients }
    }

    /// Ends several at the same time.
    pub async fn end_all(loads: impl IntoIterator<Item = Self>) -> Ledger {
        let loads: Vec<_> = loads.into_iter().collect();
        for load in &loads {
            load.stop.store(true, Ordering::Relaxed);
        }
        let mut sum = Ledger::default();
        for load in loads {
            sum = sum + load.end().await;
        }
        sum
    }

    pub async fn end(mut self) -> Ledger {
        self.stop.store(true, Ordering::Relaxed);
        let mut sum = Ledger::default();
        while let Some(ledger) = self.clients.join_next().await {
            let ledger = ledger.expect("a client that does not panic");
            sum = sum + ledger;
        }
        sum
    }
}

async fn work(address: &Address, (number, refusals): (usize, &[u16]), stop: &AtomicBool) -> Ledger {
    let mut ledger = Ledger::default();
    let mut client = None;
    let mut round = number;
    while !stop.load(Ordering::Relaxed) {
        let Some(mut connected) = client.take() else {
            client = connect_as(address, Some(SCHEMA), Driver::CAPABILITIES)
                .await
                .ok();
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        round += 1;
        match increment(&mut connected, round.is_multiple_of(3), refusals).await {
            Some(true) => ledger.acknowledged += 1,
            Some(false) => {}
            None => {
                ledger.ambiguous += 1;
                continue;
            }
        }
        client = Some(connected);
    }
    ledger
}

/// Whether an increment was acknowledged; `None` if the connection was lost. An error means that it was not done.
async fn increment(client: &mut Driver, in_transaction: bool, refusals: &[u16]) -> Option<bool> {
    let script: &[&str] = match in_transaction {
        true => &["BEGIN", INCREMENT, "COMMIT"],
        false => &[INCREMENT],
    };
    for statement in script {
        match client.query(statement).await {
            Ok(Reply::Err(error)) => {
                assert!(refusals.contains(&error.code), "{}", error.message);
                if in_transaction {
                    client.query("ROLLBACK").await.ok()?;
                }
                return Some(false);
            }
            Ok(_) => {}
            Err(_) => return None,
        }
    }
    Some(true)
}

/// The value, directly.
pub fn base_and_slots() -> String {
    format!(
        "SELECT views + COALESCE((SELECT SUM(s.views) FROM {SCHEMA}.posts_slots s WHERE s.id = p.id), 0) \
         FROM {SCHEMA}.posts p WHERE id = 1"
    )
}

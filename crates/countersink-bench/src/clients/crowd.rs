//! Many concurrent clients.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;

use super::connecting::connect;
use super::job::Worker;
use super::window::Window;
use super::{Error, Job, Measured};
use crate::lent::Account;

/// Maximum number of logins in progress at the same time. More would overflow the server's queue of connections
/// (`back_log`).
const LOGINS: usize = 32;

/// Number of clients that share a tally. One tally for each client would not fit into any cache; one for all would be a
/// contended lock.
const SHARING: usize = 64;

/// The clients' tallies, each shared by some of them.
#[derive(Clone, Debug)]
pub(super) struct Tallies(Arc<[Mutex<Measured>]>);

impl Tallies {
    /// Tallies for this many clients.
    pub fn new(clients: usize) -> Self {
        let sheets = clients.div_ceil(SHARING);
        Self(
            (0..sheets)
                .map(|_| Mutex::new(Measured::nothing()))
                .collect(),
        )
    }

    /// Statements completed within the window so far.
    pub fn within(&self) -> u64 {
        let within = |sheet: &Mutex<Measured>| sheet.lock().expect("nobody panics with it").within;
        self.0.iter().map(within).sum()
    }

    fn sum(&self, elapsed: Duration) -> Measured {
        let mut all = Measured::nothing();
        for sheet in self.0.iter() {
            all.add_clients(&sheet.lock().expect("nobody panics with it"));
        }
        all.elapsed = elapsed;
        all
    }
}

/// Clients that are connected and wait for [`Crowd::run`].
pub(super) struct Crowd<A: Account> {
    connections: Vec<A::Connection>,
    account: A,
}

impl<A: Account> Crowd<A> {
    /// Connects the clients.
    pub async fn connect(account: A, count: u16) -> Result<Self, Error> {
        let mut connecting = JoinSet::new();
        let mut connections = Vec::with_capacity(count.into());
        for _ in 0..count {
            if connecting.len() >= LOGINS {
                connections.push(next(&mut connecting).await?);
            }
            let account = account.clone();
            connecting.spawn(async move { connect(&account).await });
        }
        while !connecting.is_empty() {
            connections.push(next(&mut connecting).await?);
        }
        Ok(Self {
            connections,
            account,
        })
    }

    /// Runs the job until the window is over, and waits for the last responses.
    pub async fn run(
        self,
        job: Arc<Job>,
        window: Arc<Window>,
        tallies: Tallies,
    ) -> Result<Measured, Error> {
        let mut running = JoinSet::new();
        let account = Arc::new(self.account);
        let opening = Arc::clone(&window);
        running.spawn(async move {
            opening.open().await;
            Ok(())
        });
        for (connection, number) in self.connections.into_iter().zip(1..) {
            let (job, account) = (Arc::clone(&job), Arc::clone(&account));
            let window = Arc::clone(&window);
            let (tallies, sheet) = (tallies.clone(), number as usize % tallies.0.len());
            running.spawn(async move {
                let worker = Worker {
                    connection,
                    account: &*account,
                    job: &job,
                    number,
                    tally: &tallies.0[sheet],
                    window: &window,
                };
                worker.run().await
            });
        }
        while let Some(client) = running.join_next().await {
            client.expect("it does not panic")?;
        }
        Ok(tallies.sum(window.elapsed()))
    }
}

async fn next<C: 'static>(connecting: &mut JoinSet<Result<C, Error>>) -> Result<C, Error> {
    let connected = connecting.join_next().await.expect("some are under way");
    connected.expect("it does not panic")
}

//! The comparison: the same clients, directly and through the proxy, in turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::Error;
use super::arguments::ROUNDS;
use super::load::{Clients, Measured};
use super::progress::Progress;
use crate::config::Address;

/// How often the display is given new figures.
const REFRESH: Duration = Duration::from_millis(100);

/// What to compare, and how.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub direct: Address,
    pub proxy: Address,
    pub clients: u16,
    /// How long one round lasts.
    pub length: Duration,
    /// Runs the clients on threads of their own, so that they and the proxy are not in each other's queue.
    pub runtime: Handle,
}

/// What came of both ways.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    pub direct: Measured,
    pub proxy: Measured,
}

impl Rounds {
    /// Runs them all. When dropped, the clients stop.
    pub async fn run(&self, progress: &Progress) -> Result<Compared, Error> {
        let mut compared = Compared {
            direct: Measured::nothing(),
            proxy: Measured::nothing(),
        };
        for round in 1..=ROUNDS {
            for (way, address, measured) in [
                ("direct", &self.direct, &mut compared.direct),
                ("countersink", &self.proxy, &mut compared.proxy),
            ] {
                let label = format!("{way} {round}/{ROUNDS}");
                let one = self.round(address, &label, progress).await?;
                progress.round_over(&label, one.elapsed, one.increments);
                measured.add_round(&one);
            }
        }
        progress.rounds_over();
        Ok(compared)
    }

    async fn round(
        &self,
        address: &Address,
        label: &str,
        progress: &Progress,
    ) -> Result<Measured, Error> {
        let done = Arc::new(AtomicU64::new(0));
        let connecting = Clients::connect(address.clone(), self.clients);
        let clients = self.on_their_own(connecting, || {}).await?;
        progress.round(label, self.length);
        let start = Instant::now();
        let running = clients.run(self.length, Arc::clone(&done));
        let show = || progress.load(start.elapsed(), done.load(Ordering::Relaxed));
        self.on_their_own(running, show).await
    }

    /// `work` on the clients' runtime, and `show` every now and then meanwhile.
    async fn on_their_own<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
        show: impl Fn(),
    ) -> Result<T, Error> {
        // A set, because it stops its task when it is dropped.
        let mut set = JoinSet::new();
        set.spawn_on(work, &self.runtime);
        let mut refresh = tokio::time::interval(REFRESH);
        loop {
            tokio::select! {
                Some(done) = set.join_next() => return done.expect("it does not panic"),
                _ = refresh.tick() => show(),
            }
        }
    }
}

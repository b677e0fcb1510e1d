//! One turn of a comparison: one number of clients in one mode, for some time.

use std::sync::Arc;
use std::time::Duration;

use countersink_terminal::Progress;
use tokio::runtime::Handle;

use super::apart::apart;
use super::crowd::{Crowd, Tallies};
use super::window::Window;
use super::{Error, Job, Measured};
use crate::lent::Account;

/// What is the same in every turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Length of the window. Connecting, warming up and the last responses come on top.
    pub length: Duration,
    /// The runtime of the clients.
    pub runtime: Handle,
    pub progress: Progress,
}

impl Turn {
    /// Connects `clients` clients, runs their job and disconnects them. `label` is displayed meanwhile. When dropped,
    /// they stop.
    pub async fn play(
        &self,
        label: &str,
        account: &impl Account,
        clients: u16,
        job: &Arc<Job>,
    ) -> Result<Measured, Error> {
        let connecting = Crowd::connect(account.clone(), clients);
        let crowd = apart(&self.runtime, connecting, || {}).await?;
        self.progress.round(label, self.length);
        let tallies = Tallies::new(clients.into());
        let window = Arc::new(Window::new(self.length, clients.into()));
        let running = crowd.run(Arc::clone(job), Arc::clone(&window), tallies.clone());
        let show = || self.progress.load(window.elapsed(), tallies.within());
        let measured = apart(&self.runtime, running, show).await?;
        self.progress
            .round_over(label, measured.elapsed, measured.within);
        Ok(measured)
    }

    /// Checks that this many clients can connect at all.
    pub async fn rehearse(&self, account: &impl Account, clients: u16) -> Result<(), Error> {
        let connecting = Crowd::connect(account.clone(), clients);
        apart(&self.runtime, connecting, || {}).await.map(drop)
    }
}

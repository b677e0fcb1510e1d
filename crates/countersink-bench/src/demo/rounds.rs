//! The comparison: the same clients, alternately directly and through the proxy.

use std::sync::Arc;

use super::options::ROUNDS;
use super::sample::INCREMENT;
use crate::clients::{Error, Job, Measured, Turn};
use crate::lent::Account;

/// What to compare.
#[derive(Clone, Debug)]
pub(super) struct Rounds<A> {
    pub direct: A,
    pub proxy: A,
    pub clients: u16,
}

/// The results of both ways.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    pub direct: Measured,
    pub proxy: Measured,
}

impl<A: Account> Rounds<A> {
    /// Runs all rounds. When dropped, the clients stop.
    pub async fn run(&self, turn: &Turn) -> Result<Compared, Error> {
        let mut compared = Compared {
            direct: Measured::nothing(),
            proxy: Measured::nothing(),
        };
        let job = Arc::new(Job::only(INCREMENT));
        for round in 1..=ROUNDS {
            for (way, account, measured) in [
                ("direct", &self.direct, &mut compared.direct),
                ("countersink", &self.proxy, &mut compared.proxy),
            ] {
                let label = format!("{way} {round}/{ROUNDS}");
                let one = turn.play(&label, account, self.clients, &job).await?;
                measured.add_turn(&one);
            }
        }
        turn.progress.rounds_over();
        Ok(compared)
    }
}

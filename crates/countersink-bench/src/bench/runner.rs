//! Runs the turns one after another, then checks the sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Notify;

use super::error::Error;
use super::facts::Facts;
use super::figures::{Figures, Level};
use super::journal;
use super::mode::Mode;
use super::options::Options;
use super::rules::rules;
use super::sum::Sum;
use crate::clients::{Client, Job, Turn, number};
use crate::lent::{Account, Proxy};

/// Everything that a run needs.
pub(super) struct Course<'a, P: Proxy> {
    options: &'a Options,
    upstream: &'a P::Account,
    turn: &'a Turn,
}

/// Increments acknowledged so far.
type Acknowledged = BTreeMap<Mode, u64>;

impl<'a, P: Proxy> Course<'a, P> {
    pub fn new(options: &'a Options, upstream: &'a P::Account, turn: &'a Turn) -> Self {
        Self {
            options,
            upstream,
            turn,
        }
    }

    /// Runs all turns. When dropped, the clients and the proxy stop.
    pub async fn run(&self, facts: Facts) -> Result<Figures, Error> {
        let proxy = match self.options.modes.iter().any(|mode| mode.is_proxied()) {
            true => {
                let rules = rules(&self.options.schema, self.options.workload.slots);
                Some(P::start(&rules, self.upstream).await?)
            }
            false => None,
        };
        let proxied = proxy
            .as_ref()
            .map(|proxy| self.upstream.at(proxy.address()));
        let measured = self.measure(proxied.as_ref(), facts).await;
        if let Some(proxy) = proxy {
            proxy.stop().await;
        }
        measured
    }

    async fn measure(&self, proxied: Option<&P::Account>, facts: Facts) -> Result<Figures, Error> {
        let (modes, workload) = (&self.options.modes, &self.options.workload);
        let mut acknowledged = Acknowledged::new();
        self.rehearse(proxied).await?;
        let mut levels = Vec::new();
        for &clients in &self.options.clients {
            let job = |mode: Mode| mode.job(workload);
            let level = self.level(clients, modes, proxied, job, &mut acknowledged);
            levels.push(level.await?);
        }
        let job = |mode: Mode| mode.reading(workload);
        let modes = self.options.modes_with_reads();
        let reads = self.level(1, &modes, proxied, job, &mut acknowledged);
        let reads = reads.await?;
        self.turn.progress.rounds_over();
        Ok(Figures {
            facts,
            workload: *workload,
            levels,
            reads,
            sums: self.sums(proxied, &acknowledged).await?,
        })
    }

    /// Checks that the largest number of clients can connect, before the user has waited for any figures.
    async fn rehearse(&self, proxied: Option<&P::Account>) -> Result<(), Error> {
        let most = self.options.most_clients();
        let step = format!("Connecting {most} clients");
        self.turn.progress.step(step);
        // The mode that needs the most connections: the proxy's, if it is measured.
        let Some(&mode) = self.options.modes.last() else {
            return Ok(());
        };
        let account = self.account(mode, proxied);
        Ok(self.turn.rehearse(&account, most).await?)
    }

    /// Runs all modes in turns, round after round. Each round begins with another mode.
    async fn level(
        &self,
        clients: u16,
        modes: &[Mode],
        proxied: Option<&P::Account>,
        job: impl Fn(Mode) -> Job,
        acknowledged: &mut Acknowledged,
    ) -> Result<Level, Error> {
        let mut level = Level::new(clients, modes);
        let jobs: Vec<_> = modes.iter().map(|&mode| Arc::new(job(mode))).collect();
        let rounds = self.options.workload.rounds;
        for round in 0..rounds {
            for place in 0..modes.len() {
                let index = (place + round as usize) % modes.len();
                let mode = modes[index];
                let label = format!("{} {clients} {}/{rounds}", mode.name(), round + 1);
                let account = self.account(mode, proxied);
                let turn = self.turn.play(&label, &account, clients, &jobs[index]);
                let turn = match mode {
                    Mode::Journal => {
                        let done = Notify::new();
                        let played = async {
                            let turn = turn.await;
                            done.notify_one();
                            turn
                        };
                        let (turn, swapped) = tokio::join!(played, journal::swap(&account, &done));
                        swapped?;
                        turn?
                    }
                    _ => turn.await?,
                };
                *acknowledged.entry(mode).or_default() += turn.acknowledged();
                level.ways[index].add(&turn);
            }
        }
        Ok(level)
    }

    fn account(&self, mode: Mode, proxied: Option<&P::Account>) -> P::Account {
        let account = match (mode, proxied) {
            (mode, Some(proxied)) if mode.is_proxied() => proxied,
            _ => self.upstream,
        };
        account.in_schema(&self.options.schema)
    }

    /// Reads all sums, with one connection to the server and one to the proxy.
    async fn sums(
        &self,
        proxied: Option<&P::Account>,
        acknowledged: &Acknowledged,
    ) -> Result<Vec<Sum>, Error> {
        let mut sums = Vec::new();
        for &mode in &self.options.modes {
            let Some(query) = mode.sums(&self.options.workload) else {
                continue;
            };
            let read = match mode.sum_through_proxy(self.options.workload.work) {
                Some(query) => {
                    let mut client = Client::connect(&self.account(mode, proxied)).await?;
                    let read = client.number(&query).await?;
                    client.quit().await;
                    Some(read)
                }
                None => None,
            };
            let mut client = Client::connect(&self.account(Mode::Direct, None)).await?;
            let rows = client.rows(&query).await?;
            let [Some(base), Some(slots), Some(slot_rows)] =
                [0, 1, 2].map(|column| number(&rows, 0, column))
            else {
                return Err(client.no_number(&query).into());
            };
            client.quit().await;
            sums.push(Sum {
                mode,
                acknowledged: acknowledged.get(&mode).copied().unwrap_or_default(),
                base,
                slots,
                slot_rows,
                read,
            });
        }
        Ok(sums)
    }
}

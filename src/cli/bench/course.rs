//! The turns, one after the other, and the check of the sums behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arguments::BenchArguments;
use super::error::Error;
use super::facts::Facts;
use super::figures::{Figures, Level, Workload};
use super::mode::Mode;
use super::rules::rules;
use super::sum::Sum;
use crate::cli;
use crate::cli::clients::{Account, Client, Job, Turn, number};
use crate::cli::proxy::Proxy;
use crate::cli::target::Target;
use crate::config::Address;

/// Everything that a run needs.
pub(super) struct Course<'a> {
    arguments: &'a BenchArguments,
    target: &'a Target,
    turn: &'a Turn,
}

/// Increments acknowledged so far.
type Acknowledged = BTreeMap<Mode, u64>;

impl<'a> Course<'a> {
    pub fn new(arguments: &'a BenchArguments, target: &'a Target, turn: &'a Turn) -> Self {
        Self {
            arguments,
            target,
            turn,
        }
    }

    /// Runs it all. When dropped, clients and proxy stop.
    pub async fn run(&self, facts: Facts) -> Result<Figures, cli::Error> {
        let arguments = self.arguments;
        let proxy = match arguments.modes().contains(&Mode::Proxy) {
            true => {
                let config = rules(self.target, &arguments.schema, arguments.slots)?;
                Some(Proxy::start(config).await?)
            }
            false => None,
        };
        let proxied = proxy
            .as_ref()
            .map(|proxy| Address::Tcp(proxy.address.clone()));
        let measured = self.measure(proxied.as_ref(), facts).await;
        if let Some(proxy) = proxy {
            proxy.stop().await;
        }
        Ok(measured?)
    }

    async fn measure(&self, proxied: Option<&Address>, facts: Facts) -> Result<Figures, Error> {
        let arguments = self.arguments;
        let mut acknowledged = Acknowledged::new();
        self.rehearse(proxied).await?;
        let mut levels = Vec::new();
        for clients in arguments.clients() {
            let job = |mode: Mode| mode.job(arguments);
            let modes = arguments.modes();
            let level = self.level(clients, &modes, proxied, job, &mut acknowledged);
            levels.push(level.await?);
        }
        let job = |mode: Mode| mode.reading(arguments);
        let modes = arguments.modes_with_reads();
        let reads = self.level(1, &modes, proxied, job, &mut acknowledged);
        let reads = reads.await?;
        self.turn.progress.rounds_over();
        Ok(Figures {
            facts,
            workload: self.workload(),
            levels,
            reads,
            sums: self.sums(proxied, &acknowledged).await?,
        })
    }

    /// Whether the most clients get in, before anybody has waited for figures.
    async fn rehearse(&self, proxied: Option<&Address>) -> Result<(), Error> {
        let (most, modes) = (self.arguments.most_clients(), self.arguments.modes());
        let step = format!("Connecting {most} clients");
        self.turn.progress.step(step);
        // The way with the most connections: the proxy's, if it is measured.
        let Some(&mode) = modes.last() else {
            return Ok(());
        };
        let account = self.account(mode, proxied);
        Ok(self.turn.rehearse(&account, most).await?)
    }

    /// All modes in turns, round after round. Each round begins with another one.
    async fn level(
        &self,
        clients: u16,
        modes: &[Mode],
        proxied: Option<&Address>,
        job: impl Fn(Mode) -> Job,
        acknowledged: &mut Acknowledged,
    ) -> Result<Level, Error> {
        let mut level = Level::new(clients, modes);
        let jobs: Vec<_> = modes.iter().map(|&mode| Arc::new(job(mode))).collect();
        let rounds = self.arguments.rounds;
        for round in 0..rounds {
            for place in 0..modes.len() {
                let index = (place + round as usize) % modes.len();
                let mode = modes[index];
                let label = format!("{} {clients} {}/{rounds}", mode.name(), round + 1);
                let account = self.account(mode, proxied);
                let turn = self.turn.play(&label, &account, clients, &jobs[index]);
                let turn = turn.await?;
                *acknowledged.entry(mode).or_default() += turn.acknowledged();
                level.ways[index].add(&turn);
            }
        }
        Ok(level)
    }

    fn account(&self, mode: Mode, proxied: Option<&Address>) -> Account {
        let schema = Some(self.arguments.schema.as_str());
        match (mode, proxied) {
            (Mode::Proxy, Some(proxied)) => self.target.at(proxied, schema),
            _ => self.target.direct(schema),
        }
    }

    /// Reads all sums, by one connection to the server and one to the proxy.
    async fn sums(
        &self,
        proxied: Option<&Address>,
        acknowledged: &Acknowledged,
    ) -> Result<Vec<Sum>, Error> {
        let mut sums = Vec::new();
        for mode in self.arguments.modes() {
            let Some(query) = mode.sums() else {
                continue;
            };
            let read = match mode.sum_through_proxy() {
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

    fn workload(&self) -> Workload {
        let arguments = self.arguments;
        Workload {
            rounds: arguments.rounds,
            turn: arguments.turn,
            think: arguments.think,
            reads: arguments.reads,
            keys: arguments.keys,
            skew: arguments.skew,
            slots: arguments.slots,
            threads: arguments.threads(),
        }
    }
}

//! Many clients at once, each sending the increment again as soon as it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use super::Error;
use super::sample::{self, INCREMENT, SCHEMA};
use crate::config::Address;
use crate::driver::{Driver, Reply, query_packet};
use crate::wire::answer::Form;

/// Latencies above this, in microseconds, count as this.
const LONGEST: u64 = 600_000_000;
/// Three digits of a latency are kept.
const DIGITS: u8 = 3;

/// What came of a load.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Increments that were acknowledged.
    pub increments: u64,
    /// Statements that failed and were sent again, once; a second failure ends the load.
    pub again: u64,
    /// From the first increment sent to the last one answered.
    pub elapsed: Duration,
    /// From an increment's sending to its answer, in microseconds.
    pub latencies: Histogram<u32>,
}

impl Measured {
    /// Of no load at all.
    pub fn nothing() -> Self {
        Self {
            increments: 0,
            again: 0,
            elapsed: Duration::ZERO,
            latencies: Histogram::new_with_max(LONGEST, DIGITS).expect("the bounds are sensible"),
        }
    }

    /// Adds a later round.
    pub fn add_round(&mut self, round: &Self) {
        self.add_client(round);
        self.elapsed += round.elapsed;
    }

    /// Adds what another client did in the same time.
    fn add_client(&mut self, client: &Self) {
        self.increments += client.increments;
        self.again += client.again;
        let added = self.latencies.add(&client.latencies);
        added.expect("all histograms have the same bounds");
    }

    /// The latency that 99 of 100 increments stay within.
    pub fn p99(&self) -> Duration {
        Duration::from_micros(self.latencies.value_at_quantile(0.99))
    }
}

/// A row of clients, connected and waiting for [`Clients::run`].
pub(super) struct Clients {
    drivers: Vec<Driver>,
    address: Address,
}

impl Clients {
    /// Connects them all at the same time.
    pub async fn connect(address: Address, count: u16) -> Result<Self, Error> {
        let mut connecting = JoinSet::new();
        for _ in 0..count {
            let address = address.clone();
            connecting.spawn(async move { sample::connect(&address, Some(SCHEMA)).await });
        }
        let mut drivers = Vec::with_capacity(count.into());
        while let Some(driver) = connecting.join_next().await {
            drivers.push(driver.expect("it does not panic")?);
        }
        Ok(Self { drivers, address })
    }

    /// Loads the hot row for `length`, and waits for the last answers. `done` is kept at the number of
    /// increments acknowledged.
    pub async fn run(self, length: Duration, done: Arc<AtomicU64>) -> Result<Measured, Error> {
        let mut running = JoinSet::new();
        let packet: Arc<[u8]> = query_packet(INCREMENT).into();
        let start = Instant::now();
        for driver in self.drivers {
            let (packet, done) = (Arc::clone(&packet), Arc::clone(&done));
            let address = self.address.clone();
            running
                .spawn(async move { run(driver, &packet, start + length, &done, &address).await });
        }
        let mut all = Measured::nothing();
        while let Some(client) = running.join_next().await {
            all.add_client(&client.expect("it does not panic")?);
        }
        all.elapsed = start.elapsed();
        Ok(all)
    }
}

/// One client, until `end`.
async fn run(
    mut driver: Driver,
    packet: &[u8],
    end: Instant,
    done: &AtomicU64,
    address: &Address,
) -> Result<Measured, Error> {
    let lost = |source| Error::Client {
        address: address.to_string(),
        source,
    };
    let mut measured = Measured::nothing();
    let mut sent = Instant::now();
    while sent < end {
        let answered = driver.round_trip(packet, Form::Results).await;
        if !answered.map_err(lost)? {
            measured.again += 1;
            if let Reply::Err(error) = driver.query(INCREMENT).await.map_err(lost)? {
                return Err(Error::Statement {
                    address: address.to_string(),
                    statement: INCREMENT.to_owned(),
                    why: error.to_string(),
                });
            }
        }
        measured.increments += 1;
        done.fetch_add(1, Ordering::Relaxed);
        let answered = Instant::now();
        let latency = u64::try_from((answered - sent).as_micros()).unwrap_or(LONGEST);
        measured.latencies.saturating_record(latency);
        sent = answered;
    }
    Ok(measured)
}

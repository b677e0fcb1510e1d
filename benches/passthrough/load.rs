//! Clients that send a statement again as soon as it is answered.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, query_packet};
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Address;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::support::client::connect_as;

/// Connections to one target; they stay open from turn to turn.
pub struct Clients {
    drivers: Vec<Driver>,
}

impl Clients {
    /// Logs all of them in.
    pub async fn connect(to: &Address, schema: &str, count: usize) -> Self {
        let mut drivers = Vec::with_capacity(count);
        for _ in 0..count {
            let driver = connect_as(to, Some(schema), Driver::CAPABILITIES).await;
            drivers.push(driver.unwrap_or_else(|error| panic!("{to:?}: {error}")));
        }
        Self { drivers }
    }

    /// One turn: the latencies in nanoseconds.
    pub async fn run(&mut self, statement: &str, length: Duration) -> Histogram<u64> {
        let end = Instant::now() + length;
        let mut running = JoinSet::new();
        for driver in self.drivers.drain(..) {
            running.spawn(client(driver, query_packet(statement), end));
        }
        let mut all = Histogram::new(3).expect("three digits");
        while let Some(client) = running.join_next().await {
            let (driver, latencies) = client.expect("a client that does not panic");
            self.drivers.push(driver);
            all.add(latencies).expect("it grows as needed");
        }
        all
    }
}

async fn client(mut driver: Driver, packet: Vec<u8>, end: Instant) -> (Driver, Histogram<u64>) {
    let mut latencies = Histogram::new(3).expect("three digits");
    let mut sent = Instant::now();
    while sent < end {
        let answered = driver.round_trip(&packet, ResponseKind::Results).await;
        assert!(answered.expect("an answer"), "an ERR");
        let now = Instant::now();
        let latency = u64::try_from((now - sent).as_nanos()).expect("less than centuries");
        latencies.record(latency).expect("it grows as needed");
        sent = now;
    }
    (driver, latencies)
}

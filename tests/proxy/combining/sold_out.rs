//! A shop that sells out while sessions are killed and clients leave in the middle: every unit is sold once, and each
//! number of a sequence goes to one client.
//!
//!     COUNTERSINK_ROUNDS=200 COUNTERSINK_SEED=7 cargo test --test proxy sold_out

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Error};
use countersink::wire::reply::{Err as ErrPacket, Ok as OkPacket};
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::{Address, Flavour};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio::task::JoinSet;

use super::stage::{Stage, until};
use crate::support::client::{connect_as, number, run};
use crate::support::from_environment;
use crate::support::on_both;
use crate::support::thorough::of_all;

on_both![every_unit_is_sold_once];

const CLIENTS: usize = 64;
const BUY: &str = "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 1";
const DRAW: &str = "UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 2";

/// One of so many statements is sent by a client that leaves without reading its answer.
const CUT: u32 = 150;

/// ER_QUERY_INTERRUPTED: the statement was not done.
const INTERRUPTED: u16 = 1317;

/// What clients were told.
#[derive(Debug, Default)]
struct Ledger {
    bought: i64,
    numbers: Vec<i64>,
    /// Statements whose answers nobody has read, or that ended with the connection.
    ambiguous_purchases: i64,
    ambiguous_numbers: i64,
    interrupted: u64,
}

impl Ledger {
    fn add(&mut self, other: Self) {
        self.bought += other.bought;
        self.numbers.extend(other.numbers);
        self.ambiguous_purchases += other.ambiguous_purchases;
        self.ambiguous_numbers += other.ambiguous_numbers;
        self.interrupted += other.interrupted;
    }
}

/// What became of a statement.
enum Told {
    /// It was done: affected rows, and LAST_INSERT_ID().
    Done(u64, u64),
    Interrupted,
    /// Nobody knows.
    Nothing,
}

async fn every_unit_is_sold_once(flavour: Flavour) {
    let units = of_all(&format!("sold out on {flavour}, units"), 1_000, 5_000);
    let rounds = from_environment("COUNTERSINK_ROUNDS").unwrap_or(1);
    let seed = from_environment("COUNTERSINK_SEED").unwrap_or_else(rand::random);
    let mut random = StdRng::seed_from_u64(seed);
    let stage = Stage::new(flavour, "shop", "rest: auto").await;
    let started = Instant::now();
    let mut all = Ledger::default();
    for round in 0..rounds {
        let ledger = play(&stage, units, &mut random).await;
        check(
            &stage,
            units,
            &ledger,
            &format!("seed {seed}, round {round}"),
        )
        .await;
        all.add(ledger);
    }
    let (batches, statements) = stage.proxy.shared.metrics.combined();
    eprintln!(
        "sold out on {flavour}, seed {seed}: {rounds} rounds of {units} units in {:.0?}; {} bought, {} numbers drawn, {} \
         interrupted, {} purchases and {} numbers of which nobody knows; {statements} statements in {batches} batches",
        started.elapsed(),
        all.bought,
        all.numbers.len(),
        all.interrupted,
        all.ambiguous_purchases,
        all.ambiguous_numbers,
    );
    assert!(statements > batches, "they were written together");
}

/// All clients buy until there is nothing left.
async fn play(stage: &Stage, units: i64, random: &mut StdRng) -> Ledger {
    let mut direct = stage.direct().await;
    let stock = format!("UPDATE posts SET views = IF(id = 1, {units}, 0) WHERE id IN (1, 2)");
    run(&mut direct, &stock).await;
    let ids: Arc<Vec<AtomicU32>> = Arc::new((0..CLIENTS).map(|_| AtomicU32::new(0)).collect());
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for place in 0..CLIENTS {
        let (address, schema) = (stage.proxy.address.clone(), stage.schema.clone());
        let (ids, random) = (Arc::clone(&ids), StdRng::seed_from_u64(random.next_u64()));
        clients.spawn(async move {
            let client = Client {
                address,
                schema,
                random,
                connected: None,
            };
            client.shop(&ids[place]).await
        });
    }
    let killer = tokio::spawn(kill(
        direct,
        Arc::clone(&ids),
        Arc::clone(&is_over),
        StdRng::seed_from_u64(random.next_u64()),
    ));
    let mut sum = Ledger::default();
    while let Some(ledger) = clients.join_next().await {
        sum.add(ledger.expect("a client that does not panic"));
    }
    is_over.store(true, Ordering::Relaxed);
    killer.await.expect("it kills");
    // Statements of clients that have left are done, too.
    until("their sessions have ended", async || {
        stage.proxy.shared.sessions.now().is_empty()
    })
    .await;
    sum
}

async fn check(stage: &Stage, units: i64, ledger: &Ledger, what: &str) {
    let mut direct = stage.direct().await;
    let stock = number(&mut direct, "SELECT views FROM posts WHERE id = 1").await;
    assert_eq!(stock, 0, "{what}: {ledger:?}");
    let most = ledger.bought + ledger.ambiguous_purchases;
    assert!(
        (ledger.bought..=most).contains(&units),
        "{what}: {ledger:?}"
    );
    let last = number(&mut direct, "SELECT views FROM posts WHERE id = 2").await;
    let told: HashSet<_> = ledger.numbers.iter().collect();
    assert_eq!(told.len(), ledger.numbers.len(), "{what}: a number twice");
    assert!(
        told.iter().all(|number| (1..=last).contains(*number)),
        "{what}"
    );
    let missing = last - i64::try_from(told.len()).expect("few");
    assert!(
        missing <= ledger.ambiguous_numbers,
        "{what}: {missing} of {last} numbers are missing: {ledger:?}"
    );
}

/// Kills statements and connections of one client after the other.
async fn kill(
    mut direct: Driver,
    ids: Arc<Vec<AtomicU32>>,
    is_over: Arc<AtomicBool>,
    mut random: StdRng,
) {
    while !is_over.load(Ordering::Relaxed) {
        let victim = ids[random.random_range(0..CLIENTS)].load(Ordering::Relaxed);
        let what = match random.random_bool(0.3) {
            true => "CONNECTION",
            false => "QUERY",
        };
        // It may have gone.
        let killed = direct.query(&format!("KILL {what} {victim}")).await;
        killed.expect("an answer");
        tokio::time::sleep(Duration::from_millis(random.random_range(1..20))).await;
    }
}

struct Client {
    address: Address,
    schema: String,
    random: StdRng,
    connected: Option<Driver>,
}

impl Client {
    /// Buys and draws numbers in turns, until it is told that there is nothing left.
    async fn shop(mut self, id: &AtomicU32) -> Ledger {
        let mut ledger = Ledger::default();
        loop {
            match self.ask(BUY, id).await {
                Told::Done(0, _) => return ledger,
                Told::Done(..) => ledger.bought += 1,
                Told::Interrupted => ledger.interrupted += 1,
                Told::Nothing => ledger.ambiguous_purchases += 1,
            }
            match self.ask(DRAW, id).await {
                Told::Done(_, number) => {
                    let number = i64::try_from(number).expect("a small number");
                    ledger.numbers.push(number);
                }
                Told::Interrupted => ledger.interrupted += 1,
                Told::Nothing => ledger.ambiguous_numbers += 1,
            }
        }
    }

    async fn ask(&mut self, text: &str, id: &AtomicU32) -> Told {
        let mut connected = match self.connected.take() {
            Some(connected) => connected,
            None => log_in(&self.address, &self.schema, id).await,
        };
        if self.random.random_range(0..CUT) == 0 {
            let payload = connected.query_payload(text);
            connected.send(&payload).await.ok();
            return Told::Nothing;
        }
        match answer(&mut connected, text).await {
            Ok(told) => {
                self.connected = Some(connected);
                told
            }
            Err(_) => Told::Nothing,
        }
    }
}

async fn log_in(address: &Address, schema: &str, id: &AtomicU32) -> Driver {
    loop {
        // It may be killed while it logs in, if its id was another client's before.
        if let Ok(driver) = connect_as(address, Some(schema), Driver::CAPABILITIES).await {
            id.store(driver.thread_id(), Ordering::Relaxed);
            return driver;
        }
    }
}

async fn answer(client: &mut Driver, text: &str) -> Result<Told, Error> {
    let payload = client.query_payload(text);
    client.send(&payload).await?;
    let packets = client.packets(ResponseKind::Results).await?;
    let [packet] = &packets[..] else {
        panic!("{text}: {packets:?}");
    };
    if packet.packet_kind == PacketKind::Ok {
        let ok = OkPacket::decode(&packet.payload)?;
        return Ok(Told::Done(ok.affected_rows, ok.last_insert_id));
    }
    let error = ErrPacket::decode(&packet.payload)?;
    Ok(match error.code {
        INTERRUPTED => Told::Interrupted,
        // ER_SERVER_SHUTDOWN and, on MariaDB, ER_CONNECTION_KILLED: of the connection.
        1053 | 1927 => Told::Nothing,
        code => panic!("{text}: {code} {}", String::from_utf8_lossy(error.message)),
    })
}

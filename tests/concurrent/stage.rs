//! Proxies, the sessions at work, and one round of their work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply};
use countersink::sandbox::{Address, Flavour};
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::ddl::{self, Names, Step};
use crate::ledger::{Change, Clock, Increment, Ledger, Outcome, Read, Vessel};
use crate::support::client::{connect, create_schema, rows};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

const ROWS: i64 = 3;
const CLIENTS: u64 = 6;

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage {
    flavour: Flavour,
    schema: &'static str,
    _direct: Driver,
    proxies: Vec<Proxy>,
    names: Names,
    values: BTreeMap<(Vessel, i64), i64>,
    /// How often each error came.
    errors: BTreeMap<u16, u64>,
    kinds: BTreeMap<String, u64>,
}

/// What happened in a round.
pub struct Round {
    pub steps: u64,
    ledger: Ledger,
    names: Names,
    errors: BTreeMap<u16, u64>,
}

impl Round {
    /// Its DDL, for a reader.
    pub fn shown(&self) -> String {
        let changes = self.ledger.changes.iter();
        let lines = changes
            .map(|change| format!("  {}..{}: {}", change.sent, change.answered, change.text));
        format!(
            "DDL:\n{}\nerrors: {:?}",
            lines.collect::<Vec<_>>().join("\n"),
            self.errors
        )
    }
}

/// What the sessions of a round share.
#[derive(Default)]
struct Shared {
    clock: Clock,
    acknowledged: AtomicU64,
    stop: AtomicBool,
    ledger: Mutex<Ledger>,
    errors: Mutex<BTreeMap<u16, u64>>,
}

impl Shared {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn error(&self, code: u16) {
        *self.errors.lock().unwrap().entry(code).or_default() += 1;
    }

    /// Waits for so many more statements, but no longer than a while: they may all wait for somebody.
    async fn wait_for_more(&self, more: u64, most: Duration) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + most;
        while self.acknowledged.load(Ordering::Relaxed) < enough && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Stage {
    pub async fn new(flavour: Flavour, schema: &'static str, proxies: usize) -> Self {
        let server = single(flavour);
        let direct = create_schema(server, schema, &ddl::tables(ROWS)).await;
        let rules = format!(
            "counters:\n- {{table: {schema}.posts, columns: [views], slots: 16, rollup: 200ms}}\n"
        );
        let proxies = (0..proxies).map(|_| Proxy::start(server, &rules)).collect();
        let names = Names {
            posts: 'a',
            posts_b: 'b',
            parts: 'p',
        };
        let vessels = ['a', 'b', 'p'].into_iter();
        Self {
            flavour,
            schema,
            _direct: direct,
            proxies,
            names,
            values: vessels
                .flat_map(|vessel| (1..=ROWS).map(move |row| ((vessel, row), 0)))
                .collect(),
            errors: BTreeMap::new(),
            kinds: BTreeMap::new(),
        }
    }

    fn address(&self, chance: &mut Chance) -> Address {
        chance.pick(&self.proxies).address.clone()
    }

    /// Has sessions work while DDL runs.
    pub async fn round(&mut self, chance: &mut Chance) -> Round {
        let shared = Arc::new(Shared::default());
        {
            let mut ledger = shared.ledger.lock().unwrap();
            ledger.first = Some(self.names.posts);
            ledger.before = self.values.clone();
        }
        let mut tasks = JoinSet::new();
        for client in 0..CLIENTS {
            let worker = Worker {
                chance: chance.split(client),
                address: self.address(chance),
                schema: self.schema,
                shared: Arc::clone(&shared),
            };
            tasks.spawn(worker.work());
        }
        let holder = Worker {
            chance: chance.split(CLIENTS),
            address: self.address(chance),
            schema: self.schema,
            shared: Arc::clone(&shared),
        };
        tasks.spawn(holder.hold());
        let (steps, names) = ddl::script(chance, self.flavour, self.names);
        let mut changer = connect(&self.address(chance), Some(self.schema)).await;
        shared.wait_for_more(10 + chance.below(20), PATIENCE).await;
        for step in steps {
            self.change(&mut changer, step, &shared).await;
            shared
                .wait_for_more(chance.below(20), Duration::from_millis(200))
                .await;
        }
        shared.wait_for_more(10, Duration::from_secs(1)).await;
        shared.stop.store(true, Ordering::Relaxed);
        while let Some(done) = tasks.join_next().await {
            done.expect("a session that does not panic");
        }
        let ledger = std::mem::take(&mut *shared.ledger.lock().unwrap());
        Round {
            steps: u64::try_from(
                ledger.increments.len() + ledger.reads.len() + ledger.changes.len(),
            )
            .expect("few"),
            ledger,
            names,
            errors: std::mem::take(&mut *shared.errors.lock().unwrap()),
        }
    }

    /// Runs a statement until it has run.
    async fn change(&mut self, changer: &mut Driver, step: Step, shared: &Shared) {
        let place = {
            let mut ledger = shared.ledger.lock().unwrap();
            ledger.changes.push(Change {
                text: step.text.to_owned(),
                vessel: step.vessel,
                wiped: step.wiped,
                sent: shared.clock.tick(),
                answered: u64::MAX,
            });
            ledger.changes.len() - 1
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            let reply = tokio::time::timeout(PATIENCE, changer.query(step.text)).await;
            match reply
                .unwrap_or_else(|_| panic!("no answer: {}", step.text))
                .expect("an answer")
            {
                // A deadlock or a KILL: nothing has changed.
                Reply::Err(error) if [1205, 1213, 1317].contains(&error.code) => {
                    shared.error(error.code)
                }
                Reply::Err(error) => panic!("{error} in: {}", step.text),
                _ => break,
            }
            assert!(Instant::now() < deadline, "it never runs: {}", step.text);
        }
        shared.ledger.lock().unwrap().changes[place].answered = shared.clock.tick();
        let kind = step.text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// What is wrong with the values that a round has left, as each proxy tells them and as they lie there.
    pub async fn faults(&mut self, round: &Round) -> Vec<String> {
        let mut faults = Vec::new();
        for proxy in &self.proxies {
            let mut client = connect(&proxy.address, Some(self.schema)).await;
            let found = values(&mut client, round.names).await;
            faults.extend(round.ledger.faults(&found));
        }
        faults
    }

    /// Takes the values that a round has left for the first of the next.
    pub async fn go_on_from(&mut self, round: &Round) {
        self.names = round.names;
        let mut client = connect(&self.proxies[0].address, Some(self.schema)).await;
        self.values = values(&mut client, self.names).await;
        for (code, count) in &round.errors {
            *self.errors.entry(*code).or_default() += count;
        }
    }

    /// What there was of errors and DDL.
    pub fn told(&self) -> String {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for proxy in &self.proxies {
            for (reason, count) in proxy.shared.metrics.statements() {
                *reasons.entry(reason.code()).or_default() += count;
            }
        }
        format!(
            "errors {:?}, DDL {:?}, reasons {reasons:?}",
            self.errors, self.kinds
        )
    }
}

async fn values(client: &mut Driver, names: Names) -> BTreeMap<(Vessel, i64), i64> {
    let mut values = BTreeMap::new();
    for (name, vessel) in [
        ("posts", names.posts),
        ("posts_b", names.posts_b),
        ("parts", names.parts),
    ] {
        for row in rows(client, &format!("SELECT id, views FROM {name}")).await {
            let number = |text: &String| text.parse::<i64>().expect("a number");
            values.insert((vessel, number(&row[0])), number(&row[1]));
        }
    }
    values
}

/// A session at work.
struct Worker {
    chance: Chance,
    address: Address,
    schema: &'static str,
    shared: Arc<Shared>,
}

impl Worker {
    async fn work(mut self) {
        let mut client = connect(&self.address, Some(self.schema)).await;
        while !self.shared.stops() {
            match self.chance.below(8) {
                0..=3 => self.increment(&mut client).await,
                4 | 5 => self.transaction(&mut client).await,
                _ => self.read(&mut client).await,
            }
        }
    }

    /// Holds metadata locks, for which DDL waits.
    async fn hold(mut self) {
        let mut client = connect(&self.address, Some(self.schema)).await;
        while !self.shared.stops() {
            let row = 1 + self.chance.below(3);
            let what = *self.chance.pick(&["title", "views", "id, title"]);
            let text = format!("SELECT {what} FROM posts WHERE id = {row}");
            for text in ["BEGIN", &text] {
                self.ask(&mut client, text).await;
            }
            let more = self.chance.below(30);
            self.shared
                .wait_for_more(more, Duration::from_millis(50))
                .await;
            self.ask(&mut client, "COMMIT").await;
        }
    }

    /// What was changed, or nothing for an error.
    async fn ask(&self, client: &mut Driver, text: &str) -> Option<Reply> {
        let reply = tokio::time::timeout(PATIENCE, client.query(text)).await;
        match reply
            .unwrap_or_else(|_| panic!("no answer: {text}"))
            .expect("an answer")
        {
            Reply::Err(error) => {
                // No such table or column while they are away; deadlocks; a table that has changed since the snapshot.
                let is_expected = [1146, 1054, 1205, 1213, 1412].contains(&error.code);
                assert!(is_expected, "{error} in: {text}");
                self.shared.error(error.code);
                None
            }
            reply => Some(reply),
        }
    }

    fn an_increment(&mut self) -> (i64, i64, String) {
        let row = 1 + i64::try_from(self.chance.below(3)).expect("few");
        let amount = 1 + i64::try_from(self.chance.below(3)).expect("few");
        (
            row,
            amount,
            format!("UPDATE posts SET views = views + {amount} WHERE id = {row}"),
        )
    }

    async fn increment(&mut self, client: &mut Driver) {
        let (row, amount, text) = self.an_increment();
        let sent = self.shared.clock.tick();
        if let Some(Reply::Ok(1)) = self.ask(client, &text).await {
            let answered = self.shared.clock.tick();
            self.acknowledged(vec![Increment {
                row,
                amount,
                sent,
                found: answered,
                answered,
                outcome: Outcome::Acknowledged,
            }]);
        }
    }

    async fn transaction(&mut self, client: &mut Driver) {
        let mut increments = Vec::new();
        self.ask(client, "BEGIN").await;
        for _ in 0..1 + self.chance.below(2) {
            let (row, amount, text) = self.an_increment();
            let sent = self.shared.clock.tick();
            match self.ask(client, &text).await {
                Some(Reply::Ok(1)) => increments.push(Increment {
                    row,
                    amount,
                    sent,
                    found: self.shared.clock.tick(),
                    answered: u64::MAX,
                    outcome: Outcome::Acknowledged,
                }),
                Some(_) => {}
                None => {
                    self.ask(client, "ROLLBACK").await;
                    return;
                }
            }
        }
        let end = match self.chance.once_in(4) {
            true => "ROLLBACK",
            false => "COMMIT",
        };
        if self.ask(client, end).await.is_some() && end == "COMMIT" {
            let answered = self.shared.clock.tick();
            for increment in &mut increments {
                increment.answered = answered;
            }
            self.acknowledged(increments);
        }
    }

    fn acknowledged(&self, increments: Vec<Increment>) {
        self.shared.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.shared
            .ledger
            .lock()
            .unwrap()
            .increments
            .extend(increments);
    }

    async fn read(&mut self, client: &mut Driver) {
        let row = 1 + i64::try_from(self.chance.below(3)).expect("few");
        let sent = self.shared.clock.tick();
        let text = format!("SELECT views FROM posts WHERE id = {row}");
        let Some(Reply::Rows(rows)) = self.ask(client, &text).await else {
            return;
        };
        let answered = self.shared.clock.tick();
        let value = rows.first().and_then(|row| row[0].clone());
        if let Some(value) = value {
            let value = String::from_utf8(value)
                .expect("digits")
                .parse()
                .expect("a number");
            self.shared.ledger.lock().unwrap().reads.push(Read {
                row,
                value,
                sent,
                answered,
            });
        }
    }
}

//! Proxies, the sessions at work, and one round of their work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use countersink::config::Mode;
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};
use tokio::task::JoinSet;

use crate::concurrent::chance::Chance;
use crate::concurrent::ddl::{self, Names, Step};
use crate::concurrent::ledger::{Change, Clock, Increment, Ledger, Vessel};
use crate::concurrent::trouble;
use crate::concurrent::worker::Worker;
use crate::support::client::{connect, create_schema, number, rows};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

const ROWS: i64 = 3;

/// How long anything may take that is waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What there is in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// All that is chosen in the round follows from this.
    pub seed: u64,
    pub clients: u64,
    pub ddl: bool,
    pub holds: bool,
    pub kills: bool,
    pub cuts: bool,
    pub switches: bool,
}

impl Plan {
    /// DDL by itself half of the time: what else is going on makes it rarer.
    pub fn new(chance: &mut Chance) -> Self {
        let seed = chance.next();
        let is_plain = chance.once_in(2);
        let mut once_in = |of| !is_plain && chance.once_in(of);
        Self {
            seed,
            clients: 6,
            kills: once_in(2),
            cuts: once_in(2),
            switches: once_in(3),
            ddl: is_plain || once_in(2),
            holds: is_plain || once_in(2),
        }
    }

    /// The same with one thing less.
    pub fn simpler(self) -> Vec<Self> {
        let all = [
            Self { ddl: false, ..self },
            Self {
                kills: false,
                ..self
            },
            Self {
                cuts: false,
                ..self
            },
            Self {
                switches: false,
                ..self
            },
            Self {
                holds: false,
                ..self
            },
            Self {
                clients: (self.clients / 2).max(1),
                ..self
            },
        ];
        all.into_iter().filter(|plan| *plan != self).collect()
    }
}

pub struct Stage {
    flavour: Flavour,
    schema: &'static str,
    direct: Driver,
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
pub struct Shared {
    pub clock: Clock,
    acknowledged: AtomicU64,
    stop: AtomicBool,
    pub ledger: Mutex<Ledger>,
    errors: Mutex<BTreeMap<u16, u64>>,
    /// Connections of clients, for those who kill.
    ids: Mutex<Vec<u32>>,
}

impl Shared {
    pub fn begins(&self, id: u32) {
        self.ids.lock().unwrap().push(id);
    }

    /// A client's connection, one of the latest.
    pub fn one_of_them(&self, chance: &mut Chance) -> Option<u32> {
        const LATEST: usize = 8;
        let ids = self.ids.lock().unwrap();
        let latest = &ids[ids.len().saturating_sub(LATEST)..];
        (!latest.is_empty()).then(|| *chance.pick(latest))
    }

    pub fn takes_down(&self, increments: Vec<Increment>) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.ledger.lock().unwrap().increments.extend(increments);
    }

    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn error(&self, code: u16) {
        *self.errors.lock().unwrap().entry(code).or_default() += 1;
    }

    /// Waits for so many more statements, but no longer than a while: they may all wait for somebody.
    pub async fn wait_for_more(&self, more: u64, most: Duration) {
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
            direct,
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

    /// Has sessions work while what is planned befalls them.
    pub async fn round(&mut self, plan: Plan) -> Round {
        let mut chance = Chance::new(plan.seed);
        let shared = Arc::new(Shared::default());
        {
            let mut ledger = shared.ledger.lock().unwrap();
            ledger.first = Some(self.names.posts);
            ledger.before = self.values.clone();
        }
        let mut tasks = JoinSet::new();
        for client in 0..=plan.clients {
            let worker = Worker {
                chance: chance.split(client),
                address: self.address(&mut chance),
                schema: self.schema,
                plan,
                shared: Arc::clone(&shared),
            };
            match client < plan.clients {
                true => drop(tasks.spawn(worker.work())),
                false if plan.holds => drop(tasks.spawn(worker.hold())),
                false => {}
            }
        }
        if plan.kills {
            let address = match chance.once_in(2) {
                true => single(self.flavour).clone(),
                false => self.address(&mut chance),
            };
            tasks.spawn(trouble::kill(
                chance.split(1 << 8),
                address,
                Arc::clone(&shared),
            ));
        }
        if plan.switches {
            let rules = chance.pick(&self.proxies).rules.clone();
            let table = format!("{}.posts", self.schema);
            let chance = chance.split(1 << 9);
            tasks.spawn(trouble::switch(chance, rules, table, Arc::clone(&shared)));
        }
        let mut names = self.names;
        let mut changer = connect(&self.address(&mut chance), Some(self.schema)).await;
        shared.wait_for_more(10 + chance.below(20), PATIENCE).await;
        if plan.ddl {
            let (steps, after) = ddl::script(&mut chance, self.flavour, self.names);
            names = after;
            for step in steps {
                self.change(&mut changer, step, &shared).await;
                shared
                    .wait_for_more(chance.below(20), Duration::from_millis(200))
                    .await;
            }
        } else {
            shared.wait_for_more(100, Duration::from_secs(5)).await;
        }
        shared.wait_for_more(10, Duration::from_secs(1)).await;
        shared.stop.store(true, Ordering::Relaxed);
        while let Some(done) = tasks.join_next().await {
            done.expect("a session that does not panic");
        }
        drop(changer);
        self.until_all_is_done().await;
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

    /// Waits until nothing is on its way for clients that have gone, and rules that were switched are in force.
    async fn until_all_is_done(&mut self) {
        let table = format!("{}.posts", self.schema);
        let sessions = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{}' AND id <> CONNECTION_ID()",
            self.schema
        );
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut is_done = number(&mut self.direct, &sessions).await == 0;
            for proxy in &self.proxies {
                is_done &= proxy.rules.set_mode(&table, Mode::Enforce).await.is_ok();
            }
            if is_done {
                return;
            }
            assert!(Instant::now() < deadline, "something is still on its way");
            tokio::time::sleep(Duration::from_millis(2)).await;
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

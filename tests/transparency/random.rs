//! The prover: statements that nobody thought of.
//!
//! A seed writes a sequence of statements in one to three sessions ([`grammar`]), which is played to both servers of a
//! twin like the cases that were written by hand; and after each step a session of its own reads every row of every
//! table. A sequence that shows a difference is cut down to the shortest that still does, and printed in the form in
//! which files of cases have it.
//!
//! `COUNTERSINK_STATEMENTS=100000` plays so many statements on each server, `COUNTERSINK_SEED=7` begins elsewhere,
//! `COUNTERSINK_LANES=4` plays four sequences at a time, `COUNTERSINK_SHOWN=1` ends with the first difference, and
//! `COUNTERSINK_RULES=ddl` plays one part of the grammar beside the basic one ([`rules`]).

mod calls;
mod cold;
mod dice;
mod end;
mod grammar;
mod prepared;
mod reads;
mod rules;
mod sessions;
mod spelling;
mod stories;
mod subject;
mod tables;
mod writes;

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use countersink_sandbox::Flavour;
use proptest::collection::vec;
use proptest::num::u16::ANY;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use crate::case::Session;
use crate::difference::{Difference, differences};
use crate::known;
use crate::play::{self, Side};
use crate::support;
use crate::support::proxy::Proxy;
use crate::support::thorough::of_all;
use crate::support::twin::{Twin, twin};
use crate::variant::{self, Variant};
use crate::world::World;
use end::{Ended, end, mask_rows_by_access_path, mask_what_is_left, waits};

/// Statements that are played on each server unless the environment names a number: in every run, and where everything
/// is asked for.
const STATEMENTS: usize = 300;
const STATEMENTS_OF_ALL: usize = 2_000;

/// Every so many statements a long run says how far it is.
const PROGRESS: usize = 5_000;

/// Sequences that are played at the same time, each in a schema and through a proxy of its own. They wait for servers
/// more than for processors, and for locks a second at a time.
const LANES: usize = 2;

/// After so many sequences all tables are compared, rather than those alone that the sequence is about.
const ALL_TABLES: u64 = 16;

/// The first seed, unless the environment names one. Fixed, so that a change is judged by itself.
const SEED: u64 = 1;

/// The most steps of a sequence.
const STEPS: usize = 16;

/// The most numbers that choose the words of a step.
const ROLLS: usize = 40;

/// So long a sequence is cut down, at most.
const PATIENCE: Duration = Duration::from_secs(45);

/// The most sequences that are cut down and shown; with that many the test ends.
const MOST_SHOWN: usize = 6;

#[test]
fn mysql() {
    test(Flavour::MySql);
}

#[test]
fn mariadb() {
    test(Flavour::MariaDb);
}

fn test(flavour: Flavour) {
    let twin = twin(flavour);
    assert_ne!(
        twin.plain, twin.proxied,
        "COUNTERSINK_TEST_SERVERS names one {flavour} server only, and two are compared"
    );
    let wanted = match std::env::var_os("COUNTERSINK_STATEMENTS") {
        Some(_) => number("COUNTERSINK_STATEMENTS", STATEMENTS),
        None => {
            let what = format!("random on {flavour}, statements");
            of_all(&what, STATEMENTS, STATEMENTS_OF_ALL)
        }
    };
    let tally = Arc::new(Mutex::new(Tally::new(number("COUNTERSINK_SEED", SEED))));
    support::block_on(async {
        let mut lanes = JoinSet::new();
        for lane in 0..number("COUNTERSINK_LANES", LANES) {
            let tally = Arc::clone(&tally);
            lanes.spawn(async move {
                Prover::new(twin, lane).await.run(&tally, wanted).await;
            });
        }
        while let Some(done) = lanes.join_next().await {
            done.expect("a lane that does not panic");
        }
    });
    tally.lock().expect("no lane has panicked").report(twin);
}

fn number<T: std::str::FromStr>(variable: &str, default: T) -> T {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => default,
    }
}

/// The rolls of a dice, of a whole sequence.
type Rolls = Vec<Vec<u16>>;

/// The sequence of a seed, and simpler ones.
fn tree(seed: u64) -> impl ValueTree<Value = Rolls> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    vec(vec(ANY, ROLLS), 2..=STEPS + 1)
        .new_tree(&mut runner)
        .expect("rolls")
}

/// What became of a sequence.
struct Played {
    /// Statements whose answers were compared.
    compared: usize,
    /// Nothing is compared from there on.
    ended: Option<Ended>,
    found: Vec<Difference>,
}

/// What all lanes have found so far.
struct Tally {
    first: u64,
    /// The next one to be played.
    seed: u64,
    compared: usize,
    /// Thousands of statements that have been told of.
    told: usize,
    ended: Vec<Ended>,
    failures: Vec<String>,
    batches: u64,
    combined: u64,
    started: Instant,
}

impl Tally {
    fn new(first: u64) -> Self {
        Self {
            first,
            seed: first,
            compared: 0,
            told: 0,
            ended: Vec::new(),
            failures: Vec::new(),
            batches: 0,
            combined: 0,
            started: Instant::now(),
        }
    }

    fn pace(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let each = f64::from(u32::try_from(self.compared).unwrap_or(u32::MAX)) / seconds;
        format!("{seconds:.0} s, {each:.0} statements per second")
    }

    fn take(&mut self, flavour: Flavour, played: &Played, failure: Option<String>) {
        self.compared += played.compared;
        self.ended.extend(played.ended);
        if let Some(failure) = failure {
            std::io::stderr().write_all(failure.as_bytes()).ok();
            self.failures.push(failure);
        }
        if self.compared / PROGRESS > self.told {
            self.told = self.compared / PROGRESS;
            let (pace, compared, seed) = (self.pace(), self.compared, self.seed);
            eprintln!("random on {flavour}: {compared} statements, seed {seed}, {pace}");
        }
    }

    fn report(&self, twin: &Twin) {
        let Twin {
            flavour, version, ..
        } = twin;
        let Self {
            first,
            seed,
            compared,
            batches,
            combined,
            failures,
            ..
        } = self;
        let count = |why: Ended| self.ended.iter().filter(|ended| **ended == why).count();
        let (blocked, waited) = (count(Ended::Blocked), count(Ended::Waited));
        let (refused, skipped) = (count(Ended::Refused), count(Ended::Skipped));
        let (remade, outgrown) = (count(Ended::Remade), count(Ended::Outgrown));
        let (used_up, worded) = (count(Ended::UsedUp), count(Ended::Worded));
        let report = format!(
            "random on {flavour} {version}: {compared} statements of {} sequences compared, {} with differences; seeds \
             {first} to {}; sequences ended early: {blocked} where MySQL had a session wait, {waited} where the proxy had, {refused} where a READ \
             ONLY transaction refused a fold, {skipped} where SKIP LOCKED or NOWAIT met other locks, {remade} where slots were younger than a snapshot, {outgrown} where a row had outgrown one, {used_up} where a refused write had used up SET TRANSACTION, {worded} where a message had the proxy's expression; {combined} increments of several clients written as {batches}; {}\n",
            seed - first,
            failures.len(),
            seed - 1,
            self.pace()
        );
        // Past the harness, which keeps what a passing test prints.
        std::io::stderr().write_all(report.as_bytes()).ok();
        assert!(failures.is_empty(), "{report}see above for the sequences");
    }
}

struct Prover {
    twin: &'static Twin,
    world: World,
    proxy: Proxy,
    /// How many sequences have been played.
    plays: u64,
    /// The batches that proxies before this one have written, and the increments in them.
    combined_before: (u64, u64),
    /// The sessions' time: that of the start, so that a sequence is the same however long it takes to cut it down.
    now: u64,
}

impl Prover {
    async fn new(twin: &'static Twin, lane: usize) -> Self {
        let world = World::of_the_prover(twin.flavour, lane);
        world.create(&twin.plain).await;
        world.create(&twin.proxied).await;
        let proxy = Proxy::start(&twin.proxied, &world.rules());
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
        Self {
            twin,
            world,
            proxy,
            plays: 0,
            combined_before: (0, 0),
            now: now.as_secs(),
        }
    }

    /// Makes the schema anew on both servers, and a proxy for it.
    async fn build(&mut self) {
        let upstream = &self.twin.proxied;
        // The old one goes first: its roll-up would meet the new tables.
        let rules = self.world.rules();
        self.combined_before = self.combined();
        self.proxy.stop();
        self.world.create(&self.twin.plain).await;
        self.world.create(upstream).await;
        self.proxy = Proxy::start(upstream, &rules);
    }

    /// Plays one seed after the other, until there have been enough statements or differences.
    async fn run(mut self, tally: &Mutex<Tally>, wanted: usize) {
        let most = number("COUNTERSINK_SHOWN", MOST_SHOWN);
        loop {
            let seed = {
                let mut tally = tally.lock().expect("no lane has panicked");
                if tally.compared >= wanted || tally.failures.len() >= most {
                    break;
                }
                tally.seed += 1;
                tally.seed - 1
            };
            let played = self.play(seed, &tree(seed).current()).await;
            let failure = match played.found.as_slice() {
                [] => None,
                found => Some(self.simplest(seed, found).await),
            };
            let mut tally = tally.lock().expect("no lane has panicked");
            tally.take(self.twin.flavour, &played, failure);
        }
        let (batches, combined) = self.combined();
        let mut tally = tally.lock().expect("no lane has panicked");
        tally.batches += batches;
        tally.combined += combined;
    }

    /// The batches that its proxies have written, and the increments in them.
    fn combined(&self) -> (u64, u64) {
        let (batches, increments) = self.proxy.shared.metrics.combined();
        let (batches_before, increments_before) = self.combined_before;
        (batches + batches_before, increments + increments_before)
    }

    fn sequence(&self, seed: u64, rolls: &Rolls) -> (Session, &'static Variant) {
        let session = grammar::sequence(&format!("seed {seed}"), rolls, self.now, self.plays);
        let variants: Vec<_> = variant::ALL
            .iter()
            .filter(|variant| variant.is_for(self.twin.flavour))
            .collect();
        let chosen = usize::try_from(seed).expect("a small seed") % variants.len();
        (session, variants[chosen])
    }

    async fn play(&mut self, seed: u64, rolls: &Rolls) -> Played {
        self.plays += 1;
        let (session, variant) = self.sequence(seed, rolls);
        let takes_ids = session.takes_ids();
        if self.world.rests() {
            self.stir(seed);
        }
        self.world.fill(&self.twin.plain, takes_ids).await;
        self.world
            .fill_with_slots(&self.twin.proxied, takes_ids)
            .await;
        let (plain, through) = (Side::Plain(&self.twin.plain), Side::Proxied(&self.proxy));
        let mut direct = play::play_observed(&session, variant, plain, &self.world, &waits).await;
        let mut proxied =
            play::play_observed(&session, variant, through, &self.world, &waits).await;
        for exchanges in [&mut direct, &mut proxied] {
            mask_what_is_left(exchanges);
            mask_rows_by_access_path(exchanges);
        }
        let end = end(&session, &direct, &proxied);
        if let Some((at, _)) = end {
            direct.truncate(at);
            proxied.truncate(at);
        }
        if proxied.last().is_some_and(waits) {
            direct.truncate(proxied.len());
        }
        let steps = direct
            .iter()
            .filter(|exchange| exchange.request != OBSERVED)
            .count();
        let mut found = differences(&direct, &proxied);
        // Where DDL has been, rules may be on their way; the observer has read all there is.
        if end.is_none() && !session.fresh {
            let Twin { plain, proxied, .. } = self.twin;
            let names = match self.plays.is_multiple_of(ALL_TABLES) {
                true => self.world.names().collect(),
                false => self.world.names_in(&session),
            };
            found.extend(
                self.world
                    .compare_tables(&names, plain, &self.proxy.address, proxied)
                    .await,
            );
        }
        if session.fresh {
            self.build().await;
        }
        let found = found
            .into_iter()
            .map(|difference| difference.of(&session, variant))
            .filter(|difference| !known::ALL.iter().any(|known| known.covers(difference)));
        Played {
            compared: steps,
            ended: end.map(|(_, why)| why),
            found: found.collect(),
        }
    }

    /// Sends some of the tables to slots, and others to rest. That takes effect while the sequence is played, or the
    /// ones behind it.
    fn stir(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let hot = self.proxy.shared.hot();
        for (table, _) in hot.tables() {
            if random.random_bool(0.4) {
                let needs_slots = random.random_bool(0.5);
                self.proxy.shared.motion.force(table, Some(needs_slots));
            }
        }
    }

    /// The shortest sequence to be found that shows a difference, and the difference; or the whole one with `first`,
    /// which was found in it, where the shortest does not show it every time.
    async fn simplest(&mut self, seed: u64, first: &[Difference]) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut tree = tree(seed);
        let whole = tree.current();
        let mut simplest = whole.clone();
        while Instant::now() < deadline {
            let rolls = tree.current();
            let differs = !self.play(seed, &rolls).await.found.is_empty();
            if differs {
                simplest = rolls;
            }
            let goes_on = match differs {
                true => tree.simplify(),
                false => tree.complicate(),
            };
            if !goes_on {
                break;
            }
        }
        let again = self.play(seed, &simplest).await.found;
        let (what, rolls, found) = match again.is_empty() {
            true => (
                "the whole sequence, which does not differ every time",
                whole,
                first,
            ),
            false => ("the shortest sequence found", simplest, &again[..]),
        };
        let (session, variant) = self.sequence(seed, &rolls);
        let mut shown = String::new();
        for difference in found.iter().take(3) {
            let _ = writeln!(shown, "{difference}");
        }
        format!("COUNTERSINK_SEED={seed} ({variant}), {what}:\n\n{session}\n{shown}")
    }
}

/// The label under which the observer's reads stand.
pub const OBSERVED: &str = "observed";

//! The promise: what a client sees through the proxy is what it would see from MySQL, packet by packet.
//!
//! `tests/cases/transparency/*.sql` holds sessions by topic. Each is played to a plain server directly and to its twin
//! through a proxy, in the variants of protocol and capabilities of [`variant::ALL`]; each packet of each answer must
//! be the same. Then both sides' tables are read anew and must hold the same rows, and base + SUM(slots), added up
//! directly, must be what the proxy says.
//!
//! `COUNTERSINK_THOROUGH=1` has every session played in every variant. Without it one that sends text plays it and one
//! that prepares, or one of them all on one of the two servers where that takes long; the next session is the next
//! ones', and MariaDB's are not MySQL's. A session or a file that is asked for by its name is played in all.
//!
//! On the proxied side a part of the counters' values lies in slots before a session begins.
//!
//! `COUNTERSINK_CASE=name` plays only the sessions whose names contain `name`. `COUNTERSINK_FILE=path` plays any file
//! of SQL: `COUNTERSINK_FILE=my.sql cargo test --test transparency any_file`.

#[path = "../support/mod.rs"]
mod support;

mod case;
mod command;
mod difference;
mod known;
mod play;
mod random;
mod variant;
mod world;

use std::io::Write;

use countersink_sandbox::Flavour;

use case::Session;
use difference::{Difference, differences};
use known::Known;
use play::Side;
use support::proxy::Proxy;
use support::thorough::is_thorough;
use support::twin::{Twin, twin};
use variant::Variant;
use world::World;

/// The most differences that are shown of one topic.
const MOST_SHOWN: usize = 5;

macro_rules! topics {
    ($($topic:ident),* $(,)?) => {
        const TOPICS: &[&str] = &[$(stringify!($topic)),*];
        mod mysql {
            $(#[test] fn $topic() {
                super::test(super::Flavour::MySql, stringify!($topic), include_str!(concat!("../cases/transparency/", stringify!($topic), ".sql")));
            })*
        }
        mod mariadb {
            $(#[test] fn $topic() {
                super::test(super::Flavour::MariaDb, stringify!($topic), include_str!(concat!("../cases/transparency/", stringify!($topic), ".sql")));
            })*
        }
    };
}

topics![
    increments,
    parameters,
    reads,
    joins,
    aggregates,
    writes,
    upserts,
    multi_table,
    transactions,
    snapshots,
    out_of_sight,
    locking,
    multi_statements,
    errors,
    limits,
    session_state,
    settings,
    sql_prepared,
    diagnostics,
    beside,
    session_track,
    metadata,
    schema,
    statements,
    calls,
    commands,
    ddl,
    large,
    touch,
    keys,
    shapes,
    bulk,
];

/// Where the cases are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/transparency");

#[test]
fn every_file_of_cases_is_played() {
    let files = std::fs::read_dir(FOLDER).expect("the cases");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .map(|path| path.file_stem().expect("a name").display().to_string())
        .collect();
    names.sort();
    let mut topics = TOPICS.to_vec();
    topics.sort_unstable();
    assert_eq!(names, topics);
}

/// Both sides play a session one after the other, and a second may end between them.
#[test]
fn no_session_writes_the_time_of_day() {
    for topic in TOPICS {
        let text = std::fs::read_to_string(format!("{FOLDER}/{topic}.sql")).expect("the cases");
        for session in case::parse(topic, &text) {
            let untimed = session.untimed();
            assert_eq!(
                untimed, None,
                "{topic}, {}: SET timestamp first",
                session.name
            );
        }
    }
}

/// A file of SQL as it is, from wherever.
mod any_file {
    fn test(flavour: super::Flavour) {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/any_file.sql");
        let path = std::env::var("COUNTERSINK_FILE").unwrap_or_else(|_| own.to_owned());
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        super::test(flavour, "any_file", &text);
    }

    #[test]
    fn mysql() {
        test(super::Flavour::MySql);
    }

    #[test]
    fn mariadb() {
        test(super::Flavour::MariaDb);
    }
}

/// Plays every session of a topic in every variant.
fn test(flavour: Flavour, topic: &str, text: &str) {
    let twin = twin(flavour);
    assert_ne!(
        twin.plain, twin.proxied,
        "COUNTERSINK_TEST_SERVERS names one {flavour} server only, and two are compared"
    );
    support::block_on(async {
        let mut run = Run::new(twin, topic).await;
        for session in case::parse(topic, text) {
            if session.is_for(flavour) && is_chosen(&session) {
                run.session(&session).await;
            }
        }
        run.finish();
    });
}

fn is_chosen(session: &Session) -> bool {
    match std::env::var("COUNTERSINK_CASE") {
        Ok(name) => session.name.contains(&name),
        Err(_) => true,
    }
}

/// Whether the environment names what is to be played.
fn is_asked_for() -> bool {
    let names = ["COUNTERSINK_CASE", "COUNTERSINK_FILE"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// A topic on its way.
struct Run {
    twin: &'static Twin,
    topic: String,
    world: World,
    proxy: Option<Proxy>,
    statements: usize,
    found: Vec<Difference>,
    known: Vec<(&'static Known, usize)>,
    complete: bool,
    /// Whether each session is played in every variant.
    in_all: bool,
    /// The number of the next session, which begins elsewhere in each topic and on each server.
    number: usize,
}

impl Run {
    async fn new(twin: &'static Twin, topic: &str) -> Self {
        let world = World::new(twin.flavour, topic);
        let known = known::ALL.iter();
        let mut run = Self {
            twin,
            topic: topic.to_owned(),
            world,
            proxy: None,
            statements: 0,
            found: Vec::new(),
            known: known.map(|known| (known, 0)).collect(),
            complete: std::env::var_os("COUNTERSINK_CASE").is_none(),
            in_all: is_thorough() || is_asked_for(),
            number: TOPICS.iter().take_while(|name| **name != topic).count()
                + usize::from(twin.flavour == Flavour::MariaDb),
        };
        run.build().await;
        run
    }

    /// Makes the schema on both servers and starts a proxy for it.
    async fn build(&mut self) {
        self.proxy = None;
        self.world.create(&self.twin.plain).await;
        self.world.create(&self.twin.proxied).await;
        self.proxy = Some(Proxy::start(&self.twin.proxied, &self.world.rules()));
    }

    /// Those that play the next session.
    fn variants(&mut self, session: &Session) -> Vec<&'static Variant> {
        let flavour = self.twin.flavour;
        let possible: Vec<_> = variant::ALL
            .iter()
            .filter(|variant| variant.is_for(flavour) && session.wants(variant))
            .collect();
        self.number += 1;
        match (self.in_all, session.is_slow()) {
            (true, _) => possible,
            (false, false) => variant::in_turn(&possible, self.number, false),
            // The other server plays it.
            (false, true) if self.number.is_multiple_of(2) => Vec::new(),
            (false, true) => variant::in_turn(&possible, self.number / 2, true),
        }
    }

    async fn session(&mut self, session: &Session) {
        // One at a time on both families: they are few, and short.
        static TURNS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let _turn = match session.takes_turns() {
            true => Some(TURNS.lock().await),
            false => None,
        };
        for variant in self.variants(session) {
            let proxy = self.proxy.as_ref().expect("a proxy");
            self.world.fill(&self.twin.plain, session.takes_ids()).await;
            self.world
                .fill_with_slots(&self.twin.proxied, session.takes_ids())
                .await;
            let (plain, through) = (Side::Plain(&self.twin.plain), Side::Proxied(proxy));
            let direct = play::play(session, variant, plain, &self.world).await;
            let proxied = play::play(session, variant, through, &self.world).await;
            self.statements += direct.len();
            let mut found = differences(&direct, &proxied);
            let names: Vec<_> = self.world.names().collect();
            found.extend(
                self.world
                    .compare_tables(&names, &self.twin.plain, &proxy.address, &self.twin.proxied)
                    .await,
            );
            for difference in found {
                let difference = difference.of(session, variant);
                match self
                    .known
                    .iter_mut()
                    .find(|(known, _)| known.covers(&difference))
                {
                    Some((_, count)) => *count += 1,
                    None => self.found.push(difference),
                }
            }
            if session.fresh {
                self.build().await;
            }
        }
    }

    fn finish(self) {
        let Self { twin, topic, .. } = &self;
        let place = format!("{topic} on {} {}", twin.flavour, twin.version);
        let variants = match self.in_all {
            true => "every variant",
            false => "a share of the variants; COUNTERSINK_THOROUGH=1 plays all",
        };
        let mut report = format!(
            "{place}: {} exchanges compared, each session in {variants}\n",
            self.statements
        );
        for (known, count) in self.known.iter().filter(|(_, count)| *count > 0) {
            report += &format!("  known limit, {count} times: {known}\n");
        }
        // Past the harness, which keeps what a passing test prints.
        std::io::stderr().write_all(report.as_bytes()).ok();
        assert!(
            self.statements > 0 || !self.complete,
            "{place}: nothing was played"
        );
        if self.found.is_empty() {
            return;
        }
        let file =
            support::twin::folder().join(format!("transparency-{}-{topic}.txt", twin.flavour));
        let all = difference::one_of_each(&self.found, usize::MAX).join("\n");
        let summary = difference::summary(&self.found);
        std::fs::write(&file, format!("{all}\n{summary}")).expect("a report");
        panic!(
            "{place}: {} differences; one of each statement is in {}. The first:\n\n{}\nBy statement:\n{summary}",
            self.found.len(),
            file.display(),
            difference::one_of_each(&self.found, MOST_SHOWN).join("\n"),
        );
    }
}

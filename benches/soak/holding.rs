//! Thousands of sessions, most of which wait.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Error};
use countersink::wire::error_code::ER_CON_COUNT_ERROR;
use countersink_sandbox::{Address, Server};
use tokio::task::JoinSet;

use crate::coming::changed;
use crate::process::{Held, expect_as_before, held};
use crate::support::binary::{Serving, rules_file};
use crate::support::client::{connect, connect_as, create_schema, number, prepare, run};
use crate::support::proxy::rules_head;
use crate::{Arguments, SCHEMA};

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL); \
     CREATE TABLE names (name VARCHAR(190) PRIMARY KEY, views BIGINT NOT NULL); \
     INSERT INTO posts VALUES (1, 0)";
const RULES: &str = "counters:\n- {table: cs_soak.posts, columns: [views], rest: never}\n\
     - {table: cs_soak.names, columns: [views], rest: never}\n";
const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

/// How many sessions there are of each kind, to see what one takes. Their transactions are on rows of their own.
const OF_A_KIND: usize = 50;

/// How often a client tries to get in beyond the limit.
const KNOCKS: usize = 200;

/// For how long the active ones work.
const WORK: Duration = Duration::from_secs(20);

/// What a session may have in it.
const KINDS: [&str; 6] = [
    "a login",
    "one statement",
    "100 prepared statements of 1 KB",
    "60 prepared statements of 100 KB",
    "a transaction with an increment",
    "a transaction with 250 keys of 190 letters",
];

struct Proxy {
    serving: Serving,
    address: Address,
    _folder: tempfile::TempDir,
}

fn start(server: &Server, most: usize) -> Proxy {
    let limit = format!("max_connections: {most}\n");
    let (folder, rules) = rules_file(&(rules_head(&server.address()) + &limit + RULES));
    let serving = Serving::start(&rules).unwrap_or_else(|ended| panic!("{ended:?}"));
    Proxy {
        address: serving.in_front_of(&server.address()),
        serving,
        _folder: folder,
    }
}

pub async fn hold(server: &Server, most: usize, arguments: &Arguments) {
    let mut direct = create_schema(&server.address(), SCHEMA, TABLES).await;
    for number in 0..=OF_A_KIND {
        let rows = names(number).map(|name| format!("('{name}', 0)"));
        let rows: Vec<_> = rows.collect();
        let insert = format!("INSERT INTO names VALUES {}", rows.join(", "));
        run(&mut direct, &insert).await;
    }
    println!("{}; resident memory for each session with", server.version);
    for kind in KINDS {
        let proxy = start(server, most);
        let process = proxy.serving.binary.id();
        // What all sessions share is there.
        let mut first = connect(&proxy.address, Some(SCHEMA)).await;
        fill(&mut first, kind, 0).await;
        let before = held(process, &mut direct).await;
        let mut sessions = vec![first];
        for number in 1..=OF_A_KIND {
            let mut session = connect(&proxy.address, Some(SCHEMA)).await;
            fill(&mut session, kind, number).await;
            sessions.push(session);
        }
        let now = held(process, &mut direct).await;
        let kib = (now.resident_mib - before.resident_mib) * 1024.0 / OF_A_KIND as f64;
        println!("  {kind:45} {kib:7.1} KiB");
    }
    let proxy = start(server, most);
    let process = proxy.serving.binary.id();
    let before = held(process, &mut direct).await;
    let mut idle = Vec::with_capacity(most);
    for _ in 0..most {
        let mut session = connect(&proxy.address, Some(SCHEMA)).await;
        run(&mut session, "SELECT 1").await;
        idle.push(session);
    }
    say("held", most, &held(process, &mut direct).await);
    knock(&proxy.address, "while they wait").await;
    let mut active = JoinSet::new();
    for mut session in idle.drain(..arguments.clients.min(most)) {
        active.spawn(async move {
            let (until, mut done) = (Instant::now() + WORK, 0);
            while Instant::now() < until {
                done += changed(&mut session, INCREMENT).await;
            }
            (session, done)
        });
    }
    knock(&proxy.address, "while some of them work").await;
    say("at work", active.len(), &held(process, &mut direct).await);
    let mut done = 0;
    while let Some(session) = active.join_next().await {
        let (session, by_it) = session.expect("a client that does not panic");
        idle.push(session);
        done += by_it;
    }
    let value = number(&mut idle[0], "SELECT views FROM posts WHERE id = 1").await;
    println!("{done} acknowledged, {value} counted");
    assert_eq!(value, done);
    drop(idle);
    expect_as_before(process, &mut direct, &before).await;
}

fn say(what: &str, sessions: usize, held: &Held) {
    println!(
        "{sessions} {what}: {:.1} MiB, {} descriptors",
        held.resident_mib, held.descriptors
    );
}

/// Keys of 190 letters, a session's own.
fn names(session: usize) -> impl Iterator<Item = String> {
    (0..250).map(move |number| format!("{session}x{number:0>185}"))
}

async fn fill(session: &mut Driver, kind: &str, its_number: usize) {
    let of_length = |number: usize, length: usize| {
        let comment = "x".repeat(length);
        format!("UPDATE posts SET views = views + 1 WHERE id = {number} /* {comment} */")
    };
    match KINDS.iter().position(|one| *one == kind) {
        Some(0) => {}
        Some(1) => {
            run(session, "SELECT 1").await;
        }
        Some(2) => {
            for number in 0..100 {
                prepare(session, &of_length(number, 1_000)).await;
            }
        }
        Some(3) => {
            for number in 0..60 {
                prepare(session, &of_length(number, 100_000)).await;
            }
        }
        Some(4) => {
            run(session, "BEGIN").await;
            increment(session, its_number, 1).await;
        }
        _ => {
            run(session, "BEGIN").await;
            increment(session, its_number, 250).await;
        }
    }
}

async fn increment(session: &mut Driver, its_number: usize, keys: usize) {
    for name in names(its_number).take(keys) {
        let increment = format!("UPDATE names SET views = views + 1 WHERE name = '{name}'");
        run(session, &increment).await;
    }
}

/// Clients beyond the limit.
async fn knock(address: &Address, when: &str) {
    let mut times = Vec::with_capacity(KNOCKS);
    for _ in 0..KNOCKS {
        let begun = Instant::now();
        match connect_as(address, None, Driver::CAPABILITIES).await {
            Err(Error::Login(error)) if error.code == ER_CON_COUNT_ERROR => {}
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it got in"),
        }
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    println!(
        "beyond the limit, {when}: 1040 after {:?} (median of {KNOCKS}; at most {:?})",
        times[KNOCKS / 2],
        times[KNOCKS - 1]
    );
}

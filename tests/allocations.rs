//! What is passed through costs the proxy no allocation: none per packet, none per statement.
//!
//! Client and proxy share the process, and neither may allocate while statements run; so all allocations of the
//! process are counted, whoever makes them. On failure the folder of the test's servers has the places in
//! allocations.json, for the DHAT viewer.

mod support;

use std::sync::{Mutex, PoisonError};

use countersink::driver::{Driver, command_packet, query_packet};
use countersink::wire::command;
use countersink::wire::response::{PrepareOk, ResponseKind};
use countersink_sandbox::{Address, Flavour};
use support::client::{connect, connect_as, run_all};
use support::proxy::Proxy;
use support::thorough::of_all;
use support::twin::{folder, twin};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Statements before those that count: buffers, caches and timers come into being.
const WARM_UP: usize = 100;
/// In every run, and where everything is asked for.
const STATEMENTS: usize = 250;
const STATEMENTS_OF_ALL: usize = 2_000;
/// How many are counted at a time: so few that they fit between two things that the process does once in a while. The
/// proxy makes sure of its locks every 250 ms, its pool is looked through every 30 s, and the test harness says
/// something when a test has run for 60 s.
const AT_A_TIME: usize = 50;
/// How often they are run at most. What belongs to a statement allocates in each round, and what is done once in a
/// while in one.
const ROUNDS: usize = 8;

const SCHEMA: &str = "cs_allocations";

#[test]
fn statements_that_pass_through_mysql_allocate_nothing() {
    pass_through(Flavour::MySql);
}

#[test]
fn statements_that_pass_through_mariadb_allocate_nothing() {
    pass_through(Flavour::MariaDb);
}

fn pass_through(flavour: Flavour) {
    /// The process's allocations are counted, so that one test must run at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    support::block_on(async {
        let upstream = &twin(flavour).proxied;
        make_tables(upstream).await;
        // rustls allocates for each record; as a relay does not, this is about the proxy alone.
        let rules = format!(
            "upstream_tls: {{mode: disabled}}\ncounters:\n- {{table: {SCHEMA}.posts, columns: [views]}}\n"
        );
        let proxy = Proxy::start(upstream, &rules);
        let mut client = connect_as(&proxy.address, Some(SCHEMA), Driver::CAPABILITIES)
            .await
            .expect("a login");
        let execute = prepare(&mut client, "SELECT title FROM posts_cold WHERE id = ?").await;
        let execute_hot = prepare(&mut client, "SELECT title FROM posts WHERE id = ?").await;
        let query = |text| (query_packet(text), ResponseKind::Results);
        let statements = [
            (
                "a point SELECT",
                query("SELECT title FROM posts_cold WHERE id = 1"),
            ),
            (
                "a SELECT behind a comment",
                query("/* page */ SELECT title FROM posts_cold WHERE id = 1"),
            ),
            ("a prepared point SELECT", (execute, ResponseKind::Results)),
            (
                "a SELECT on a hot table",
                query("SELECT title FROM posts WHERE id = 1"),
            ),
            (
                "a prepared SELECT on a hot table",
                (execute_hot, ResponseKind::Results),
            ),
            (
                "a SELECT of many rows",
                query("SELECT id, title FROM posts_cold"),
            ),
            (
                "an UPDATE",
                query("UPDATE posts_cold SET title = 'x' WHERE id = 2"),
            ),
            ("BEGIN", query("BEGIN")),
            ("COMMIT", query("COMMIT")),
            ("an ERR", query("SELECT nothing FROM posts_cold")),
            (
                "COM_PING",
                (command_packet(command::PING, &[]), ResponseKind::Single),
            ),
        ];
        let what = format!("allocations on {flavour}, statements of each kind");
        let times = of_all(&what, STATEMENTS, STATEMENTS_OF_ALL);
        for (what, (packet, response_kind)) in statements {
            let what = format!("{what}, {times} times");
            count(&mut client, &what, &packet, response_kind, times).await;
        }
    });
}

async fn make_tables(upstream: &Address) {
    let mut driver = connect(upstream, None).await;
    let script = format!(
        "DROP DATABASE IF EXISTS {SCHEMA};
        CREATE DATABASE {SCHEMA};
        USE {SCHEMA};
        CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(40));
        CREATE TABLE posts_cold (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL);
        INSERT INTO posts_cold WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            SELECT i, CONCAT('title ', i) FROM n"
    );
    run_all(&mut driver, &script).await;
}

/// Prepares a statement with one parameter; the packet that executes it with 1.
async fn prepare(client: &mut Driver, text: &str) -> Vec<u8> {
    const NO_CURSOR: u8 = 0;
    const ONCE: u32 = 1;
    const NOT_NULL: u8 = 0;
    const TYPES_FOLLOW: u8 = 1;
    const MYSQL_TYPE_LONG: [u8; 2] = [0x03, 0x00];
    const VALUE: u32 = 1;
    let payload = [&[command::STMT_PREPARE], text.as_bytes()].concat();
    client.send(&payload).await.expect("it is sent");
    let answer = client
        .packets(ResponseKind::Prepared)
        .await
        .expect("an answer");
    let prepared = PrepareOk::decode(&answer[0].payload).expect("a prepared statement");
    let arguments = [
        &prepared.statement_id.to_le_bytes()[..],
        &[NO_CURSOR],
        &ONCE.to_le_bytes(),
        &[NOT_NULL, TYPES_FOLLOW],
        &MYSQL_TYPE_LONG,
        &VALUE.to_le_bytes(),
    ];
    command_packet(command::STMT_EXECUTE, &arguments.concat())
}

/// Sends the packet again and again, some at a time, and each time until a round goes by in which nothing was
/// allocated.
async fn count(
    client: &mut Driver,
    what: &str,
    packet: &[u8],
    response_kind: ResponseKind,
    times: usize,
) {
    repeat(client, packet, response_kind, WARM_UP).await;
    let mut counted = 0;
    while counted < times {
        count_some(client, what, packet, response_kind).await;
        counted += AT_A_TIME;
    }
}

async fn count_some(client: &mut Driver, what: &str, packet: &[u8], response_kind: ResponseKind) {
    let places = folder().join("allocations.json");
    for round in 1..=ROUNDS {
        let profiler = dhat::Profiler::builder()
            .testing()
            .file_name(&places)
            .build();
        repeat(client, packet, response_kind, AT_A_TIME).await;
        let allocations = dhat::HeapStats::get().total_blocks;
        if allocations == 0 {
            return;
        }
        dhat::assert!(
            round < ROUNDS,
            "{what}: {allocations} allocations: {}",
            places.display()
        );
        drop(profiler);
    }
}

async fn repeat(client: &mut Driver, packet: &[u8], response_kind: ResponseKind, times: usize) {
    for _ in 0..times {
        client
            .round_trip(packet, response_kind)
            .await
            .expect("an answer");
    }
}

//! The HTTP port: metrics that count what was done, and health.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply, query_packet};
use countersink::wire::response::ResponseKind;
use countersink_sandbox::{Address, Flavour};
use socket2::{Domain, Socket, Type};

use crate::support;
use crate::support::binary::PATIENCE;
use crate::support::client::{connect, connect_as, create_schema, number, run};
use crate::support::forwarder::Forwarder;
use crate::support::http::WithHttp;
use crate::support::twin::twin;

#[test]
fn metrics_count_what_was_done() {
    support::block_on(async {
        let serving = start("cs_metrics", "").await;
        let before = serving.metrics();
        assert_eq!(before["countersink_sessions"], 0.0);
        let mut client = connect(&serving.clients, Some("cs_metrics")).await;
        for _ in 0..3 {
            run(
                &mut client,
                "UPDATE posts SET views = views + 1 WHERE id = 1",
            )
            .await;
        }
        run(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        run(&mut client, "UPDATE posts SET views = 0 WHERE id = 1").await;
        let wrong = Address {
            password: "wrong".to_owned(),
            ..serving.clients.clone()
        };
        let refused = connect_as(&wrong, None, Driver::CAPABILITIES).await;
        assert!(refused.is_err());
        // The one that was refused goes when it has seen that.
        let deadline = Instant::now() + PATIENCE;
        let mut after = serving.metrics();
        while after["countersink_sessions"] != 1.0 {
            assert!(Instant::now() < deadline, "{after:?}");
            after = serving.metrics();
        }
        let grown = |name: &str| after[name] - before[name];
        assert_eq!(
            grown("countersink_statements_total{reason=\"slotted\"}"),
            3.0
        );
        assert_eq!(
            grown("countersink_statements_total{reason=\"summed\"}"),
            1.0
        );
        assert_eq!(
            grown("countersink_statements_total{reason=\"folded:absolute-set\"}"),
            1.0
        );
        assert_eq!(grown("countersink_connections_total"), 2.0);
        assert_eq!(
            grown("countersink_refused_connections_total{side=\"client\"}"),
            1.0
        );
        assert_eq!(after["countersink_rollup_drift_total"], 0.0);
        let version = format!(
            "countersink_build_info{{version=\"{}\"}}",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(after[&version], 1.0);

        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        let lag = "countersink_rollup_lag_seconds{table=\"cs_metrics.posts\"}";
        assert!(serving.metrics()[lag] > 0.0, "rollup: 1h");
    });
}

/// Whoever runs the proxy need not ask for more of the log to find that out; a wrong password is between the client and
/// the server.
#[test]
fn the_log_says_by_default_that_the_upstream_is_unreachable() {
    support::block_on(async {
        let schema = "cs_metrics_unreachable";
        let server = &twin(Flavour::MySql).proxied;
        create_schema(server, schema, POSTS).await;
        let forwarder = Forwarder::start(server).await;
        let mut serving = WithHttp::before(&forwarder.upstream(), &rules(schema, ""));
        let refused = |serving: &WithHttp, side: &str| {
            let name = format!("countersink_refused_connections_total{{side=\"{side}\"}}");
            serving.metrics()[&name]
        };
        let clients = serving.clients.clone();
        let wrong = Address {
            password: "wrong".to_owned(),
            ..clients.clone()
        };
        let log_in = |address| connect_as(address, None, Driver::CAPABILITIES);
        assert!(log_in(&wrong).await.is_err());
        forwarder.close().await;
        for _ in 0..2 {
            assert!(log_in(&clients).await.is_err());
        }
        let line = serving.binary.wait_for("not connected: ").expect("a line");
        assert!(
            line.contains(" WARN ") && line.contains("not connected: upstream: cannot connect: "),
            "{line}"
        );
        let deadline = Instant::now() + PATIENCE;
        while refused(&serving, "client") + refused(&serving, "upstream") < 3.0 {
            assert!(Instant::now() < deadline, "{:?}", serving.metrics());
        }
        assert_eq!(refused(&serving, "upstream"), 2.0);
        assert_eq!(refused(&serving, "proxy"), 0.0);
        // Once is enough for a while, however many are refused.
        serving.binary.signal("TERM");
        let ended = serving.binary.wait();
        assert_eq!(
            ended.errors.matches("not connected: ").count(),
            1,
            "{}",
            ended.errors
        );
    });
}

/// Sessions that end between two commands have lost nothing, however their connections end.
#[test]
fn sessions_are_lost_in_the_middle_of_a_command_alone() {
    support::block_on(async {
        let serving = start("cs_metrics_lost", "").await;
        let mut direct = connect(&twin(Flavour::MySql).proxied, None).await;
        let lost = |side: &str| {
            let name = format!("countersink_lost_sessions_total{{side=\"{side}\"}}");
            serving.metrics()[&name]
        };
        let all_gone = || {
            let deadline = Instant::now() + PATIENCE;
            while serving.metrics()["countersink_sessions"] > 0.0 {
                assert!(Instant::now() < deadline, "their sessions end");
            }
        };
        // Nothing at hand: a client that goes without a word, and one whose server closes.
        drop(connect(&serving.clients, None).await);
        let idle = connect(&serving.clients, None).await;
        run(&mut direct, &format!("KILL {}", idle.thread_id())).await;
        all_gone();
        assert_eq!((lost("client"), lost("upstream")), (0.0, 0.0));
        // The same in the middle of a command.
        let mut client = connect(&serving.clients, None).await;
        let packet = query_packet("DO 'what never comes'");
        client.send_raw(&packet[..10]).await.expect("sent");
        drop(client);
        all_gone();
        assert_eq!((lost("client"), lost("upstream")), (1.0, 0.0));
        let mut client = connect(&serving.clients, None).await;
        let sleeping = query_packet("DO SLEEP(60)");
        client.send_raw(&sleeping).await.expect("sent");
        let id = client.thread_id();
        let seen = format!(
            "SELECT COUNT(*) FROM sys.session WHERE conn_id = {id} AND state = 'User sleep'"
        );
        let deadline = Instant::now() + PATIENCE;
        while number(&mut direct, &seen).await == 0 {
            assert!(Instant::now() < deadline, "it sleeps");
        }
        run(&mut direct, &format!("KILL {id}")).await;
        all_gone();
        assert_eq!((lost("client"), lost("upstream")), (1.0, 1.0));
    });
}

/// What did not come to pass is counted as what it was to be, and a statement is counted once.
#[test]
fn failures_and_locking_reads_are_counted_once() {
    support::block_on(async {
        let schema = "cs_metrics_once";
        let serving = start(schema, "").await;
        let mut direct = connect(&twin(Flavour::MySql).proxied, Some(schema)).await;
        let mut client = connect(&serving.clients, Some(schema)).await;
        let of_posts = |what: &str| {
            let name = format!("countersink_{what}_total{{table=\"{schema}.posts\"}}");
            serving.metrics()[&name]
        };
        let statements = || {
            let told = serving.metrics().into_iter();
            let counted = told.filter(|(name, count)| {
                name.starts_with("countersink_statements_total") && *count > 0.0
            });
            let reason = |name: String| name.split('"').nth(1).expect("a reason").to_owned();
            let counted = counted.map(|(name, count)| (reason(name), count));
            counted.collect::<BTreeMap<_, _>>()
        };
        // The slot row is another's.
        let increment = "UPDATE posts SET views = views + 1 WHERE id = 1";
        run(&mut client, increment).await;
        run(&mut direct, "BEGIN").await;
        run(&mut direct, "SELECT views FROM posts_slots FOR UPDATE").await;
        run(&mut client, "SET innodb_lock_wait_timeout = 1").await;
        let waited = client.query(increment).await.expect("an answer");
        assert!(
            matches!(&waited, Reply::Err(error) if error.code == 1205),
            "{waited:?}"
        );
        run(&mut direct, "COMMIT").await;
        assert_eq!(statements()["slotted"], 2.0);
        assert_eq!(of_posts("increments"), 2.0);
        // Under the lock that it asks for the row is the whole value.
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
        )
        .await;
        run(&mut client, "COMMIT").await;
        let counted = statements();
        assert_eq!(counted["folded:locked-by-key"], 1.0, "{counted:?}");
        assert!(!counted.contains_key("summed:locking"), "{counted:?}");
        assert_eq!((of_posts("folds"), of_posts("reads")), (1.0, 0.0));
    });
}

#[test]
fn times_are_told_by_what_was_done() {
    support::block_on(async {
        let serving = start("cs_metrics_times", "").await;
        let mut client = connect(&serving.clients, Some("cs_metrics_times")).await;
        for text in [
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "UPDATE posts SET views = views + 2 WHERE id = 1",
            "SELECT views FROM posts WHERE id = 1",
            "UPDATE posts SET views = 0 WHERE id = 1",
            "UPDATE tallies SET hits = hits + 1 WHERE id = 1",
            "DO SLEEP(1)",
        ] {
            run(&mut client, text).await;
        }
        // A client that takes its time in the middle of a statement.
        let packet = query_packet("DO 'slowly'");
        let (first, rest) = packet.split_at(10);
        client.send_raw(first).await.expect("sent");
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.send_raw(rest).await.expect("sent");
        client
            .packets(ResponseKind::Results)
            .await
            .expect("an answer");
        // A statement's time is counted behind its answer.
        let deadline = Instant::now() + PATIENCE;
        let last = "countersink_statement_seconds_count{plan=\"forward\"}";
        let mut told = serving.metrics();
        while told[last] < 2.0 {
            assert!(Instant::now() < deadline, "{told:#?}");
            told = serving.metrics();
        }
        let is = |name: &str, labels: &str, expected: f64| {
            let name = format!("countersink_{name}{{{labels}}}");
            assert_eq!(told.get(&name), Some(&expected), "{name} in {told:#?}");
        };
        let (posts, tallies) = (
            r#"table="cs_metrics_times.posts""#,
            r#"table="cs_metrics_times.tallies""#,
        );
        is("increments_total", posts, 2.0);
        is("reads_total", posts, 1.0);
        is("folds_total", posts, 1.0);
        is("increments_total", tallies, 1.0);
        is("folds_total", tallies, 0.0);
        is("combined_increments_total", posts, 0.0);
        is("held_slots", posts, 0.0);
        for (plan, count) in [
            ("forward", 2.0),
            ("increment", 3.0),
            ("read", 1.0),
            ("fold", 1.0),
        ] {
            for part in ["statement", "upstream", "added"] {
                is(
                    &format!("{part}_seconds_count"),
                    &format!("plan=\"{plan}\""),
                    count,
                );
            }
        }
        // The server's sleep is not added by the proxy, and the client's time is in neither. The server may fall asleep
        // before the proxy gets a processor back and begins to wait, so a little of that second may count as added.
        let of = |name: &str| told[&format!("countersink_{name}_seconds_sum{{plan=\"forward\"}}")];
        assert!((1.0..2.0).contains(&of("statement")), "{told:#?}");
        assert!(of("added") < of("upstream"), "{told:#?}");
        assert!(
            told["countersink_planning_seconds_count"] >= 4.0,
            "{told:#?}"
        );
        assert!(told[&format!("countersink_slots_busy_seconds_total{{{posts}}}")] > 0.0);
    });
}

#[test]
fn every_metric_is_documented_and_no_other() {
    support::block_on(async {
        let serving = start("cs_metrics_documented", "").await;
        let bare = |name: &str| name.split('{').next().unwrap_or_default().to_owned();
        let there = serving.metric_names();
        let page = include_str!("../../docs/operate.md");
        let rows = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `countersink_"));
        let told: BTreeSet<_> = rows
            .filter_map(|row| Some(bare(&format!("countersink_{}", row.split_once('`')?.0))))
            .collect();
        assert_eq!(there, told);
    });
}

#[test]
fn health_is_told_and_everything_else_refused() {
    support::block_on(async {
        let serving = start("cs_metrics_health", "drain_timeout: 1m\n").await;
        let get = |path: &str| serving.get(path);
        assert_eq!(get("/healthz"), (200, "ok\n".to_owned()));
        assert_eq!(get("/readyz"), (200, "ready\n".to_owned()));
        let (status, help) = get("/nothing?at=all");
        assert!(
            status == 404 && help.contains("/metrics"),
            "{status} {help}"
        );
        assert_eq!(serving.ask("POST /metrics HTTP/1.1").status, 405);
        assert_eq!(serving.ask("\u{1}\u{2} nonsense").status, 400);
        // Told to stop, while a transaction is open still.
        let mut client = connect(&serving.clients, None).await;
        run(&mut client, "BEGIN").await;
        serving.binary.signal("TERM");
        let deadline = Instant::now() + PATIENCE;
        while get("/readyz") != (503, "stopping\n".to_owned()) {
            assert!(Instant::now() < deadline, "it says that it stops");
        }
        assert_eq!(get("/healthz").0, 200);
        run(&mut client, "COMMIT").await;
        drop(client);
        assert_eq!(serving.binary.wait().code, Some(0));
    });
}

/// They ask for much, and do not read it; nor do they go.
#[test]
fn probes_do_not_wait_for_clients_that_do_not_read() {
    support::block_on(async {
        let serving = start("cs_metrics_probes", "").await;
        let mut idle = Vec::new();
        for _ in 0..500 {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_recv_buffer_size(4096).expect("a small buffer");
            socket.connect(&serving.http.into()).expect("it listens");
            let ask = "GET /dashboard HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500);
            socket.set_nonblocking(true).expect("as much as it takes");
            socket.send(ask.as_bytes()).expect("sent");
            idle.push(socket);
        }
        for _ in 0..10 {
            assert_eq!(serving.get("/healthz"), (200, "ok\n".to_owned()));
            assert_eq!(serving.get("/readyz"), (200, "ready\n".to_owned()));
        }
        drop(idle);
    });
}

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE tallies (id INT PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0);
    INSERT INTO posts (id) VALUES (1); INSERT INTO tallies (id) VALUES (1)";

async fn start(schema: &str, settings: &str) -> WithHttp {
    WithHttp::start(schema, POSTS, &rules(schema, settings)).await
}

fn rules(schema: &str, settings: &str) -> String {
    format!(
        "{settings}counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h, rest: never}}\n- {{table: {schema}.tallies, columns: [hits], slots: 0}}\n"
    )
}

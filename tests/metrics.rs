//! The HTTP port: metrics that count what was done, and health.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use countersink::sandbox::{Address, Flavour};
use support::binary::{Binary, PATIENCE, rules_file};
use support::client::{connect, connect_as, create_schema, run};
use support::proxy::rules_head;
use support::twin::twin;

#[test]
fn metrics_count_what_was_done() {
    support::block_on(async {
        let serving = Serving::start("cs_metrics", "").await;
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
        let refused = connect_as(&wrong, None, countersink::driver::Driver::CAPABILITIES).await;
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
        assert_eq!(grown("countersink_refused_connections_total"), 1.0);
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

#[test]
fn every_metric_is_documented_and_no_other() {
    support::block_on(async {
        let serving = Serving::start("cs_metrics_documented", "").await;
        let bare = |name: &str| name.split('{').next().unwrap_or_default().to_owned();
        let there: BTreeSet<_> = serving.metrics().keys().map(|name| bare(name)).collect();
        let page = include_str!("../docs/operate.md");
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
        let serving = Serving::start("cs_metrics_health", "drain_timeout: 1m\n").await;
        let get = |path: &str| serving.ask(&format!("GET {path} HTTP/1.1"));
        assert_eq!(get("/healthz"), (200, "ok\n".to_owned()));
        assert_eq!(get("/readyz"), (200, "ready\n".to_owned()));
        let (status, help) = get("/nothing?at=all");
        assert!(
            status == 404 && help.contains("/metrics"),
            "{status} {help}"
        );
        assert_eq!(serving.ask("POST /metrics HTTP/1.1").0, 405);
        assert_eq!(serving.ask("\u{1}\u{2} nonsense").0, 400);
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

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
    INSERT INTO posts (id) VALUES (1)";

/// A process with an HTTP port.
struct Serving {
    binary: Binary,
    clients: Address,
    http: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Serving {
    async fn start(schema: &str, settings: &str) -> Self {
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, POSTS).await;
        let rules = format!(
            "http: 127.0.0.1:0\n{settings}counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n"
        );
        let (folder, file) = rules_file(&(rules_head(upstream) + &rules));
        let arguments = ["serve", "--rules", file.to_str().expect("UTF-8")];
        let mut binary = Binary::start(&arguments);
        let mut address_behind = |text: &str| {
            let line = binary.wait_for(text).expect("it serves");
            let (_, rest) = line.split_once(text).expect("it is in there");
            let end =
                rest.find(|letter: char| letter == ',' || letter == '/' || letter.is_whitespace());
            let address = &rest[..end.unwrap_or(rest.len())];
            address
                .parse::<SocketAddr>()
                .unwrap_or_else(|_| panic!("no address: {line}"))
        };
        let listening = address_behind("listening on ");
        let http = address_behind("http://");
        Self {
            binary,
            clients: Address {
                host: listening.ip().to_string(),
                port: listening.port(),
                ..upstream.clone()
            },
            http,
            _folder: folder,
        }
    }

    /// Status and body of the answer to a request that starts so.
    fn ask(&self, line: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.http).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request = format!("{line}\r\nHost: here\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body.to_owned())
    }

    /// All metrics by their names with labels.
    fn metrics(&self) -> BTreeMap<String, f64> {
        let (status, text) = self.ask("GET /metrics HTTP/1.1");
        assert_eq!(status, 200, "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            (name.to_owned(), value.parse().expect("a number"))
        });
        samples.collect()
    }
}

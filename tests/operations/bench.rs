//! `countersink bench` on real servers: every mode and workload counts exactly, and its schema goes, however it ends.

use std::path::Path;

use mysql_async::Opts;
use serde_json::Value;

use crate::support::binary::{Binary, Ended};
use crate::support::{Sandbox, block_on, servers};

/// What keeps a run short, unless a test says otherwise.
const SHORT: [[&str; 2]; 2] = [["--turn", "50ms"], ["--rounds", "1"]];

const MODES: [&str; 5] = ["wire", "rows", "direct", "slots", "proxy"];

/// One test's server, rules and name for the schema.
struct Bench {
    sandbox: Sandbox,
    schema: String,
}

impl Bench {
    async fn new(server: &Opts) -> Self {
        let sandbox = Sandbox::new(server, "").await;
        let schema = format!("{}_bench", sandbox.schema);
        Self { sandbox, schema }
    }

    /// Starts it with the server's owner as control account.
    fn start(&self, arguments: &[&str]) -> Binary {
        let rules = self.sandbox.rules("columns: [views]");
        let rules = rules.to_str().expect("text");
        self.start_by(&["--rules", rules], arguments, &[])
    }

    fn start_by(&self, who: &[&str], arguments: &[&str], environment: &[(&str, &str)]) -> Binary {
        let short = SHORT.iter().filter(|[name, _]| !arguments.contains(name));
        let mut all = vec!["bench", "--schema", &self.schema];
        all.extend(short.flatten().chain(who).chain(arguments));
        Binary::start_with(&all, environment)
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).wait()
    }

    /// A run that must go well: its figures.
    fn figures(&self, arguments: &[&str]) -> Value {
        figures(&self.run(&[arguments, &["--json"]].concat()))
    }

    async fn is_there(&self) -> bool {
        let query = format!("SHOW DATABASES LIKE '{}'", self.schema);
        !self.sandbox.ask(&query).await.is_empty()
    }
}

fn figures(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
    serde_json::from_str(&ended.output).unwrap_or_else(|error| panic!("{error}: {}", ended.output))
}

fn on_both(body: impl AsyncFn(Bench)) {
    block_on(async {
        for server in servers() {
            body(Bench::new(&server).await).await;
        }
    });
}

/// What was counted in a mode, over all levels, agrees with what is said of the sums; returns it.
fn exact(figures: &Value, mode: &str) -> u64 {
    let of_mode = |list: &Value| -> Value {
        let mut list = list.as_array().expect("a list").iter();
        let found = list.rfind(|entry| entry["mode"] == mode);
        found
            .unwrap_or_else(|| panic!("no {mode}: {figures}"))
            .clone()
    };
    let levels = figures["levels"].as_array().expect("levels").iter();
    let count = |level: &Value| {
        let way = of_mode(&level["modes"]);
        let counts = [&way["increments"]["count"], &way["warm_up"]];
        counts.map(|count| count.as_u64().expect("a number"))
    };
    let counted: u64 = levels.flat_map(count).sum();
    let sum = of_mode(&figures["sums"]);
    assert_eq!(sum["exact"], true, "{sum}");
    assert_eq!(sum["acknowledged"], counted, "{sum}");
    let parts = ["base", "slots"].map(|part| sum[part].as_u64().expect("a number"));
    assert_eq!(parts[0] + parts[1], counted, "{sum}");
    counted
}

#[test]
fn every_mode_counts_exactly_and_the_schema_goes() {
    on_both(async |bench| {
        let figures = bench.figures(&["--clients", "1,3", "--turn", "300ms"]);
        let levels = figures["levels"].as_array().expect("levels");
        let clients: Vec<_> = levels
            .iter()
            .map(|level| level["clients"].as_u64())
            .collect();
        assert_eq!(clients, [Some(1), Some(3)]);
        for level in levels {
            let modes = level["modes"].as_array().expect("modes").iter();
            let names: Vec<_> = modes
                .map(|mode| mode["mode"].as_str().expect("a name"))
                .collect();
            assert_eq!(names, MODES);
            let ratio = &level["ratios"][0];
            assert_eq!(
                (&ratio["mode"], &ratio["to"]),
                (&"proxy".into(), &"direct".into())
            );
            assert!(ratio["rate"]["median"].as_f64() > Some(0.0), "{ratio}");
        }
        for mode in &MODES[1..] {
            assert!(exact(&figures, mode) > 0, "{mode}");
        }
        for read in figures["reads"]["modes"].as_array().expect("modes") {
            assert!(read["reads"]["count"].as_u64() > Some(0), "{read}");
            assert_eq!(read["increments"]["count"], 0);
        }
        let proxied = &figures["sums"][3];
        assert_eq!(
            (&proxied["mode"], &proxied["read"]),
            (&"proxy".into(), &proxied["acknowledged"])
        );
        assert_eq!(
            proxied["slot_rows"], 0,
            "increments in autocommit need no slots: {proxied}"
        );
        assert_eq!(
            figures["summary"].as_array().map(Vec::len),
            Some(2),
            "{figures}"
        );
        assert!(!bench.is_there().await);
    });
}

#[test]
fn transactions_with_reads_of_many_keys_count_exactly() {
    on_both(async |bench| {
        let workload = [
            "--think", "4ms", "--reads", "50%", "--keys", "30", "--slots", "8",
        ];
        let figures =
            bench.figures(&[&workload[..], &["--clients", "4", "--turn", "200ms"]].concat());
        for mode in &MODES[1..] {
            assert!(exact(&figures, mode) > 0, "{mode}");
        }
        for mode in &figures["levels"][0]["modes"].as_array().expect("modes")[1..] {
            assert!(mode["reads"]["count"].as_u64() > Some(0), "{mode}");
            // None can be shorter than what it waits for.
            assert!(
                mode["increments"]["p50_us"].as_f64() >= Some(3_990.0),
                "{mode}"
            );
        }
        assert!(!bench.is_there().await);
    });
}

#[test]
fn what_a_rule_costs_is_measured_against_a_table_without_one() {
    let servers = servers();
    block_on(async {
        let bench = Bench::new(&servers[0]).await;
        let workload = ["--work", "mix", "--keys", "20", "--modes", "cold,proxy"];
        let figures =
            bench.figures(&[&workload[..], &["--clients", "4", "--turn", "200ms"]].concat());
        for mode in ["cold", "proxy"] {
            assert!(exact(&figures, mode) > 0, "{mode}");
        }
        for mode in figures["levels"][0]["modes"].as_array().expect("modes") {
            let count = |what: &str| mode[what]["count"].as_u64();
            assert!(count("reads") > count("increments"), "{mode}");
        }
        let summary = figures["summary"][0].as_str().expect("a sentence");
        assert!(summary.contains("on a table without a rule"), "{summary}");
    });
}

#[test]
fn a_journal_that_is_swapped_under_load_loses_nothing() {
    on_both(async |bench| {
        let workload = [
            "--modes",
            "journal",
            "--keys",
            "3",
            "--clients",
            "4",
            "--turn",
            "700ms",
        ];
        let figures = bench.figures(&workload);
        assert!(exact(&figures, "journal") > 0);
        assert_eq!(figures["sums"][0]["slot_rows"], 0, "all of it is added up");
        assert!(!bench.is_there().await);
    });
}

#[test]
fn the_report_says_what_is_gained_and_what_a_read_costs() {
    let servers = servers();
    block_on(async {
        let bench = Bench::new(&servers[0]).await;
        let ended = bench.run(&[
            "--clients",
            "2",
            "--modes",
            "proxy,direct",
            "--turn",
            "300ms",
        ]);
        assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
        for part in [
            "Increments of one row, in autocommit",
            "\n      2  direct ",
            "\n         proxy ",
            "█",
            "acknowledged = base",
            "Through Countersink as a multiple of direct, by clients: ",
            "\nA read of the counter by its key takes ",
        ] {
            assert!(ended.output.contains(part), "{part}: {}", ended.output);
        }
        assert!(!ended.output.contains("wire"), "{}", ended.output);
    });
}

#[test]
fn an_increment_too_many_is_an_error() {
    on_both(async |bench| {
        let mut running = bench.start(&[
            "--modes",
            "direct",
            "--clients",
            "1",
            "--rounds",
            "20",
            "--json",
        ]);
        running.wait_for("direct 1 1/20").expect("a first turn");
        let stray = format!("UPDATE {}.bench_direct SET views = views + 1", bench.schema);
        bench.sandbox.run(&stray).await;
        let ended = running.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.errors.contains("the sum is not exact"),
            "{}",
            ended.errors
        );
        let figures: Value = serde_json::from_str(&ended.output).expect("JSON all the same");
        assert_eq!(figures["sums"][0]["exact"], false);
        assert!(!bench.is_there().await);
    });
}

#[test]
fn a_signal_leaves_no_schema() {
    on_both(async |bench| {
        for (signal, code) in [("INT", 130), ("TERM", 143)] {
            let mut running = bench.start(&["--clients", "3", "--rounds", "99", "--think", "1ms"]);
            running.wait_for("proxy 3 2/99").expect("a turn");
            assert!(
                bench.is_there().await,
                "else its being gone would prove nothing"
            );
            running.signal(signal);
            let ended = running.wait();
            assert_eq!(ended.code, Some(code), "{ended:?}");
            let told = format!(
                "interrupted; nothing is left of the schema {}\n",
                bench.schema
            );
            assert!(ended.errors.ends_with(&told), "{}", ended.errors);
            assert!(!bench.is_there().await);
        }
    });
}

#[test]
fn a_schema_of_somebody_else_is_refused_and_left_alone() {
    on_both(async |bench| {
        let schema = &bench.schema;
        let run = ["--modes", "direct", "--clients", "1"];
        bench
            .sandbox
            .run(&format!("CREATE DATABASE {schema}"))
            .await;
        for (statement, why) in [
            (
                format!("CREATE TABLE {schema}.orders (id INT)"),
                "its table orders is not",
            ),
            (
                format!("CREATE TABLE {schema}.made_by_countersink_bench (id INT)"),
                "its table orders is not",
            ),
            (
                format!("RENAME TABLE {schema}.orders TO {schema}.bench_rows"),
                "",
            ),
        ] {
            bench.sandbox.run(&statement).await;
            let ended = bench.run(&run);
            if why.is_empty() {
                // Now it looks like what a run that was killed leaves.
                assert_eq!(ended.code, Some(0), "{}", ended.errors);
                assert!(!bench.is_there().await);
                continue;
            }
            assert_eq!(ended.code, Some(2), "{ended:?}");
            assert!(ended.errors.contains(why), "{}", ended.errors);
            assert!(
                ended.errors.contains("--schema"),
                "no remedy: {}",
                ended.errors
            );
            let orders = bench
                .sandbox
                .ask(&format!("SHOW TABLES FROM {schema} LIKE 'orders'"))
                .await;
            assert_eq!(orders, ["orders"]);
        }
    });
}

#[test]
fn an_empty_schema_of_somebody_else_is_refused_too() {
    on_both(async |bench| {
        let schema = &bench.schema;
        bench
            .sandbox
            .run(&format!("CREATE DATABASE {schema}"))
            .await;
        let ended = bench.run(&[]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(bench.is_there().await);
        bench.sandbox.run(&format!("DROP DATABASE {schema}")).await;
    });
}

#[test]
fn two_runs_do_not_share_a_schema() {
    on_both(async |bench| {
        let mut first = bench.start(&["--clients", "1", "--rounds", "99"]);
        first.wait_for("wire 1 1/99").expect("a turn");
        let second = bench.run(&[]);
        assert_eq!(second.code, Some(1), "{second:?}");
        assert!(
            second.errors.contains("another `countersink bench`"),
            "{}",
            second.errors
        );
        assert!(bench.is_there().await);
        first.signal("TERM");
        assert_eq!(first.wait().code, Some(143));
    });
}

/// MySQL's default plugin wants the password itself from an account that its cache does not know.
#[test]
fn a_new_account_with_a_password_can_run_it_and_one_without_grants_is_told_of_them() {
    on_both(async |mut bench| {
        let user = bench.sandbox.user("BY 'q ${x} 7'").await;
        let server = &bench.sandbox.server;
        let address = format!("{}:{}", server.ip_or_hostname(), server.tcp_port());
        let run = |password: &str| {
            let who = [
                "--upstream",
                &address,
                "--user",
                &user,
                "--password-env",
                "BENCH_PASSWORD",
            ];
            let arguments = ["--clients", "2", "--json"];
            let environment = [("BENCH_PASSWORD", password)];
            bench.start_by(&who, &arguments, &environment).wait()
        };
        let refused = run("wrong");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.errors.contains("correct the user and the password"),
            "{}",
            refused.errors
        );
        let denied = run("q ${x} 7");
        assert_eq!(denied.code, Some(2), "{denied:?}");
        let (_, grant) = denied
            .errors
            .split_once("let a DBA run\n")
            .expect("a remedy");
        bench.sandbox.run(grant.trim().trim_end_matches(';')).await;
        // Forgets the password of the runs before.
        bench.sandbox.run("FLUSH PRIVILEGES").await;
        let figures = figures(&run("q ${x} 7"));
        assert!(exact(&figures, "proxy") > 0);
        assert!(!bench.is_there().await);
    });
}

#[test]
fn more_clients_than_the_server_lets_in_are_told_of_before_anything_is_made() {
    on_both(async |bench| {
        let most: u32 = bench.sandbox.ask("SELECT @@max_connections").await[0]
            .parse()
            .expect("a number");
        let clients = most.min(1024).to_string();
        let ended = bench.run(&["--clients", &clients]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.errors.contains("SET GLOBAL max_connections = "),
            "{}",
            ended.errors
        );
        assert!(!bench.is_there().await);
    });
}

#[test]
fn without_rules_the_server_has_to_be_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing: &Path = &folder.path().join("rules.yaml");
    let missing = missing.to_str().expect("text");
    let ended = Binary::start(&["bench", "--rules", missing]).wait();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.errors.contains("name the rules file with --rules"),
        "{}",
        ended.errors
    );
    let ended = Binary::start(&["bench", "--user", "x", "--upstream", "127.0.0.1:1"]).wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.errors.contains("start the server"),
        "{}",
        ended.errors
    );
}

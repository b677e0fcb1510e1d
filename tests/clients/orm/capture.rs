//! Runs the libraries' programs through a proxy and writes down what they sent.
//!
//! A program says on standard output who it is, one line of JSON; it is told where to connect. Then, for each
//! increment, it says what it is about to do, is told to go on, and says when it is done.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use countersink::driver::Driver;
use countersink::metrics::Metrics;
use countersink::reason::Reason;
use countersink_sandbox::{Address, Flavour};
use serde::Deserialize;

use crate::orm::golden::{self, Increment, Library};
use crate::orm::recorder::Recorder;
use crate::orm::table;
use crate::support::client::{connect, rows, run_all};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

/// What a program says after its first line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    /// It is about to run this.
    Next(String),
    /// That has been run.
    Done(bool),
}

/// Captures all programs of the folder whose commands COUNTERSINK_ORM_PROGRAMS lists, one a line.
pub async fn capture() {
    let programs = std::env::var("COUNTERSINK_ORM_PROGRAMS")
        .expect("run tests/clients/orm/capture, which says where the libraries are");
    let mut libraries = Vec::new();
    for program in programs.lines().filter(|line| !line.trim().is_empty()) {
        eprintln!("{program}");
        libraries.push(one(program).await);
    }
    let wanted = std::env::var("COUNTERSINK_ORM_ONLY").unwrap_or_default();
    if wanted.is_empty() {
        golden::write(&libraries);
        table::write(&golden::read());
    } else {
        eprintln!("the golden file stays as it is, for only {wanted} ran");
    }
}

async fn one(command: &str) -> Library {
    let mut program = Program::start(command);
    let mut library: Library = program.read();
    let upstream = single(Flavour::MySql);
    let mut direct = connect(upstream, None).await;
    run_all(&mut direct, &library.setup()).await;
    // Without TLS, for the recorder reads along.
    let rules = format!("tls: {{client: disabled}}\ncounters:\n{}", library.rule());
    let proxy = Proxy::start(upstream, &rules);
    let listens = format!("{}:{}", proxy.address.host, proxy.address.port);
    let recorder = Recorder::start(listens.parse().expect("an address"));
    let schema = library.schema();
    let mut witness = Witness {
        direct,
        proxied: connect(&proxy.address, Some(&schema)).await,
        counters: library.counters.clone(),
        schema: schema.clone(),
    };
    let Address { user, password, .. } = &proxy.address;
    program.tell(
        &[
            "127.0.0.1",
            &recorder.port.to_string(),
            user,
            password,
            &schema,
        ]
        .join("\t"),
    );
    while let Some(said) = program.hear() {
        let Said::Next(code) = said else {
            panic!("{command}: expected its next increment, got {said:?}");
        };
        recorder.take();
        let metrics = &proxy.shared.metrics;
        let before = (
            witness.base().await,
            witness.values().await,
            metrics.statements(),
        );
        let at = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        program.tell("go");
        match program.hear() {
            Some(Said::Done(true)) => {}
            said => panic!("{command}: {code}: {said:?}"),
        }
        let plan = plan(&before.2, metrics);
        // A transaction that reads what it has incremented folds it.
        let is_read_again = plan == "Slotted" && witness.base().await != before.0;
        let adds = gains(&library.counters, &before.1, &witness.values().await);
        let (seen, set): (Vec<_>, Vec<_>) = recorder.take().into_iter().partition(|seen| {
            seen.statement
                .trim_start()
                .to_lowercase()
                .starts_with("update")
        });
        for set in set.into_iter().map(|set| set.statement) {
            // What pools SET on each of their connections stands there once.
            if set.to_lowercase().contains("time_zone") && !library.session.contains(&set) {
                library.session.push(set);
            }
        }
        let [update] = seen.as_slice() else {
            panic!("{command}: {code}: expected one UPDATE, got {seen:#?}");
        };
        let folded = if is_read_again { ", folded" } else { "" };
        eprintln!("  {:14} {}", format!("{plan}{folded}"), update.statement);
        library.increments.push(Increment {
            code,
            statement: update.statement.clone(),
            parameters: update.parameters.clone(),
            at: format!("{}.{:06}", at.as_secs(), at.subsec_micros()),
            plan,
            is_read_again,
            adds,
        });
    }
    program.finish();
    library
}

/// Why the write that came since `before` had the plan it had.
fn plan(before: &BTreeMap<Reason, u64>, metrics: &Metrics) -> String {
    const NO_WRITE: [Reason; 6] = [
        Reason::NotHot,
        Reason::NoCounter,
        Reason::Metadata,
        Reason::Summed,
        Reason::SummedLocked,
        Reason::InsertOnly,
    ];
    let now = metrics.statements();
    let new: Vec<String> = now
        .iter()
        .filter(|(reason, count)| before.get(reason) != Some(count) && !NO_WRITE.contains(reason))
        .map(|(reason, _)| format!("{reason:?}"))
        .collect();
    new.join(", ")
}

/// Looks at the table, past the proxy and through it.
struct Witness {
    direct: Driver,
    proxied: Driver,
    counters: Vec<String>,
    schema: String,
}

impl Witness {
    async fn base(&mut self) -> Vec<Vec<String>> {
        let query = format!("SELECT * FROM {}.posts ORDER BY id", self.schema);
        rows(&mut self.direct, &query).await
    }

    /// The sum of each counter over all rows.
    async fn values(&mut self) -> Vec<String> {
        let sums: Vec<String> = self
            .counters
            .iter()
            .map(|counter| format!("SUM({counter})"))
            .collect();
        let query = format!("SELECT {} FROM posts", sums.join(", "));
        rows(&mut self.proxied, &query).await.remove(0)
    }
}

/// What the counters have gained: `views +2`.
fn gains(counters: &[String], before: &[String], after: &[String]) -> String {
    let number = |text: &String| text.parse::<i64>().expect("a sum");
    let gains = counters.iter().zip(before.iter().zip(after));
    let gains = gains.filter(|(_, (before, after))| before != after);
    let shown = gains.map(|(counter, (before, after))| {
        format!("{counter} {:+}", number(after) - number(before))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A library's program.
struct Program {
    command: String,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(command: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/orm"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        Self {
            command: command.to_owned(),
            input: child.stdin.take().expect("piped"),
            output: BufReader::new(child.stdout.take().expect("piped")).lines(),
            child,
        }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("the program listens");
    }

    fn read<T: for<'de> Deserialize<'de>>(&mut self) -> T {
        self.next()
            .unwrap_or_else(|| panic!("{} said nothing", self.command))
    }

    fn next<T: for<'de> Deserialize<'de>>(&mut self) -> Option<T> {
        let line = self.output.next()?.expect("a line of text");
        let said = serde_saphyr::from_str(&line);
        Some(said.unwrap_or_else(|error| panic!("{}: {error} in: {line}", self.command)))
    }

    fn hear(&mut self) -> Option<Said> {
        self.next()
    }

    fn finish(mut self) {
        drop(self.input);
        let status = self.child.wait().expect("a child of ours");
        assert!(status.success(), "{}: {status}", self.command);
    }
}

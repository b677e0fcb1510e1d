//! `countersink bench`: measures what the proxy gains on the user's own server, in a schema that is created and removed
//! again.

use std::thread::available_parallelism;
use std::time::Duration;

use clap::Args;
use countersink_bench::bench::{self, Mode, Options, Work, Workload};
use tokio::runtime::Runtime;

use super::proxy::Proxy;
use super::target::{Named, Target, TargetArguments};
use crate::config::{DurationRange, UpstreamTls};

/// The rules require TLS, which the benchmark's clients do not support.
#[derive(Debug, thiserror::Error)]
#[error(
    "upstream_tls asks for TLS, which the clients of the benchmark do not speak; name a unix socket by --upstream, or the same server by --upstream to measure it without TLS"
)]
pub struct OnlyWithTls;

pub(super) const EXAMPLES: &str = "\
Examples:
  countersink bench --rules rules.yaml              upstream and control account of the rules, 1 to 64 clients
  BENCH_PASSWORD=.. countersink bench --upstream db.test:3306 --user bench --password-env BENCH_PASSWORD
  countersink bench --clients 1,64,1024 --modes direct,proxy
  countersink bench --think 5ms                     transactions that stay open for 5 ms after the increment
  countersink bench --work guarded                  decrements of a stock
  countersink bench --work reads --keys 1000 --modes cold,proxy
                                                    what a rule costs the reads of its table
  countersink bench --reads 20% --keys 1000         a fifth of the statements reads, a fifth of the rows is hot
  countersink bench --json > bench.json             figures for programs; docs/performance.md has the fields

Modes:
  wire    DO 0, direct: the limit of server, network and clients
  rows    each client increments a row of its own, direct: the limit without contention
  direct  all clients increment the same row
  slots   the hand-written pattern, direct: INSERT .. ON DUPLICATE KEY UPDATE into one of --slots rows, at random
  proxy   the statements of `direct`, through a Countersink that this command runs
  journal each increment is a row of a journal, direct, which is added up twice a second; only if --modes names it
  cold    the same on a table that no rule names; only if --modes names it

All of it happens in a schema of its own, which must not exist yet and which is removed at the end, also after Ctrl-C
or an error. The account needs to be allowed to create and drop it:
  GRANT ALL ON `countersink_bench`.* TO ..;
The load is real: it takes the server's disk and processors, and goes to its binary log and replicas.";

/// The range of a turn's length.
const TURN: DurationRange = DurationRange {
    low: (Duration::from_millis(50), "50ms"),
    high: (Duration::from_secs(600), "10m"),
};

/// The range of the time that a transaction is held open.
const THINK: DurationRange = DurationRange {
    low: (Duration::ZERO, "0ms"),
    high: (Duration::from_secs(10), "10s"),
};

/// Arguments of `countersink bench`.
#[derive(Debug, Args)]
pub(super) struct BenchArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// The schema to create and to remove again.
    #[arg(long, value_name = "NAME", default_value = "countersink_bench", value_parser = schema_name)]
    schema: String,
    /// Concurrent clients, 1 to 1024; several numbers are measured one after another.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "1,4,16,64",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    clients: Vec<u16>,
    /// The ways to count that are compared.
    #[arg(
        long,
        value_enum,
        value_name = "MODE,..",
        value_delimiter = ',',
        default_value = "wire,rows,direct,slots,proxy"
    )]
    modes: Vec<Mode>,
    /// What the clients do to the row, or rows; all but `increment` leave out the mode `slots`.
    #[arg(long, value_enum, value_name = "WORK", default_value = "increment")]
    work: Work,
    /// How many turns each mode has at each number of clients. Odd numbers have a median.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// How long a turn is, as in 500ms, 1s or 1m.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = |text: &str| TURN.parse(text))]
    turn: Duration,
    /// Increment in transactions that stay open for this long: BEGIN, UPDATE, this time, COMMIT.
    #[arg(long, value_name = "TIME", value_parser = |text: &str| THINK.parse(text))]
    think: Option<Duration>,
    /// Share of the statements that read the counter by its key, as in 20%.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    reads: f64,
    /// The number of rows to increment, up to 100000.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    keys: u32,
    /// With --keys: this share of the rows gets all but this share of the statements (Pareto principle); 0.5 is even.
    #[arg(long, value_name = "SHARE", default_value = "0.2", value_parser = skew)]
    skew: f64,
    /// Maximum slots per row, for the hand-written pattern and for the proxy; with 0 the proxy has none.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(0..=256))]
    slots: u16,
    /// Threads for the clients; by default a quarter of the processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Print JSON instead of the report.
    #[arg(long)]
    json: bool,
}

impl BenchArguments {
    fn options(&self) -> Options {
        let processors = available_parallelism().map_or(1, usize::from);
        let workload = Workload {
            work: self.work,
            rounds: self.rounds,
            turn: self.turn,
            think: self.think,
            reads: self.reads,
            keys: self.keys,
            skew: self.skew,
            slots: self.slots,
            threads: self.threads.map_or((processors / 4).max(1), usize::from),
        };
        // There is no pattern written by hand for the others.
        let mut modes = sorted(&self.modes);
        let is_by_hand = |mode: &Mode| matches!(mode, Mode::Slots | Mode::Journal);
        modes.retain(|mode| !is_by_hand(mode) || self.work == Work::Increment);
        Options {
            schema: self.schema.clone(),
            clients: sorted(&self.clients),
            modes,
            workload,
            json: self.json,
        }
    }

    /// The server. It must accept clients without TLS.
    async fn target(&self) -> Result<Target, super::Error> {
        match self.target.find()? {
            Named::ByArguments(target) => Ok(target),
            Named::InRules(config) => {
                let needs_tls = matches!(config.upstream_tls, UpstreamTls::Required(_));
                if needs_tls && self.target.upstream.is_none() && !config.upstream.is_local() {
                    return Err(OnlyWithTls.into());
                }
                Ok(Target::of_rules(*config).await?)
            }
        }
    }
}

/// Runs the benchmark. The proxy runs on `runtime`.
pub(super) fn run(arguments: &BenchArguments, runtime: &Runtime) -> Result<(), super::Error> {
    let upstream = runtime.block_on(arguments.target())?.account();
    Ok(bench::run::<Proxy>(
        &arguments.options(),
        &upstream,
        runtime,
    )?)
}

fn sorted<T: Copy + Ord>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list.dedup();
    list
}

/// Parses a share: `20%` is 0.2.
fn share(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    match number {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write a share from 0% to 100%, as in 20%".to_owned()),
    }
}

fn skew(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(skew) if (0.01..=0.5).contains(&skew) => Ok(skew),
        _ => Err("write a share from 0.01 (very uneven) to 0.5 (even), as in 0.2".to_owned()),
    }
}

/// Parses a schema name. It must need no quoting, be the same under every `lower_case_table_names`, and leave room in
/// the name of a lock.
fn schema_name(text: &str) -> Result<String, String> {
    const SYSTEM: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match text.bytes().all(plain) && (1..=40).contains(&text.len()) && !SYSTEM.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(
            "write up to 40 lower-case letters, digits and underscores, and no schema of the server's own"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArguments,
    }

    fn parse(words: &str) -> Result<BenchArguments, String> {
        let words = std::iter::once("bench").chain(words.split_whitespace());
        let line = Line::try_parse_from(words);
        line.map(|line| line.bench)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_has_to_be_said() {
        let options = parse("").unwrap().options();
        assert_eq!(options.clients, [1, 4, 16, 64]);
        let modes: Vec<_> = options.modes.iter().map(|mode| mode.name()).collect();
        assert_eq!(modes, ["wire", "rows", "direct", "slots", "proxy"]);
        let workload = options.workload;
        assert_eq!(
            (workload.rounds, workload.turn),
            (5, Duration::from_secs(1))
        );
        assert_eq!((workload.keys, workload.slots), (1, 64));
        assert_eq!(workload.think, None);
        assert!(workload.reads.abs() < 1e-9 && (workload.skew - 0.2).abs() < 1e-9);
        assert!(workload.threads >= 1);
    }

    #[test]
    fn lists_are_sorted_and_have_nothing_twice() {
        let bench = parse("--clients 64,1,64,1024 --modes proxy,direct,proxy").unwrap();
        let options = bench.options();
        assert_eq!(options.clients, [1, 64, 1024]);
        assert_eq!(options.modes, [Mode::Direct, Mode::Proxy]);
    }

    #[test]
    fn workloads_are_understood() {
        let bench = parse("--think 5ms --reads 20% --keys 1000 --skew 0.1 --turn 500ms").unwrap();
        assert_eq!(bench.think, Some(Duration::from_millis(5)));
        assert_eq!(bench.turn, Duration::from_millis(500));
        assert!((bench.reads - 0.2).abs() < 1e-9 && (bench.skew - 0.1).abs() < 1e-9);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (words, remedy) in [
            ("--clients 0", "1..=1024"),
            ("--clients 1,1025", "1..=1024"),
            ("--clients=", "invalid value"),
            ("--modes fast", "possible values"),
            ("--reads 20", "as in 20%"),
            ("--reads 101%", "from 0% to 100%"),
            ("--reads NaN%", "from 0% to 100%"),
            ("--skew 0.6", "0.01"),
            ("--keys 0", "1..=100000"),
            ("--think 5", "with its unit"),
            ("--think 11s", "from 0ms to 10s"),
            ("--turn 1ms", "from 50ms to 10m"),
            ("--slots 257", "0..=256"),
            ("--work shop", "possible values"),
            ("--schema mysql", "no schema of the server's own"),
            ("--schema a`b", "lower-case"),
            ("--schema Shop", "lower-case"),
            ("--upstream db", "the port is missing"),
            ("--password-env X", "--user"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(remedy), "{words}: {error}");
        }
    }
}

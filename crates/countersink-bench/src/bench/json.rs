//! The figures as JSON. docs/performance.md describes the fields; when one changes, so does `format`.

use serde::Serialize;

use super::conclusions;
use super::facts::Facts;
use super::figures::{Figures, Level, Way};
use super::mode::Mode;
use super::statistics::Spread;
use super::sum::Sum;
use super::work::Work;
use crate::clients::Latencies;

/// Version of the document's fields.
const FORMAT: u32 = 1;

/// The pairs of modes to compare: the second mode's rate is divided by the first one's.
const PAIRS: [(Mode, Mode); 6] = [
    (Mode::Direct, Mode::Proxy),
    (Mode::Direct, Mode::Slots),
    (Mode::Slots, Mode::Proxy),
    (Mode::Rows, Mode::Proxy),
    (Mode::Cold, Mode::Proxy),
    (Mode::Direct, Mode::Rows),
];

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    countersink: &'static str,
    debug_build: bool,
    server: &'a Facts,
    workload: Workload,
    levels: Vec<LevelDocument>,
    reads: LevelDocument,
    sums: Vec<SumDocument<'a>>,
    summary: Vec<String>,
}

#[derive(Serialize)]
struct Workload {
    work: Work,
    rounds: u32,
    turn_ms: u128,
    think_ms: Option<u128>,
    reads: f64,
    keys: u32,
    skew: f64,
    slots: u16,
    threads: usize,
}

#[derive(Serialize)]
struct LevelDocument {
    clients: u16,
    modes: Vec<WayDocument>,
    ratios: Vec<Ratio>,
}

#[derive(Serialize)]
struct WayDocument {
    mode: Mode,
    rate: Option<Spread>,
    rates: Vec<f64>,
    increments: LatencyDocument,
    reads: LatencyDocument,
    warm_up: u64,
    deadlocks: u64,
    timeouts: u64,
}

#[derive(Serialize)]
struct LatencyDocument {
    count: u64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

#[derive(Serialize)]
struct Ratio {
    mode: Mode,
    to: Mode,
    rate: Option<Spread>,
    read_p50: Option<Spread>,
}

#[derive(Serialize)]
struct SumDocument<'a> {
    #[serde(flatten)]
    sum: &'a Sum,
    exact: bool,
}

/// The figures as one JSON object.
pub(super) fn text(figures: &Figures) -> String {
    let document = Document {
        format: FORMAT,
        countersink: env!("CARGO_PKG_VERSION"),
        debug_build: cfg!(debug_assertions),
        server: &figures.facts,
        workload: workload(figures),
        levels: figures.levels.iter().map(level).collect(),
        reads: level(&figures.reads),
        sums: figures
            .sums
            .iter()
            .map(|sum| SumDocument {
                sum,
                exact: sum.is_exact(),
            })
            .collect(),
        summary: conclusions::sentences(figures),
    };
    serde_json::to_string_pretty(&document).expect("all keys are texts")
}

fn workload(figures: &Figures) -> Workload {
    let workload = figures.workload;
    Workload {
        work: workload.work,
        rounds: workload.rounds,
        turn_ms: workload.turn.as_millis(),
        think_ms: workload.think.map(|think| think.as_millis()),
        reads: workload.reads,
        keys: workload.keys,
        skew: workload.skew,
        slots: workload.slots,
        threads: workload.threads,
    }
}

fn level(level: &Level) -> LevelDocument {
    let ratios = PAIRS.into_iter().filter_map(|(to, mode)| {
        let ratio = Ratio {
            mode,
            to,
            rate: level.gain(to, mode),
            read_p50: level.read_cost(to, mode),
        };
        (ratio.rate.is_some() || ratio.read_p50.is_some()).then_some(ratio)
    });
    LevelDocument {
        clients: level.clients,
        modes: level.ways.iter().map(way).collect(),
        ratios: ratios.collect(),
    }
}

fn way(way: &Way) -> WayDocument {
    WayDocument {
        mode: way.mode,
        rate: way.rate(),
        rates: way.rates.clone(),
        increments: latencies(&way.total.increments),
        reads: latencies(&way.total.reads),
        warm_up: way.total.warm_up,
        deadlocks: way.total.deadlocks,
        timeouts: way.total.timeouts,
    }
}

fn latencies(latencies: &Latencies) -> LatencyDocument {
    let count = latencies.count();
    let within = |share| (count > 0).then(|| latencies.within(share).as_secs_f64() * 1e6);
    LatencyDocument {
        count,
        p50_us: within(0.5),
        p99_us: within(0.99),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::options;
    use super::*;
    use crate::clients::Measured;
    use serde_json::{Value, json};
    use std::time::Duration;

    /// A level with two modes, 10 and 25 increments in one second, and no reads.
    pub(in super::super) fn figures() -> Figures {
        let mut level = Level::new(8, &[Mode::Direct, Mode::Proxy]);
        for (way, count) in level.ways.iter_mut().zip([10, 25]) {
            let mut turn = Measured::nothing();
            for _ in 0..count {
                turn.increments.record(Duration::from_millis(2));
                turn.within += 1;
            }
            turn.warm_up = 3;
            turn.elapsed = Duration::from_secs(1);
            turn.deadlocks = 1;
            way.add(&turn);
        }
        Figures {
            facts: Facts {
                version: "9.7.4".into(),
                sync_binlog: 1,
                innodb_flush_log_at_trx_commit: 1,
                log_bin: true,
            },
            workload: options::Workload {
                work: Work::Increment,
                rounds: 1,
                turn: Duration::from_secs(1),
                think: Some(Duration::from_millis(5)),
                reads: 0.2,
                keys: 1,
                skew: 0.2,
                slots: 64,
                threads: 1,
            },
            levels: vec![level],
            reads: Level::new(1, &[]),
            sums: vec![Sum {
                mode: Mode::Proxy,
                acknowledged: 25,
                base: 0,
                slots: 25,
                slot_rows: 1,
                read: Some(25),
            }],
        }
    }

    #[test]
    fn programs_find_rates_latencies_ratios_and_sums_under_their_names() {
        let document: Value = serde_json::from_str(&text(&figures())).expect("JSON");
        assert_eq!(document["format"], 1);
        assert_eq!(document["server"]["version"], "9.7.4");
        assert_eq!(document["workload"]["think_ms"], 5);
        let level = &document["levels"][0];
        assert_eq!(level["clients"], 8);
        let proxy = &level["modes"][1];
        assert_eq!(proxy["mode"], "proxy");
        assert_eq!(
            proxy["rate"],
            json!({"median": 25.0, "lowest": 25.0, "highest": 25.0})
        );
        assert_eq!(proxy["increments"]["count"], 25);
        let p50 = proxy["increments"]["p50_us"].as_f64().expect("a number");
        assert!((p50 / 2000.0 - 1.0).abs() < 1e-3, "{p50}");
        assert_eq!(
            proxy["reads"],
            json!({"count": 0, "p50_us": null, "p99_us": null})
        );
        assert_eq!(
            (&proxy["warm_up"], &proxy["deadlocks"]),
            (&json!(3), &json!(1))
        );
        let ratio = &level["ratios"][0];
        assert_eq!(
            (&ratio["mode"], &ratio["to"]),
            (&json!("proxy"), &json!("direct"))
        );
        assert_eq!(ratio["rate"]["median"], 2.5);
        assert_eq!(level["ratios"].as_array().expect("a list").len(), 1);
        let sum = &document["sums"][0];
        assert_eq!(
            (&sum["acknowledged"], &sum["exact"]),
            (&json!(25), &json!(true))
        );
        let summary = document["summary"][0].as_str().expect("a sentence");
        assert!(summary.contains("2.5x at 8"), "{summary}");
    }
}

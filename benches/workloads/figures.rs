//! Figures by round, and the tables that they make.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::spread::Spread;
use crate::turn::Turn;
use crate::workload::Acknowledged;

/// Turns of all ways.
pub struct Figures {
    ways: Vec<OfWay>,
    kinds: &'static [&'static str],
}

/// Turns of one way.
struct OfWay {
    name: &'static str,
    /// Transactions a second, by round and kind.
    rates: Vec<Vec<f64>>,
    /// Microseconds, by kind, over all rounds.
    latencies: Vec<Histogram<u64>>,
    acknowledged: Acknowledged,
    /// Transactions that were tried again, by error code.
    again: BTreeMap<u16, u64>,
}

impl Figures {
    pub fn new(names: Vec<&'static str>, kinds: &'static [&'static str]) -> Self {
        let histogram = || Histogram::new(3).expect("three digits");
        let ways = names.into_iter().map(|name| OfWay {
            name,
            rates: Vec::new(),
            latencies: kinds.iter().map(|_| histogram()).collect(),
            acknowledged: Acknowledged::nothing(kinds.len()),
            again: BTreeMap::new(),
        });
        Self {
            ways: ways.collect(),
            kinds,
        }
    }

    /// Adds a turn of one way, which lasted this long.
    pub fn add(&mut self, which: usize, turn: Turn, length: Duration) {
        let way = &mut self.ways[which];
        let rate = |of_kind: &Histogram<u64>| of_kind.len() as f64 / length.as_secs_f64();
        way.rates.push(turn.latencies.iter().map(rate).collect());
        for (sum, latencies) in way.latencies.iter_mut().zip(turn.latencies) {
            sum.add(latencies).expect("it grows as needed");
        }
        way.acknowledged.add(&turn.acknowledged);
        for (code, count) in turn.again {
            *way.again.entry(code).or_default() += count;
        }
    }

    /// What was acknowledged on one way, in all rounds.
    pub fn acknowledged(&self, which: usize) -> &Acknowledged {
        &self.ways[which].acknowledged
    }

    /// The rates of the last round.
    pub fn last(&self) -> String {
        let rates = self.ways.iter().map(|way| {
            let rate = way.totals().last().unwrap_or_default();
            format!("{} {rate:.0}/s", way.name)
        });
        rates.collect::<Vec<_>>().join(", ")
    }

    /// By rounds, how many times one way's rate another's is.
    fn over(&self, which: usize, other: usize) -> String {
        if which <= other {
            return String::new();
        }
        let rounds = self.ways[which].totals().zip(self.ways[other].totals());
        Spread::of(rounds.map(|(ours, theirs)| ours / theirs)).to_string()
    }

    fn write_totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Between the direct way and Countersink's there is HAProxy's, or none.
        let with_haproxy = self.ways.len() > 2;
        let (title, line) = match with_haproxy {
            true => (" over HAProxy |", "---|"),
            false => ("", ""),
        };
        writeln!(
            f,
            "| | transactions per second | over direct |{title} tried again |"
        )?;
        writeln!(f, "|---|---|---|{line}---|")?;
        for (which, way) in self.ways.iter().enumerate() {
            let over_haproxy = match with_haproxy {
                true => format!(" {} |", self.over(which, 1)),
                false => String::new(),
            };
            writeln!(
                f,
                "| {} | {:.0} | {} |{over_haproxy} {} |",
                way.name,
                Spread::of(way.totals()),
                self.over(which, 0),
                way.tried_again()
            )?;
        }
        Ok(())
    }

    fn write_kinds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .ways
            .iter()
            .map(|way| format!(" {}, per second | p50 ms | p99 ms |", way.name));
        writeln!(f, "| |{}", names.collect::<String>())?;
        writeln!(f, "|---|{}", "---|---|---|".repeat(self.ways.len()))?;
        for (kind, name) in self.kinds.iter().enumerate() {
            let cells = self.ways.iter().map(|way| way.cells(kind));
            writeln!(f, "| {name} |{}", cells.collect::<String>())?;
        }
        Ok(())
    }
}

impl OfWay {
    /// All kinds together, by round.
    fn totals(&self) -> impl Iterator<Item = f64> {
        self.rates.iter().map(|by_kind| by_kind.iter().sum())
    }

    fn tried_again(&self) -> String {
        let counts = self
            .again
            .iter()
            .map(|(code, count)| format!("{code}: {count}"));
        match self.again.is_empty() {
            true => "none".to_owned(),
            false => counts.collect::<Vec<_>>().join(", "),
        }
    }

    fn cells(&self, kind: usize) -> String {
        let rate = Spread::of(self.rates.iter().map(|by_kind| by_kind[kind]));
        let at = |share| self.latencies[kind].value_at_quantile(share) as f64 / 1000.0;
        format!(" {:.1} | {:.2} | {:.1} |", rate.median, at(0.5), at(0.99))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Medians of the rounds (lowest to highest).\n")?;
        self.write_totals(f)?;
        writeln!(f)?;
        self.write_kinds(f)
    }
}

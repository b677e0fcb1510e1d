//! Figures of many rounds, and what they say.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::machine::{Activity, Load};

/// What one target did, by round.
struct Column {
    name: &'static str,
    /// Microseconds.
    medians: Vec<f64>,
    /// Microseconds.
    means: Vec<f64>,
    /// Microseconds.
    p99s: Vec<f64>,
    /// Statements per second.
    rates: Vec<f64>,
    /// Microseconds of processor time that the proxy used per statement.
    costs: Vec<f64>,
}

/// Turns, and what the machine did meanwhile. The first target is the server, the last Countersink; between
/// them stands what it is compared with.
pub struct Report {
    columns: Vec<Column>,
    began: Activity,
    load: Option<Load>,
}

impl Report {
    pub fn new(names: impl Iterator<Item = &'static str>, began: Activity) -> Self {
        let column = |name| Column {
            name,
            medians: Vec::new(),
            means: Vec::new(),
            p99s: Vec::new(),
            rates: Vec::new(),
            costs: Vec::new(),
        };
        Self {
            columns: names.map(column).collect(),
            began,
            load: None,
        }
    }

    /// Adds a turn.
    pub fn add(
        &mut self,
        which: usize,
        latencies: &Histogram<u64>,
        turn: Duration,
        processor_time: Duration,
    ) {
        let column = &mut self.columns[which];
        let count = latencies.len() as f64;
        column
            .medians
            .push(latencies.value_at_quantile(0.5) as f64 / 1e3);
        column.means.push(latencies.mean() / 1e3);
        column
            .p99s
            .push(latencies.value_at_quantile(0.99) as f64 / 1e3);
        column.rates.push(count / turn.as_secs_f64());
        column
            .costs
            .push(processor_time.as_secs_f64() * 1e6 / count);
    }

    pub fn finish(&mut self, ended: Activity) {
        self.load = Some(ended.since(self.began));
    }

    /// By round, what a target adds to the server's own latency, in microseconds.
    fn added(&self, which: usize, figures: impl Fn(&Column) -> &[f64]) -> Vec<f64> {
        let rounds = figures(&self.columns[0])
            .iter()
            .zip(figures(&self.columns[which]));
        rounds.map(|(direct, proxied)| proxied - direct).collect()
    }

    /// By round, how many times a HAProxy's rate Countersink's is.
    fn rates(&self, haproxy: usize) -> Vec<f64> {
        let haproxy = &self.columns[haproxy].rates;
        let countersink = &self.columns[self.columns.len() - 1].rates;
        let rounds = countersink.iter().zip(haproxy);
        rounds
            .map(|(countersink, haproxy)| countersink / haproxy)
            .collect()
    }

    /// By round, how many times a HAProxy's added latency Countersink's is.
    fn ratios(&self, haproxy: usize, figures: impl Fn(&Column) -> &[f64] + Copy) -> Vec<f64> {
        let haproxy = self.added(haproxy, figures);
        let countersink = self.added(self.columns.len() - 1, figures);
        let rounds = countersink.iter().zip(haproxy);
        rounds
            .map(|(countersink, haproxy)| countersink / haproxy)
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<20} {:>24} {:>24} {:>8} {:>8} {:>7} {:>7}",
            "",
            "median us (quartiles)",
            "added us (quartiles)",
            "mean us",
            "p99 us",
            "per s",
            "CPU us"
        )?;
        for (which, column) in self.columns.iter().enumerate() {
            let added = Spread::of(&self.added(which, |column| &column.medians));
            let middle = |figures| Spread::of(figures).median;
            writeln!(
                f,
                "{:<20} {:>24} {:>24} {:>8.1} {:>8.1} {:>7.0} {:>7.2}",
                column.name,
                Spread::of(&column.medians).to_string(),
                added.to_string(),
                middle(&column.means),
                middle(&column.p99s),
                middle(&column.rates),
                middle(&column.costs),
            )?;
        }
        for (haproxy, column) in self.columns.iter().enumerate() {
            if haproxy == 0 || haproxy + 1 == self.columns.len() {
                continue;
            }
            let added = |which| Spread::of(&self.added(which, |column| &column.medians)).median;
            writeln!(
                f,
                "added latency over that of {}: by rounds {} of medians, {} of means; {:.2} over all",
                column.name,
                Estimate::of(&self.ratios(haproxy, |column| &column.medians)),
                Estimate::of(&self.ratios(haproxy, |column| &column.means)),
                added(self.columns.len() - 1) / added(haproxy),
            )?;
            let rates = Estimate::of(&self.rates(haproxy));
            writeln!(f, "throughput over that of {}: {rates}", column.name)?;
        }
        match &self.load {
            Some(load) => writeln!(f, "{load}"),
            None => Ok(()),
        }
    }
}

/// Median and quartiles.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted[(sorted.len() - 1) * part / 4];
        Self {
            low: at(1),
            median: at(2),
            high: at(3),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}..{:.2})", self.median, self.low, self.high)
    }
}

/// The median of rounds, and where it would lie in 95 of 100 such runs: the interval of the sign test, which asks
/// nothing of the distribution.
pub struct Estimate {
    low: f64,
    /// In the middle.
    pub median: f64,
    high: f64,
}

impl Estimate {
    /// Of figures by round.
    pub fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let reach = (0.98 * (sorted.len() as f64).sqrt()).ceil() as usize;
        Self {
            low: sorted[(last / 2).saturating_sub(reach)],
            median: sorted[last / 2],
            high: sorted[(last / 2 + reach).min(last)],
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} (95 %: {:.2}..{:.2})",
            self.median, self.low, self.high
        )
    }
}

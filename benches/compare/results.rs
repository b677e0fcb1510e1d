//! Figures by round, and the table that they make.

use std::fmt;

use crate::sysbench::Turn;

/// A statement, measured with several numbers of clients.
pub struct Workload {
    /// Of its files.
    pub name: &'static str,
    pub title: &'static str,
    statement: &'static str,
    pub by_clients: Vec<(usize, Results)>,
}

/// Turns of one number of clients.
pub struct Results {
    targets: Vec<(&'static str, Vec<Turn>)>,
}

/// Median and quartiles.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Workload {
    pub fn new(name: &'static str, title: &'static str, statement: &'static str) -> Self {
        Self {
            name,
            title,
            statement,
            by_clients: Vec::new(),
        }
    }
}

impl Results {
    pub fn new(targets: impl Iterator<Item = &'static str>) -> Self {
        Self {
            targets: targets.map(|name| (name, Vec::new())).collect(),
        }
    }

    pub fn add(&mut self, which: usize, turn: Turn) {
        self.targets[which].1.push(turn);
    }

    /// What is compared, in order; the first is the server alone.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.targets.iter().map(|(name, _)| *name)
    }

    /// By rounds, how many times one target's rate another's is.
    pub fn rates_over(&self, which: usize, other: usize) -> Spread {
        self.over(which, other, |turn| turn.rate)
    }

    fn over(&self, which: usize, other: usize, figure: impl Fn(&Turn) -> f64) -> Spread {
        let rounds = self.targets[which].1.iter().zip(&self.targets[other].1);
        Spread::of(rounds.map(|(ours, theirs)| figure(ours) / figure(theirs)))
    }

    fn row(&self, which: usize) -> String {
        let (name, turns) = &self.targets[which];
        let rate = Spread::of(turns.iter().map(|turn| turn.rate));
        let median = Spread::of(turns.iter().map(|turn| turn.median));
        let over = |other| match which == other {
            true => String::new(),
            false => self.rates_over(which, other).to_string(),
        };
        format!(
            "{name} | {:.0} ({:.0} to {:.0}) | {:.2} | {} | {} |",
            rate.median,
            rate.low,
            rate.high,
            median.median,
            over(0),
            over(1)
        )
    }
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
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
        write!(
            f,
            "{:.2} ({:.2} to {:.2})",
            self.median, self.low, self.high
        )
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.targets.len()).try_for_each(|which| writeln!(f, "| {}", self.row(which)))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n\n    {}\n", self.title, self.statement)?;
        writeln!(f, "![{}]({}.svg)\n", self.title, self.name)?;
        writeln!(
            f,
            "| clients | | statements per second (quartiles) | median ms | rate over direct | rate over HAProxy |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for (clients, results) in &self.by_clients {
            for which in 0..results.targets.len() {
                writeln!(f, "| {clients} | {}", results.row(which))?;
            }
        }
        writeln!(f)
    }
}

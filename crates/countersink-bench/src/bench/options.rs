//! What the benchmark is told.

use std::time::Duration;

use super::mode::Mode;

/// What to measure, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The schema to create and to remove again: a name that needs no quoting.
    pub schema: String,
    /// How many clients work at the same time; from few to many, none of them twice, at least one.
    pub clients: Vec<u16>,
    /// The ways that are compared, in their own order and none of them twice.
    pub modes: Vec<Mode>,
    /// What the clients do.
    pub workload: Workload,
    /// Print JSON rather than the report.
    pub json: bool,
}

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// How often each mode has its turn at each number of clients.
    pub rounds: u32,
    /// How long a turn is.
    pub turn: Duration,
    /// Increment in transactions that stay open for so long.
    pub think: Option<Duration>,
    /// Share of the statements that read, up to 1.
    pub reads: f64,
    /// Rows to increment.
    pub keys: u32,
    /// This share of the rows gets all statements but this share.
    pub skew: f64,
    /// Most slots of a row.
    pub slots: u16,
    /// Threads of the clients.
    pub threads: usize,
}

impl Options {
    pub(super) fn most_clients(&self) -> u16 {
        self.clients.last().copied().unwrap_or(1)
    }

    /// What is compared with reads: those of the modes that have some.
    pub(super) fn modes_with_reads(&self) -> Vec<Mode> {
        let modes = self.modes.iter().copied();
        modes.filter(|mode| mode.has_reads()).collect()
    }

    /// About how long it all takes, without connecting.
    pub(super) fn duration(&self) -> Duration {
        let levels = self.clients.len() * self.modes.len() + self.modes_with_reads().len();
        let turns = u32::try_from(levels).unwrap_or(u32::MAX);
        self.workload.turn * turns.saturating_mul(self.workload.rounds)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use clap::ValueEnum;

    /// As `countersink bench` has them when nothing is said.
    pub(in super::super) fn options() -> Options {
        Options {
            schema: "countersink_bench".to_owned(),
            clients: vec![1, 4, 16, 64],
            modes: Mode::value_variants().to_vec(),
            workload: Workload {
                rounds: 5,
                turn: Duration::from_secs(1),
                think: None,
                reads: 0.0,
                keys: 1,
                skew: 0.2,
                slots: 64,
                threads: 1,
            },
            json: false,
        }
    }

    #[test]
    fn the_time_it_takes_counts_every_mode_and_the_reads_behind_them() {
        let mut options = options();
        assert_eq!(options.most_clients(), 64);
        assert_eq!(options.duration(), Duration::from_secs(5 * (4 * 5 + 3)));
        options.modes = vec![Mode::Wire, Mode::Rows];
        assert_eq!(options.modes_with_reads(), []);
        assert_eq!(options.duration(), Duration::from_secs(5 * 4 * 2));
    }
}

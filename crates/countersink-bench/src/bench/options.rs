//! Options of the benchmark.

use std::time::Duration;

use super::mode::Mode;
use super::work::Work;

/// What to measure, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The schema to create and remove. Its name must need no quoting.
    pub schema: String,
    /// Numbers of concurrent clients: in ascending order, without duplicates, at least one.
    pub clients: Vec<u16>,
    /// The modes to compare, in the order of [`Mode`], without duplicates.
    pub modes: Vec<Mode>,
    /// What the clients do.
    pub workload: Workload,
    /// Print JSON rather than the report.
    pub json: bool,
}

/// What the clients do.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// What they do to a row.
    pub work: Work,
    /// How many turns each mode has at each number of clients.
    pub rounds: u32,
    /// How long a turn lasts.
    pub turn: Duration,
    /// Increment in transactions that stay open for this long.
    pub think: Option<Duration>,
    /// Share of the statements that are reads, up to 1.
    pub reads: f64,
    /// Number of rows to increment.
    pub keys: u32,
    /// This share of the rows gets all but this share of the statements.
    pub skew: f64,
    /// Maximum slots per row; 0: the proxy has no slot table.
    pub slots: u16,
    /// Number of threads for the clients.
    pub threads: usize,
}

impl Options {
    pub(super) fn most_clients(&self) -> u16 {
        self.clients.last().copied().unwrap_or(1)
    }

    /// The modes whose reads are compared.
    pub(super) fn modes_with_reads(&self) -> Vec<Mode> {
        let modes = self.modes.iter().copied();
        modes.filter(|mode| mode.has_reads()).collect()
    }

    /// Approximate duration of the whole run, without connecting.
    pub(super) fn duration(&self) -> Duration {
        let levels = self.clients.len() * self.modes.len() + self.modes_with_reads().len();
        let turns = u32::try_from(levels).unwrap_or(u32::MAX);
        self.workload.turn * turns.saturating_mul(self.workload.rounds)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The defaults of `countersink bench`.
    pub(in super::super) fn options() -> Options {
        Options {
            schema: "countersink_bench".to_owned(),
            clients: vec![1, 4, 16, 64],
            modes: vec![
                Mode::Wire,
                Mode::Rows,
                Mode::Direct,
                Mode::Slots,
                Mode::Proxy,
            ],
            workload: Workload {
                work: Work::Increment,
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

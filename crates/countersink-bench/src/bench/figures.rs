//! What was measured.

use super::facts::Facts;
use super::mode::Mode;
use super::options::Workload;
use super::statistics::Spread;
use super::sum::Sum;
use crate::clients::{Latencies, Measured};

/// All figures of a run.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub facts: Facts,
    pub workload: Workload,
    /// In ascending order of clients.
    pub levels: Vec<Level>,
    /// One client that only reads the counter by its key, with the slots as the load left them.
    pub reads: Level,
    pub sums: Vec<Sum>,
}

/// All modes at one number of clients.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub clients: u16,
    pub ways: Vec<Way>,
}

/// One mode at one number of clients.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub mode: Mode,
    /// Completed statements (or transactions) per second of the window, for each round.
    pub rates: Vec<f64>,
    /// The median latency of reads in seconds, for each round.
    pub reads_p50: Vec<f64>,
    /// The totals of all rounds.
    pub total: Measured,
}

impl Level {
    pub fn new(clients: u16, modes: &[Mode]) -> Self {
        let way = |&mode: &Mode| Way {
            mode,
            rates: Vec::new(),
            reads_p50: Vec::new(),
            total: Measured::nothing(),
        };
        Self {
            clients,
            ways: modes.iter().map(way).collect(),
        }
    }

    pub fn way(&self, mode: Mode) -> Option<&Way> {
        self.ways.iter().find(|way| way.mode == mode)
    }

    /// The rate of `new` as a multiple of that of `old`.
    pub fn gain(&self, old: Mode, new: Mode) -> Option<Spread> {
        Spread::of_ratios(&self.way(old)?.rates, &self.way(new)?.rates)
    }

    /// The latency of a read by `new` as a multiple of that by `old`.
    pub fn read_cost(&self, old: Mode, new: Mode) -> Option<Spread> {
        Spread::of_ratios(&self.way(old)?.reads_p50, &self.way(new)?.reads_p50)
    }
}

impl Way {
    /// Adds a round.
    pub fn add(&mut self, turn: &Measured) {
        self.rates.push(turn.rate());
        if turn.reads.count() > 0 {
            self.reads_p50.push(turn.reads.within(0.5).as_secs_f64());
        }
        self.total.add_turn(turn);
    }

    pub fn rate(&self) -> Option<Spread> {
        Spread::of(self.rates.iter().copied())
    }

    /// The latencies of the increments, or of `DO 0` in the mode that has none.
    pub fn increments(&self) -> &Latencies {
        &self.total.increments
    }
}

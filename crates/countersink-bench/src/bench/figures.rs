//! What was measured.

use super::facts::Facts;
use super::mode::Mode;
use super::options::Workload;
use super::statistics::Spread;
use super::sum::Sum;
use crate::clients::{Latencies, Measured};

/// All of it.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub facts: Facts,
    pub workload: Workload,
    /// By number of clients, from few to many.
    pub levels: Vec<Level>,
    /// One client that does nothing but read the counter by its key, while the slots are as the load left them.
    pub reads: Level,
    pub sums: Vec<Sum>,
}

/// The same number of clients in each mode.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub clients: u16,
    pub ways: Vec<Way>,
}

/// One mode at one number of clients.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub mode: Mode,
    /// Statements (transactions) answered per second of the window, round by round.
    pub rates: Vec<f64>,
    /// Half of the reads stayed within this many seconds, round by round.
    pub reads_p50: Vec<f64>,
    /// All rounds together.
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

    /// How many times the rate of `old` that of `new` is.
    pub fn gain(&self, old: Mode, new: Mode) -> Option<Spread> {
        Spread::of_ratios(&self.way(old)?.rates, &self.way(new)?.rates)
    }

    /// How many times as long as by `old` a read takes by `new`.
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

    /// Of the increments; of `DO 0`, where there are none.
    pub fn increments(&self) -> &Latencies {
        &self.total.increments
    }
}

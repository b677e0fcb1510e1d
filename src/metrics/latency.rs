//! How long statements take, and where.

use std::time::Duration;

use super::histogram::{Observed, Times};
use crate::reason::PlanKind;

/// Where a statement spent its time. Time spent waiting for the client, which may send a long statement or read a long
/// response slowly, is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Waiting for the upstream.
    pub upstream: Duration,
    /// Waiting for an increment's turn, or for another session to write it.
    pub combining: Duration,
    /// The rest, which is what the proxy adds.
    pub added: Duration,
}

/// Histograms of statement times.
#[derive(Debug, Default)]
pub struct Latency {
    by_plan: [ByPlan; PlanKind::ALL.len()],
    planning: Times,
    combining: Times,
}

/// Histograms for statements with one kind of plan.
#[derive(Debug, Default)]
struct ByPlan {
    whole: Times,
    upstream: Times,
    added: Times,
}

/// A snapshot of the times for one kind of plan.
#[derive(Clone, Debug)]
pub struct LatencyOf {
    /// From the statement to the end of its response.
    pub whole: Observed,
    /// The part spent in the upstream, for statements that were sent there.
    pub upstream: Observed,
    /// The part that the proxy added.
    pub added: Observed,
}

impl Latency {
    /// Counts a statement that has completed.
    pub fn statement(&self, plan: PlanKind, spent: &Spent) {
        let times = &self.by_plan[plan as usize];
        let whole = spent.upstream + spent.combining + spent.added;
        times.whole.observe_time(whole);
        times.added.observe_time(spent.added);
        // An increment that another session wrote was not sent upstream by this one.
        if !spent.upstream.is_zero() {
            times.upstream.observe_time(spent.upstream);
        }
        if !spent.combining.is_zero() {
            self.combining.observe_time(spent.combining);
        }
    }

    /// Counts the planning of a statement.
    pub fn planned(&self, time: Duration) {
        self.planning.observe_time(time);
    }

    /// Times of statements with this kind of plan.
    pub fn of(&self, plan: PlanKind) -> LatencyOf {
        let times = &self.by_plan[plan as usize];
        LatencyOf {
            whole: times.whole.observed(),
            upstream: times.upstream.observed(),
            added: times.added.observed(),
        }
    }

    /// How long planning took.
    pub fn planning(&self) -> Observed {
        self.planning.observed()
    }

    /// How long increments waited for their turn, or for another session to write them.
    pub fn combining(&self) -> Observed {
        self.combining.observed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_has_not_asked_the_upstream_says_nothing_of_it() {
        let latency = Latency::default();
        let spent = Spent {
            combining: Duration::from_millis(3),
            added: Duration::from_micros(7),
            ..Spent::default()
        };
        latency.statement(PlanKind::Increment, &spent);
        let times = latency.of(PlanKind::Increment);
        assert_eq!(times.whole.sum, 3_007_000);
        assert_eq!(times.added.sum, 7_000);
        assert_eq!((times.whole.count(), times.upstream.count()), (1, 0));
        assert_eq!(latency.combining().count(), 1);
        assert_eq!(latency.of(PlanKind::Read).whole.count(), 0);
    }
}

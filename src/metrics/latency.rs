//! Where the time of statements goes.

use std::time::Duration;

use super::histogram::{Observed, Times};
use crate::reason::PlanKind;

/// What a statement has spent its time on. Waiting for its client, who sends a long statement or takes a long answer,
/// is in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Waiting for the upstream.
    pub upstream: Duration,
    /// Waiting until an increment's turn came, or others had written it.
    pub combining: Duration,
    /// The rest: what the proxy adds.
    pub added: Duration,
}

/// Times of statements.
#[derive(Debug, Default)]
pub struct Latency {
    by_plan: [ByPlan; PlanKind::ALL.len()],
    planning: Times,
    combining: Times,
}

/// Times of statements with one kind of plan.
#[derive(Debug, Default)]
struct ByPlan {
    whole: Times,
    upstream: Times,
    added: Times,
}

/// The same, at one time.
#[derive(Clone, Debug)]
pub struct LatencyOf {
    /// From the statement to its answer.
    pub whole: Observed,
    /// What the upstream took of it, where it was asked.
    pub upstream: Observed,
    /// What the proxy added.
    pub added: Observed,
}

impl Latency {
    /// A statement has been answered.
    pub fn statement(&self, plan: PlanKind, spent: &Spent) {
        let times = &self.by_plan[plan as usize];
        let whole = spent.upstream + spent.combining + spent.added;
        times.whole.observe_time(whole);
        times.added.observe_time(spent.added);
        // An increment that others have written has not asked it.
        if !spent.upstream.is_zero() {
            times.upstream.observe_time(spent.upstream);
        }
        if !spent.combining.is_zero() {
            self.combining.observe_time(spent.combining);
        }
    }

    /// A plan was made.
    pub fn planned(&self, time: Duration) {
        self.planning.observe_time(time);
    }

    /// Times of statements with plans of this kind.
    pub fn of(&self, plan: PlanKind) -> LatencyOf {
        let times = &self.by_plan[plan as usize];
        LatencyOf {
            whole: times.whole.observed(),
            upstream: times.upstream.observed(),
            added: times.added.observed(),
        }
    }

    /// How long plans took to be made.
    pub fn planning(&self) -> Observed {
        self.planning.observed()
    }

    /// For how long increments have waited until their turn came, or others had written them.
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

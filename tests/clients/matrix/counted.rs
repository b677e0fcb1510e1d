//! What the proxy makes of the blog's statements, by its metrics.

use std::collections::BTreeMap;
use std::fmt;

use countersink::metrics::Metrics;
use countersink::reason::{PlanKind, Reason};

use crate::matrix::library::Unlike;

/// Increments of one row that a key names: as text (11), prepared (5), with a bound amount (3), in bulk (3) and by four
/// connections (40).
const INCREMENTS: u64 = 62;
/// Those that bind an amount for a BIGINT, and those that the library may send in bulk.
const BOUND: u64 = 3;
const IN_BULK: u64 = 3;
/// Increments in transactions, of two shapes. The first of a shape takes the exact path, and shows what else such
/// transactions do.
const IN_TRANSACTIONS: u64 = 3;
const SLOTTED_IN_TRANSACTIONS: u64 = 1;
/// Sales, of which most come from four connections, upserts, and numbers of the sequence.
const GUARDED: u64 = 8 + 20;
const UPSERTS: u64 = 5;
const NUMBERS: u64 = 3;
/// Statements that read counters, in every program.
const FEWEST_READS: u64 = 15;

/// What the tables do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They rest until transactions wait for each other, which they do not here.
    AtRest,
    /// Slots are in use.
    InMotion,
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AtRest => "at rest",
            Self::InMotion => "in motion",
        })
    }
}

impl Mode {
    pub const ALL: [Self; 2] = [Self::AtRest, Self::InMotion];

    /// The rules for the blog's tables in this schema.
    pub fn rules(self, schema: &str) -> String {
        let rest = match self {
            Self::AtRest => "auto",
            Self::InMotion => "never",
        };
        format!(
            "counters:\n\
             - {{table: {schema}.posts, columns: [views, likes, stock], rest: {rest}}}\n\
             - {{table: {schema}.sign_ups, columns: [hits], rest: {rest}}}\n\
             - {{table: {schema}.seq, columns: [id], slots: 0}}\n"
        )
    }
}

/// What was counted while a blog was played.
pub struct Counted {
    mode: Mode,
    by_reason: BTreeMap<Reason, u64>,
    /// The writes that were written together with those of other clients.
    pub together: u64,
    /// Whether the tables have come from rest to slots.
    has_moved: bool,
}

impl Counted {
    pub fn of(mode: Mode, schema: &str, metrics: &Metrics) -> Self {
        let by_reason = metrics.statements();
        let changeovers = metrics.table(schema, "posts").counted().changeovers;
        Self {
            mode,
            has_moved: changeovers > 0 || by_reason.contains_key(&Reason::ChangingOver),
            by_reason,
            together: metrics.combined().1,
        }
    }

    /// Whether the tables have rested all the time. Where the machine is so busy that an increment in a transaction
    /// takes 10 ms, the proxy takes that for a wait, and the counts are other ones.
    pub fn has_rested(&self) -> bool {
        self.mode == Mode::AtRest && !self.has_moved
    }

    fn count(&self, reason: Reason) -> u64 {
        self.by_reason.get(&reason).copied().unwrap_or(0)
    }

    /// Counted otherwise than is right for a library that is unlike others in this.
    pub fn faults(&self, unlike: &[Unlike]) -> Vec<String> {
        if self.mode == Mode::AtRest && !self.has_rested() {
            return Vec::new();
        }
        let less = |what: Unlike, count: u64| match unlike.contains(&what) {
            true => count,
            false => 0,
        };
        let (bulk, bulks) = (less(Unlike::Bulk, IN_BULK), less(Unlike::Bulk, 1));
        let texts = less(Unlike::QuotedNumbers, BOUND);
        let inexact = less(Unlike::InexactBound, BOUND);
        let (exactly, at_least, may_be_folded): (&[_], &[_], &[_]) = match self.mode {
            Mode::AtRest => (
                &[
                    (
                        Reason::Combined,
                        INCREMENTS + IN_TRANSACTIONS - bulk - texts,
                    ),
                    (Reason::Fallback, 0),
                ],
                &[
                    (Reason::Batched, GUARDED + UPSERTS + NUMBERS + texts),
                    (Reason::OnBase, bulks),
                ],
                &[Reason::TooLong, Reason::Fallback],
            ),
            Mode::InMotion => (
                &[
                    (
                        Reason::Slotted,
                        INCREMENTS + SLOTTED_IN_TRANSACTIONS - bulk - inexact,
                    ),
                    (
                        Reason::OwnIncrement,
                        IN_TRANSACTIONS - SLOTTED_IN_TRANSACTIONS,
                    ),
                    (Reason::CounterInPredicate, GUARDED),
                    (Reason::Upsert, UPSERTS),
                    (Reason::Batched, NUMBERS),
                    (Reason::InexactDelta, inexact),
                    (Reason::Fallback, bulks),
                ],
                &[(Reason::Summed, FEWEST_READS)],
                // The others are an absolute value, a DELETE, a long text and statements that the server refuses.
                &[
                    Reason::OwnIncrement,
                    Reason::CounterInPredicate,
                    Reason::Upsert,
                    Reason::InexactDelta,
                    Reason::Fallback,
                    Reason::OtherColumns,
                    Reason::Delete,
                    Reason::TooLong,
                    Reason::NotParsed,
                    Reason::UnsignedDecrement,
                ],
            ),
        };
        let other = exactly
            .iter()
            .filter(|(reason, count)| self.count(*reason) != *count)
            .map(|(reason, count)| format!("{} {reason}, not {count}", self.count(*reason)));
        let too_few = at_least
            .iter()
            .filter(|(reason, count)| self.count(*reason) < *count)
            .map(|(reason, count)| {
                format!("{} {reason}, not {count} or more", self.count(*reason))
            });
        let folded = self
            .by_reason
            .iter()
            .filter(|(reason, _)| is_fold(**reason) && !may_be_folded.contains(reason))
            .map(|(reason, count)| format!("{count} {reason}"));
        other.chain(too_few).chain(folded).collect()
    }
}

fn is_fold(reason: Reason) -> bool {
    reason.plan() == Some(PlanKind::Fold)
}

impl fmt::Display for Counted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folds = self
            .by_reason
            .iter()
            .filter(|(reason, _)| is_fold(**reason));
        let folded: u64 = folds.map(|(_, count)| count).sum();
        let [combined, batched] =
            [Reason::Combined, Reason::Batched].map(|reason| self.count(reason));
        let [slotted, summed] = [Reason::Slotted, Reason::Summed].map(|reason| self.count(reason));
        let Self { mode, together, .. } = self;
        match mode {
            Mode::AtRest if self.has_moved => formatter.write_str("not at rest all the time"),
            Mode::AtRest => write!(
                formatter,
                "{mode} {combined} combined, {batched} batched, {folded} folded, {together} together"
            ),
            Mode::InMotion => write!(
                formatter,
                "{mode} {slotted} slotted, {summed} summed, {folded} folded"
            ),
        }
    }
}

//! Bulk executions (MariaDB): a statement that runs once for each row of parameters, all in one command.
//!
//! The slots of all keys that the rows name are moved into base together. Then the command runs as it came. If the
//! keys are not known for certain, or too many to name, whole tables are folded.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::fold;
use crate::session::Session;
use crate::session::act::fold_slots::Bound;
use crate::session::error::Error;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::transaction::Keys;
use crate::sql::plan::{Fold, FoldTable, Plan, Reason};
use crate::sql::{BulkDecision, Values, decide_in_bulk};

/// The maximum number of rows whose keys are looked for.
const MOST_ROWS: usize = 16 * 1024;

/// The longest predicate that names the keys, in bytes.
const LONGEST_PREDICATE: usize = 256 * 1024;

/// The parameters of one run, as literals. `None` if they are not known, or if no literals mean the same.
pub(crate) type Literals = Option<Vec<Vec<u8>>>;

impl Session {
    /// What to do with a bulk execution of a statement with this plan and text.
    pub(crate) fn decide_in_bulk(&self, plan: &Plan, text: &[u8]) -> BulkDecision {
        let circumstances = self.circumstances(text, Values::Known);
        decide_in_bulk(plan, circumstances, self.state.in_transaction())
    }

    /// Folds what a bulk execution may write, and runs it. `of_a_row` is what one row of parameters needs.
    pub(crate) async fn fold_in_bulk(
        &mut self,
        plan: &Plan,
        of_a_row: Option<Fold>,
        rows: impl Iterator<Item = Literals>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let named = of_a_row
            .as_ref()
            .and_then(|fold| bounds_of_all(&fold.folds, rows));
        let (fold, bounds) = match (of_a_row, named) {
            (Some(fold), Some(bounds)) => (fold, bounds),
            (of_a_row, _) => {
                let reason = of_a_row.map_or(Reason::Fallback, |fold| fold.reason);
                let fold = Fold::of_whole_tables(plan, reason);
                let bounds = fold
                    .folds
                    .iter()
                    .map(|fold| Bound::of(fold, None))
                    .collect();
                (fold, bounds)
            }
        };
        self.fold_bound_then_original(&fold, (bounds, None), original, context)
            .await
    }
}

/// What to fold for all rows of parameters together. `None` if that is not known, or too much to name.
fn bounds_of_all(folds: &[FoldTable], rows: impl Iterator<Item = Literals>) -> Option<Vec<Bound>> {
    let tables = folds.iter();
    let mut gathered: Vec<_> = tables
        .map(|fold| Gathered::new(Arc::clone(&fold.table)))
        .collect();
    for (number, literals) in rows.enumerate() {
        let literals = literals.filter(|_| number < MOST_ROWS)?;
        for (fold, gathered) in folds.iter().zip(&mut gathered) {
            gathered.add(Bound::of(fold, Some(&literals)));
        }
        if gathered.iter().any(Gathered::is_too_much) {
            return None;
        }
    }
    gathered.into_iter().map(Gathered::into_bound).collect()
}

/// The rows of one table that several runs of one statement may write.
struct Gathered {
    table: Arc<HotTable>,
    is_whole: bool,
    /// They are found by their keys, rather than by other columns.
    is_by_keys: bool,
    predicates: Alternatives,
    reads: Vec<String>,
    without_reads: Alternatives,
    inserted: Alternatives,
}

impl Gathered {
    fn new(table: Arc<HotTable>) -> Self {
        Self {
            table,
            is_whole: false,
            is_by_keys: true,
            predicates: Alternatives::default(),
            reads: Vec::new(),
            without_reads: Alternatives::default(),
            inserted: Alternatives::default(),
        }
    }

    fn add(&mut self, bound: Bound) {
        match bound {
            Bound::Keys(Keys { predicate, .. }) => match predicate {
                Some(predicate) => self.predicates.add(predicate),
                None => self.is_whole = true,
            },
            Bound::Rows {
                predicate,
                reads,
                without_reads,
                inserted,
                ..
            } => {
                self.is_by_keys = false;
                self.predicates.add(predicate);
                self.reads = reads;
                without_reads
                    .into_iter()
                    .for_each(|of| self.without_reads.add(of));
                inserted.into_iter().for_each(|key| self.inserted.add(key));
            }
        }
    }

    fn is_too_much(&self) -> bool {
        !self.is_whole && self.predicates.are_too_many()
    }

    /// `None` if there was no row of parameters.
    fn into_bound(self) -> Option<Bound> {
        if self.is_whole {
            return Some(Keys::whole(self.table).into());
        }
        let predicate = self.predicates.joined()?;
        Some(match self.is_by_keys {
            true => Bound::Keys(Keys {
                table: self.table,
                predicate: Some(predicate),
            }),
            false => Bound::Rows {
                table: self.table,
                predicate,
                reads: self.reads,
                without_reads: self.without_reads.joined(),
                inserted: self.inserted.joined(),
            },
        })
    }
}

/// Conditions of which one must hold.
#[derive(Default)]
struct Alternatives {
    conditions: Vec<Vec<u8>>,
    known: HashSet<Vec<u8>>,
    /// In bytes.
    length: usize,
}

impl Alternatives {
    fn add(&mut self, condition: Vec<u8>) {
        if self.known.insert(condition.clone()) {
            self.length += condition.len();
            self.conditions.push(condition);
        }
    }

    fn are_too_many(&self) -> bool {
        self.conditions.len() > fold::MOST_LOCKED || self.length > LONGEST_PREDICATE
    }

    fn joined(mut self) -> Option<Vec<u8>> {
        if self.conditions.len() <= 1 {
            return self.conditions.pop();
        }
        let conditions = self.conditions.iter();
        let each: Vec<_> = conditions
            .map(|condition| [b"(", &condition[..], b")"].concat())
            .collect();
        Some(each.join(&b" OR "[..]))
    }
}

//! Parameters of prepared statements, in either protocol: as SQL literals, and what they allow an increment.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::literal;
use super::turn::{Done, Original, Turn};
use crate::sql::plan::{Fold, FoldTable, Increment, ParameterDelta, Plan, Reason, Scope};
use crate::wire::execute::Value;

impl Session {
    /// The values as SQL literals that mean the same; `None` when one has no such literal.
    pub(super) async fn literals(
        &mut self,
        values: &[Value<'_>],
    ) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let facts = self.facts().await?.unwrap_or_default();
        let literals = values.iter().map(|value| match value {
            Value::Text(_) if facts.unsafe_character_set => None,
            value => literal::of(value, facts.no_backslash_escapes),
        });
        Ok(literals.collect())
    }

    /// Runs an increment with these values, which `literals` spell.
    pub(super) async fn increment_by(
        &mut self,
        increment: &Increment,
        values: &[Value<'_>],
        literals: &[Vec<u8>],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let deltas = increment
            .parameter_deltas
            .iter()
            .map(|delta| judge(delta, increment, values));
        let reason = match deltas.max().unwrap_or(Delta::Exact) {
            Delta::Exact => return self.increment(increment, literals, original, turn).await,
            Delta::Zero if increment.table.touches.is_empty() => {
                self.metrics().count(Reason::ZeroDelta);
                return self.run_original(original, turn).await;
            }
            // Nothing is added, but a time may be set that is before what the slots hold.
            Delta::Zero => Reason::TouchColumn,
            Delta::Inexact => Reason::InexactDelta,
        };
        let mut fold = increment.exact.clone();
        fold.reason = reason;
        self.fold_then_original(&fold, Some(literals), original, turn)
            .await
    }
}

/// What a delta parameter's value allows, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delta {
    Exact,
    Zero,
    Inexact,
}

fn judge(delta: &ParameterDelta, increment: &Increment, values: &[Value<'_>]) -> Delta {
    let Some(counter) = increment.table.counter(delta.column) else {
        return Delta::Inexact;
    };
    let number = match values.get(usize::from(delta.parameter)) {
        Some(Value::Integer(number)) => Some(*number),
        Some(Value::Double(number)) if counter.domain.adds_doubles() => literal::whole(*number),
        Some(Value::Text(digits)) if counter.domain.adds_doubles() => literal::digits(digits),
        _ => None,
    };
    let signed = match number {
        Some(number) if delta.negated => -number,
        Some(number) => number,
        None => return Delta::Inexact,
    };
    let most = counter.bounds.as_ref().map(|bounds| bounds.slot.parse());
    match (signed, most) {
        (0, _) => Delta::Zero,
        (..0, _) if counter.domain.is_unsigned() => Delta::Inexact,
        (_, Some(Ok(most))) if signed.abs() <= most => Delta::Exact,
        _ => Delta::Inexact,
    }
}

/// A fold of all that a plan touches.
pub(super) fn whole_tables(plan: &Plan, reason: Reason) -> Fold {
    let tables: Vec<_> = match plan {
        Plan::Increment(increment) => vec![&increment.table],
        Plan::Read(read) => read.tables.iter().collect(),
        Plan::Fold(fold) => fold.folds.iter().map(|fold| &fold.table).collect(),
        Plan::Ddl(ddl) => ddl.tables.iter().collect(),
        Plan::LockTables(lock) => lock.tables.iter().collect(),
        Plan::Shadow(tables) | Plan::Prepare(tables) => tables.iter().collect(),
        Plan::Forward(_) => Vec::new(),
    };
    let folds = tables.into_iter().map(|table| FoldTable {
        table: Arc::clone(table),
        scope: Scope::Table,
    });
    Fold {
        folds: folds.collect(),
        reason,
    }
}

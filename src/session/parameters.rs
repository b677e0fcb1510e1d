//! Parameters of prepared statements, in either protocol: as SQL literals, and what they allow an increment.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::literal;
use super::turn::{Done, Original, Turn};
use crate::sql::Amount;
use crate::sql::plan::{Fold, FoldTable, Increment, ParameterDelta, Plan, Reason};
use crate::wire::column::{Column, field_type};
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
        increment: &Arc<Increment>,
        values: &[Value<'_>],
        literals: &[Vec<u8>],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let deltas = increment.parameter_deltas.iter();
        let deltas = deltas.map(|delta| judge(delta, increment, values));
        // A zero beside others does no harm.
        let constants = increment
            .amounts
            .iter()
            .flatten()
            .map(|amount| match amount.is_zero() {
                true => Delta::Zero,
                false => Delta::Exact,
            });
        let reason = match deltas.chain(constants).max().unwrap_or(Delta::Exact) {
            Delta::Exact => {
                let amounts = amounts(increment, values);
                return self
                    .increment(increment, (literals, amounts.as_deref()), original, turn)
                    .await;
            }
            Delta::Zero if increment.table.touches.is_empty() => {
                self.count(Reason::ZeroDelta);
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

/// What MySQL takes the parameters of a statement for. It concludes that from the text; when a number comes where it
/// expected text or a time, it concludes anew, and takes later values for numbers as well, whatever they are. MariaDB
/// goes by the value.
#[derive(Debug, Default)]
pub(super) struct Typing {
    /// Of each parameter, whether a number is not what is expected.
    surprised_by_numbers: Vec<bool>,
    is_fixed: bool,
}

impl Typing {
    /// By the parameters' definitions.
    pub(super) fn new(definitions: &[Vec<u8>], capabilities: u64) -> Self {
        let is_text = |definition: &Vec<u8>| {
            let definition = Column::decode(definition, capabilities);
            definition.is_ok_and(|column| {
                !matches!(
                    column.field_type,
                    field_type::NULL
                        | field_type::TINY
                        | field_type::SHORT
                        | field_type::INT24
                        | field_type::LONG
                        | field_type::LONGLONG
                        | field_type::YEAR
                        | field_type::FLOAT
                        | field_type::DOUBLE
                        | field_type::DECIMAL
                        | field_type::NEWDECIMAL
                )
            })
        };
        Self {
            surprised_by_numbers: definitions.iter().map(is_text).collect(),
            is_fixed: false,
        }
    }

    /// Takes in the values of an execution.
    pub(super) fn see(&mut self, values: &[Value<'_>]) {
        let is_number = |value: &Value<'_>| {
            matches!(
                value,
                Value::Integer(_) | Value::Decimal(_) | Value::Double(_)
            )
        };
        let mut pairs = self.surprised_by_numbers.iter().zip(values);
        self.is_fixed |= pairs.any(|(surprised, value)| *surprised && is_number(value));
    }

    /// Whether the server no longer takes a value for what it is, so that it alone can compare it.
    pub(super) fn is_fixed(&self) -> bool {
        self.is_fixed
    }
}

/// What the value of a delta allows; of several, the last decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delta {
    Zero,
    Exact,
    Inexact,
}

/// What an increment adds to each counter with these values; `None` where one of them is not surely exact.
pub(super) fn exact_amounts(increment: &Increment, values: &[Value<'_>]) -> Option<Vec<Amount>> {
    let mut deltas = increment.parameter_deltas.iter();
    let is_exact = |delta| judge(delta, increment, values) != Delta::Inexact;
    deltas.all(is_exact).then(|| amounts(increment, values))?
}

/// What an increment adds to each counter with these values.
fn amounts(increment: &Increment, values: &[Value<'_>]) -> Option<Vec<Amount>> {
    let amounts = increment.counters.iter().zip(&increment.amounts);
    let amounts = amounts.map(|(column, amount)| {
        let mut deltas = increment.parameter_deltas.iter();
        match deltas.find(|delta| delta.column == *column) {
            Some(delta) => added(delta, increment, values).map(Amount::from),
            None => *amount,
        }
    });
    amounts.collect()
}

/// The number that a delta parameter adds.
fn added(delta: &ParameterDelta, increment: &Increment, values: &[Value<'_>]) -> Option<i128> {
    let counter = increment.table.counter(delta.column)?;
    let number = match values.get(usize::from(delta.parameter))? {
        Value::Integer(number) => *number,
        Value::Double(number) if counter.domain.adds_doubles() => literal::whole(*number)?,
        Value::Text(digits) if counter.domain.adds_doubles() => literal::digits(digits)?,
        _ => return None,
    };
    Some(if delta.negated { -number } else { number })
}

fn judge(delta: &ParameterDelta, increment: &Increment, values: &[Value<'_>]) -> Delta {
    let Some(counter) = increment.table.counter(delta.column) else {
        return Delta::Inexact;
    };
    let Some(signed) = added(delta, increment, values) else {
        return Delta::Inexact;
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
        Plan::Write(write) => vec![&write.rows.table],
        Plan::Forward(_) | Plan::Observe(_) | Plan::Combine(_) => Vec::new(),
    };
    let folds = tables.into_iter().map(FoldTable::whole).collect();
    Fold {
        commits_first: matches!(plan, Plan::Fold(fold) if fold.commits_first),
        ..Fold::new(folds, reason)
    }
}

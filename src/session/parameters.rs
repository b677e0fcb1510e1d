//! Parameters of prepared statements, in either protocol: as SQL literals, and as the amounts of an increment.

use crate::session::error::Error;
use crate::session::{Session, literal};
use crate::sql::Amount;
use crate::sql::plan::{Increment, ParameterDelta, SessionVariables};
use crate::wire::execute::Value;

impl Session {
    /// The values as SQL literals that mean the same. `None` if one of them has no such literal.
    pub(crate) async fn literals(
        &mut self,
        values: &[Value<'_>],
    ) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let variables = self.variables().await?.unwrap_or_default();
        Ok(literals_of(values, &variables))
    }
}

/// The values as SQL literals that mean the same under these variables. `None` if one of them has no such literal.
pub(crate) fn literals_of(
    values: &[Value<'_>],
    variables: &SessionVariables,
) -> Option<Vec<Vec<u8>>> {
    let literals = values.iter().map(|value| match value {
        Value::Text(_) if variables.unsafe_character_set => None,
        value => literal::of(value, variables.no_backslash_escapes),
    });
    literals.collect()
}

/// What the value of a delta allows. Of several deltas, the one that comes last in this order decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Delta {
    Zero,
    Exact,
    Inexact,
}

/// What an increment adds to each counter with these values. `None` if one of them is not certainly exact.
pub(crate) fn exact_amounts(increment: &Increment, values: &[Value<'_>]) -> Option<Vec<Amount>> {
    let mut deltas = increment.parameter_deltas.iter();
    let is_exact = |delta| judge(delta, increment, values) != Delta::Inexact;
    deltas.all(is_exact).then(|| amounts(increment, values))?
}

/// What an increment adds to each counter with these values.
pub(crate) fn amounts(increment: &Increment, values: &[Value<'_>]) -> Option<Vec<Amount>> {
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

pub(crate) fn judge(delta: &ParameterDelta, increment: &Increment, values: &[Value<'_>]) -> Delta {
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

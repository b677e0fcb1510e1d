//! Parameters of prepared statements, in either protocol: as SQL literals, and what they allow an increment.

use std::sync::Arc;

use super::Session;
use super::error::Error;
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
            Value::Null => Some(b"NULL".to_vec()),
            Value::Integer(number) => Some(number.to_string().into_bytes()),
            Value::Decimal(text) => is_plain_decimal(text).then(|| text.to_vec()),
            Value::Text(_) if facts.unsafe_character_set => None,
            Value::Text(text) => Some(string_literal(text, facts.no_backslash_escapes)),
            Value::Other => None,
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
    let signed = match values.get(usize::from(delta.parameter)) {
        Some(Value::Integer(number)) if delta.negated => -number,
        Some(Value::Integer(number)) => *number,
        _ => return Delta::Inexact,
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

/// Digits with an optional sign and fraction, as drivers send DECIMAL.
fn is_plain_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let points = digits.iter().filter(|&&byte| byte == b'.').count();
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    points <= 1 && digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(is_number)
}

/// A string literal in the client's own character set, which a parameter has as well.
pub(super) fn string_literal(text: &[u8], no_backslash_escapes: bool) -> Vec<u8> {
    let mut literal = vec![b'\''];
    for &byte in text {
        if byte == b'\'' || (byte == b'\\' && !no_backslash_escapes) {
            literal.push(byte);
        }
        literal.push(byte);
    }
    literal.push(b'\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_say_what_the_parameters_said() {
        assert_eq!(string_literal(b"it's \\ ", false), b"'it''s \\\\ '");
        assert_eq!(string_literal(b"it's \\ ", true), b"'it''s \\ '");
        assert!(is_plain_decimal(b"-12.50"));
        assert!(!is_plain_decimal(b"1e5"));
        assert!(!is_plain_decimal(b""));
        assert!(!is_plain_decimal(b"1.2.3"));
    }
}

//! Writes that pass as they came: they are right on base alone, but the rows that they change are then the transaction's own,
//! and its reads must see their counters as they are, like all else in them.

use super::Session;
use super::error::Error;
use super::fold::changes_nothing;
use super::moving::Bound;
use super::refusal::Foreseen;
use super::turn::{Done, Original, Turn};
use crate::sql::plan::{Told, Write};
use crate::wire::capability;

impl Session {
    /// Runs a write. `parameters` are literals; `None` where they have none.
    pub(super) async fn write(
        &mut self,
        write: &Write,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.learn_from_forwarded(write.reason, self.state.kind);
        self.count(write.reason);
        if !self.state.in_transaction() {
            return self.run_original(original, turn).await;
        }
        let bound = Bound::of(&write.rows, parameters);
        let counts_matches = self.capabilities & capability::FOUND_ROWS != 0;
        let names_one_key = write.key_parameters.iter().all(|key| {
            let literal = parameters.and_then(|list| list.get(usize::from(key.parameter)));
            literal.is_some_and(|literal| key.is_one_key(literal))
        });
        let by_count = match write.told {
            _ if !names_one_key => false,
            Told::ByCount => true,
            Told::ByCountOfChanged => !counts_matches,
            Told::Not => false,
        };
        let is_told = by_count && matches!(bound, Bound::Keys(_));
        if !is_told {
            match self.foresee(original).await? {
                Foreseen::Nothing => {}
                Foreseen::Refused => return self.run_original(original, turn).await,
                Foreseen::Ended(error) => return self.answer_err(turn, &error).await,
            }
        }
        let suspects = match (by_count, &bound) {
            (true, Bound::Keys(_)) => None,
            (_, Bound::Keys(keys)) => {
                let predicate = keys.predicate.as_deref();
                Some(self.suspects(&keys.table, predicate, None).await?)
            }
            (
                _,
                Bound::Rows {
                    table,
                    predicate,
                    inserted,
                },
            ) => {
                let inserted = inserted.clone();
                Some(self.suspects(table, Some(predicate), inserted).await?)
            }
        };
        let suspects = match suspects {
            Some(Err(error)) => return self.discard_and_fail(original, turn, &error).await,
            Some(Ok(suspects)) => suspects,
            None => None,
        };
        let (done, last) = self.run_original_and_see(original, turn).await?;
        // An answer with the end of the transaction has taken what it knew along.
        if !changes_nothing(&last, self.state.kind) && self.state.in_transaction() {
            let rows = self.state.transaction.rows_mut();
            match suspects {
                Some(suspects) => rows.remember_suspects(suspects),
                None => rows.remember_written(bound.into_keys()),
            }
        }
        Ok(done)
    }
}

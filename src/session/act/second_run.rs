//! The second run of an UPDATE or DELETE that has changed only some of the rows that were folded for it.
//!
//! The folds can no longer be undone without the statement, and the rows that it has left alone would show as they are
//! now, where the transaction's snapshot has them older. So everything is undone, only the changed rows are folded,
//! and the statement runs once more, confined to them.

use std::sync::Arc;

use crate::counter::Key;
use crate::counter::fold::Look;
use crate::session::Session;
use crate::session::act::fold_slots::{AsOwn, Bound, Moved};
use crate::session::act::own_rows::{Mark, UNDO};
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::state::transaction::{Keys, Suspects};
use crate::sql::template::{Filling, Template};
use crate::wire::reader::Malformed;
use crate::wire::reply::{Ok as OkPacket, row_counts};

/// The outcome of a statement that may have to run a second time.
pub(crate) enum SecondRun {
    /// Its first run stands.
    NotRun,
    /// The second run stands, and the transaction remembers what it has changed.
    Replied,
    /// The second run was refused with this ERR payload. The first run is undone, so the statement has changed
    /// nothing.
    Refused(Vec<u8>),
}

/// Rows that a statement has changed.
struct Changed {
    keys: Keys,
    count: usize,
}

/// How many rows an UPDATE or DELETE has changed, by its OK payload.
fn rows_changed(ok: &[u8]) -> Option<usize> {
    let ok = OkPacket::decode(ok).ok()?;
    let changed = row_counts(ok.tail).map_or(ok.affected_rows, |(_, changed)| changed);
    changed.try_into().ok()
}

impl Session {
    /// Confines a statement that has run to the rows that it has changed, if it has left others alone whose slots had
    /// been moved. `confined` is its text with a hole for a condition, and its literals; `suspects` are the rows as
    /// they were before it.
    pub(crate) async fn confine(
        &mut self,
        mark: Mark,
        (moved, suspects): (&Moved, &Suspects),
        confined: (&Template, &[Vec<u8>]),
    ) -> Result<SecondRun, Error> {
        match self.changed_alone(moved, suspects).await? {
            Some(changed) => self.run_again(mark, moved, changed, confined).await,
            None => Ok(SecondRun::NotRun),
        }
    }

    /// The rows that the client's statement has changed, if a fold has also moved slots of others that the statement
    /// has left alone. Returns `None` if there are no such others, or if that cannot be determined.
    async fn changed_alone(
        &mut self,
        moved: &Moved,
        suspects: &Suspects,
    ) -> Result<Option<Changed>, Error> {
        let Keys { table, predicate } = &moved.keys;
        let Some(form) = self.key_form(table) else {
            return Ok(None);
        };
        let after = self
            .digests_in_any_case(table, predicate.as_deref(), Look::Locked)
            .await?;
        let Ok(Some(after)) = after else {
            return Ok(None);
        };
        let (unchanged, changed): (Vec<_>, Vec<_>) = suspects
            .before
            .iter()
            .partition(|row| row.1.is_some() && after.contains(row));
        let was_open = |key: &Key| moved.open.as_ref().is_none_or(|open| open.contains(key));
        let changed: Vec<Key> = changed.into_iter().map(|(key, _)| key.clone()).collect();
        let is_needed = !changed.is_empty() && unchanged.iter().any(|(key, _)| was_open(key));
        Ok(is_needed.then(|| Changed {
            keys: Keys {
                table: Arc::clone(table),
                predicate: Some(form.any_of(&changed).into_bytes()),
            },
            count: changed.len(),
        }))
    }

    /// Undoes what has been done since the mark, and does it again for the changed rows only. If the statement then
    /// changes another number of rows than before, it runs again for all rows that had been folded.
    async fn run_again(
        &mut self,
        mark: Mark,
        moved: &Moved,
        changed: Changed,
        (confined, parameters): (&Template, &[Vec<u8>]),
    ) -> Result<SecondRun, Error> {
        let Changed { keys, count } = changed;
        let condition = keys.predicate.clone().unwrap_or_default();
        let ways = [
            (keys, AsOwn::No, &condition[..], Some(count)),
            (moved.keys.clone(), AsOwn::Several, b"TRUE", None),
        ];
        for (keys, as_own, condition, expected) in ways {
            if !self.savepoint(UNDO).await? {
                // The last run stands.
                return Ok(SecondRun::NotRun);
            }
            self.state.transaction.restore(mark.clone());
            if let Err(error) = self.fold(&Bound::Keys(keys.clone()), as_own).await? {
                return Ok(SecondRun::Refused(error));
            }
            let mut text = Vec::new();
            let filling = Filling {
                parameters,
                keys: condition,
                ..Filling::default()
            };
            confined.render(&filling, &mut text);
            let ok = match self.run_internal(text).await? {
                InternalResponse::Ok(ok) => ok,
                InternalResponse::Err(error) => return Ok(SecondRun::Refused(error)),
                InternalResponse::Row(_) => return Err(Malformed.into()),
            };
            if expected.is_none_or(|expected| rows_changed(&ok) == Some(expected)) {
                self.state.transaction.rows_mut().remember_fold(keys);
                break;
            }
        }
        Ok(SecondRun::Replied)
    }
}

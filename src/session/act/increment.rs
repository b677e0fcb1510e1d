//! An increment goes to a slot, and the client gets the response that its UPDATE would have got.

use std::sync::Arc;
use std::time::Instant;

use crate::counter::SlotRow;
use crate::session::Session;
use crate::session::act::candidate::Candidate;
use crate::session::act::fold_slots::Bound;
use crate::session::act::key_text::{has_one_text, in_one_text};
use crate::session::act::slot::Slotting;
use crate::session::error::Error;
use crate::session::parameters::{Delta, amounts, judge};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::rights::Right;
use crate::session::state::transaction::Keys;
use crate::sql::plan::{Increment, Reason};
use crate::sql::{Amount, compares_alike};
use crate::wire::execute::Value;

/// How many rows a transaction remembers that it holds in tables without slots.
const MOST_HELD: usize = 64;

impl Session {
    /// Adds to slots, or takes the exact path where the slot table refuses. `parameters` are literals; `amounts` is
    /// what the statement adds to each counter.
    pub(crate) async fn increment(
        &mut self,
        increment: &Arc<Increment>,
        (parameters, amounts): (&[Vec<u8>], Option<&[Amount]>),
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let Some(scope) = increment.exact.folds.first() else {
            return self.run_original(original, context).await;
        };
        self.state.running.makes_no_snapshot = true;
        if let Some(reason) = self.goes_to_base(increment, Some(parameters)) {
            if reason == Reason::OwnIncrement {
                self.state.transaction.remember_shape(increment.shape);
            }
            let mut exact = increment.exact.clone();
            exact.reason = reason;
            return self
                .fold_then_original(&exact, Some(parameters), original, context)
                .await;
        }
        let keys = Bound::of(scope, Some(parameters)).into_keys();
        // The predicate of the one key that the statement names, if it certainly names only one.
        let one_key = match names_one_key(increment, parameters) {
            true => keys.predicate.as_deref(),
            false => None,
        };
        let one_key = one_key.map(|predicate| in_one_text(predicate, &increment.table));
        match self.may_increment(increment).await? {
            Right::Given => {}
            // The server refuses it in its own words.
            Right::Denied => {
                self.count_increment(Reason::Fallback, &increment.table);
                return self.run_original(original, context).await;
            }
            Right::Unknown => {
                return self
                    .fold_then_original(&increment.exact, Some(parameters), original, context)
                    .await;
            }
        }
        let slotting = Slotting {
            increment,
            parameters,
            amounts,
            slot_row: one_key.map(|predicate| self.slot_row(&predicate, increment)),
            keys,
            original,
            context,
        };
        let is_alone = !self.state.in_transaction();
        let done = match self.combine_increment(&slotting).await? {
            Some(done) => Ok(done),
            None => Box::pin(self.slot_alone(&slotting)).await,
        };
        if is_alone {
            // An error does not report that the transaction has ended, but there was none that could hold a slot.
            self.state.transaction.leases.clear();
        }
        done
    }

    /// Adds to the base row of a table without slots, combined with other increments that arrive at the same time.
    pub(crate) async fn increment_base(
        &mut self,
        increment: &Arc<Increment>,
        (parameters, amounts): (&[Vec<u8>], Option<&[Amount]>),
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.count_increment(Reason::Combined, &increment.table);
        // A session that adds nothing is told that no row has changed, whatever others add.
        let amounts = amounts.filter(|amounts| !amounts.iter().all(|amount| amount.is_zero()));
        let scope = increment.exact.folds.first();
        let keys = scope.map(|scope| Bound::of(scope, Some(parameters)).into_keys());
        let predicate = keys.as_ref().and_then(|keys| keys.predicate.as_deref());
        let predicate = predicate.map(|predicate| in_one_text(predicate, &increment.table));
        let (Some(keys), Some(predicate), true) =
            (&keys, &predicate, names_one_key(increment, parameters))
        else {
            return self.run_original(original, context).await;
        };
        let begun = self.note_held(increment, predicate).then(Instant::now);
        let done = self
            .increment_row(
                increment,
                (parameters, amounts),
                (keys, predicate),
                original,
                context,
            )
            .await?;
        if let Some(begun) = begun.filter(|_| !done.failed) {
            self.shared.motion.waited(&increment.table, begun.elapsed());
        }
        Ok(done)
    }

    async fn increment_row(
        &mut self,
        increment: &Arc<Increment>,
        (parameters, amounts): (&[Vec<u8>], Option<&[Amount]>),
        (keys, predicate): (&Keys, &[u8]),
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        // Another session may write it, so the account's right is checked here.
        if self.may_increment(increment).await? != Right::Given {
            return self.run_original(original, context).await;
        }
        let slotting = Slotting {
            increment,
            parameters,
            amounts,
            slot_row: Some(self.slot_row(predicate, increment)),
            keys: keys.clone(),
            original,
            context,
        };
        match self.combine_increment(&slotting).await? {
            Some(done) => Ok(done),
            None => self.run_original(original, context).await,
        }
    }

    /// Writes an increment together with others. Returns `None` if it must be written by itself.
    async fn combine_increment(
        &mut self,
        slotting: &Slotting<'_>,
    ) -> Result<Option<Replied>, Error> {
        let Some(member) = slotting.member() else {
            return Ok(None);
        };
        let candidate = Candidate {
            member,
            slotting: Some(slotting).filter(|_| slotting.increment.table.slots > 0),
            original: slotting.original,
            context: slotting.context,
        };
        let sets_time = !slotting.increment.table.touches.is_empty();
        match self.group(sets_time).await? {
            Some(group) => self.combine(&group, &candidate).await,
            None => Ok(None),
        }
    }

    /// Takes in that this row of a table without slots is about to be incremented: by a transaction, which holds it
    /// until it ends, or in autocommit. Returns whether a transaction comes to hold it, which slots would spare.
    fn note_held(&mut self, increment: &Increment, predicate: &[u8]) -> bool {
        let table = &increment.table;
        if !table.may_rest {
            return false;
        }
        if !self.state.in_transaction() {
            self.shared.motion.pass(table, predicate);
            return false;
        }
        let transaction = &mut self.state.transaction;
        transaction.remember_shape(increment.shape);
        // Slots would not help transactions that lock the row besides.
        let gains = !self.shared.is_mixed(increment.shape);
        let is_known = transaction
            .held
            .iter()
            .any(|held| held.is(table, predicate));
        let comes_to_hold = gains && !is_known && transaction.held.len() < MOST_HELD;
        if comes_to_hold {
            let held = self.shared.motion.hold(table, predicate);
            transaction.held.extend(held);
        }
        comes_to_hold
    }

    /// Identifies a slot row. Base has been checked for room for these counters, not for others, and on this server,
    /// not on another to which the upstream's address has led or will lead.
    fn slot_row(&self, predicate: &[u8], increment: &Increment) -> SlotRow {
        if increment.table.slots == 0 {
            return SlotRow::of_base(predicate.to_vec());
        }
        SlotRow {
            has_one_text: has_one_text(predicate, &increment.table),
            predicate: predicate.to_vec(),
            guarded: increment.guarded.clone(),
            server: self.shared.slots.hash_of(&self.server),
        }
    }

    /// Why an increment goes to base in this transaction, if it does. Without its parameters, as far as they do not
    /// matter.
    pub(crate) fn goes_to_base(
        &self,
        increment: &Increment,
        parameters: Option<&[Vec<u8>]>,
    ) -> Option<Reason> {
        if parameters.is_some_and(|parameters| !compare_alike(increment, parameters)) {
            return Some(increment.exact.reason);
        }
        let scope = increment.exact.folds.first()?;
        let keys = Bound::of(scope, Some(parameters.unwrap_or_default())).into_keys();
        let rows = self.state.transaction.rows();
        if rows.has_settled(&keys) {
            // Base holds the whole value, under this transaction's lock.
            return Some(Reason::AddsToBase);
        }
        if self.hot.is_changing(&increment.table) {
            return Some(Reason::ChangingOver);
        }
        if self.is_snapshot_isolated() && !self.has_incremented(&keys) {
            return Some(Reason::SnapshotIsolation);
        }
        // Not once the transaction holds a slot: a session that waits for the slot may hold the base row.
        let holds_slot = rows.has_incremented(&increment.table);
        // Transactions on several members would fail each other on the base row, so there it is the last resort.
        let may_use_slots = match increment.table.is_gated {
            true => !self.shared.is_mixed(increment.shape),
            false => self.shared.is_pure(increment.shape),
        };
        if self.state.in_transaction() && !holds_slot && !may_use_slots {
            return Some(Reason::OwnIncrement);
        }
        let may_name_several = keys.predicate.is_none()
            || parameters.is_some_and(|parameters| !names_one_key(increment, parameters));
        (increment.one_key_only && may_name_several).then_some(increment.exact.reason)
    }

    /// Whether the transaction has added to a slot of this one key: what others add to it comes after what the
    /// transaction has done.
    fn has_incremented(&self, keys: &Keys) -> bool {
        let predicate = keys.predicate.as_deref();
        let predicate = predicate.map(|predicate| in_one_text(predicate, &keys.table));
        let mut written = self.state.written.iter();
        written.any(|(table, row, _)| {
            *table == keys.table && predicate.as_deref() == Some(&row.predicate)
        })
    }

    /// Runs an increment with these values, which `literals` spell.
    pub(crate) async fn increment_by(
        &mut self,
        increment: &Arc<Increment>,
        values: &[Value<'_>],
        literals: &[Vec<u8>],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let deltas = increment.parameter_deltas.iter();
        let deltas = deltas.map(|delta| judge(delta, increment, values));
        // A zero does no harm beside other amounts.
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
                    .increment(increment, (literals, amounts.as_deref()), original, context)
                    .await;
            }
            Delta::Zero if increment.table.touches.is_empty() => {
                self.count(Reason::ZeroDelta);
                return self.run_original(original, context).await;
            }
            // Nothing is added, but the statement may set a time that is earlier than what the slots hold.
            Delta::Zero => Reason::TouchColumn,
            Delta::Inexact => Reason::InexactDelta,
        };
        let mut fold = increment.exact.clone();
        fold.reason = reason;
        self.fold_then_original(&fold, Some(literals), original, context)
            .await
    }
}

/// Whether each parameter of the key, as a literal, equals at most one key.
fn names_one_key(increment: &Increment, parameters: &[Vec<u8>]) -> bool {
    increment.key_parameters.iter().all(|key| {
        let literal = parameters.get(usize::from(key.parameter));
        literal.is_some_and(|literal| key.is_one_key(literal))
    })
}

/// Whether the predicate means the same in all statements that may be sent for this increment.
fn compare_alike(increment: &Increment, parameters: &[Vec<u8>]) -> bool {
    increment.compared_parameters.iter().all(|compared| {
        let column = &increment.table.columns[compared.column];
        let literal = parameters.get(usize::from(compared.parameter));
        literal.is_some_and(|literal| compares_alike(column, literal))
    })
}

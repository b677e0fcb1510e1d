//! An increment goes to a slot; the client is told what the UPDATE would have told it.

use std::sync::Arc;

use super::Session;
use super::as_update::{InfoText, as_update};
use super::error::Error;
use super::link::internal::{
    Failure, InternalResponse, MOST_DEADLOCKS, affected_rows, failure, is_deadlock,
};
use super::moving::Bound;
use super::rights::Right;
use super::state::diagnostics::Diagnostics;
use super::state::transaction::Keys;
use super::turn::{Done, Original, Turn};
use crate::catalog::HotTable;
use crate::counter::{SlotLease, SlotRow};
use crate::metrics::TableCounts;
use crate::sql::plan::{Increment, Reason};
use crate::sql::template::{Filling, Template};
use crate::sql::{Amount, Kind, compares_alike};
use crate::wire::error_code::is_check_violated;
use crate::wire::reader::Malformed;
use crate::wire::reply;

/// How many slot rows of an open transaction are remembered.
const MOST_WRITTEN: usize = 256;

/// An increment that is to go to a slot.
pub(super) struct Slotting<'a> {
    pub increment: &'a Arc<Increment>,
    pub parameters: &'a [Vec<u8>],
    /// What it adds to each counter, where that can be added up.
    pub amounts: Option<&'a [Amount]>,
    /// What the slot row is known by, where the statement surely names one key.
    pub slot_row: Option<SlotRow>,
    /// The keys that it increments.
    keys: Keys,
    pub original: &'a Original,
    pub turn: Turn,
}

impl Session {
    /// Adds to slots, or takes the exact way where the slot table refuses. `parameters` are literals, `amounts` what it
    /// adds to each counter.
    pub(super) async fn increment(
        &mut self,
        increment: &Arc<Increment>,
        (parameters, amounts): (&[Vec<u8>], Option<&[Amount]>),
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let Some(scope) = increment.exact.folds.first() else {
            return self.run_original(original, turn).await;
        };
        self.state.makes_no_snapshot = true;
        let keys = Bound::of(scope, Some(parameters)).into_keys();
        if !compare_alike(increment, parameters) {
            return self
                .fold_then_original(&increment.exact, Some(parameters), original, turn)
                .await;
        }
        if let Some(reason) = self.goes_to_base(increment, &keys) {
            let mut exact = increment.exact.clone();
            exact.reason = reason;
            return self
                .fold_then_original(&exact, Some(parameters), original, turn)
                .await;
        }
        // The predicate of the one key that the statement names, if it surely names one.
        let one_key = match names_one_key(increment, parameters) {
            true => keys.predicate.as_ref(),
            false => None,
        };
        if increment.one_key_only && one_key.is_none() {
            return self
                .fold_then_original(&increment.exact, Some(parameters), original, turn)
                .await;
        }
        match self.may_increment(increment).await? {
            Right::Given => {}
            // The server refuses it in its own words.
            Right::Denied => {
                self.count_increment(Reason::Fallback, &increment.table);
                return self.run_original(original, turn).await;
            }
            Right::Unknown => {
                return self
                    .fold_then_original(&increment.exact, Some(parameters), original, turn)
                    .await;
            }
        }
        let slotting = Slotting {
            increment,
            parameters,
            amounts,
            slot_row: one_key.map(|predicate| self.slot_row(predicate, increment)),
            keys,
            original,
            turn,
        };
        let is_alone = !self.state.in_transaction();
        let done = match self.combine(&slotting).await? {
            Some(done) => Ok(done),
            None => self.slot_alone(&slotting).await,
        };
        if is_alone {
            // An error does not tell of its end, but there was no transaction to hold a slot.
            self.state.transaction.leases.clear();
        }
        done
    }

    /// Adds to the base row of a table without slots, together with others where others do so at the time.
    pub(super) async fn increment_base(
        &mut self,
        increment: &Arc<Increment>,
        (parameters, amounts): (&[Vec<u8>], Option<&[Amount]>),
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.count_increment(Reason::Combined, &increment.table);
        // Who adds nothing is told that nothing has changed, whatever others add.
        let amounts = amounts.filter(|amounts| !amounts.iter().all(|amount| amount.is_zero()));
        let scope = increment.exact.folds.first();
        let keys = scope.map(|scope| Bound::of(scope, Some(parameters)).into_keys());
        let predicate = keys.as_ref().and_then(|keys| keys.predicate.as_ref());
        let (Some(keys), Some(predicate), true) =
            (&keys, predicate, names_one_key(increment, parameters))
        else {
            return self.run_original(original, turn).await;
        };
        // Others may write it.
        if self.may_increment(increment).await? != Right::Given {
            return self.run_original(original, turn).await;
        }
        let slotting = Slotting {
            increment,
            parameters,
            amounts,
            slot_row: Some(self.slot_row(predicate, increment)),
            keys: keys.clone(),
            original,
            turn,
        };
        match self.combine(&slotting).await? {
            Some(done) => Ok(done),
            None => self.run_original(original, turn).await,
        }
    }

    /// What a slot row is known by: base has been asked whether it has room for these counters, not for others, and on
    /// this server, not on another to which the upstream's address has led or will.
    fn slot_row(&self, predicate: &[u8], increment: &Increment) -> SlotRow {
        SlotRow {
            predicate: predicate.to_vec(),
            has_one_text: has_one_text(predicate, &increment.table),
            counters: increment.counters.clone(),
            server: self.shared.slots.hash_of(&self.server),
        }
    }

    /// Why an increment goes to base, if it does.
    fn goes_to_base(&mut self, increment: &Increment, keys: &Keys) -> Option<Reason> {
        let rows = self.state.transaction.rows();
        if rows.has_settled(keys) {
            // Base holds the whole value, under our lock.
            return Some(Reason::AddsToBase);
        }
        if self.hot.is_changing(&increment.table) {
            return Some(Reason::ChangingOver);
        }
        // Not once it holds a slot: who waits for that one may hold the base row.
        let holds_slot = rows.has_incremented(&increment.table);
        if self.state.in_transaction() && !holds_slot && !self.shared.is_pure(increment.shape) {
            self.state.transaction.remember_shape(increment.shape);
            return Some(Reason::OwnIncrement);
        }
        None
    }

    /// Adds to a slot by a statement for this increment alone.
    pub(super) async fn slot_alone(&mut self, slotting: &Slotting<'_>) -> Result<Done, Error> {
        let Slotting {
            increment,
            parameters,
            turn,
            ..
        } = *slotting;
        let slot = self.slot(&increment.table);
        // Where it does not name one whole key, the rows that it opens are not known.
        let slot_row = slotting.slot_row.as_ref();
        let slot_row = slot_row.filter(|_| increment.update.is_some());
        let is_known = slot_row.is_some_and(|row| self.knows_slot(&increment.table, row, slot));
        if !is_known {
            let slots = &self.shared.slots;
            slots.open(&increment.table, slot_row, &increment.counters, slot);
        }
        if let (Some(update), Some(row), true) = (&increment.update, slot_row, is_known) {
            match self.run_template(update, slot, parameters).await? {
                InternalResponse::Ok(ok) if affected_rows(&ok)? > 0 => {
                    self.learn_language(&ok);
                    self.found_slot(&increment.table, row, slot);
                    return self.slotted(slotting, slot, ok).await;
                }
                // Closed by a fold, or full: base must be asked.
                InternalResponse::Err(error) if is_check_violation(&error) => {}
                InternalResponse::Err(error) => return self.refused(slotting, &error).await,
                _ => self.shared.slots.forget(&increment.table, row, slot),
            }
        }
        if self.state.info == InfoText::Unknown {
            // The original shows it.
            return self
                .fold_then_original(&increment.exact, Some(parameters), slotting.original, turn)
                .await;
        }
        match self.upsert(slotting, slot).await? {
            InternalResponse::Ok(ok) => {
                match as_update(&ok, self.link.capabilities, &self.state.info)? {
                    None => {
                        // No such row: MySQL says so in its own words.
                        self.count_increment(Reason::Slotted, &increment.table);
                        let seen = self.run_original_and_see(slotting.original, turn).await?;
                        Ok(seen.0)
                    }
                    Some(ok) => {
                        if let Some(row) = slot_row {
                            self.found_slot(&increment.table, row, slot);
                        }
                        // The upstream's own count has existing slot rows twice.
                        self.state.diagnostics = Some(Diagnostics::of(&ok, None));
                        self.slotted(slotting, slot, ok).await
                    }
                }
            }
            InternalResponse::Err(error) => self.refused(slotting, &error).await,
            InternalResponse::Row(_) => Err(Malformed.into()),
        }
    }

    /// Adds to a slot whether or not there is a slot row. It locks more than the client's UPDATE would, the base row
    /// and the gap that a slot row is inserted into, so a deadlock that ends it is not the client's: it is run again,
    /// unless the client's transaction has gone with it.
    async fn upsert(
        &mut self,
        slotting: &Slotting<'_>,
        slot: u16,
    ) -> Result<InternalResponse, Error> {
        let may_run_again = !self.state.in_transaction() && !self.state.one_shot.is_set();
        let mut deadlocks = 0;
        loop {
            let upsert = &slotting.increment.upsert;
            let answer = self.run_template(upsert, slot, slotting.parameters).await?;
            match answer {
                InternalResponse::Err(error)
                    if may_run_again && is_deadlock(&error) && deadlocks < MOST_DEADLOCKS =>
                {
                    deadlocks += 1;
                }
                answer => return Ok(answer),
            }
        }
    }

    /// Takes the words of the session's language from an answer, if that is an UPDATE's.
    pub(super) fn learn_language(&mut self, ok: &[u8]) {
        if self.state.kind == Kind::Update {
            self.state.info.learn(ok, self.link.capabilities);
        }
    }

    /// Counts an increment that is not folded for.
    pub(super) fn count_increment(&mut self, reason: Reason, table: &HotTable) {
        self.hot.count(table, TableCounts::count_increment);
        self.count(reason);
    }

    /// Whether the slot row of this key is there. What this transaction has written itself, and has not folded since,
    /// is, whatever others do.
    fn knows_slot(&self, table: &Arc<HotTable>, row: &SlotRow, slot: u16) -> bool {
        let is_it = |written: &(Arc<HotTable>, SlotRow, u16)| {
            written.2 == slot && written.1 == *row && written.0 == *table
        };
        self.state.written.iter().any(is_it) || self.shared.slots.knows(table, row, slot)
    }

    /// The slot row of this key is there: for all sessions when the transaction has committed. Told earlier, and
    /// rolled back, it would be missed by the UPDATE of another, which then holds the gap that a third inserts into.
    fn found_slot(&mut self, table: &Arc<HotTable>, row: &SlotRow, slot: u16) {
        if !self.state.in_transaction() {
            self.shared.slots.learn(table, row, slot);
            return;
        }
        let written = &mut self.state.written;
        let same = |other: &(Arc<HotTable>, SlotRow, u16)| other.2 == slot && other.1 == *row;
        if written.len() < MOST_WRITTEN && !written.iter().any(same) {
            written.push((Arc::clone(table), row.clone(), slot));
        }
    }

    async fn slotted(
        &mut self,
        slotting: &Slotting<'_>,
        slot: u16,
        ok: Vec<u8>,
    ) -> Result<Done, Error> {
        self.count_increment(Reason::Slotted, &slotting.increment.table);
        let keys = &slotting.keys;
        self.slot_incremented(&keys.table, keys.predicate.as_deref(), slot);
        if self.state.in_transaction() {
            let transaction = &mut self.state.transaction;
            transaction
                .rows_mut()
                .remember_increment(slotting.keys.clone());
            transaction.remember_shape(slotting.increment.shape);
        }
        self.answer_ok(slotting.turn, ok).await
    }

    /// The slot statement failed: either as the original would have, or for a reason of ours.
    async fn refused(&mut self, slotting: &Slotting<'_>, error: &[u8]) -> Result<Done, Error> {
        let Slotting {
            increment,
            parameters,
            original,
            turn,
            ..
        } = *slotting;
        match failure(error) {
            Failure::TheClients => {
                self.count_increment(Reason::Slotted, &increment.table);
                self.answer_err(turn, error).await
            }
            Failure::Ours => {
                self.fold_then_original(&increment.exact, Some(parameters), original, turn)
                    .await
            }
        }
    }

    /// The slot that this session's open transaction (or statement) increments.
    pub(super) fn slot(&mut self, table: &Arc<HotTable>) -> u16 {
        if let Some(lease) = self.lease(table) {
            return lease.slot();
        }
        let leases = &mut self.state.transaction.leases;
        let lease = self.shared.slots.lease(table);
        let slot = lease.slot();
        leases.push((Arc::clone(table), lease));
        slot
    }

    /// A slot has taken an increment of the keys under `predicate`: it is to be rolled up, once it is committed.
    pub(super) fn slot_incremented(
        &mut self,
        table: &Arc<HotTable>,
        predicate: Option<&[u8]>,
        slot: u16,
    ) {
        let mut leases = self.state.transaction.leases.iter_mut();
        match leases.find(|(leased, _)| leased == table) {
            Some((_, lease)) => lease.incremented(predicate),
            // In autocommit the lease has gone with the commit that the answer told of.
            None => self.shared.slots.dirty().mark(table, predicate, slot),
        }
    }

    /// The lease that it holds of a table's slots.
    pub(super) fn lease(&self, table: &Arc<HotTable>) -> Option<&SlotLease> {
        let mut leases = self.state.transaction.leases.iter();
        leases
            .find(|(leased, _)| leased == table)
            .map(|(_, lease)| lease)
    }

    async fn run_template(
        &mut self,
        template: &Template,
        slot: u16,
        parameters: &[Vec<u8>],
    ) -> Result<InternalResponse, Error> {
        let mut text = Vec::new();
        let filling = Filling {
            slot,
            parameters,
            ..Filling::default()
        };
        template.render(&filling, &mut text);
        self.run_internal(text).await
    }
}

/// Whether an ERR payload says that a CHECK was violated (MySQL, MariaDB).
pub(super) fn is_check_violation(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_check_violated(err.code))
}

/// Whether a key is written as nothing but the digits of an integer.
fn has_one_text(predicate: &[u8], table: &HotTable) -> bool {
    let [key] = table.primary_key[..] else {
        return false;
    };
    let column = &table.columns[key];
    let kind = column.definition.as_bytes();
    let length = kind.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let is_integer = kind[..length.count()]
        .last_chunk()
        .is_some_and(|end: &[u8; 3]| end.eq_ignore_ascii_case(b"int"));
    // A name with a backtick in it is not worth the trouble.
    let digits = predicate
        .strip_prefix(b"`")
        .and_then(|rest| rest.strip_prefix(column.name.as_bytes()))
        .and_then(|rest| rest.strip_prefix(b"` = "))
        .unwrap_or_default();
    is_integer && digits.iter().all(u8::is_ascii_digit) && !matches!(digits, [] | [b'0', _, ..])
}

/// Whether each parameter of the key, as a literal, equals one key at most.
fn names_one_key(increment: &Increment, parameters: &[Vec<u8>]) -> bool {
    increment.key_parameters.iter().all(|key| {
        let literal = parameters.get(usize::from(key.parameter));
        literal.is_some_and(|literal| key.is_one_key(literal))
    })
}

/// Whether the predicate means the same in the statements that would be sent for this increment.
fn compare_alike(increment: &Increment, parameters: &[Vec<u8>]) -> bool {
    increment.compared_parameters.iter().all(|compared| {
        let column = &increment.table.columns[compared.column];
        let literal = parameters.get(usize::from(compared.parameter));
        literal.is_some_and(|literal| compares_alike(column, literal))
    })
}

//! Writes one increment to a slot: the UPDATE of a known slot row, or the upsert that makes the row. Also keeps the
//! session's slot leases, and the slot rows that it knows.

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::combine::{Addition, CombineKey, Member, Work};
use crate::counter::{SlotLease, SlotRow};
use crate::metrics::TableCounts;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::is_check_violation;
use crate::session::link::internal::{
    Failure, InternalResponse, MOST_DEADLOCKS, affected_rows, failure, is_deadlock,
};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::info_text::{InfoText, as_update};
use crate::session::state::transaction::Keys;
use crate::sql::Amount;
use crate::sql::plan::{Increment, Reason};
use crate::sql::template::{Filling, Template};
use crate::wire::reader::Malformed;

/// An increment that is to go to a slot.
pub(crate) struct Slotting<'a> {
    pub increment: &'a Arc<Increment>,
    pub parameters: &'a [Vec<u8>],
    /// What it adds to each counter, if that can be added up.
    pub amounts: Option<&'a [Amount]>,
    /// Identifies the slot row, if the statement certainly names one key.
    pub slot_row: Option<SlotRow>,
    /// The keys that it increments.
    pub keys: Keys,
    pub original: &'a Original,
    pub context: ReplyContext,
}

impl Slotting<'_> {
    /// The increment as a member of a batch, if it may be added to others.
    pub(crate) fn member(&self) -> Option<Member> {
        let increment = self.increment;
        let has_slots = increment.table.slots > 0;
        let slot_row = self.slot_row.clone().filter(|_| increment.may_combine)?;
        Some(Member {
            key: Arc::new(match has_slots {
                true => CombineKey {
                    shape: Some(increment.shape),
                    times: increment.times.clone(),
                    slot_row,
                },
                false => CombineKey::of_base(slot_row),
            }),
            table: Arc::clone(&increment.table),
            work: Work::Sum(Addition {
                increment: Arc::clone(increment),
                parameters: self.parameters.to_vec(),
                amounts: self.amounts?.to_vec(),
            }),
            span: None,
        })
    }
}

/// A statement for this slot, with these parameters.
pub(crate) fn rendered(template: &Template, slot: u16, parameters: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    let filling = Filling {
        slot,
        parameters,
        ..Filling::default()
    };
    template.render(&filling, &mut text);
    text
}

/// How many slot rows of an open transaction are remembered.
pub(crate) const MOST_WRITTEN: usize = 256;

impl Session {
    /// Adds to a slot by a statement for this increment alone.
    pub(crate) async fn slot_alone(&mut self, slotting: &Slotting<'_>) -> Result<Replied, Error> {
        let Slotting {
            increment,
            parameters,
            context,
            ..
        } = *slotting;
        if increment.table.is_gated {
            return Box::pin(self.slot_gated(slotting)).await;
        }
        let slot = self.slot(&increment.table);
        // If the statement does not name one whole key, the slot rows that it opens are not known.
        let slot_row = slotting.slot_row.as_ref();
        let slot_row = slot_row.filter(|_| increment.update.is_some());
        let is_known = slot_row.is_some_and(|row| self.knows_slot(&increment.table, row, slot));
        if !is_known {
            let slots = &self.shared.slots;
            slots.open(&increment.table, slot_row, &increment.guarded, slot);
        }
        if let (Some(update), Some(row), true) = (&increment.update, slot_row, is_known) {
            match self.run_template(update, slot, parameters).await? {
                InternalResponse::Ok(ok) if affected_rows(&ok)? > 0 => {
                    self.learn_language(&ok);
                    self.found_slot(&increment.table, row, slot);
                    return self.slotted(slotting, slot, ok).await;
                }
                // A fold has closed the slot row, or it is full: the upsert must check base.
                InternalResponse::Err(error) if is_check_violation(&error) => {}
                InternalResponse::Err(error) => return self.refused(slotting, &error).await,
                _ => self.shared.slots.forget(&increment.table, row, slot),
            }
        }
        if *self.state.info() == InfoText::Unknown {
            // The response to the original shows the language.
            return self
                .fold_then_original(
                    &increment.exact,
                    Some(parameters),
                    slotting.original,
                    context,
                )
                .await;
        }
        match self.upsert(slotting, slot).await? {
            InternalResponse::Ok(ok) => {
                match as_update(&ok, self.link.capabilities, self.state.info())? {
                    None => {
                        // There is no such row: MySQL reports that in its own words.
                        self.count_increment(Reason::Slotted, &increment.table);
                        let seen = self
                            .run_original_and_see(slotting.original, context)
                            .await?;
                        Ok(seen.0)
                    }
                    Some(ok) => {
                        if let Some(row) = slot_row {
                            self.found_slot(&increment.table, row, slot);
                        }
                        // The upstream's own row count has existing slot rows twice.
                        self.state.diagnostics = Some(Diagnostics::of(&ok, None));
                        self.slotted(slotting, slot, ok).await
                    }
                }
            }
            InternalResponse::Err(error) => self.refused(slotting, &error).await,
            InternalResponse::Row(_) => Err(Malformed.into()),
        }
    }

    /// Adds to a slot whether or not the slot row exists. The upsert locks more than the client's UPDATE would: the
    /// base row, and the gap that a slot row is inserted into. So a deadlock that ends it must not reach the client:
    /// it runs again, unless the deadlock has ended the client's transaction.
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

    /// Counts an increment that is not folded for.
    pub(crate) fn count_increment(&mut self, reason: Reason, table: &HotTable) {
        self.hot.count(table, TableCounts::count_increment);
        self.count(reason);
    }

    /// Whether this key's slot row is known to exist. A row that this transaction has written, and has not folded
    /// since, exists whatever others do.
    pub(crate) fn knows_slot(&self, table: &Arc<HotTable>, row: &SlotRow, slot: u16) -> bool {
        let is_it = |written: &(Arc<HotTable>, SlotRow, u16)| {
            written.2 == slot && written.1 == *row && written.0 == *table
        };
        self.state.written.iter().any(is_it) || self.shared.slots.knows(table, row, slot)
    }

    /// Records that the slot row exists. Other sessions learn of it only after COMMIT: if they knew earlier and we
    /// rolled back, their UPDATE would match nothing and lock the gap that a third session inserts into.
    pub(crate) fn found_slot(&mut self, table: &Arc<HotTable>, row: &SlotRow, slot: u16) {
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

    pub(crate) async fn slotted(
        &mut self,
        slotting: &Slotting<'_>,
        slot: u16,
        ok: Vec<u8>,
    ) -> Result<Replied, Error> {
        self.count_increment(Reason::Slotted, &slotting.increment.table);
        let keys = &slotting.keys;
        self.slot_incremented(&keys.table, keys.predicate.as_deref(), slot);
        if self.state.in_transaction() {
            if slotting.increment.table.may_rest {
                self.shared.motion.note_use(&slotting.increment.table);
            }
            let transaction = &mut self.state.transaction;
            transaction
                .rows_mut()
                .remember_increment(slotting.keys.clone());
            transaction.remember_shape(slotting.increment.shape);
        }
        self.reply_ok(slotting.context, ok).await
    }

    /// Handles a slot statement that failed, either as the original would have, or for a reason of the proxy's own.
    pub(crate) async fn refused(
        &mut self,
        slotting: &Slotting<'_>,
        error: &[u8],
    ) -> Result<Replied, Error> {
        let Slotting {
            increment,
            parameters,
            original,
            context,
            ..
        } = *slotting;
        match failure(error) {
            Failure::TheClients if is_deadlock(error) && self.begins_again().await? => {
                Box::pin(self.slot_alone(slotting)).await
            }
            Failure::TheClients => {
                self.count_increment(Reason::Slotted, &increment.table);
                self.reply_err(context, error).await
            }
            Failure::Ours => {
                self.fold_then_original(&increment.exact, Some(parameters), original, context)
                    .await
            }
        }
    }

    /// The slot that this session's open transaction (or statement) increments.
    pub(crate) fn slot(&mut self, table: &Arc<HotTable>) -> u16 {
        if let Some(lease) = self.lease(table) {
            return lease.slot();
        }
        let leases = &mut self.state.transaction.leases;
        let lease = self.shared.slots.lease(table);
        let slot = lease.slot();
        leases.push((Arc::clone(table), lease));
        slot
    }

    /// Another slot than the one that this session's open transaction has incremented so far, which it holds on to.
    pub(crate) fn another_slot(&mut self, table: &Arc<HotTable>) -> u16 {
        let lease = self.shared.slots.lease(table);
        let slot = lease.slot();
        // The first is the one in use.
        let leases = &mut self.state.transaction.leases;
        leases.insert(0, (Arc::clone(table), lease));
        slot
    }

    async fn run_template(
        &mut self,
        template: &Template,
        slot: u16,
        parameters: &[Vec<u8>],
    ) -> Result<InternalResponse, Error> {
        let text = rendered(template, slot, parameters);
        self.run_internal(text).await
    }

    /// The lease that the session holds on a slot of this table.
    pub(crate) fn lease(&self, table: &Arc<HotTable>) -> Option<&SlotLease> {
        let mut leases = self.state.transaction.leases.iter();
        leases
            .find(|(leased, _)| leased == table)
            .map(|(_, lease)| lease)
    }

    /// Records that a slot has taken an increment of the keys under `predicate`, so that it is rolled up once it is
    /// committed.
    pub(crate) fn slot_incremented(
        &mut self,
        table: &Arc<HotTable>,
        predicate: Option<&[u8]>,
        slot: u16,
    ) {
        let mut leases = self.state.transaction.leases.iter_mut();
        match leases.find(|(leased, _)| leased == table) {
            Some((_, lease)) => lease.incremented(predicate),
            // In autocommit the lease has ended with the commit that the response reported.
            None => self.shared.slots.dirty().mark(table, predicate, slot),
        }
    }
}

//! Increments in a cluster with several writers: the control account opens slots, and sessions increment them.

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::opener::may_guard;
use crate::counter::{KeyForm, SlotLease, SlotRow};
use crate::session::Session;
use crate::session::act::slot::{MOST_WRITTEN, Slotting, rendered};
use crate::session::error::Error;
use crate::session::error_kind::is_check_violation;
use crate::session::link::internal::{InternalResponse, affected_rows};
use crate::session::reply::Replied;
use crate::sql::plan::Increment;

/// How often a slot is opened that is closed again before it is incremented.
const TRIES: u32 = 3;

/// Whether the control account can open slots for an increment.
fn may_be_opened(increment: &Increment) -> bool {
    let names_one_row = increment.update.is_some() && increment.may_combine;
    let table = &increment.table;
    // Nobody passes gates where keys have no literals.
    names_one_row && KeyForm::of(table).is_some() && may_guard(table, &increment.guarded)
}

impl Session {
    /// Adds to a slot that is open, or has one opened. Everything else takes the exact path.
    pub(crate) async fn slot_gated(&mut self, slotting: &Slotting<'_>) -> Result<Replied, Error> {
        let increment = slotting.increment;
        let table = &increment.table;
        let adds_nothing = slotting
            .amounts
            .is_some_and(|amounts| amounts.iter().all(|amount| amount.is_zero()));
        if let (Some(update), Some(row)) = (&increment.update, &slotting.slot_row)
            && may_be_opened(increment)
            && !adds_nothing
        {
            let may_run_again = !self.state.in_transaction() && !self.state.one_shot.is_set();
            let mut slot = self.slot(table);
            for _ in 0..TRIES {
                if self.has_written_otherwise(table, row, slot) {
                    slot = self.another_slot(table);
                }
                if !self.has_open_slot(increment, row, slot).await {
                    break;
                }
                let text = rendered(update, slot, slotting.parameters);
                match self.run_unless_lost(&text, may_run_again).await? {
                    InternalResponse::Ok(ok) if affected_rows(&ok)? > 0 => {
                        self.learn_language(&ok);
                        self.found_slot(table, row, slot);
                        return self.slotted(slotting, slot, ok).await;
                    }
                    // It was closed meanwhile, it is full, or it is gone.
                    InternalResponse::Err(error) if !is_check_violation(&error) => {
                        return self.refused(slotting, &error).await;
                    }
                    _ => self.shared.slots.forget(table, row, slot),
                }
                if self.state.in_transaction() {
                    // The statement has left a lock there, for which the control account would wait.
                    slot = self.another_slot(table);
                }
            }
        }
        let parameters = Some(slotting.parameters);
        self.fold_then_original(
            &increment.exact,
            parameters,
            slotting.original,
            slotting.context,
        )
        .await
    }

    /// Whether this slot of the row is open, as far as is known; it is opened if need be.
    pub(crate) async fn has_open_slot(
        &mut self,
        increment: &Increment,
        row: &SlotRow,
        slot: u16,
    ) -> bool {
        let (table, shared) = (&increment.table, &self.shared);
        if self.knows_slot(table, row, slot) {
            return true;
        }
        // The control account would wait for a transaction that holds the slot row: this one, or one that shares the
        // slot.
        let is_shared = self.lease(table).is_none_or(SlotLease::is_shared);
        let remembers_all = !self.state.in_transaction() || self.state.written.len() < MOST_WRITTEN;
        if is_shared || !remembers_all || !may_be_opened(increment) {
            return false;
        }
        let guarded = &increment.guarded;
        shared.slots.open(table, Some(row), guarded, slot);
        let mariadb = self.hot.catalog.mariadb;
        let opening = shared
            .opener
            .open((table, mariadb), &row.predicate, guarded, slot);
        let is_open = opening.await;
        if is_open {
            self.shared.slots.learn(table, row, slot);
        }
        is_open
    }

    /// Whether the open transaction has incremented this slot row for other counters: it is locked, and base has not
    /// been asked whether it has room for these.
    fn has_written_otherwise(&self, table: &Arc<HotTable>, row: &SlotRow, slot: u16) -> bool {
        let is_it = |written: &(Arc<HotTable>, SlotRow, u16)| {
            written.2 == slot
                && written.0 == *table
                && written.1.predicate == row.predicate
                && written.1.guarded != row.guarded
        };
        self.state.written.iter().any(is_it)
    }
}

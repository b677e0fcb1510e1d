//! The effects of a statement on what the session knows, whatever its plan: what it ends before it runs, and what it
//! may have changed afterwards.

use crate::catalog::HotTable;
use crate::reason::Reason;
use crate::session::Session;
use crate::session::error_kind::is_code_of_the_text;
use crate::session::link::internal::MOST_DEADLOCKS;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::running::Access;
use crate::session::state::transaction::Transaction;
use crate::sql::plan::{Plan, SessionVariables};
use crate::sql::{self, Kind, TableLocks, TransactionControl, is_table_query, mentions};
use crate::wire::error_code::ER_PARSE_ERROR;
use crate::wire::session_state::TransactionState;

impl Session {
    /// Learns that a forwarded statement may lock base rows of tables whose slots the transaction holds.
    pub(crate) fn learn_from_forwarded(&mut self, reason: Reason, kind: Kind) {
        let locks = matches!(kind, Kind::Update | Kind::Delete | Kind::Replace);
        if locks && reason == Reason::NoCounter {
            self.learn_mixed();
        }
    }

    /// Counts what `enforce` would do, if the rule only observes.
    pub(crate) fn count_observed(&self, plan: &Plan) {
        if let Some(reason) = plan.observed() {
            self.metrics().count_observed(reason);
        }
    }

    /// What a statement that is about to run does to the transaction, as far as its text says.
    pub(crate) fn control_in(&self, text: &[u8], kind: Kind) -> Option<TransactionControl> {
        match self.state.of_texts() {
            Some(variables) => sql::transaction_control(text, kind, variables),
            None => sql::transaction_control(text, kind, &SessionVariables::default()),
        }
    }

    /// What a statement does to tables, by its text. Without a text, only its kind is known.
    pub(crate) fn access_in(&self, text: Option<&[u8]>, kind: Kind) -> Access {
        let variables = self.state.of_texts();
        let locks = |text: &[u8]| match variables {
            Some(variables) => sql::locks_for_update(text, kind, variables),
            None => sql::locks_for_update(text, kind, &SessionVariables::default()),
        };
        let locks_for_update = text.is_some_and(locks);
        let names = |word: &[u8]| text.is_some_and(|text| mentions(text, word));
        let state = match kind {
            Kind::Select | Kind::With if locks_for_update => TransactionState::WRITTEN,
            Kind::Select | Kind::With
                if text.is_none_or(|text| names(b"FROM") || is_table_query(text)) =>
            {
                TransactionState::READ
            }
            Kind::Begin if names(b"SNAPSHOT") => TransactionState::READ,
            Kind::Set { .. } | Kind::Do if names(b"SELECT") && names(b"FROM") => {
                TransactionState::READ
            }
            _ if kind.is_write() => {
                let mut state = TransactionState::WRITTEN;
                if names(b"SELECT") || names(b"JOIN") {
                    state = state.with(TransactionState::READ);
                }
                // With several unique keys, it may affect one row or another.
                if names(b"DUPLICATE") && !self.hot.catalog.mariadb {
                    state = state.with(TransactionState::UNSAFE);
                }
                state
            }
            _ => TransactionState::NONE,
        };
        Access {
            locks_for_update,
            state,
        }
    }

    /// Takes in what a statement of this kind ends, before it runs.
    pub(crate) fn before(&mut self, kind: Kind) {
        self.state.running.begin(kind);
        let is_untouched = std::mem::take(&mut self.state.transaction.is_untouched);
        let is_first = is_untouched || self.begins_implicitly();
        self.state.running.may_begin_again = if is_first { MOST_DEADLOCKS } else { 0 };
        if kind.may_end_transaction() && self.state.running.control.is_none() {
            self.state.transaction.distrust_folds();
            self.state.transaction.savepoints.forget();
        }
    }

    /// Whether a statement that runs now begins a transaction, under `autocommit = 0`.
    fn begins_implicitly(&self) -> bool {
        let last = &self.state.last;
        let is_certain = !last.leaves_doubt && !self.state.one_shot.may_be_set();
        is_certain && self.state.in_transaction() && !last.is_in_transaction()
    }

    /// Takes in that a write of this table is about to run. It locks what it reads, unless a routine or a trigger
    /// reads more.
    pub(crate) fn note_locking_write(&mut self, table: &HotTable) {
        let state = &mut self.state;
        let is_alone = !state.running.may_call_routines && !table.has_triggers;
        state.running.makes_no_snapshot |= state.running.kind.is_write() && is_alone;
    }

    /// Forgets the diagnostics of the last statement, because one of this kind is about to run. On MariaDB, a statement
    /// that opens no table leaves the messages, as COMMIT does.
    pub(crate) fn forget_diagnostics(&mut self, kind: Kind) {
        let leaves_messages = self.hot.catalog.mariadb && kind.only_controls_transactions();
        let last = self.state.diagnostics.take();
        self.state.running.left_diagnostics = last.filter(|_| leaves_messages);
    }

    /// Takes in what a statement of this kind may have changed, after it has run.
    pub(crate) fn after(&mut self, kind: Kind, failed: bool) {
        // A message of its own, as START TRANSACTION may have one, takes the place of those before.
        let left = self.state.running.left_diagnostics.take();
        if let Some(left) = left.filter(|_| !failed && self.state.last.has_no_warnings) {
            self.state.diagnostics = Some(Diagnostics {
                row_count: 0,
                ..left
            });
        }
        if kind.may_change_session() {
            self.state.variables = None;
            // The isolation level that the session then reports is that of its next transaction.
            self.state.isolation_doubted |= self.state.in_transaction();
        }
        // The schema's name is not read from the text.
        if kind == Kind::Use && !failed {
            self.schema = None;
        }
        if kind.may_end_transaction() {
            self.written.clear();
            for (table, key, slot) in std::mem::take(&mut self.state.written) {
                if kind == Kind::Commit && !failed {
                    self.shared.slots.learn(&table, &key, slot);
                }
            }
        }
        match kind {
            Kind::Call | Kind::Other => self.state.sql_prepared.lose_sight(),
            // Only in the text protocol is the statement read to its end.
            Kind::Deallocate if self.state.sql_prepared.is_in_use() => {
                self.state.sql_prepared.lose_sight();
            }
            _ => {}
        }
        // Even if the status still shows a transaction, it is a new one, begun by BEGIN or by COMMIT AND CHAIN.
        if matches!(kind, Kind::Begin | Kind::Commit) && !failed {
            self.state.transaction = Transaction::default();
            self.state.isolation_doubted = false;
        }
        let control = self.state.running.control.take();
        match control {
            Some(control) if !failed => {
                self.state.transaction.apply(control);
                self.state.transaction.is_untouched &= !self.state.one_shot.may_be_set();
            }
            Some(_) => {}
            None if kind == Kind::Savepoint => self.state.transaction.savepoints.forget(),
            None => {
                // The statement was refused before it read anything, unless the error came from a routine's text.
                let by_text = failed && self.state.last.error.is_some_and(is_code_of_the_text);
                let has_read = !by_text || !kind.is_write() || self.state.running.may_call_routines;
                self.state.transaction.may_have_snapshot |=
                    kind.may_make_snapshot() && !self.state.running.makes_no_snapshot && has_read;
                let is_consistent = !self.state.running.makes_no_snapshot
                    && !self.state.running.access.locks_for_update;
                self.state.transaction.has_snapshot |=
                    !failed && is_consistent && self.state.running.reads_a_table;
            }
        }
        let locks = &mut self.state.locks.tables;
        match kind {
            Kind::UnlockTables | Kind::Begin if !failed => *locks = TableLocks::None,
            // The locked tables are not hot. Hot ones are out of reach then, except for the actions of foreign keys (a
            // known limit).
            Kind::LockTables if !failed && *locks == TableLocks::None => {
                *locks = TableLocks::Plain;
            }
            // It has released the locks of before, unless the server has not understood it.
            Kind::LockTables if failed && self.state.last.error != Some(ER_PARSE_ERROR) => {
                *locks = TableLocks::None;
            }
            _ => {}
        }
    }

    /// Learns that the open transaction locks base rows for another reason than increments. Two transactions that do
    /// so and hold slots may wait for each other, so the next ones with increments of these shapes lock base from the
    /// start.
    pub(crate) fn learn_mixed(&mut self) {
        let transaction = &mut self.state.transaction;
        transaction.proves_nothing = true;
        let mut is_new = false;
        for shape in &transaction.shapes {
            is_new |= self.shared.learn_mixed(*shape);
        }
        if !is_new {
            return;
        }
        // A sequence, or a counter that is read in the transaction that increments it, gains nothing from slots.
        let rows = transaction.rows();
        let settled = rows.settled.iter().map(|(keys, _)| keys);
        let mut tables: Vec<_> = rows
            .incremented
            .iter()
            .chain(settled)
            .map(|keys| &keys.table)
            .collect();
        tables.dedup();
        for table in tables {
            tracing::info!(
                "{}.{}: a transaction reads or writes rows that it increments; from now on such increments queue on the \
                 row ({})",
                table.schema,
                table.name,
                Reason::OwnIncrement
            );
        }
    }

    /// Takes in a statement that may take locks which belong to no table, open a transaction that no flag shows, or
    /// create a temporary table. It is judged by its words, for it may follow another statement, or be prepared.
    pub(crate) fn note_locks(&mut self, kind: Kind, may_lock: bool) {
        self.state.locks.may_hold_others |= may_lock || kind == Kind::Call;
        // A statement that is prepared in SQL may have a text that was never seen.
        self.state.temporary.may_exist |= may_lock || matches!(kind, Kind::Call | Kind::Execute);
    }
}

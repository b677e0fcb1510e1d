//! The statement that runs, as far as its text says what it does.

use crate::session::state::diagnostics::Diagnostics;
use crate::sql::{Kind, TransactionControl};
use crate::wire::session_state::TransactionState;

/// The statement that runs, or that ran last.
#[derive(Debug)]
pub(crate) struct Running {
    /// Its kind.
    pub kind: Kind,
    /// What it does to the transaction, if it succeeds and its text says so.
    pub control: Option<TransactionControl>,
    /// What it does to tables.
    pub access: Access,
    /// It reads tables under locks only, so that it makes no snapshot.
    pub makes_no_snapshot: bool,
    /// It reads a table, and so makes a snapshot, unless it locks the rows.
    pub reads_a_table: bool,
    /// It may call a stored routine, and so write what its response does not report.
    pub may_call_routines: bool,
    /// It runs once for each row of parameters: an error leaves what the rows before have done.
    pub is_bulk: bool,
    /// Whether it can be planned again if its tables turn out to have been altered.
    pub planned: Planned,
    /// How often its transaction may be begun again for it, because it is the first statement in it.
    pub may_begin_again: usize,
    /// The diagnostics that it leaves as they are, if it succeeds.
    pub left_diagnostics: Option<Diagnostics>,
}

/// What a statement does to tables, as far as its text says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Access {
    /// It is a query that locks rows as if it wrote them, which a READ ONLY session refuses.
    pub locks_for_update: bool,
    /// What the access makes of the state of its transaction.
    pub state: TransactionState,
}

/// Whether a statement may be planned again, if it was planned by tables that have since been altered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Planned {
    /// It may not: its caller does not plan again.
    #[default]
    ForGood,
    /// It may, once.
    Once,
    /// It has been planned again.
    Anew,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            kind: Kind::Other,
            control: None,
            access: Access::default(),
            makes_no_snapshot: false,
            reads_a_table: false,
            may_call_routines: true,
            is_bulk: false,
            planned: Planned::default(),
            may_begin_again: 0,
            left_diagnostics: None,
        }
    }
}

impl Running {
    /// A statement of this kind is about to run.
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.kind = kind;
        self.makes_no_snapshot = false;
        self.reads_a_table = false;
        self.may_call_routines = true;
        self.is_bulk = false;
    }

    /// What the statement does to its transaction, as the server reports it.
    pub(crate) fn adds_with(&self, rows: bool) -> TransactionState {
        match rows {
            true => self.access.state.with(TransactionState::ROWS_SENT),
            false => self.access.state,
        }
    }
}

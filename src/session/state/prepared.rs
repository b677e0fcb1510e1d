//! Prepared statements of the binary protocol.

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::session::link::definitions::Definitions;
use crate::session::state::Access;
use crate::session::state::diagnostics::Asks;
use crate::session::state::one_shot::Effect;
use crate::session::state::typing::Typing;
use crate::sql::plan::{Plan, SessionVariables};
use crate::sql::{Kind, TransactionControl};
use crate::wire::column::RowEncoder;

/// A statement of the client's that cannot simply be passed on.
#[derive(Debug)]
pub(crate) struct Statement {
    pub kind: Kind,
    pub plan: Arc<Plan>,
    /// The text of a statement that names hot tables.
    pub text: Vec<u8>,
    /// The hot tables that temporary ones hid when it was planned.
    pub shadowed: Vec<Arc<HotTable>>,
    /// What the session knew of itself when it was prepared; `None` where there is no text.
    pub variables: Option<Arc<SessionVariables>>,
    /// [`Hot::number`] of the hot tables that it was planned by.
    ///
    /// [`Hot::number`]: super::Hot
    pub planned_by: u64,
    /// The text of a statement that asks about the one before it, and where.
    pub asks: Option<Asks>,
    /// What it does to characteristics for the next transaction.
    pub one_shot: Effect,
    /// What it does to the transaction.
    pub control: Option<TransactionControl>,
    /// What it does to tables.
    pub access: Access,
    /// It is DDL that its plan does not tell of.
    pub may_change_the_catalog: bool,
    pub parameters: u16,
    /// The column definitions that the client was given, or is to be given at the next execution.
    pub columns: Definitions,
    /// Parameter types of the last execution that sent some.
    pub types: Vec<u8>,
    /// What MySQL takes its parameters for.
    pub typing: Typing,
    /// Parameters have come by COM_STMT_SEND_LONG_DATA since the last execution.
    pub long_data: bool,
    /// The rewritten statement, prepared: id and text.
    pub rewritten: Option<(u32, Vec<u8>)>,
    /// How the rows of its cursor are to be laid out anew.
    pub rows: Option<RowEncoder>,
}

//! Prepared statements of the binary protocol that the session remembers.

use std::sync::Arc;

use crate::catalog::HotTable;
use crate::session::link::definitions::Definitions;
use crate::session::state::diagnostics::Asks;
use crate::session::state::one_shot::Effect;
use crate::session::state::running::Access;
use crate::session::state::typing::Typing;
use crate::sql::plan::{Plan, SessionVariables};
use crate::sql::{Kind, TransactionControl};
use crate::wire::column::RowEncoder;

/// A statement of the client's that cannot simply be forwarded.
#[derive(Debug)]
pub(crate) struct Statement {
    pub kind: Kind,
    pub plan: Arc<Plan>,
    /// The text of a statement that names hot tables.
    pub text: Vec<u8>,
    /// The hot tables that temporary ones hid when it was planned.
    pub shadowed: Vec<Arc<HotTable>>,
    /// The session variables when it was prepared. `None` if there is no text.
    pub variables: Option<Arc<SessionVariables>>,
    /// `character_set_client` was not UTF-8 when it was planned. Looked at where a hot table has a name beyond ASCII.
    pub other_names: bool,
    /// [`Hot::number`] of the hot tables that it was planned by.
    ///
    /// [`Hot::number`]: crate::session::Hot
    pub planned_by: u64,
    /// For a statement that asks about the one before it: its text, and what it asks where.
    pub asks: Option<Asks>,
    /// What it does to the characteristics for the next transaction.
    pub one_shot: Effect,
    /// What it does to the transaction.
    pub control: Option<TransactionControl>,
    /// What it does to tables.
    pub access: Access,
    /// It is DDL of which its plan says nothing.
    pub may_change_the_catalog: bool,
    pub parameters: u16,
    /// The column definitions that the client was given, or will be given at the next execution.
    pub columns: Definitions,
    /// Parameter types of the last execution that sent some.
    pub types: Vec<u8>,
    /// The types that MySQL takes its parameters for.
    pub typing: Typing,
    /// Parameters have come by COM_STMT_SEND_LONG_DATA since the last execution.
    pub long_data: bool,
    /// The rewritten statement, as prepared: id and text.
    pub rewritten: Option<(u32, Vec<u8>)>,
    /// How the rows of its cursor must be laid out anew.
    pub rows: Option<RowEncoder>,
}

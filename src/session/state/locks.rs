//! Locks that outlive a transaction.

use crate::sql::TableLocks;

/// What the session may have locked other than rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locks {
    /// LOCK TABLES is in force, where START TRANSACTION would release the locks.
    pub tables: TableLocks,
    /// The session may hold locks that belong to no table: FLUSH TABLES WITH READ LOCK, XA.
    pub may_hold_others: bool,
}

impl Default for Locks {
    fn default() -> Self {
        Self {
            tables: TableLocks::None,
            may_hold_others: false,
        }
    }
}

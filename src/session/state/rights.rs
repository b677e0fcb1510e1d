//! What the account may do, and whether that may be about to change.

use std::sync::Arc;

/// What the server has shown this session that it may do.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The generation of all privileges in which it was shown. In another generation it does not hold any more.
    pub generation: Option<u64>,
    /// [`Increment::rights`](crate::sql::plan::Increment::rights) of the increments that it may run.
    pub may: Vec<Arc<[u8]>>,
}

/// What the account may do.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    /// What the server has shown of it.
    pub shown: Shown,
    /// Statements that change privileges have been prepared. Which ones is not remembered.
    pub are_prepared: bool,
}

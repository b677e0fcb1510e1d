//! What the server has shown that the account may do.

use std::sync::Arc;

/// What the server has shown this session that it may do.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The generation of all privileges in which it was shown. In another generation it does not hold any more.
    pub generation: Option<u64>,
    /// [`Increment::rights`](crate::sql::plan::Increment::rights) of the increments that it may run.
    pub may: Vec<Arc<[u8]>>,
}

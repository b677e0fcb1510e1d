//! What the server has shown that the account may do.

use std::sync::Arc;

/// What the server has shown this session that it may do.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Of the rights of all; in another one this is not known any more.
    pub generation: Option<u64>,
    /// [`Increment::rights`] of what it may do.
    pub may: Vec<Arc<[u8]>>,
}

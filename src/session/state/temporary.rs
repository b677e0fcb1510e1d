//! A session's temporary tables, as far as they concern hot ones.

use std::sync::Arc;

use crate::catalog::HotTable;

/// The session's temporary tables.
#[derive(Debug, Default)]
pub(crate) struct Temporary {
    /// The session may have made some.
    pub may_exist: bool,
    /// The hot tables that they hide.
    pub hide: Vec<Arc<HotTable>>,
    /// `hide` may be out of date, so that the upstream must be asked.
    pub are_doubted: bool,
}

impl Temporary {
    /// Takes in that the hot tables have changed since the session asked which of them are hidden.
    pub(crate) fn doubt(&mut self) {
        self.are_doubted |= self.may_exist || !self.hide.is_empty();
    }
}

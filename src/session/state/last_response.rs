//! How the last response ended.

use crate::wire::status;

/// How the last response ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastResponse {
    /// Status flags of the last response that had some.
    pub status: u16,
    /// It was an ERR, so it is not known whether a transaction is open.
    pub leaves_doubt: bool,
    /// Its error code, if it was an ERR.
    pub error: Option<u16>,
    /// The upstream holds no diagnostics of an earlier statement for SHOW WARNINGS to report.
    pub has_no_warnings: bool,
}

impl LastResponse {
    /// The response that has let the client in, with these status flags.
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            leaves_doubt: false,
            error: None,
            has_no_warnings: true,
        }
    }

    /// Whether a transaction is open, by the status flags.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.status & status::IN_TRANS != 0
    }

    /// Whether the open transaction is READ ONLY.
    pub(crate) fn is_read_only(&self) -> bool {
        self.status & status::IN_TRANS_READONLY != 0
    }

    /// Whether a statement by itself is a transaction.
    pub(crate) fn has_autocommit(&self) -> bool {
        self.status & status::AUTOCOMMIT != 0
    }

    /// Takes in how another response has ended. A packet that is neither ERR nor has flags says nothing.
    pub(crate) fn observe(&mut self, status: Option<u16>, error: Option<u16>) {
        if let Some(status) = status {
            self.status = status;
            self.leaves_doubt = false;
        }
        self.leaves_doubt |= error.is_some();
        self.error = error;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_leaves_the_flags_and_doubt() {
        let mut last = LastResponse::new(status::AUTOCOMMIT | status::IN_TRANS);
        last.observe(None, Some(1213));
        assert!(last.is_in_transaction() && last.leaves_doubt);
        assert_eq!(last.error, Some(1213));
        last.observe(Some(status::AUTOCOMMIT), None);
        assert!(!last.is_in_transaction() && !last.leaves_doubt && last.has_autocommit());
        assert_eq!(last.error, None);
    }
}

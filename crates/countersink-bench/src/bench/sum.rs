//! Checks in every mode that the counters hold exactly the increments that were acknowledged to clients.

use serde::Serialize;

use super::mode::Mode;

/// The increments that were acknowledged, and those that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Sum {
    pub mode: Mode,
    /// Increments that were acknowledged to clients. All counters began at 0.
    pub acknowledged: u64,
    /// The sum over the counters' base rows.
    pub base: i64,
    /// The sum over their slots. The proxy has rolled up most of them.
    pub slots: i64,
    /// Number of slot rows.
    pub slot_rows: i64,
    /// The sum that a client of the proxy reads.
    pub read: Option<i64>,
}

impl Sum {
    /// Whether all of them agree.
    pub fn is_exact(&self) -> bool {
        let told = i128::from(self.acknowledged);
        let found = i128::from(self.base) + i128::from(self.slots);
        found == told && self.read.is_none_or(|read| i128::from(read) == told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_few_or_too_many_anywhere_is_not_exact() {
        let exact = Sum {
            mode: Mode::Proxy,
            acknowledged: 10,
            base: 3,
            slots: 7,
            slot_rows: 2,
            read: Some(10),
        };
        assert!(exact.is_exact());
        let direct = Sum {
            read: None,
            ..exact.clone()
        };
        assert!(direct.is_exact());
        for wrong in [
            Sum {
                acknowledged: 11,
                ..exact.clone()
            },
            Sum {
                acknowledged: 9,
                ..direct
            },
            Sum {
                base: 2,
                ..exact.clone()
            },
            Sum {
                slots: 8,
                ..exact.clone()
            },
            Sum {
                read: Some(9),
                ..exact
            },
        ] {
            assert!(!wrong.is_exact(), "{wrong:?}");
        }
    }
}

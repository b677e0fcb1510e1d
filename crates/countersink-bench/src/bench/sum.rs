//! The promise, checked in every mode: what the clients were told is what is there, to the last increment.

use serde::Serialize;

use super::mode::Mode;

/// What was counted on one side and what was found on the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Sum {
    pub mode: Mode,
    /// Increments acknowledged to clients; all counters began at 0.
    pub acknowledged: u64,
    /// The sum over the counters' own rows.
    pub base: i64,
    /// The sum over their slots. The proxy has rolled up most of them.
    pub slots: i64,
    /// How many slot rows there are.
    pub slot_rows: i64,
    /// The sum as a client of the proxy reads it.
    pub read: Option<i64>,
}

impl Sum {
    /// Whether all of it agrees.
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

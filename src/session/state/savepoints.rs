//! The savepoints of the open transaction, and what it had done to rows when each was set.

use super::transaction::{Kept, Transaction};
use crate::sql::TransactionControl;

/// How many savepoints are remembered. What a rollback to an older one undoes is not known.
const MOST: usize = 64;

/// From the oldest to the youngest.
#[derive(Debug, Default)]
pub(crate) struct Savepoints(Vec<(String, Kept)>);

impl Savepoints {
    /// Forgets all savepoints, since something may have set or released some.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    fn set(&mut self, name: String, rows: Kept) {
        self.0.retain(|(other, _)| *other != name);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push((name, rows));
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(other, _)| other == name)
    }
}

impl Transaction {
    /// Takes in that a statement which does this has succeeded.
    pub(crate) fn apply(&mut self, control: TransactionControl) {
        match control {
            TransactionControl::Begin {
                snapshot,
                access_mode,
            } => {
                *self = Self::default();
                self.is_untouched = !snapshot && !access_mode;
                self.may_have_snapshot = snapshot;
                self.has_snapshot = snapshot;
            }
            TransactionControl::RollBack => *self = Self::default(),
            TransactionControl::Savepoint(name) => {
                let rows = self.kept_rows();
                self.savepoints.set(name, rows);
            }
            TransactionControl::RollBackTo(name) => match self.savepoints.position(&name) {
                Some(position) => {
                    let rows = self.savepoints.0[position].1.clone();
                    self.savepoints.0.truncate(position + 1);
                    self.restore(rows);
                }
                None => self.distrust_folds(),
            },
            TransactionControl::Release(name) => match self.savepoints.position(&name) {
                Some(position) => self.savepoints.0.truncate(position),
                None => self.savepoints.forget(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::state::transaction::Keys;
    use crate::sql::posts_in_fixture;
    use TransactionControl::{Release, RollBackTo, Savepoint};

    fn keys(id: u8) -> Keys {
        Keys {
            table: posts_in_fixture(),
            predicate: Some(format!("id = {id}").into_bytes()),
        }
    }

    #[test]
    fn to_roll_back_restores_what_was_done_when_the_savepoint_was_set() {
        let mut transaction = Transaction::default();
        let name = |name: &str| name.to_owned();
        transaction.rows_mut().remember_written(keys(1));
        transaction.apply(Savepoint(name("a")));
        transaction.rows_mut().remember_written(keys(2));
        transaction.apply(Savepoint(name("b")));
        transaction.rows_mut().remember_fold(keys(2));
        transaction.apply(RollBackTo(name("b")));
        assert_eq!(transaction.rows().written, [keys(1), keys(2)]);
        assert_eq!(transaction.rows().folded, []);
        transaction.apply(RollBackTo(name("a")));
        assert_eq!(transaction.rows().written, [keys(1)]);
        // It is gone, with all that came after `a`.
        assert_eq!(transaction.savepoints.position("b"), None);
        // A name that is set again moves to the youngest place.
        transaction.apply(Savepoint(name("c")));
        transaction.rows_mut().remember_written(keys(3));
        transaction.apply(Savepoint(name("a")));
        transaction.apply(Release(name("c")));
        assert_eq!(transaction.savepoints.position("a"), None);
    }

    #[test]
    fn to_roll_back_to_an_unknown_savepoint_puts_folds_in_doubt() {
        let mut transaction = Transaction::default();
        transaction.rows_mut().remember_fold(keys(1));
        transaction.apply(RollBackTo("old".to_owned()));
        assert_eq!(transaction.rows().written, [keys(1)]);
        assert!(transaction.rows().has_doubted(&keys(1)));
    }
}

//! What one transaction in the binary log has changed.

use std::sync::Arc;

use super::image::Change;
use super::report::Kind;
use crate::catalog::HotTable;

/// How many changes of a transaction are kept.
const MOST: usize = 100;

/// What an event says.
#[derive(Debug)]
pub(super) enum Said {
    /// A transaction begins, or a statement that is none.
    Begins {
        stands_alone: bool,
        thread: Option<u32>,
    },
    /// The transaction is this thread's.
    Thread(u32),
    /// A statement, by its text.
    Statement(Statement),
    /// Rows of a hot table were changed.
    Rows(Rows),
    /// Rows of its slot table were.
    Slots(Arc<HotTable>),
    /// The transaction ends.
    Ends,
    /// Nothing of interest.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) thread: u32,
    /// When it ran, in seconds since 1970.
    pub(super) at: u32,
    /// The hot tables that it names.
    pub(super) hot: Vec<Arc<HotTable>>,
    /// Those whose slot tables it names.
    pub(super) slots: Vec<Arc<HotTable>>,
}

#[derive(Debug)]
pub(super) struct Rows {
    pub(super) table: Arc<HotTable>,
    pub(super) at: u32,
    pub(super) changes: Vec<Change>,
}

/// A change of a hot table, in a transaction that leaves its slot table alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) table: Arc<HotTable>,
    pub(super) at: u32,
    pub(super) kind: Kind,
    pub(super) key: Option<String>,
    /// `None` where the server does not say it: MariaDB before 11.5, of rows.
    pub(super) thread: Option<u32>,
}

/// The transaction that is being read.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    thread: Option<u32>,
    /// It has begun.
    is_begun: bool,
    /// It goes on until the log says that it ends.
    is_open: bool,
    written: Vec<Written>,
    /// Whose slots it has written as well: a proxy moves them, or has them moved before a statement.
    slots: Vec<Arc<HotTable>>,
}

impl Transaction {
    /// What a transaction has written that has ended with this.
    pub(super) fn hear(&mut self, said: Said) -> Vec<Written> {
        match said {
            Said::Begins {
                stands_alone,
                thread,
            } => {
                let before = self.end();
                self.thread = thread;
                self.is_begun = true;
                self.is_open = !stands_alone;
                return before;
            }
            Said::Thread(thread) => {
                self.is_open = true;
                self.thread = Some(thread).filter(|thread| *thread != 0);
            }
            Said::Statement(statement) => {
                let Statement {
                    thread,
                    at,
                    hot,
                    slots,
                } = statement;
                self.slots.extend(slots);
                for table in hot {
                    self.write(Written {
                        table,
                        at,
                        kind: Kind::Statement,
                        key: None,
                        thread: Some(thread),
                    });
                }
                if !self.is_open {
                    return self.end();
                }
            }
            Said::Rows(Rows { table, at, changes }) => {
                for Change { kind, key } in changes {
                    self.write(Written {
                        table: Arc::clone(&table),
                        at,
                        kind,
                        key,
                        thread: self.thread,
                    });
                }
            }
            Said::Slots(table) => self.slots.push(table),
            Said::Ends => return self.end(),
            Said::Nothing => {}
        }
        Vec::new()
    }

    /// Whether nothing has been read of one that has not ended.
    pub(super) fn is_between(&self) -> bool {
        !self.is_begun && !self.is_open
    }

    fn write(&mut self, written: Written) {
        if self.written.len() < MOST {
            self.written.push(written);
        }
    }

    fn end(&mut self) -> Vec<Written> {
        let Self { slots, written, .. } = std::mem::take(self);
        let has_moved = |table: &HotTable| {
            let mut slots = slots.iter();
            slots.any(|other| (&other.schema, &other.name) == (&table.schema, &table.name))
        };
        let mut written = written;
        written.retain(|written| !has_moved(&written.table));
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::posts_in_fixture;

    fn begins(thread: Option<u32>) -> Said {
        Said::Begins {
            stands_alone: false,
            thread,
        }
    }

    fn update(key: &str) -> Said {
        let change = Change {
            kind: Kind::Update,
            key: Some(key.to_owned()),
        };
        Said::Rows(Rows {
            table: posts_in_fixture(),
            at: 7,
            changes: vec![change],
        })
    }

    fn statement(thread: u32) -> Said {
        Said::Statement(Statement {
            thread,
            at: 7,
            hot: vec![posts_in_fixture()],
            slots: Vec::new(),
        })
    }

    /// The threads and keys of what is written, each time that a transaction ends.
    fn heard(said: impl IntoIterator<Item = Said>) -> Vec<Vec<(Option<u32>, Option<String>)>> {
        let mut transaction = Transaction::default();
        let heard = said.into_iter().map(|said| transaction.hear(said));
        let ended = heard.filter(|written| !written.is_empty());
        let shown = ended.map(|written| {
            let written = written.into_iter();
            written.map(|one| (one.thread, one.key)).collect()
        });
        shown.collect()
    }

    #[test]
    fn rows_are_of_the_transactions_thread() {
        let key = |key: &str| Some(key.to_owned());
        let mysql = [
            Said::Thread(5),
            update("id = 1"),
            update("id = 2"),
            Said::Ends,
        ];
        let expected = [[(Some(5), key("id = 1")), (Some(5), key("id = 2"))]];
        assert_eq!(heard(mysql), expected);
        let mariadb = [begins(Some(6)), update("id = 1"), Said::Ends];
        assert_eq!(heard(mariadb), [[(Some(6), key("id = 1"))]]);
    }

    #[test]
    fn a_thread_is_not_taken_for_that_of_the_next_transaction() {
        let said = [
            begins(Some(6)),
            Said::Ends,
            begins(None),
            update("id = 1"),
            Said::Ends,
        ];
        assert_eq!(heard(said), [[(None, Some("id = 1".to_owned()))]]);
    }

    #[test]
    fn what_moves_slots_is_a_proxys() {
        let slots = || Said::Slots(posts_in_fixture());
        for said in [
            [Said::Thread(5), update("id = 1"), slots(), Said::Ends],
            [Said::Thread(5), slots(), update("id = 1"), Said::Ends],
        ] {
            assert!(heard(said).is_empty());
        }
        // The next one is judged by itself.
        let said = [
            Said::Thread(5),
            slots(),
            Said::Ends,
            Said::Thread(5),
            update("id = 1"),
            Said::Ends,
        ];
        assert_eq!(heard(said).len(), 1);
    }

    #[test]
    fn a_statement_that_stands_alone_is_heard_at_once() {
        let alone = Said::Begins {
            stands_alone: true,
            thread: None,
        };
        assert_eq!(heard([alone, statement(9)]), [[(Some(9), None)]]);
        assert!(heard([Said::Thread(9), statement(9)]).is_empty());
    }

    #[test]
    fn a_position_is_between_two_transactions() {
        let mut transaction = Transaction::default();
        for (said, is_between) in [
            (Said::Nothing, true),
            (begins(None), false),
            (update("id = 1"), false),
            (Said::Ends, true),
        ] {
            transaction.hear(said);
            assert_eq!(transaction.is_between(), is_between);
        }
    }
}

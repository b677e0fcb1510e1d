//! One transaction of a roll-up: locks the rows that are free, moves the values, and checks the result.

use std::collections::HashSet;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure, Row};

use super::dirty::Marks;
use super::text::{self, Lock};
use super::values::{Sums, Values};
use crate::catalog::HotTable;
use crate::counter::control;
use crate::counter::fold::OpenRow;
use crate::counter::{Key, KeyForm};
use crate::sql::Amount;
use crate::wire::error_code::{ER_NO_SUCH_TABLE, is_rolled_back};

/// Why a transaction was rolled back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control account has no connection.
    #[error(transparent)]
    NoConnection(#[from] control::Error),
    /// The server refused a statement, or is gone.
    #[error(transparent)]
    Server(#[from] DriverFailure),
    /// The key has a type whose values look different in each session.
    #[error(
        "the primary key has a column of a type (TIMESTAMP, FLOAT) whose values cannot be named for certain; its slots \
         are moved by the statements that need them alone"
    )]
    Unnamed,
    /// A replica: what happens on its source is what happens here.
    #[error("the server is read-only; slots are rolled up on its source")]
    ReadOnly,
    /// The server answered with something that cannot be.
    #[error("an answer that no server gives; nothing was moved")]
    Malformed,
    /// Hand-written slots of another shape.
    #[error("{table} cannot be adopted: {why}")]
    NoSlots {
        /// The table that a rule adopts.
        table: String,
        /// What it lacks.
        why: String,
    },
    /// What was added to base is not what was taken from the slots. It is rolled back, and no value has changed.
    #[error(
        "base would have got another sum than the slots have lost, so it was rolled back; please report this"
    )]
    Drift,
}

impl Error {
    /// Whether the transaction was rolled back because another one was first, and nothing else is amiss.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Self::Server(DriverFailure::Server(error))
            if is_rolled_back(error.code, error.message.as_bytes()))
    }

    /// Whether there is no slot table: it holds nothing then.
    pub fn is_missing_table(&self) -> bool {
        matches!(self, Self::Server(DriverFailure::Server(error)) if error.code == ER_NO_SUCH_TABLE)
    }
}

/// What a transaction has done.
#[derive(Debug, Default)]
pub(super) struct Rolled {
    /// Slot rows that were moved into base.
    pub(super) moved: Vec<OpenRow>,
    /// Slot rows of base rows that are no more, which were deleted.
    pub(super) orphans: u64,
    /// What other sessions have locked.
    pub(super) locked: Marks,
    /// Slot rows that stay as they are: base is NULL, or so near a limit of its type that open slots would have no
    /// room.
    pub(super) out_of_bounds: Vec<OpenRow>,
}

/// Roll-up of one table.
pub(super) struct Pass<'a> {
    pub(super) table: &'a HotTable,
    pub(super) form: &'a KeyForm,
}

impl Pass<'_> {
    /// Rolls up the slot rows that are marked; `again` when all of them were locked a moment ago.
    ///
    /// A connection on which this has failed, or was cancelled, must be closed, which rolls back: responses that the
    /// driver has not read would come before that of a ROLLBACK, and the next START TRANSACTION would commit.
    pub(super) async fn run(
        &self,
        conn: &mut Conn,
        marks: &Marks,
        again: bool,
    ) -> Result<Rolled, Error> {
        let which = format!(
            "({}) AND ({})",
            text::marked(self.table, marks),
            text::holds_something(self.table)
        );
        let slots = self.begin(conn, &which).await?;
        let mut rolled = self.within(conn, slots).await?;
        conn.query_drop(text::END).await?;
        // What was locked by others was left out without a word. What they have not committed concerns the next
        // roll-up.
        let named: usize = marks.rows.values().map(HashSet::len).sum();
        if again && rolled.moved.is_empty() && rolled.orphans == 0 {
            rolled.locked.rows.clone_from(&marks.rows);
        } else if rolled.moved.len() as u64 + rolled.orphans < named as u64 {
            let left = text::slot_rows(self.table, self.form, &which, Lock::None);
            let left = self.slot_rows(conn.query(left).await?)?;
            let left = left.into_iter().map(|slot| slot.row);
            for row in left.filter(|row| !rolled.out_of_bounds.contains(row)) {
                rolled.locked.add(self.form, &row);
            }
        }
        Ok(rolled)
    }

    /// Whether an error says that the transaction was rolled back because another one was first. In a cluster that may
    /// show as a sum that is not as before: the transaction was lost in the middle of a packet.
    pub(super) fn is_lost(&self, error: &Error) -> bool {
        error.is_lost() || (self.table.is_gated && matches!(error, Error::Drift))
    }

    /// Begins the transaction with the slot rows that no other session has locked.
    async fn begin(&self, conn: &mut Conn, which: &str) -> Result<Vec<Values<OpenRow>>, Error> {
        let slots = text::slot_rows(self.table, self.form, which, Lock::SkipLocked);
        let answers = run_all(conn, format!("{}; {slots}", text::BEGIN)).await?;
        self.slot_rows(answers.into_iter().next_back().ok_or(Error::Malformed)?)
    }

    async fn within(&self, conn: &mut Conn, slots: Vec<Values<OpenRow>>) -> Result<Rolled, Error> {
        let (table, form) = (self.table, self.form);
        let mut rolled = Rolled::default();
        if slots.is_empty() {
            return Ok(rolled);
        }
        let keys: HashSet<&Key> = slots.iter().map(|slot| &slot.row.key).collect();
        let keys: Vec<Key> = keys.into_iter().cloned().collect();
        let bases = text::base_rows(table, form, &keys, Lock::SkipLocked);
        let bases = self.base_rows(conn.query(bases).await?)?;
        let is_locked = |key: &Key| bases.iter().any(|base| base.row == *key);
        let (ours, others): (Vec<_>, Vec<_>) =
            slots.into_iter().partition(|slot| is_locked(&slot.row.key));
        if !ours.is_empty() {
            rolled.out_of_bounds = self.move_all(conn, &ours, &bases).await?;
            let rows = ours.iter().map(|slot| &slot.row);
            let moved = rows.filter(|row| !rolled.out_of_bounds.contains(row));
            rolled.moved = moved.cloned().collect();
        }
        rolled.orphans = self.delete_orphans(conn, &others).await?;
        Ok(rolled)
    }

    /// Moves slot rows whose base rows are locked, and sees whether all values are as before. Gives those that were not
    /// moved.
    async fn move_all(
        &self,
        conn: &mut Conn,
        slots: &[Values<OpenRow>],
        bases: &[Values<Key>],
    ) -> Result<Vec<OpenRow>, Error> {
        let (table, form) = (self.table, self.form);
        let mut statements = Vec::new();
        let mut stay = Vec::new();
        for base in bases {
            let theirs: Vec<_> = slots
                .iter()
                .filter(|slot| slot.row.key == base.row)
                .collect();
            let rows = theirs.iter().map(|slot| &slot.row);
            match Sums::of(table, &theirs).filter(|sums| sums.leaves_room(table, base)) {
                Some(sums) => {
                    statements.push(text::add(table, form, &base.row, &sums));
                    // One by one: a server that concludes which rows of a key are meant may lock others as well, and
                    // wait for them.
                    statements.extend(rows.map(|row| text::empty(table, form, row)));
                }
                None => stay.extend(rows.cloned()),
            }
        }
        if statements.is_empty() {
            return Ok(stay);
        }
        let rows: Vec<OpenRow> = slots.iter().map(|slot| slot.row.clone()).collect();
        let keys: Vec<Key> = bases.iter().map(|base| base.row.clone()).collect();
        let named = text::named(table, form, &rows);
        statements.push(text::slot_rows(table, form, &named, Lock::None));
        statements.push(text::base_rows(table, form, &keys, Lock::None));
        let mut answers = run_all(conn, statements.join("; ")).await?;
        let bases_after = self.base_rows(answers.pop().ok_or(Error::Malformed)?)?;
        let slots_after = self.slot_rows(answers.pop().ok_or(Error::Malformed)?)?;
        let are_as_before = slots_after.len() == slots.len()
            && bases_after.len() == bases.len()
            && keys
                .iter()
                .all(|key| value(key, bases, slots) == value(key, &bases_after, &slots_after));
        match are_as_before {
            true => Ok(stay),
            false => Err(Error::Drift),
        }
    }

    /// Deletes slot rows that are locked here and whose base rows are not: those that are no more. An increment that
    /// is to be seen was committed together with its base row or after it.
    async fn delete_orphans(
        &self,
        conn: &mut Conn,
        slots: &[Values<OpenRow>],
    ) -> Result<u64, Error> {
        if slots.is_empty() {
            return Ok(0);
        }
        let keys: HashSet<&Key> = slots.iter().map(|slot| &slot.row.key).collect();
        let keys: Vec<Key> = keys.into_iter().cloned().collect();
        let there = text::base_rows(self.table, self.form, &keys, Lock::None);
        let there = self.base_rows(conn.query(there).await?)?;
        let there: HashSet<&Key> = there.iter().map(|base| &base.row).collect();
        let orphans = slots.iter().filter(|slot| !there.contains(&slot.row.key));
        let orphans: Vec<OpenRow> = orphans.map(|slot| slot.row.clone()).collect();
        if !orphans.is_empty() {
            let delete = text::delete(self.table, self.form, &orphans);
            conn.query_drop(delete).await?;
        }
        Ok(orphans.len() as u64)
    }

    /// The slot rows alone.
    pub(super) fn open_rows(&self, rows: Vec<Row>) -> Result<Vec<OpenRow>, Error> {
        let rows = self.slot_rows(rows)?.into_iter();
        Ok(rows.map(|slot| slot.row).collect())
    }

    fn slot_rows(&self, rows: Vec<Row>) -> Result<Vec<Values<OpenRow>>, Error> {
        let read = |row| Values::slot(self.table, self.form, row);
        let rows = rows.into_iter().map(read);
        rows.collect::<Option<_>>().ok_or(Error::Malformed)
    }

    fn base_rows(&self, rows: Vec<Row>) -> Result<Vec<Values<Key>>, Error> {
        let read = |row| Values::base(self.table, self.form, row);
        let rows = rows.into_iter().map(read);
        rows.collect::<Option<_>>().ok_or(Error::Malformed)
    }
}

/// Base and slots of a key together, for each counter; what cannot be counted with stays as it is.
fn value(key: &Key, bases: &[Values<Key>], slots: &[Values<OpenRow>]) -> Vec<Option<Amount>> {
    let base = bases.iter().find(|base| base.row == *key);
    let mut sums = base.map_or_else(Vec::new, |base| base.counters.clone());
    for slot in slots.iter().filter(|slot| slot.row.key == *key) {
        for (sum, amount) in sums.iter_mut().zip(&slot.counters) {
            *sum = sum.zip(*amount).and_then(|(sum, amount)| sum.plus(amount));
        }
    }
    sums
}

/// The rows of each of several statements, sent at once; statements after one that fails are not run.
async fn run_all(conn: &mut Conn, text: String) -> Result<Vec<Vec<Row>>, DriverFailure> {
    let mut result = conn.query_iter(text).await?;
    let mut answers = Vec::new();
    while !result.is_empty() || answers.is_empty() {
        answers.push(result.collect().await?);
    }
    // The driver keeps the error of a later statement until it is asked for more.
    result.next().await?;
    Ok(answers)
}

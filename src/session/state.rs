//! What a session knows of itself: transaction, schema, sql_mode, prepared statements.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::combine::Combining;
use super::definitions::Definitions;
use super::diagnostics::Diagnostics;
use super::hot::PreparedUnder;
use super::one_shot::{Effect, OneShot};
use super::prepared::Statement;
use super::sql_prepared::SqlPrepared;
use crate::catalog::HotTable;
use crate::counter::SlotLease;
use crate::sql::Kind;
use crate::sql::plan::SessionFacts;
use crate::wire::status;

/// The most shapes of increments that a transaction remembers.
const MOST_SHAPES: usize = 64;

/// The longest predicate, in bytes, by which keys are remembered that need no fold, or would be told from others.
const LONGEST_PREDICATE: usize = 4 * 1024;

/// The most that the predicates of folded keys may take together, in bytes: they stand in every read.
const MOST_PREDICATES: usize = 256 * 1024;

/// The most keys a transaction's increments are remembered by; beyond, whole tables are.
const MOST_KEYS: usize = 256;

/// A session between two commands.
#[derive(Debug)]
pub(super) struct State {
    /// Status flags of the last answer that had some.
    pub status: u16,
    /// The last answer was an ERR: whether a transaction is open is not known.
    pub status_uncertain: bool,
    /// `None`: something may have changed them, so the upstream must be asked.
    pub facts: Option<Arc<SessionFacts>>,
    /// The session's isolation level has locking reads lock gaps: REPEATABLE READ or SERIALIZABLE.
    pub locks_gaps: bool,
    /// `sql_big_selects` is on: `max_join_size` refuses nothing.
    pub big_selects: bool,
    /// The open transaction may have another isolation level than the session.
    pub isolation_doubted: bool,
    /// A transaction has ended, and no OK packet since could tell of it: the next one will.
    pub end_untold: bool,
    /// The upstream holds no messages of an earlier statement, which SHOW WARNINGS would tell.
    pub is_quiet: bool,
    /// It may hold locks that are no table's: FLUSH TABLES WITH READ LOCK, XA.
    pub may_hold_locks: bool,
    /// Whose increments its own may be added to.
    pub combining: Combining,
    /// When the upstream was last heard: it closes connections that nobody uses.
    pub heard: Instant,
    /// When the session last had an answer, of its upstream or of another session that wrote for it.
    pub served: Instant,
    /// CHECK constraints are not enforced (MariaDB, `check_constraint_checks`): nothing would guard a slot.
    pub unguarded: bool,
    /// Several statements may come in one COM_QUERY.
    pub multi_statements: bool,
    /// Nothing is rewritten: the session's user or program is listed under `bypass`.
    pub bypass: bool,
    /// Under LOCK TABLES, where START TRANSACTION would release the locks.
    pub table_locks: TableLocks,
    /// It may have made temporary tables.
    pub may_have_temporary: bool,
    /// Hot tables that a temporary table of this session hides.
    pub shadowed: Vec<Arc<HotTable>>,
    /// The hot tables are others, and the session may have temporary tables: those in `shadowed` may be too few.
    pub shadows_doubted: bool,
    /// `character_set_client` and `character_set_connection` are both UTF-8.
    pub speaks_utf8: bool,
    /// Statements prepared by PREPARE.
    pub sql_prepared: SqlPrepared,
    /// Binary protocol statements that concern hot tables, by the client's id.
    pub statements: HashMap<u32, Statement>,
    /// Those of which nothing is remembered, as they named no hot table.
    pub unseen: Option<Unseen>,
    /// Id that the last COM_STMT_PREPARE got.
    pub last_prepared: u32,
    /// Column definitions of rewritten reads, by the original's text.
    pub definitions: HashMap<Vec<u8>, Arc<Definitions>>,
    /// What the client may ask about its last statement, where the upstream would tell of another.
    pub diagnostics: Option<Diagnostics>,
    /// What SET TRANSACTION has set for the next transaction alone.
    pub one_shot: OneShot,
    /// The kind of the statement that runs.
    pub kind: Kind,
    /// The open transaction.
    pub transaction: Transaction,
    /// Slot rows (table, key, slot) that the open transaction has written: there for itself, and for all once it has
    /// committed. Outlives `transaction` until the statement that ended it is known.
    pub written: Vec<(Arc<HotTable>, Vec<u8>, u16)>,
}

/// Prepared statements of which nothing is remembered.
#[derive(Debug)]
pub(super) struct Unseen {
    /// Those of the binary protocol that have not been closed, by their ids.
    pub ids: HashSet<u32>,
    /// There are others, made by PREPARE.
    has_named: bool,
    /// When the first of them was.
    _since: Arc<PreparedUnder>,
}

impl Unseen {
    /// One more, with its id in the binary protocol.
    pub(super) fn add(unseen: &mut Option<Self>, id: Option<u32>, now: &Arc<PreparedUnder>) {
        let unseen = unseen.get_or_insert_with(|| Self {
            ids: HashSet::new(),
            has_named: false,
            _since: Arc::clone(now),
        });
        unseen.has_named |= id.is_none();
        unseen.ids.extend(id);
    }

    /// The one with this id was closed, if there is such a one: clients close some twice, and some that are gone.
    pub(super) fn remove(unseen: &mut Option<Self>, id: u32) {
        if let Some(some) = unseen {
            some.ids.remove(&id);
            if some.ids.is_empty() && !some.has_named {
                *unseen = None;
            }
        }
    }
}

/// What LOCK TABLES means for hot tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableLocks {
    /// Not in force.
    None,
    /// Hot tables and their slot tables are locked for reading: reads are rewritten, all else is MySQL's to refuse.
    Read,
    /// Hot tables are folded and locked for writing, or not locked and so out of reach: nothing is rewritten.
    Plain,
}

/// What the open transaction has done to counters.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Keys incremented in slots: a read of their table folds them first.
    pub incremented: Vec<Keys>,
    /// Shapes of its increments, in slots or not.
    pub shapes: Vec<u64>,
    /// It has done more than increment, or something went wrong in it: it does not show that its shapes only increment.
    pub proves_nothing: bool,
    /// Keys whose base row is locked and has no open slots: base is their value now, and needs no fold.
    pub settled: Vec<Keys>,
    /// Keys whose base row this transaction has changed, by a fold or after one: its reads see that row, and not the
    /// slots that its snapshot may see beside an older one.
    pub folded: Vec<Keys>,
    /// Keys that were among `folded` when something came that may have undone it.
    pub doubted: Vec<Keys>,
    /// Predicates by literals that hold for the rows which these keys locked: the client's own may raise warnings, and
    /// would do so again in every read that leaves slots out.
    locked: Vec<(Keys, Vec<u8>)>,
    /// The slots that the transaction's increments go to, one per table.
    pub leases: Vec<(Arc<HotTable>, SlotLease)>,
}

/// Keys of a hot table, bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub table: Arc<HotTable>,
    /// Predicate over unqualified key columns; `None` for the whole table.
    pub predicate: Option<Vec<u8>>,
}

impl Keys {
    pub(super) fn whole(table: Arc<HotTable>) -> Self {
        Self {
            table,
            predicate: None,
        }
    }

    /// Of its predicate, in bytes.
    fn length(&self) -> usize {
        self.predicate.as_ref().map_or(0, Vec::len)
    }
}

impl State {
    pub(super) fn new(status: u16) -> Self {
        let now = Instant::now();
        Self {
            status,
            status_uncertain: false,
            facts: None,
            locks_gaps: false,
            big_selects: true,
            isolation_doubted: false,
            end_untold: false,
            is_quiet: true,
            may_hold_locks: false,
            combining: Combining::Unknown,
            heard: now,
            served: now,
            unguarded: false,
            multi_statements: false,
            bypass: false,
            table_locks: TableLocks::None,
            may_have_temporary: false,
            shadowed: Vec::new(),
            shadows_doubted: false,
            speaks_utf8: false,
            sql_prepared: SqlPrepared::default(),
            statements: HashMap::new(),
            unseen: None,
            last_prepared: 0,
            definitions: HashMap::new(),
            diagnostics: None,
            one_shot: OneShot::default(),
            kind: Kind::Other,
            transaction: Transaction::default(),
            written: Vec::new(),
        }
    }

    /// Whether a statement now belongs to a transaction that the client ends.
    pub(super) fn in_transaction(&self) -> bool {
        self.status & status::IN_TRANS != 0 || self.status & status::AUTOCOMMIT == 0
    }

    /// Whether a transaction may be open that sees rows as they were. An ERR does not say; in autocommit a statement that
    /// fails leaves none, unless it was a routine.
    pub(super) fn may_have_snapshot(&self) -> bool {
        let may_be_new = self.status & status::AUTOCOMMIT == 0 || self.kind == Kind::Call;
        self.status & status::IN_TRANS != 0 || (self.status_uncertain && may_be_new)
    }

    /// Takes in how an answer ended.
    pub(super) fn observe(&mut self, status: Option<u16>, error: Option<u16>) {
        if let Some(status) = status {
            let was_open = self.status & status::IN_TRANS != 0;
            self.status = status;
            self.status_uncertain = false;
            if status & status::IN_TRANS == 0 {
                self.transaction = Transaction::default();
                self.isolation_doubted &= !was_open;
            }
        }
        if error.is_some() {
            self.written.clear();
            self.status_uncertain = true;
            self.transaction.proves_nothing = true;
            self.transaction.distrust_folds();
        }
    }

    /// The hot tables are others than when it was asked which of them temporary tables hide.
    pub(super) fn doubt_shadows(&mut self) {
        self.shadows_doubted |= self.may_have_temporary || !self.shadowed.is_empty();
    }

    /// A statement has ended that may have used up what is set for one transaction.
    pub(super) fn end_one_shot(&mut self) {
        self.after_one_shot(&Effect::Ends, false);
    }

    /// A statement with this effect on what is set for one transaction has ended.
    pub(super) fn after_one_shot(&mut self, effect: &Effect, failed: bool) {
        let was_set = self.one_shot.is_set();
        self.one_shot.after(effect, failed);
        self.isolation_doubted |= was_set && !self.one_shot.is_set() && self.in_transaction();
    }

    /// COM_RESET_CONNECTION and COM_CHANGE_USER.
    pub(super) fn reset(&mut self, status: u16) {
        *self = Self {
            multi_statements: self.multi_statements,
            bypass: self.bypass,
            ..Self::new(status)
        };
    }
}

impl Transaction {
    /// Locks may be gone or folds undone: fold again before the next read. Folding twice is exact, trusting a
    /// fold that is no more would not be.
    pub(super) fn distrust_folds(&mut self) {
        self.settled.clear();
        for keys in std::mem::take(&mut self.folded) {
            remember(&mut self.doubted, keys.clone());
            remember(&mut self.incremented, keys);
        }
    }

    pub(super) fn remember_shape(&mut self, shape: u64) {
        if self.shapes.len() < MOST_SHAPES && !self.shapes.contains(&shape) {
            self.shapes.push(shape);
        }
    }

    /// An increment went to slots of these keys.
    pub(super) fn remember_increment(&mut self, keys: Keys) {
        // The same key may have been settled by another predicate.
        self.settled.retain(|other| other.table != keys.table);
        remember(&mut self.incremented, keys);
    }

    /// The base rows of these keys are locked and have no open slots.
    pub(super) fn remember_settled(&mut self, keys: Keys) {
        let is_short = keys.length() <= LONGEST_PREDICATE;
        if is_short && self.settled.len() < MOST_KEYS && !self.settled.contains(&keys) {
            self.settled.push(keys);
        }
    }

    /// The slots of these keys are folded, or base has been changed with none open.
    pub(super) fn remember_fold(&mut self, keys: Keys) {
        let covered = |other: &Keys| {
            other.table == keys.table
                && (keys.predicate.is_none() || keys.predicate == other.predicate)
        };
        self.incremented.retain(|other| !covered(other));
        self.doubted.retain(|other| !covered(other));
        self.remember_settled(keys.clone());
        let held: usize = self.folded.iter().map(Keys::length).sum();
        let has_room = self.folded.len() < MOST_KEYS && held + keys.length() <= MOST_PREDICATES;
        if has_room || keys.predicate.is_none() {
            remember(&mut self.folded, keys);
            return;
        }
        // Too many to remember one by one: the next read folds the whole table.
        let table = Arc::clone(&keys.table);
        self.folded.retain(|other| other.table != table);
        self.settled.retain(|other| other.table != table);
        let whole = Keys::whole(table);
        remember(&mut self.doubted, whole.clone());
        remember(&mut self.incremented, whole);
    }

    /// What reads of `table` find by their base row alone: predicates over unqualified key columns.
    pub(super) fn predicates_of_folded(&self, table: &Arc<HotTable>) -> Vec<Vec<u8>> {
        let of_table = self.folded.iter().filter(|keys| keys.table == *table);
        let predicates = of_table.map(|keys| {
            let locked = self.locked.iter().find(|(other, _)| other == keys);
            match (locked, &keys.predicate) {
                (Some((_, literals)), _) => literals.clone(),
                (None, Some(predicate)) => predicate.clone(),
                (None, None) => b"TRUE".to_vec(),
            }
        });
        predicates.collect()
    }

    /// These keys have locked the rows for which `literals` holds, or none that it could tell.
    pub(super) fn remember_locked(&mut self, keys: &Keys, literals: Option<Vec<u8>>) {
        self.locked.retain(|(other, _)| other != keys);
        let is_short = |literals: &Vec<u8>| literals.len() <= LONGEST_PREDICATE;
        let has_room = self.locked.len() < MOST_KEYS;
        if let Some(literals) = literals.filter(|literals| has_room && is_short(literals)) {
            self.locked.push((keys.clone(), literals));
        }
    }

    /// Whether these keys need no fold.
    pub(super) fn has_settled(&self, keys: &Keys) -> bool {
        covers(&self.settled, keys)
    }

    /// Whether reads of these keys leave slots out.
    pub(super) fn has_folded(&self, keys: &Keys) -> bool {
        covers(&self.folded, keys)
    }

    /// Whether these keys were folded once, and perhaps still are.
    pub(super) fn has_doubted(&self, keys: &Keys) -> bool {
        covers(&self.doubted, keys)
    }
}

fn covers(list: &[Keys], keys: &Keys) -> bool {
    let mut list = list.iter();
    list.any(|other| {
        other.table == keys.table
            && (other.predicate.is_none() || other.predicate == keys.predicate)
    })
}

fn remember(list: &mut Vec<Keys>, keys: Keys) {
    if list.contains(&keys) {
        return;
    }
    if list.len() < MOST_KEYS {
        list.push(keys);
        return;
    }
    let table = Arc::clone(&keys.table);
    list.retain(|other| other.table != table);
    list.push(Keys::whole(table));
}

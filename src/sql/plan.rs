//! The plan of a statement: data, computed once, cached, printable.

mod one_row;

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::Amount;
use crate::sql::integer_column::IntegerColumn;
use crate::sql::template::Template;

pub use one_row::{Addend, AddendValue, OneRow, Repeat, RepeatedAs};

/// What the session knows of itself that changes the meaning of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionVariables {
    /// The current schema.
    pub schema: Option<String>,
    /// `sql_mode` has ANSI_QUOTES: `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `sql_mode` has NO_BACKSLASH_ESCAPES.
    pub no_backslash_escapes: bool,
    /// `sql_mode` has PIPES_AS_CONCAT.
    pub pipes_as_concat: bool,
    /// `sql_mode` has IGNORE_SPACE.
    pub ignore_space: bool,
    /// `character_set_client` may hide an ASCII byte inside a character (big5, cp932, gbk, gb18030, sjis):
    /// such text cannot be lexed byte by byte.
    pub unsafe_character_set: bool,
    /// `character_set_client`, if it is not UTF-8: names beyond ASCII have other bytes in it than in the catalog.
    pub other_characters: Option<String>,
    /// `sql_safe_updates` is on.
    pub safe_updates: bool,
    /// `sql_mode` has HIGH_NOT_PRECEDENCE.
    pub high_not_precedence: bool,
}

impl SessionVariables {
    /// With what `sql_mode` (a list, as the server spells it) says of how texts are read. ANSI is a short name of
    /// several modes.
    #[must_use]
    pub fn with_sql_mode(self, modes: &str) -> Self {
        let has = |name: &str| {
            modes
                .split(',')
                .any(|mode| mode.trim().eq_ignore_ascii_case(name))
        };
        let ansi = has("ANSI");
        Self {
            ansi_quotes: ansi || has("ANSI_QUOTES"),
            no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
            pipes_as_concat: ansi || has("PIPES_AS_CONCAT"),
            ignore_space: ansi || has("IGNORE_SPACE"),
            high_not_precedence: has("HIGH_NOT_PRECEDENCE"),
            ..self
        }
    }
}

/// What to do with a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Send the client's bytes as they are.
    Forward(Reason),
    /// The same. It changes other columns of rows of a hot table, or inserts some; a transaction that does so sees them
    /// as they are then, and so has to see their counters.
    Write(Box<Write>),
    /// Send the client's bytes as they are, because the rule has `mode: observe`. The inner plan is the one that
    /// `enforce` would carry out.
    Observe(Box<Plan>),
    /// Add to slots instead of the base row.
    Increment(Arc<Increment>),
    /// Add to the base row, together with other increments if there are any at the same time; otherwise send the
    /// client's bytes. For a table without slots.
    Combine(Arc<Increment>),
    /// Send the client's bytes, or have another session send them in a transaction with other writes of the same row.
    /// For a table without slots.
    Batch(Arc<OneRow>),
    /// Send a text in which each counter is base + SUM(slots).
    Read(Box<Read>),
    /// Move slots into base, then run the client's bytes, in one transaction.
    Fold(Box<Fold>),
    /// DDL on a hot table: fold in a transaction of its own, forward, then refresh the catalog.
    Ddl(Box<Ddl>),
    /// The session makes a temporary table with a hot table's name (or may), and is asked afterwards which tables are
    /// hidden. Those that it is filled from are folded first.
    Shadow(Vec<Arc<HotTable>>),
    /// SQL-level PREPARE of a text that names hot tables (or of a text that is not known): every
    /// EXECUTE in this session folds these tables first.
    Prepare(Vec<Arc<HotTable>>),
    /// LOCK TABLES that names hot tables: the text to send has their slot tables as well.
    LockTables(Box<LockTables>),
}

pub use crate::reason::Reason;

impl Plan {
    /// Why it is this one, before a session's transaction has a say.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Forward(reason) => *reason,
            Self::Write(write) => write.reason,
            Self::Observe(plan) => plan.reason(),
            Self::Increment(_) => Reason::Slotted,
            Self::Combine(_) => Reason::Combined,
            Self::Batch(_) => Reason::Batched,
            Self::Read(read) => read.reason,
            Self::Fold(fold) => fold.reason,
            Self::Ddl(_) => Reason::Ddl,
            Self::Shadow(_) => Reason::Shadowed,
            Self::Prepare(_) => Reason::SqlPrepare,
            Self::LockTables(_) => Reason::LockTables,
        }
    }

    /// Why the statement passes as it came, whatever its values, if that is all there is to do.
    pub fn forwards(&self, in_transaction: bool) -> Option<Reason> {
        match self {
            Self::Forward(reason) => Some(*reason),
            Self::Write(write) => (!in_transaction).then_some(write.reason),
            Self::Observe(_) => Some(Reason::Observed),
            Self::Increment(_)
            | Self::Combine(_)
            | Self::Batch(_)
            | Self::Read(_)
            | Self::Fold(_)
            | Self::Ddl(_)
            | Self::Shadow(_)
            | Self::Prepare(_)
            | Self::LockTables(_) => None,
        }
    }

    /// The reason for what `enforce` would carry out, under a rule with `mode: observe`.
    pub fn observed(&self) -> Option<Reason> {
        match self {
            Self::Observe(plan) => Some(plan.reason()),
            _ => None,
        }
    }

    /// Whether it is a read with sums.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    /// Whether it has use for the values of parameters.
    pub fn takes_values(&self, in_transaction: bool) -> bool {
        match self {
            Self::Increment(_) | Self::Read(_) | Self::Fold(_) => true,
            Self::Write(_) => in_transaction,
            Self::Forward(_)
            | Self::Observe(_)
            | Self::Combine(_)
            | Self::Batch(_)
            | Self::Ddl(_)
            | Self::Shadow(_)
            | Self::Prepare(_)
            | Self::LockTables(_) => false,
        }
    }

    /// Whether texts are sent that are made of the client's own, and so are read under the variables that its was.
    pub fn sends_its_text_edited(&self) -> bool {
        match self {
            Self::Increment(_) | Self::Read(_) | Self::Fold(_) | Self::LockTables(_) => true,
            Self::Forward(_)
            | Self::Write(_)
            | Self::Observe(_)
            | Self::Combine(_)
            | Self::Batch(_)
            | Self::Ddl(_)
            | Self::Shadow(_)
            | Self::Prepare(_) => false,
        }
    }
}

/// An UPDATE that only adds constants to counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Increment {
    /// The table.
    pub table: Arc<HotTable>,
    /// For [`Plan::Combine`]: `UPDATE base SET c = c + n WHERE <key> AND c BETWEEN ..`, which matches no row if the sum
    /// could reach the limit of the counter's type. There is no `upsert` then, and `exact` is only the original.
    ///
    /// For [`Plan::Increment`]: `UPDATE slots SET c = c + n WHERE <key> AND slot = ..`, for a statement that names one
    /// whole primary key and nothing else. It answers as the original would; 0 rows mean that the slot row is not
    /// there.
    pub update: Option<Template>,
    /// Parameters that `update` compares with key columns: if one of them may equal several keys, `upsert` applies
    /// instead.
    pub key_parameters: Vec<KeyParameter>,
    /// Parameters compared with columns that convert them: if one does not compare alike in every statement, `exact`
    /// applies.
    pub compared_parameters: Vec<ComparedParameter>,
    /// The statement ends in LIMIT, which has no effect if there is at most one key: if a key parameter may equal
    /// several, `exact` applies.
    pub one_key_only: bool,
    /// `INSERT INTO slots SELECT .. FROM base WHERE .. ON DUPLICATE KEY UPDATE ..`. Its "Records" are the rows
    /// that the original matches (and changes).
    pub upsert: Template,
    /// The counters, as positions in [`HotTable::columns`].
    pub counters: Vec<usize>,
    /// What base must be asked about before a slot row takes such an increment: whether it has room for these counters,
    /// and no later time, or NULL, in these touch columns.
    pub guarded: Vec<usize>,
    /// What is added to each of the counters; `None` where a parameter says it.
    pub amounts: Vec<Option<Amount>>,
    /// Several of its kind may be added up and written as one: the key is named whole, and no time is set but the
    /// statement's own present.
    pub may_combine: bool,
    /// The times that it sets, as SQL: increments with other ones are not of its kind.
    pub times: Vec<u8>,
    /// Parameters that are deltas: they must hold exact values of the counter's type, at most [`Bounds::slot`] in
    /// size and not negative for an unsigned counter, or `exact` applies.
    ///
    /// [`Bounds::slot`]: crate::catalog::Bounds::slot
    pub parameter_deltas: Vec<ParameterDelta>,
    /// The same for all texts that differ in their constants only.
    pub shape: u64,
    /// An UPDATE of base that needs exactly the rights of the original, and is prepared but never run: an account that
    /// may not prepare it may not run the original.
    pub rights: Arc<[u8]>,
    /// The way that is always right: fold, then the original. Its scope is also what the transaction
    /// remembers as incremented.
    pub exact: Fold,
}

/// A value of the key that the client sends as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyParameter {
    /// Position of the parameter, from 0.
    pub parameter: u16,
    /// The key column, if it holds integers.
    pub integers: Option<IntegerColumn>,
}

impl KeyParameter {
    /// Whether this literal equals one key at most. The number 5 equals '5' and '05'; a time is compared with integers
    /// in more than one way.
    pub fn is_one_key(self, literal: &[u8]) -> bool {
        match literal.first() {
            Some(b'\'') => true,
            Some(b'-' | b'0'..=b'9') => self.integers.is_some(),
            _ => false,
        }
    }
}

/// A value that the client sends as a parameter, and that the server converts to compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedParameter {
    /// Position of the parameter, from 0.
    pub parameter: u16,
    /// The column that it is compared with: position in [`HotTable::columns`].
    pub column: usize,
}

/// A delta that the client sends as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterDelta {
    /// Position of the parameter, from 0.
    pub parameter: u16,
    /// The counter: position in [`HotTable::columns`].
    pub column: usize,
    /// Subtracted rather than added.
    pub negated: bool,
}

/// A SELECT in which counters become base + SUM(slots).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Hot tables whose counters the text reads; [`crate::sql::template::Piece::Folded`] points in here.
    pub tables: Vec<Arc<HotTable>>,
    /// The text to send: as many parameters, in the same order, and as many columns as the original.
    pub text: Template,
    /// For FOR UPDATE and FOR SHARE of keys outside autocommit: statements that lock base rows, then slot rows, before
    /// the text is sent.
    pub locks: Vec<Template>,
    /// `locks` do not wait: they are sent in autocommit too, for the error that they may return.
    pub fails_when_locked: bool,
    /// For FOR UPDATE of one table by its key: all that the original reads, when it reads nothing else. Outside
    /// autocommit a fold of it locks what the original locks, and the original then gives the value: sums under locks
    /// would lock the gaps between slots as well. Where no fold is possible, `text` is sent.
    pub folded_first: Option<FoldTable>,
    /// What to do if the server refuses `text`, which replaces hot tables by derived tables: these have no indexes, and
    /// no primary key that GROUP BY could rely on.
    pub or_fold: Option<Fold>,
    /// `Summed` or `SummedLocked`.
    pub reason: Reason,
}

impl Read {
    /// Whether it is FOR UPDATE or FOR SHARE.
    pub fn locks_rows(&self) -> bool {
        self.reason == Reason::SummedLocked
    }
}

/// A write that is right on base alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The rows that it may change or insert.
    pub rows: FoldTable,
    /// Parameters that name the one key of these rows: if one of them may equal several keys, the response says
    /// nothing.
    pub key_parameters: Vec<KeyParameter>,
    /// How its response shows which of them it has changed.
    pub change_report: ChangeReport,
    /// Why it may pass.
    pub reason: Reason,
}

/// How the response to a write shows which of the rows that it may change have been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeReport {
    /// All, if it counts any.
    Count,
    /// The same, but with CLIENT_FOUND_ROWS it counts a row as well that stays as it is.
    CountOfChanged,
    /// It does not show.
    Nothing,
}

/// Move slots into base, then run the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// What to fold, in the order to do it.
    pub folds: Vec<FoldTable>,
    /// Why.
    pub reason: Reason,
    /// For writes of other tables: the original with sums in place of counters, which needs no fold.
    pub with_sums: Option<WithSums>,
    /// For writes of one hot table: the original, confined to some of its rows.
    pub confined: Option<Template>,
    /// For an INSERT or REPLACE that names no table but the one that is folded for it.
    pub inserts_alone: bool,
    /// For DDL that reads what is folded: it commits the open transaction before all else.
    pub commits_first: bool,
    /// For queries whose column types only an execution shows: how they are read if the transaction has a snapshot,
    /// which a fold would not change.
    pub in_snapshot: Option<Box<Read>>,
    /// Whether the original is a consistent read.
    pub consistent_read: ConsistentRead,
}

/// Whether a statement is a consistent read: a query without a locking clause. Such a query sees the snapshot of its
/// transaction, which a fold does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsistentRead {
    /// It is another statement.
    #[default]
    No,
    /// It is one.
    Yes,
    /// It may be one: its text is not known, or not to its end, where a locking clause would stand.
    Possibly,
}

impl ConsistentRead {
    /// Whether this read is one.
    pub fn of(read: &Read) -> Self {
        match read.locks_rows() {
            true => Self::No,
            false => Self::Yes,
        }
    }
}

/// A write of other tables with sums in place of the counters that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithSums {
    /// Its text.
    pub text: Template,
    /// The server runs it whatever cursor is asked for. MySQL refuses one where it writes the result of a query.
    pub any_cursor: bool,
}

impl Fold {
    /// For whatever the original is.
    pub fn new(folds: Vec<FoldTable>, reason: Reason) -> Self {
        Self {
            folds,
            reason,
            with_sums: None,
            confined: None,
            inserts_alone: false,
            commits_first: false,
            in_snapshot: None,
            consistent_read: ConsistentRead::No,
        }
    }

    /// For a statement whose text is not known: it may read or write every hot table.
    pub fn of_unknown_text(catalog: &Catalog) -> Self {
        let folds = catalog.tables.iter().map(FoldTable::whole).collect();
        Self {
            consistent_read: ConsistentRead::Possibly,
            ..Self::new(folds, Reason::SqlExecute)
        }
    }

    /// Of all tables that a plan concerns.
    pub fn of_whole_tables(plan: &Plan, reason: Reason) -> Self {
        let tables: Vec<_> = match plan {
            Plan::Increment(increment) => vec![&increment.table],
            Plan::Read(read) => read.tables.iter().collect(),
            Plan::Fold(fold) => fold.folds.iter().map(|fold| &fold.table).collect(),
            Plan::Ddl(ddl) => ddl.tables.iter().collect(),
            Plan::LockTables(lock) => lock.tables.iter().collect(),
            Plan::Shadow(tables) | Plan::Prepare(tables) => tables.iter().collect(),
            Plan::Write(write) => vec![&write.rows.table],
            Plan::Forward(_) | Plan::Observe(_) | Plan::Combine(_) | Plan::Batch(_) => Vec::new(),
        };
        let folds = tables.into_iter().map(FoldTable::whole).collect();
        Self {
            commits_first: matches!(plan, Plan::Fold(fold) if fold.commits_first),
            consistent_read: match plan {
                Plan::Read(read) => ConsistentRead::of(read),
                Plan::Fold(fold) => fold.consistent_read,
                _ => ConsistentRead::No,
            },
            ..Self::new(folds, reason)
        }
    }
}

/// The slots of one table, or of some of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldTable {
    /// The table.
    pub table: Arc<HotTable>,
    /// The keys.
    pub scope: Scope,
    /// Parameters that are inserted into key columns. The scope is right where each is stored as it is written; else
    /// the whole table is folded.
    pub stored: Vec<StoredParameter>,
}

impl FoldTable {
    /// All of a table's slots.
    pub fn whole(table: &Arc<HotTable>) -> Self {
        Self {
            table: Arc::clone(table),
            scope: Scope::Table,
            stored: Vec::new(),
        }
    }
}

/// A parameter whose value a statement inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredParameter {
    /// Position of the parameter, from 0.
    pub parameter: u16,
    /// The column: position in [`HotTable::columns`].
    pub column: usize,
}

/// Keys of a hot table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Keys for which this predicate holds. It names key columns only, unqualified and quoted by backticks,
    /// so it fits the base and the slot table alike.
    Keys(Template),
    /// The keys of rows that are found by other columns.
    Rows(Rows),
    /// The whole table.
    Table,
}

/// Rows of a hot table, by what base has in columns that are not hot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Names only columns of base, unqualified and quoted by backticks. Under an isolation level that locks gaps, a
    /// locking read by this predicate keeps the rows that the statement will meet as they are.
    pub predicate: Template,
    /// Other tables, with their schemas and in backticks, that the predicate reads and locks for sharing. It holds for
    /// the same rows when the statement runs if the server locks rows of theirs, and gaps.
    pub reads: Vec<String>,
    /// What is left of the predicate without these tables; `None` where nothing is.
    pub without_reads: Option<Template>,
    /// The key of a row that the statement may insert, as in [`Scope::Keys`].
    pub key: Option<Template>,
}

/// DDL on hot tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ddl {
    /// The tables it names.
    pub tables: Vec<Arc<HotTable>>,
    /// Afterwards a name may mean other rows, or a column other values: nothing may be in slots while it runs.
    pub withdraws_slots: bool,
}

/// LOCK TABLES, or FLUSH TABLES .. WITH READ LOCK, with the slot tables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTables {
    /// The hot tables that are locked.
    pub tables: Vec<Arc<HotTable>>,
    /// What to send first, if the client's statement does more than lock: it flushes.
    pub flush: Option<Vec<u8>>,
    /// The text to send.
    pub text: Vec<u8>,
    /// Those of them that are locked for WRITE, so that they can be folded under the lock.
    pub written: Vec<Arc<HotTable>>,
}

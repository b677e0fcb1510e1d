//! Why a statement got the plan it has: the vocabulary that plans, metrics and the log share.

/// Why a statement got the plan it has; one of a small closed set, counted and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Names no hot table.
    NotHot,
    /// Names a hot table but neither reads nor writes a counter or a key.
    NoCounter,
    /// INSERT of new rows; existing ones stay as they are.
    InsertOnly,
    /// The increment is zero, so nothing changes.
    ZeroDelta,
    /// An upsert or update that only adds on base, which is always right.
    AddsToBase,
    /// SHOW, EXPLAIN, DESCRIBE, SET and the like: tells of the table, not of the value.
    Metadata,
    /// An increment that goes to slots.
    Slotted,
    /// A read rewritten to base + SUM(slots).
    Summed,
    /// A locking read rewritten to base + SUM(slots) under the same lock.
    SummedLocked,
    /// Sets a counter to something other than itself plus a constant.
    AbsoluteSet,
    /// Sets other columns beside the counter.
    OtherColumns,
    /// A delta that is not exact for the counter's type.
    InexactDelta,
    /// A decrement of a counter that may not become negative.
    UnsignedDecrement,
    /// The counter's type or a CHECK leaves no room for slots.
    NoRoom,
    /// An update also sets an ON UPDATE CURRENT_TIMESTAMP column.
    TouchColumn,
    /// A counter in WHERE, ORDER BY or LIMIT of a write.
    CounterInPredicate,
    /// A write of the primary key.
    KeyChange,
    /// DELETE.
    Delete,
    /// REPLACE.
    Replace,
    /// An upsert that does more than add.
    Upsert,
    /// UPDATE or DELETE over several tables, or a write whose source reads a counter.
    MultiTable,
    /// The shape is right, but names cannot be resolved with what is known here.
    Unresolved,
    /// The parser does not know the statement.
    NotParsed,
    /// The text is too long to parse.
    TooLong,
    /// The text cannot be lexed in this character set.
    CharacterSet,
    /// The statement asked for it by comment, or the session by its user or program.
    Off,
    /// DDL.
    Ddl,
    /// A temporary table hides the hot one.
    Shadowed,
    /// A SQL-level prepared statement.
    SqlPrepare,
    /// LOCK TABLES.
    LockTables,
    /// The transaction read a counter that it had incremented.
    OwnIncrement,
    /// The slot table refused; the original ran.
    Fallback,
}

impl Reason {
    /// All of them, in order.
    pub const ALL: [Self; 32] = [
        Self::NotHot,
        Self::NoCounter,
        Self::InsertOnly,
        Self::ZeroDelta,
        Self::AddsToBase,
        Self::Metadata,
        Self::Slotted,
        Self::Summed,
        Self::SummedLocked,
        Self::AbsoluteSet,
        Self::OtherColumns,
        Self::InexactDelta,
        Self::UnsignedDecrement,
        Self::NoRoom,
        Self::TouchColumn,
        Self::CounterInPredicate,
        Self::KeyChange,
        Self::Delete,
        Self::Replace,
        Self::Upsert,
        Self::MultiTable,
        Self::Unresolved,
        Self::NotParsed,
        Self::TooLong,
        Self::CharacterSet,
        Self::Off,
        Self::Ddl,
        Self::Shadowed,
        Self::SqlPrepare,
        Self::LockTables,
        Self::OwnIncrement,
        Self::Fallback,
    ];
}

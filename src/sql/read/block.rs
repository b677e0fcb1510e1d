//! What is known of each query block of a statement.

use std::ops::Range;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::sql::read::clause::{Clause, Clauses};

/// One SELECT with its FROM, and what hangs on it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) place: Place,
    /// An arm of UNION, EXCEPT or INTERSECT.
    pub(super) is_arm: bool,
    /// The block around it.
    pub(super) parent: Option<usize>,
    pub(super) sources: Vec<Source>,
    pub(super) join: JoinKind,
    pub(super) is_distinct: bool,
    pub(super) grouping: Grouping,
    /// The numbers in GROUP BY: positions of items, from 1.
    pub(super) group_positions: Vec<usize>,
    pub(super) lock: Option<Lock>,
    pub(super) items: Vec<Item>,
    pub(super) clauses: Clauses,
}

/// Where a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the statement.
    Statement,
    /// In FROM; a lateral one sees the tables before it.
    Derived { lateral: bool },
    /// In WITH.
    Cte,
    /// In EXISTS: its items do not matter.
    Exists,
    /// A scalar, a list for IN.
    Expression,
}

/// A table in FROM.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// How columns are qualified, as written.
    pub(super) qualifier: Vec<u8>,
    /// The name that it is known by.
    pub(super) exposed: String,
    pub(super) schema: Option<String>,
    /// `None`: a cold table, a derived one, a common table expression.
    pub(super) hot: Option<Arc<HotTable>>,
    /// Where its name is, and whether an alias follows; `None` if more than that belongs to it (PARTITION, index
    /// hints), so that it cannot be replaced.
    pub(super) name: Option<(Range<usize>, bool)>,
}

/// How the tables in FROM are joined, as far as it changes what names and `*` mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinKind {
    Plain,
    /// Some by USING: `*` shows their common columns once.
    Using,
    /// Some by NATURAL: which columns are compared is not known here.
    Natural,
}

/// GROUP BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    None,
    Plain,
    /// WITH ROLLUP.
    Rollup,
}

/// FOR UPDATE or FOR SHARE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) exclusive: bool,
    pub(super) wait: Wait,
    /// FOR UPDATE OF these only.
    pub(super) of: Vec<String>,
}

/// What a locking read does at a locked row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Block,
    Nowait,
    SkipLocked,
}

/// An item of the select list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) range: Range<usize>,
    pub(super) alias: Option<String>,
    pub(super) shape: ItemShape,
}

/// What an item of the select list is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemShape {
    /// A column reference that starts at this offset, and its last name.
    Column {
        start: usize,
        name: String,
    },
    Expression,
    /// `*`
    Wildcard,
    /// `table.*`, `schema.table.*`
    TableWildcard(Vec<String>),
}

/// A column reference.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) block: usize,
    pub(super) clause: Clause,
    pub(super) range: Range<usize>,
    /// Its parts, as the names that they spell.
    pub(super) path: Vec<String>,
    pub(super) in_aggregate: bool,
    /// Where a column's name is needed rather than its value: DEFAULT(c), VALUES(c).
    pub(super) is_opaque: bool,
    /// All of an item of GROUP BY or ORDER BY.
    pub(super) is_whole_item: bool,
    /// `c IS NULL`, `c IS NOT NULL`
    pub(super) is_null_test: bool,
}

/// A hot table's column that a name resolved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) block: usize,
    pub(super) source: usize,
    pub(super) column: usize,
}

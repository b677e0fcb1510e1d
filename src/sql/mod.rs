//! Text to plan, pure: what a statement does to hot tables, and what to send in its place.
//!
//! [`Prefilter`] lets most traffic pass without a look. [`split`] cuts a packet into statements,
//! [`statement_kind`] reads a statement's first words, [`plan()`] decides what to do with it.
//!
//! Layout, in the order data flows: `prefilter`, `mention`; `lexer`, `statement` (this room's own tokens, first words);
//! `syntax` (sqlparser, on byte offsets), `context` (which table a name means); `ddl`, `lock_tables`, `prepare`,
//! `one_shot` (read by words alone), `accounted` (no hot table is named where the planner does not look), `increment`,
//! `write` (planned by syntax tree), `read` (counters in queries), `cascade` (rows that foreign keys take along),
//! `interrupted` (sums that a KILL does not falsify); `planner` puts them together; `decision` says what becomes of a
//! plan in a session; `shape` says which statements share a plan; `digest` and `tally` describe statements for which
//! there is no rule yet.

mod accounted;
mod amount;
mod calls;
mod cascade;
mod comparison;
mod context;
mod ddl;
mod decision;
pub mod diagnostics;
mod dialect;
mod digest;
mod effect;
mod executed;
mod explain;
mod increment;
mod integer_column;
pub mod interrupted;
mod key;
mod lexer;
mod lock_tables;
mod mention;
pub mod one_shot;
pub mod plan;
mod planner;
mod predicate;
mod prefilter;
pub mod prepare;
mod read;
mod rows;
mod shape;
mod size;
mod statement;
mod stored;
mod syntax;
mod syntax_error;
mod table_query;
mod tally;
pub mod template;
mod touch;
mod transaction_control;
mod words;
mod write;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod spliced;

#[cfg(test)]
pub(crate) use fixture::{plan_of as planned_in_fixture, posts as posts_in_fixture};

pub use amount::Amount;
pub use calls::may_call_routines;
pub use comparison::compares_alike;
pub use decision::{
    BulkDecision, Circumstances, Decision, TableLocks, Values, decide, decide_in_bulk,
};
pub use digest::{Compared, Digest, LONGEST_DIGEST, Place, digest, reads_the_same};
pub use effect::glance;
pub use executed::{executed, may_have_executable_comment};
pub use explain::explained;
pub use integer_column::IntegerColumn;
pub use lexer::{Lexer, Token, TokenKind};
pub use mention::mentions;
pub use planner::plan;
pub use prefilter::Prefilter;
pub use read::aggregates;
pub use shape::{Literal, LiteralKind, Shape};
pub use statement::{Kind, Part, is_off, is_several, split, statement_kind};
pub use stored::is_stored_as_written;
pub use syntax_error::{Following, quoting};
pub use table_query::is_table_query;
pub use tally::{Sets, Tally, tally};
pub use transaction_control::{TransactionControl, locks_for_update, transaction_control};
pub use words::may_test_for_null;
pub use write::one_row::lock_around;

//! Whether a session's transaction holds locks, by MySQL's performance_schema (manual: "The data_locks Table").
//!
//! In a group with several writers the storage engine rolls a transaction back when a change arrives from another
//! member that needs its locks, and the session is told at its next statement. But SAVEPOINT, and a query that counts
//! all rows of a table, find no transaction in the engine and begin another one, and nobody is told any more (MySQL
//! 9.7.4): what the session has done before is gone on this member, while COMMIT sends it to the others. No statement
//! of the session's shows that. Its locks do: a transaction that has held some, and holds none right after a savepoint,
//! is another one.

use super::quote;
use crate::config::TableName;

/// Where they are shown.
pub(crate) fn table() -> TableName {
    TableName {
        schema: "performance_schema".to_owned(),
        name: "data_locks".to_owned(),
    }
}

/// Finds one that the session of this thread holds. Not by EXISTS, which is false where a KILL interrupts it.
pub(super) fn question(thread: u32) -> String {
    format!(
        "SELECT 1 FROM {} WHERE THREAD_ID = PS_THREAD_ID({thread}) LIMIT 1",
        quote::table(&table())
    )
}

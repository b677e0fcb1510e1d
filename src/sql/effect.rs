//! What a statement of some kind does to its session, and the kind of most statements at a glance.

use crate::sql::statement::Kind;

impl Kind {
    /// Whether the statement may change how later texts are read: schema, sql_mode, character set.
    pub fn may_change_session(self) -> bool {
        match self {
            Self::Set { harmless } => !harmless,
            Self::Use | Self::Call | Self::Execute | Self::Ddl | Self::Other => true,
            _ => false,
        }
    }

    /// Whether the statement may belong to the SQL syntax for prepared statements.
    pub fn is_sql_prepared(self) -> bool {
        // EXECUTE IMMEDIATE is of no kind of its own.
        matches!(
            self,
            Self::Prepare | Self::Execute | Self::Deallocate | Self::Other
        )
    }

    /// Whether the statement may end the transaction, or undo a part of it.
    pub fn may_end_transaction(self) -> bool {
        match self {
            Self::Select
            | Self::With
            | Self::Insert
            | Self::Replace
            | Self::Update
            | Self::Delete
            | Self::Do
            | Self::Savepoint
            | Self::Prepare
            | Self::Deallocate => false,
            Self::Set { harmless } => !harmless,
            _ => true,
        }
    }

    /// Whether the statement may run several others, one after another: a procedure's, those of a compound statement
    /// (MariaDB), or whatever an unknown text has.
    pub fn may_run_several(self) -> bool {
        matches!(self, Self::Call | Self::Execute | Self::Other)
    }

    /// Whether the statement begins, marks or ends transactions, and does nothing else.
    pub fn only_controls_transactions(self) -> bool {
        matches!(
            self,
            Self::Begin | Self::Commit | Self::Rollback | Self::Savepoint | Self::Release
        )
    }

    /// Whether the statement may read a table without locks, so that a transaction's snapshot is made. What a BEGIN
    /// does only its text says.
    pub fn may_make_snapshot(self) -> bool {
        !matches!(
            self,
            Self::Commit
                | Self::Rollback
                | Self::Savepoint
                | Self::Release
                | Self::Prepare
                | Self::Deallocate
                | Self::Set { harmless: true }
        )
    }
}

/// The kind of a text that starts with one of the most frequent words, without allocation; `None` says that
/// [`statement_kind`](crate::sql::statement_kind) must look.
pub fn glance(text: &[u8]) -> Option<Kind> {
    const FREQUENT: [(&[u8], Kind); 8] = [
        (b"SELECT", Kind::Select),
        (b"INSERT", Kind::Insert),
        (b"UPDATE", Kind::Update),
        (b"DELETE", Kind::Delete),
        (b"REPLACE", Kind::Replace),
        (b"COMMIT", Kind::Commit),
        (b"ROLLBACK", Kind::Rollback),
        (b"DO", Kind::Do),
    ];
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_alphabetic())
        .unwrap_or(text.len());
    // Only where the word surely ends here: in BEGIN or SELECT$x it might go on.
    let follows = text.get(end).copied().unwrap_or(b' ');
    if !matches!(follows, b' ' | b'\n' | b'\t' | b'\r' | b';') {
        return None;
    }
    let word = &text[..end];
    let found = FREQUENT
        .iter()
        .find(|(frequent, _)| frequent.eq_ignore_ascii_case(word));
    found.map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::plan::SessionVariables;
    use crate::sql::statement_kind;

    #[test]
    fn a_glance_says_what_a_look_says() {
        let variables = SessionVariables::default();
        for text in [
            "select 1",
            "SELECT\n1",
            "Update t set a = 1",
            "commit",
            "rollback to x",
            "do 0",
            "replace into t values (1)",
            "delete from t",
        ] {
            let kind = glance(text.as_bytes());
            assert_eq!(
                kind,
                Some(statement_kind(text.as_bytes(), &variables)),
                "{text}"
            );
        }
        for text in [
            "",
            " select 1",
            "select(1)",
            "selectx",
            "/* x */ select 1",
            "begin",
        ] {
            assert_eq!(glance(text.as_bytes()), None, "{text}");
        }
    }
}

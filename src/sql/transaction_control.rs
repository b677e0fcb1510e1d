//! Statements that begin and end transactions and parts of them (manual: "START TRANSACTION, COMMIT, and ROLLBACK
//! Statements", "SAVEPOINT, ROLLBACK TO SAVEPOINT, and RELEASE SAVEPOINT Statements").

use memchr::{memchr, memmem};

use crate::sql::lexer::TokenKind;
use crate::sql::mention::mentions;
use crate::sql::plan::SessionVariables;
use crate::sql::statement::Kind;
use crate::sql::words::Words;

/// What a statement does to the transaction, if it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionControl {
    /// Begins one.
    Begin {
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
        /// READ WRITE or READ ONLY, whatever the session's transactions are otherwise.
        access_mode: bool,
    },
    /// Undoes it all.
    RollBack,
    /// Sets a savepoint of this name, in lower case.
    Savepoint(String),
    /// Undoes what came after that savepoint.
    RollBackTo(String),
    /// Forgets that savepoint and those set after it.
    Release(String),
}

/// What a statement of this kind does to the transaction. `None` if it does nothing to it, or if the text does not say
/// for certain.
pub fn transaction_control(
    text: &[u8],
    kind: Kind,
    variables: &SessionVariables,
) -> Option<TransactionControl> {
    // Most statements are of other kinds, and need no second look.
    if !matches!(
        kind,
        Kind::Begin | Kind::Rollback | Kind::Savepoint | Kind::Release
    ) {
        return None;
    }
    let is_single =
        memchr(b';', text).is_none() || !Words::new(text, variables).has_inner_mark(b';');
    if !is_single {
        return None;
    }
    if kind == Kind::Begin {
        let may_hide = memmem::find(text, b"/*").is_some();
        return (!may_hide).then(|| TransactionControl::Begin {
            snapshot: mentions(text, b"SNAPSHOT"),
            access_mode: mentions(text, b"READ"),
        });
    }
    let mut words = Words::new(text, variables);
    if words
        .rest()
        .iter()
        .any(|token| token.kind == TokenKind::ExecutableComment)
    {
        return None;
    }
    let found = match words.accept("ROLLBACK") {
        true => {
            words.accept("WORK");
            if !words.accept("TO") {
                return Some(TransactionControl::RollBack);
            }
            words.accept("SAVEPOINT");
            TransactionControl::RollBackTo(name(&mut words)?)
        }
        false if words.accept("RELEASE") => {
            words.accept("SAVEPOINT");
            TransactionControl::Release(name(&mut words)?)
        }
        false if words.accept("SAVEPOINT") => TransactionControl::Savepoint(name(&mut words)?),
        false => return None,
    };
    words.accept_mark(b';');
    words.peek().is_none().then_some(found)
}

/// Whether a query locks rows as if it wrote them: FOR UPDATE.
pub fn locks_for_update(text: &[u8], kind: Kind, variables: &SessionVariables) -> bool {
    if !matches!(kind, Kind::Select | Kind::With) || !mentions(text, b"UPDATE") {
        return false;
    }
    let mut words = Words::new(text, variables);
    while words.skip_past("FOR") {
        if words.accept("UPDATE") {
            return true;
        }
    }
    false
}

/// A savepoint's name. Beyond ASCII the server's collation has other names for the same one.
fn name(words: &mut Words<'_>) -> Option<String> {
    let name = words.identifier()?;
    name.is_ascii().then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::TransactionControl::{Begin, Release, RollBack, RollBackTo, Savepoint};
    use super::*;
    use crate::sql::statement_kind;

    #[test]
    fn statements_say_what_they_do_to_the_transaction() {
        let name = || "a".to_owned();
        let begin = |snapshot, access_mode| {
            Some(Begin {
                snapshot,
                access_mode,
            })
        };
        let cases = [
            ("BEGIN", begin(false, false)),
            ("begin work;", begin(false, false)),
            ("START TRANSACTION READ ONLY", begin(false, true)),
            (
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                begin(true, false),
            ),
            ("ROLLBACK", Some(RollBack)),
            ("ROLLBACK WORK AND CHAIN", Some(RollBack)),
            ("SAVEPOINT a", Some(Savepoint(name()))),
            ("SAVEPOINT `A` ; -- x", Some(Savepoint(name()))),
            ("ROLLBACK TO a", Some(RollBackTo(name()))),
            ("rollback work to savepoint A;", Some(RollBackTo(name()))),
            ("RELEASE SAVEPOINT a", Some(Release(name()))),
            ("SAVEPOINT é", None),
            ("SAVEPOINT a; ROLLBACK TO b", None),
            ("SAVEPOINT /*!50000 a */", None),
            ("ROLLBACK TO", None),
            ("SELECT 1", None),
        ];
        for (text, expected) in cases {
            let variables = SessionVariables::default();
            let kind = statement_kind(text.as_bytes(), &variables);
            let found = transaction_control(text.as_bytes(), kind, &variables);
            assert_eq!(found, expected, "{text}");
        }
    }
}

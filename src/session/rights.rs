//! An increment that goes to a slot is written with the rights on the slot table; so the server is asked whether the
//! account has those that the client's own statement needs.
//!
//! It is asked once in each session, not once for each account: which rights a session has also depends on when it
//! logged in (global privileges), chose its schema, and set its roles.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use crate::sql::plan::Increment;
use crate::sql::{Kind, mentions};
use crate::wire::error_code::lacks_object_privilege;
use crate::wire::reply;

/// How many kinds of increments are remembered.
const MOST_SHOWN: usize = 64;

/// What the server has shown this session that it may do.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Of the rights of all; in another one this is not known any more.
    generation: Option<u64>,
    /// [`Increment::rights`] of what it may do.
    may: Vec<Arc<[u8]>>,
}

/// Whether an account may do what an increment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Given,
    Denied,
    /// The server does not say.
    Unknown,
}

/// Whether an ERR payload says that the account lacks a right: to the schema, the table, a column, a routine.
pub(super) fn is_access_denied(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| lacks_object_privilege(err.code))
}

/// Whether a text may change somebody's rights, judged by its words.
pub(super) fn may_change_rights(text: &[u8], kind: Kind, may_be_several: bool) -> bool {
    const WORDS: [&[u8]; 5] = [b"GRANT", b"REVOKE", b"USER", b"ROLE", b"PRIVILEGES"];
    let is_plain = !matches!(
        kind,
        Kind::Show | Kind::Other | Kind::Prepare | Kind::Set { .. } | Kind::Ddl
    );
    if is_plain && !(may_be_several && memchr::memchr(b';', text).is_some()) {
        return false;
    }
    WORDS.iter().any(|word| mentions(text, word))
}

impl Session {
    /// Whether the account may run an increment on the row itself. Without a round trip once the server has said so.
    pub(super) async fn may_increment(&mut self, increment: &Increment) -> Result<Right, Error> {
        // What may have changed the schema or the roles may have changed the rights, and has them forgotten.
        self.facts().await?;
        let shared = Arc::clone(&self.shared);
        // Changes are looked for on one server alone.
        let is_looked_at = self.server.as_ref() == Some(&shared.control.server());
        let generation = shared.rights.generation().filter(|_| is_looked_at);
        let shown = &mut self.state.shown;
        if shown.generation != generation || generation.is_none() {
            shown.may.clear();
            shown.generation = generation;
        }
        if shown.may.contains(&increment.rights) {
            shared.rights.rely();
            return Ok(Right::Given);
        }
        let refused = self.refusal_of(&increment.rights).await?;
        let shown = &mut self.state.shown;
        Ok(match refused {
            None => {
                if shown.may.len() >= MOST_SHOWN {
                    shown.may.clear();
                }
                shown.may.push(Arc::clone(&increment.rights));
                shared.rights.rely();
                Right::Given
            }
            Some(error) if is_access_denied(&error) => Right::Denied,
            Some(_) => Right::Unknown,
        })
    }
}

//! An increment that goes to a slot is written with the rights on the slot table; so the server is asked whether the account
//! has those that the client's own statement needs.
//!
//! It is asked once in each session, not once for each account: which rights a session has also depends on when it logged
//! in (global privileges), chose its schema, and set its roles.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::hidden::{encode_prepare, is_interrupted};
use super::query::statement_text;
use super::turn::Original;
use crate::sql::plan::Increment;
use crate::sql::{Kind, mentions};
use crate::wire::command;
use crate::wire::reply;

/// How many kinds of increments are remembered.
const MOST_SHOWN: usize = 64;

/// How often the question is put again when a KILL QUERY meets it.
const MOST_TRIES: u8 = 20;

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
    const ACCESS_DENIED: [u16; 4] = [1044, 1142, 1143, 1370];
    reply::Err::decode(error).is_ok_and(|err| ACCESS_DENIED.contains(&err.code))
}

/// Whether an ERR payload says that there is no such column: one that the rule knows, or one of the client's statement.
fn is_unknown_column(error: &[u8]) -> bool {
    const UNKNOWN_COLUMN: u16 = 1054;
    reply::Err::decode(error).is_ok_and(|err| err.code == UNKNOWN_COLUMN)
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

    /// The error for a statement that a fold, refused with `error`, would have had to come before. Where that is for want
    /// of a right, or of a column, it is the original's own, if that is refused as well.
    pub(super) async fn refusal_in_its_words(
        &mut self,
        original: &Original,
        error: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let text = match original {
            Original::Payload(payload) if payload.first() == Some(&command::QUERY) => {
                statement_text(payload, self.capabilities)?
            }
            // Of an execution only the number of the statement is here.
            _ => return Ok(error.to_vec()),
        };
        let own = match is_access_denied(error) || is_unknown_column(error) {
            true => self.refusal_of(text).await?,
            false => None,
        };
        Ok(own.unwrap_or_else(|| error.to_vec()))
    }

    /// Why the server would refuse a text, as far as it says so without running it: the ERR payload. Rights are looked at
    /// when a statement is prepared, and no row is.
    pub(super) async fn refusal_of(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut refused = None;
        for _ in 0..MOST_TRIES {
            let mut packet = Vec::new();
            encode_prepare(&mut packet, text);
            self.write_upstream(&packet).await?;
            refused = match self.read_prepared().await? {
                Ok(statement) => {
                    self.close_asked(Some(statement.id)).await?;
                    return Ok(None);
                }
                Err(error) => Some(error),
            };
            if !refused.as_deref().is_some_and(is_interrupted) {
                break;
            }
        }
        Ok(refused)
    }
}

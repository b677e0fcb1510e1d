//! Asks whether the account has the privileges that the client's own increment needs: an increment that goes to a slot
//! needs only those on the slot table.
//!
//! The server is asked once in each session, not once for each account: which privileges a session has also depends on
//! when it logged in (global privileges), chose its schema, and set its roles.

use std::sync::Arc;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::is_access_denied;
use crate::sql::plan::Increment;

/// How many kinds of increments are remembered.
const MOST_SHOWN: usize = 64;

/// Whether an account may do what an increment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Given,
    Denied,
    /// The server does not say.
    Unknown,
}

impl Session {
    /// Whether the account may run an increment on the base row itself. No round trip is needed once the server has
    /// said so.
    pub(crate) async fn may_increment(&mut self, increment: &Increment) -> Result<Right, Error> {
        // Whatever may have changed the schema or the roles may have changed the privileges, and this makes the
        // session forget them.
        self.variables().await?;
        let shared = Arc::clone(&self.shared);
        // Changes of privileges are looked for on one server only.
        let is_looked_at = self.server.as_ref() == Some(&shared.control.server());
        let generation = shared.rights.generation().filter(|_| is_looked_at);
        let shown = &mut self.state.rights.shown;
        if shown.generation != generation || generation.is_none() {
            shown.may.clear();
            shown.generation = generation;
        }
        if shown.may.contains(&increment.rights) {
            shared.rights.rely();
            return Ok(Right::Given);
        }
        let refused = self.refusal_of(&increment.rights).await?;
        let shown = &mut self.state.rights.shown;
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

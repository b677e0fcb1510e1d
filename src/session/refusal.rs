//! What the server would refuse without running it, found out before anything of ours is done for it: a fold would
//! leave locks, or a transaction, behind a statement that MySQL has not even begun.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::{is_access_denied, is_of_the_text, is_unknown_column};
use crate::session::link::internal::{Failure, failure, is_interrupted};
use crate::session::one_shot::is_read_only;
use crate::session::reply::{Original, error_payload};
use crate::session::state::understood::Understood;
use crate::session::text::{kind_of, statement_text};
use crate::sql::Kind;
use crate::wire::command::{self, encode_prepare};
use crate::wire::error_code::ER_TABLE_DEF_CHANGED;

/// How often the question is put again when a KILL QUERY meets it.
const MOST_TRIES: u8 = 20;

/// What the server says of a statement that is still to run.
pub(crate) enum Foreseen {
    /// Nothing that its text alone would tell.
    Nothing,
    /// It refuses the text.
    Refused,
    /// The question has met what the statement would have met: a KILL, a lock that was waited for too long. The ERR
    /// payload.
    Ended(Vec<u8>),
}

/// The table was another one when the transaction's snapshot was taken.
pub(crate) const DEFINITION_CHANGED: (u16, &str, &str) = (
    ER_TABLE_DEF_CHANGED,
    "HY000",
    "Table definition has changed, please retry transaction",
);

impl Session {
    /// Asks whether the server refuses the client's statement for its text, so that nothing needs to be done before it
    /// runs. Without a round trip for a shape that it has understood before.
    pub(crate) async fn foresee(&mut self, original: &Original) -> Result<Foreseen, Error> {
        let Some(text) = self.query_text(original)? else {
            return Ok(Foreseen::Nothing);
        };
        let text = text.to_vec();
        let variables = self.state.variables.clone().unwrap_or_default();
        let mut shape = std::mem::take(&mut self.shape);
        let has_literals = shape.lift(&text, &variables);
        let hash = Understood::hash(if has_literals { shape.text() } else { &text });
        self.shape = shape;
        if self.state.understood.contains(hash) {
            return Ok(Foreseen::Nothing);
        }
        Ok(match self.ask_to_prepare(&text).await? {
            None => {
                self.state.understood.insert(hash);
                Foreseen::Nothing
            }
            Some(error) if is_of_the_text(&error) => Foreseen::Refused,
            Some(error) if failure(&error) == Failure::TheClients => Foreseen::Ended(error),
            Some(_) => Foreseen::Nothing,
        })
    }

    /// Whether the server refuses the client's statement for its text, as far as it says so.
    pub(crate) async fn is_refused(&mut self, original: &Original) -> Result<bool, Error> {
        Ok(matches!(self.foresee(original).await?, Foreseen::Refused))
    }

    /// The text of a statement. Of an execution, in either protocol, only the number or the name of the statement is
    /// here.
    pub(crate) fn query_text<'a>(&self, original: &'a Original) -> Result<Option<&'a [u8]>, Error> {
        Ok(match original {
            Original::Payload(payload) if payload.first() == Some(&command::QUERY) => {
                let text = statement_text(payload, self.link.capabilities)?;
                Some(text).filter(|text| kind_of(text) != Kind::Execute)
            }
            _ => None,
        })
    }

    /// The error for a statement that a fold, refused with `error`, would have had to come before. Where that is for
    /// want of a right, or of a column, it is the original's own, if that is refused as well. A column that only the
    /// fold names is one of a table as it was when the transaction began.
    pub(crate) async fn refusal_in_its_words(
        &mut self,
        original: &Original,
        error: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let own = match self.query_text(original)? {
            Some(text) if is_access_denied(error) || is_unknown_column(error) => {
                self.refusal_of(text).await?
            }
            _ => None,
        };
        let is_of_before = is_unknown_column(error) && self.query_text(original)?.is_some();
        Ok(own.unwrap_or_else(|| match is_of_before {
            true => error_payload(DEFINITION_CHANGED),
            false => error.to_vec(),
        }))
    }

    /// Why the server would refuse a text, as far as it says so without running it: the ERR payload. Names and rights
    /// are looked at when a statement is prepared, and no row is.
    pub(crate) async fn refusal_of(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut refused = None;
        for _ in 0..MOST_TRIES {
            refused = self.ask_to_prepare(text).await?;
            if !refused.as_deref().is_some_and(is_interrupted) {
                break;
            }
        }
        Ok(refused)
    }

    /// Has the server prepare a text, once: the ERR payload if it does not.
    pub(crate) async fn ask_to_prepare(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut packet = Vec::new();
        encode_prepare(&mut packet, text);
        self.write_upstream(&packet).await?;
        match self.link.read_prepared().await? {
            Ok(statement) => {
                self.close_asked(Some(statement.id)).await?;
                Ok(None)
            }
            Err(error) => Ok(Some(error)),
        }
    }

    /// Whether the server can read a statement; whatever it refuses it for then, it has committed before. The inner
    /// error is that of a KILL, which was meant for the statement.
    pub(crate) async fn is_understood(
        &mut self,
        original: &Original,
    ) -> Result<Result<bool, Vec<u8>>, Error> {
        let Original::Payload(payload) = original else {
            return Ok(Ok(false));
        };
        // MySQL refuses DDL with a cursor, and leaves the transaction open.
        if payload.first() != Some(&command::QUERY) {
            return Ok(Ok(self.hot.catalog.mariadb || !original.may_open_cursor()));
        }
        let text = statement_text(payload, self.link.capabilities)?;
        if kind_of(text) == Kind::Execute {
            return Ok(Ok(true));
        }
        let text = text.to_vec();
        Ok(match self.ask_to_prepare(&text).await? {
            None => Ok(true),
            Some(error) if is_interrupted(&error) => Err(error),
            // MariaDB commits nothing to prepare it.
            Some(error) => Ok(is_read_only(&error)),
        })
    }
}

//! Finds out whether the server would refuse a statement, before anything is done for it: a fold would leave locks, or
//! a transaction, after a statement that MySQL has not even begun.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::{is_access_denied, is_of_the_text, is_unknown_column};
use crate::session::exchange::MOST_TRIES;
use crate::session::link::internal::{Failure, failure, is_interrupted};
use crate::session::one_shot::is_read_only;
use crate::session::reply::{Original, error_payload};
use crate::session::state::understood::Understood;
use crate::session::text::{kind_of, statement_text};
use crate::sql::Kind;
use crate::wire::command::{self, encode_prepare};
use crate::wire::error_code::ER_TABLE_DEF_CHANGED;

/// What the server says of a statement that has yet to run.
pub(crate) enum Foreseen {
    /// Nothing that it could say by the text alone.
    Nothing,
    /// It refuses the text.
    Refused,
    /// The question met what the statement would have met, a KILL or a lock wait timeout: the ERR payload.
    Ended(Vec<u8>),
}

/// The error of a transaction whose snapshot is older than the table's definition.
pub(crate) const DEFINITION_CHANGED: (u16, &str, &str) = (
    ER_TABLE_DEF_CHANGED,
    "HY000",
    "Table definition has changed, please retry transaction",
);

impl Session {
    /// Asks whether the server refuses the client's statement for its text, so that nothing needs to be done before it
    /// runs. No round trip is needed for a shape that the server has accepted before.
    pub(crate) async fn foresee(&mut self, original: &Original) -> Result<Foreseen, Error> {
        let Some(text) = self.query_text(original)? else {
            return Ok(Foreseen::Nothing);
        };
        let text = text.to_vec();
        let variables = self.state.of_texts().cloned().unwrap_or_default();
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

    /// The text of a statement. `None` for an execution, in either protocol, which has only the id or the name of its
    /// statement.
    pub(crate) fn query_text<'a>(&self, original: &'a Original) -> Result<Option<&'a [u8]>, Error> {
        Ok(match original {
            Original::Payload(payload) if payload.first() == Some(&command::QUERY) => {
                let text = statement_text(payload, self.link.capabilities)?;
                Some(text).filter(|text| kind_of(text) != Kind::Execute)
            }
            _ => None,
        })
    }

    /// The error to send for a statement whose fold was refused with `error`. If a privilege or a column is missing,
    /// that is the original's own error, provided that the original is refused as well. If only the fold names the
    /// missing column, the table has been altered since the transaction began.
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

    /// Why the server would refuse a text, as far as it says so without running it: the ERR payload. When a statement
    /// is prepared, the server checks names and privileges, but reads no row.
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

    /// Has the server prepare a text, once. Returns the ERR payload if it does not.
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

    /// Whether the server accepts the text of a statement: whatever it refuses the statement for then, it has
    /// committed the open transaction before. The inner error is that of a KILL, which was meant for the statement.
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
            // MariaDB does not commit in order to prepare DDL, so it may report that the transaction is READ ONLY: it
            // accepts the text.
            Some(error) => Ok(is_read_only(&error)),
        })
    }
}

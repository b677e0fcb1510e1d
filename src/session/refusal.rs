//! What the server would refuse without running it, found out before anything of ours is done for it: a fold would
//! leave locks, or a transaction, behind a statement that MySQL has not even begun.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::Session;
use super::ddl::error_payload;
use super::error::Error;
use super::kind::kind_of;
use super::link::internal::{Failure, failure, is_interrupted};
use super::query::statement_text;
use super::read::DEFINITION_CHANGED;
use super::rights::is_access_denied;
use super::turn::Original;
use crate::sql::Kind;
use crate::wire::command::{self, encode_prepare};
use crate::wire::error_code::{self, lacks_object_privilege};
use crate::wire::reply;

/// How often the question is put again when a KILL QUERY meets it.
const MOST_TRIES: u8 = 20;

/// How many shapes a session remembers that the server has understood.
const MOST_UNDERSTOOD: usize = 256;

/// Hashes of the shapes of statements that the server has understood. A collision, or a table that has changed since,
/// costs no more than locks that a statement leaves when it is refused.
#[derive(Debug, Default)]
pub(super) struct Understood(HashSet<u64>);

impl Understood {
    fn hash(shape: &[u8]) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(shape)
    }

    fn insert(&mut self, hash: u64) {
        if self.0.len() >= MOST_UNDERSTOOD {
            self.0.clear();
        }
        self.0.insert(hash);
    }
}

/// What the server says of a statement that is still to run.
pub(super) enum Foreseen {
    /// Nothing that its text alone would tell.
    Nothing,
    /// It refuses the text.
    Refused,
    /// The question has met what the statement would have met: a KILL, a lock that was waited for too long. The ERR
    /// payload.
    Ended(Vec<u8>),
}

/// Whether an ERR payload tells that the text itself is at fault, and would be as a query: its syntax, its names, what
/// may stand where, what the account may see. Anything else is about preparing it (too many statements are prepared
/// already), and the query may well be answered.
pub(super) fn is_of_the_text(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_code_of_the_text(err.code))
}

/// The same of its code.
pub(super) fn is_code_of_the_text(code: u16) -> bool {
    const NAMES: [u16; 15] = [
        error_code::ER_NO_DB_ERROR,
        error_code::ER_BAD_DB_ERROR,
        error_code::ER_NON_UNIQ_ERROR,
        error_code::ER_BAD_FIELD_ERROR,
        error_code::ER_NONUNIQ_TABLE,
        error_code::ER_TABLE_NOT_LOCKED,
        error_code::ER_UNKNOWN_TABLE,
        error_code::ER_NO_SUCH_TABLE,
        error_code::ER_KEY_DOES_NOT_EXITS,
        error_code::ER_ILLEGAL_REFERENCE,
        error_code::ER_DERIVED_MUST_HAVE_ALIAS,
        error_code::ER_SP_DOES_NOT_EXIST,
        error_code::ER_VIEW_INVALID,
        error_code::ER_UNRESOLVED_TABLE_LOCK,
        error_code::ER_DUPLICATE_TABLE_LOCK,
    ];
    const FORM: [u16; 18] = [
        error_code::ER_WRONG_FIELD_WITH_GROUP,
        error_code::ER_WRONG_GROUP_FIELD,
        error_code::ER_PARSE_ERROR,
        error_code::ER_UPDATE_TABLE_USED,
        error_code::ER_FIELD_SPECIFIED_TWICE,
        error_code::ER_INVALID_GROUP_FUNC_USE,
        error_code::ER_WRONG_VALUE_COUNT_ON_ROW,
        error_code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
        error_code::ER_SYNTAX_ERROR,
        error_code::ER_WRONG_USAGE,
        error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
        error_code::ER_NOT_SUPPORTED_YET,
        error_code::ER_OPERAND_COLUMNS,
        error_code::ER_NON_UPDATABLE_TABLE,
        error_code::ER_SP_WRONG_NO_OF_ARGS,
        error_code::ER_SP_UNDECLARED_VAR,
        error_code::ER_NON_INSERTABLE_TABLE,
        error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
    ];
    lacks_object_privilege(code) || NAMES.contains(&code) || FORM.contains(&code)
}

/// Whether an ERR payload says that there is no such column: one that the rule knows, or one of the client's statement.
pub(super) fn is_unknown_column(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == error_code::ER_BAD_FIELD_ERROR)
}

impl Session {
    /// Asks whether the server refuses the client's statement for its text, so that nothing needs to be done before it
    /// runs. Without a round trip for a shape that it has understood before.
    pub(super) async fn foresee(&mut self, original: &Original) -> Result<Foreseen, Error> {
        let Some(text) = self.query_text(original)? else {
            return Ok(Foreseen::Nothing);
        };
        let text = text.to_vec();
        let facts = self.state.facts.clone().unwrap_or_default();
        let mut shape = std::mem::take(&mut self.shape);
        let has_literals = shape.lift(&text, &facts);
        let hash = Understood::hash(if has_literals { shape.text() } else { &text });
        self.shape = shape;
        if self.state.understood.0.contains(&hash) {
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
    pub(super) async fn is_refused(&mut self, original: &Original) -> Result<bool, Error> {
        Ok(matches!(self.foresee(original).await?, Foreseen::Refused))
    }

    /// The text of a statement. Of an execution, in either protocol, only the number or the name of the statement is
    /// here.
    pub(super) fn query_text<'a>(&self, original: &'a Original) -> Result<Option<&'a [u8]>, Error> {
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
    pub(super) async fn refusal_in_its_words(
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
    pub(super) async fn refusal_of(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, Error> {
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
    pub(super) async fn ask_to_prepare(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>, Error> {
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
}

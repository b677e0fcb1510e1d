//! Asks the upstream for the column definitions of the client's own text, and keeps them for as long as they are right
//! (`link::definitions`). The response to a rewritten text is shown under them.

use std::sync::Arc;

use crate::net::ReadError;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::definitions::{Agreement, Definitions};
use crate::session::reply::{Original, ReplyContext};
use crate::sql::{aggregates, may_call_routines, mentions};
use crate::wire::command::{encode_prepare, encode_query};
use crate::wire::materialized::{Kinds, Query};

/// For how many texts a session keeps the column definitions.
const MOST_DEFINITIONS: usize = 128;

/// A rewritten read that has been sent.
pub(crate) struct SentRead {
    /// The column definitions that the client must see.
    pub definitions: Arc<Definitions>,
    /// The upstream's id of the original, if it was prepared to ask for the definitions. It is still open.
    pub asked: Option<u32>,
}

/// How often a read is run under column definitions before it is folded.
pub(crate) const RUNS: usize = 2;

impl Session {
    /// Sends the rewritten text. If the column definitions of the original are not known yet, prepares the original
    /// first to ask for them. The inner error is the ERR payload if it is not prepared; the response to the rewritten
    /// text must still be read then.
    pub(crate) async fn send_read(
        &mut self,
        text: &[u8],
        rewritten: &[u8],
    ) -> Result<Result<SentRead, Vec<u8>>, Error> {
        let mut out = Vec::new();
        let known = self.state.definitions.get(text);
        if let Some(definitions) = known.filter(|known| !known.is_doubted()).cloned() {
            encode_query(&mut out, rewritten, self.link.capabilities);
            self.write_upstream(&out).await?;
            let asked = None;
            return Ok(Ok(SentRead { definitions, asked }));
        }
        encode_prepare(&mut out, text);
        encode_query(&mut out, rewritten, self.link.capabilities);
        self.write_upstream(&out).await?;
        let statement = match self.link.read_prepared().await? {
            Ok(statement) => statement,
            Err(error) => return Ok(Err(error)),
        };
        let definitions = match self.state.definitions.remove(text) {
            Some(mut doubted) => {
                Arc::make_mut(&mut doubted).renew(statement.columns);
                doubted
            }
            None => Arc::new(Definitions::new(statement.columns, self.column_kinds(text))),
        };
        let asked = Some(statement.id);
        Ok(Ok(SentRead { definitions, asked }))
    }

    /// What the columns of this query are, judged by its words, and by its select list if rows are grouped.
    pub(crate) fn column_kinds(&self, text: &[u8]) -> Option<Kinds> {
        if self.hot.catalog.mariadb {
            return None;
        }
        let has = |words: &[&[u8]]| words.iter().any(|word| mentions(text, word));
        let query = if has(&[b"UNION", b"INTERSECT", b"EXCEPT"]) {
            Query::Arms
        } else if has(&[b"OVER"]) && !has(&[b"GROUP"]) {
            Query::Windows
        } else if has(&[b"GROUP", b"DISTINCT"]) {
            Query::Groups
        } else {
            Query::Plain
        };
        let aggregates = match (query, self.state.of_texts()) {
            (Query::Groups, Some(variables)) => aggregates(text, variables),
            _ => Vec::new(),
        };
        Some(Kinds::new(query, aggregates))
    }

    /// Takes the column definitions of a text from this execution, if it may be run for them. The inner error is the
    /// ERR payload of the execution.
    pub(crate) async fn define_as_executed(
        &mut self,
        text: &[u8],
        original: &Original,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        if !may_run_twice(text) {
            return Ok(Ok(()));
        }
        let columns = match self.columns_as_executed(original).await? {
            Ok(columns) => columns,
            Err(error) => return Ok(Err(error)),
        };
        let definitions = match self.state.definitions.remove(text) {
            Some(mut known) => {
                Arc::make_mut(&mut known).renew(columns);
                known
            }
            None => Arc::new(Definitions::new(columns, self.column_kinds(text))),
        };
        self.remember_definitions(text, definitions);
        Ok(Ok(()))
    }

    fn remember_definitions(&mut self, text: &[u8], definitions: Arc<Definitions>) {
        let known = &mut self.state.definitions;
        if known.len() >= MOST_DEFINITIONS {
            known.clear();
        }
        known.insert(text.to_vec(), definitions);
    }

    /// Runs a query for its column definitions, and discards its rows. The inner error is the ERR payload that it ends
    /// with before them.
    pub(crate) async fn columns_as_executed(
        &mut self,
        original: &Original,
    ) -> Result<Result<Vec<Vec<u8>>, Vec<u8>>, Error> {
        let context = ReplyContext::single(original.response_kind());
        self.send_original(original, context).await?;
        let (columns, tracker) = self.link.read_columns(context.response_kind).await?;
        self.observe_internal(&tracker);
        Ok(columns)
    }

    /// Takes in whether the response under these definitions agreed with them. Returns false if it did not; nothing
    /// has been sent to the client then.
    pub(crate) fn note_agreement(
        &mut self,
        text: &[u8],
        sent: SentRead,
        agreement: Option<Agreement>,
    ) -> bool {
        let Some(agreement) = agreement else {
            return true;
        };
        let agrees = agreement != Agreement::Not;
        if (agrees && !sent.definitions.is_fresh()) || !keeps_types(text) {
            return agrees;
        }
        let mut definitions = sent.definitions;
        self.state.definitions.remove(text);
        Arc::make_mut(&mut definitions).note(agreement);
        self.remember_definitions(text, definitions);
        agrees
    }

    /// Closes the statement that gave the definitions. Call this only when the response has arrived: to a server that
    /// checks whether its client has gone, a command that waits unread shows that it has not.
    pub(crate) async fn close_asked(&mut self, asked: Option<u32>) -> Result<(), Error> {
        match asked.filter(|_| !self.link.shutdown_sent) {
            Some(id) => self.close_statement(id).await,
            None => Ok(()),
        }
    }

    /// Refuses to run a read again for a client that has closed: the upstream has been told, and takes no more
    /// commands.
    pub(crate) fn may_run_again(&self) -> Result<(), Error> {
        match self.link.client_closed {
            true => Err(Error::Client(ReadError::Closed)),
            false => Ok(()),
        }
    }
}

/// Whether running a query once more has no effect.
pub(crate) fn may_run_twice(text: &[u8]) -> bool {
    keeps_types(text) && !may_call_routines(text)
}

/// Whether a text has the same columns as long as no table changes, and may be run once more if one has. User variables
/// get a type only when they are read, and may be assigned to; user locks and sequences are changed by a run.
fn keeps_types(text: &[u8]) -> bool {
    const MARKS: [&[u8]; 4] = [b"_LOCK", b"NEXTVAL", b"SETVAL", b"NEXT VALUE"];
    let is_in = |text: &[u8], mark: &[u8]| memchr::memmem::find(text, mark).is_some();
    let upper = text.to_ascii_uppercase();
    // Two of them begin a system variable.
    let has_user_variable = text
        .split(|byte| !matches!(byte, b'@'))
        .any(|marks| marks.len() == 1);
    !has_user_variable && !MARKS.iter().any(|mark| is_in(&upper, mark))
}

//! The column definitions that a client is shown in the place of a rewritten text's own, and whether they are still
//! right.
//!
//! Tables may change between the statement that gave the definitions and the one that is answered under them. What the
//! rewritten text itself sends tells: it comes before the rows, and before anything has gone to the client.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::hidden::{LARGEST_ANSWER, encode_prepare, encode_query, encode_statement_command};
use super::turn::{Original, Turn};
use crate::sql::{aggregates, may_call_routines, mentions};
use crate::wire::answer::{Next, Role, Walker};
use crate::wire::column::Sent;
use crate::wire::command;
use crate::wire::materialized::{Kinds, Query};

/// How many things one rewritten text may be known to send: whether a temporary table is between is up to each plan,
/// and to cursors.
const MOST_SEEN: usize = 4;

/// How many texts a session keeps the column definitions of.
const MOST_DEFINITIONS: usize = 128;

/// Definitions to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definitions {
    /// One payload per column.
    pub columns: Vec<Vec<u8>>,
    /// What the original's columns are; `None` where a temporary table between changes nothing (MariaDB).
    pub kinds: Option<Kinds>,
    /// What the rewritten text sent while these were right.
    seen: Vec<Vec<Sent>>,
    standing: Standing,
}

/// What is to be thought of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The original has just been prepared for them; what the rewritten text sends next goes with them.
    Fresh,
    /// What goes with them is known.
    Known,
    /// Something else was sent; the original is to be prepared again.
    Doubted,
}

/// Whether what a rewritten text has sent goes with the definitions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// As it did before.
    Known,
    /// It is to be remembered.
    New(Vec<Sent>),
    /// No: the tables have changed, or the plan. The answer has been read to its end, and nothing of it has gone to the
    /// client.
    Not,
}

impl Definitions {
    /// For an original that has just been prepared.
    pub(super) fn new(columns: Vec<Vec<u8>>, kinds: Option<Kinds>) -> Self {
        Self {
            columns,
            kinds,
            seen: Vec::new(),
            standing: Standing::Fresh,
        }
    }

    /// The original has been prepared again. Where it has the same columns, what is sent is one more thing that goes
    /// with them.
    pub(super) fn renew(&mut self, columns: Vec<Vec<u8>>) {
        if self.columns != columns || self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        self.columns = columns;
        self.standing = Standing::Fresh;
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.standing == Standing::Fresh
    }

    pub(super) fn is_doubted(&self) -> bool {
        self.standing == Standing::Doubted
    }

    /// Compares with what the rewritten text has sent. `is_changed`: a column is not that of the original.
    pub(super) fn compare(&self, sent: Vec<Sent>, is_changed: bool) -> Agreement {
        match self.is_fresh() {
            _ if self.seen.contains(&sent) => Agreement::Known,
            true if !is_changed => Agreement::New(sent),
            _ => Agreement::Not,
        }
    }

    /// Takes in how the last answer agreed.
    pub(super) fn note(&mut self, agreement: Agreement) {
        self.standing = match agreement {
            Agreement::Not => Standing::Doubted,
            Agreement::Known => Standing::Known,
            Agreement::New(sent) => {
                self.seen.push(sent);
                Standing::Known
            }
        };
    }
}

/// A rewritten read on its way.
pub(super) struct SentRead {
    /// What the client is to see.
    pub definitions: Arc<Definitions>,
    /// The upstream's number of the original, prepared to be asked for them and still open.
    pub asked: Option<u32>,
}

impl Session {
    /// Sends the rewritten text, and before it, where they are not known yet, asks for the column definitions of
    /// the original by preparing it. The inner error is the ERR payload when it is not prepared; the rewritten text's
    /// answer is still to be read then.
    pub(super) async fn send_read(
        &mut self,
        text: &[u8],
        rewritten: &[u8],
    ) -> Result<Result<SentRead, Vec<u8>>, Error> {
        let mut out = Vec::new();
        let known = self.state.definitions.get(text);
        if let Some(definitions) = known.filter(|known| !known.is_doubted()).cloned() {
            encode_query(&mut out, rewritten, self.capabilities);
            self.write_upstream(&out).await?;
            let asked = None;
            return Ok(Ok(SentRead { definitions, asked }));
        }
        encode_prepare(&mut out, text);
        encode_query(&mut out, rewritten, self.capabilities);
        self.write_upstream(&out).await?;
        let statement = match self.read_prepared().await? {
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

    /// What the columns of this query are: judged by its words, and by its select list where rows are grouped.
    pub(super) fn column_kinds(&self, text: &[u8]) -> Option<Kinds> {
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
        let aggregates = match (query, &self.state.facts) {
            (Query::Groups, Some(facts)) => aggregates(text, facts),
            _ => Vec::new(),
        };
        Some(Kinds::new(query, aggregates))
    }

    /// Makes the column definitions of a text those of this execution, if it can be run for them. The inner error is the
    /// ERR payload of the execution.
    pub(super) async fn define_as_executed(
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

    /// Runs a query for its column definitions, and leaves its rows. The inner error is the ERR payload that it ends
    /// with before them.
    pub(super) async fn columns_as_executed(
        &mut self,
        original: &Original,
    ) -> Result<Result<Vec<Vec<u8>>, Vec<u8>>, Error> {
        let turn = Turn::single(original.form());
        self.send_original(original, turn).await?;
        let mut walker = Walker::new(turn.form, self.capabilities);
        let (mut columns, mut error) = (Vec::new(), None);
        let mut payload = Vec::new();
        while !walker.is_done() {
            match walker.next(self.upstream.buffered()) {
                Next::Need(_) => self.await_upstream_only().await?,
                Next::Packet {
                    role: role @ (Role::Column | Role::Err),
                    ..
                } => {
                    let read = self.upstream.read_payload(&mut payload, LARGEST_ANSWER);
                    read.await.map_err(Error::Upstream)?;
                    walker.read_whole();
                    match role {
                        Role::Column => columns.push(std::mem::take(&mut payload)),
                        _ => error = Some(std::mem::take(&mut payload)),
                    }
                }
                Next::Packet { length, .. } => self.skip_upstream(length).await?,
            }
        }
        self.observe_hidden(&walker);
        Ok(match error.filter(|_| columns.is_empty()) {
            Some(error) => Err(error),
            None => Ok(columns),
        })
    }

    /// Takes in how the answer under these definitions agreed with them; false when it did not, and nothing has gone to
    /// the client.
    pub(super) fn note_agreement(
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

    /// Closes the statement that gave the definitions. Not before the answer is there: to a server that looks whether
    /// its client has gone, a command that waits is a client.
    pub(super) async fn close_asked(&mut self, asked: Option<u32>) -> Result<(), Error> {
        let Some(id) = asked.filter(|_| !self.upstream_told) else {
            return Ok(());
        };
        let mut close = Vec::new();
        encode_statement_command(&mut close, command::STMT_CLOSE, id);
        self.write_upstream(&close).await
    }
}

/// Whether nothing comes of running a query once more.
pub(super) fn may_run_twice(text: &[u8]) -> bool {
    keeps_types(text) && !may_call_routines(text)
}

/// Whether a text has the same columns as long as no table changes, and may be run once more when one has. Variables
/// have a type only when they are read, and are assigned to; so are locks of the session and sequences.
fn keeps_types(text: &[u8]) -> bool {
    const MARKS: [&[u8]; 4] = [b"_LOCK", b"NEXTVAL", b"SETVAL", b"NEXT VALUE"];
    let is_in = |text: &[u8], mark: &[u8]| memchr::memmem::find(text, mark).is_some();
    let upper = text.to_ascii_uppercase();
    memchr::memchr(b'@', text).is_none() && !MARKS.iter().any(|mark| is_in(&upper, mark))
}

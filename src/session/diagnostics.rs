//! Questions about the client's last statement, where the upstream by itself would tell of a later one of ours: the COMMIT
//! after a fold, an upsert that counts an existing slot row twice.

use std::sync::Arc;

use super::Session;
use super::definitions::SentRead;
use super::error::Error;
use super::link::definitions::Definitions;
use super::link::internal::InternalResponse;
use super::link::rewrite::{Rewrite, patch_status};
use super::literal::string_literal;
use super::read::RUNS;
use super::state::diagnostics::{Diagnostics, is_shown};
use super::turn::{Done, Turn};
use crate::reason::Reason;
use crate::sql::Kind;
use crate::sql::diagnostics::Question;
use crate::wire::command::encode_query;
use crate::wire::packet::encode_packet;
use crate::wire::reader::Malformed;
use crate::wire::reply;
use crate::wire::response::{PacketKind, ResponseKind, ResponseTracker};

/// How much of an answer to SHOW WARNINGS is kept, in bytes: `max_error_count` messages, 1024 by default, fit.
const MOST_MESSAGES: usize = 1024 * 1024;

/// What became of a question.
pub(super) enum Told {
    /// It is answered.
    Done(Done),
    /// The statement has to run with this text in place of its own.
    Rewritten(Vec<u8>),
    /// The upstream can answer.
    Not,
}

/// Whether a query does nothing when it runs: it calls nothing, assigns nothing and touches no table.
fn is_repeatable(text: &[u8], question: &Question) -> bool {
    let Question::Numbers(places) = question else {
        return true;
    };
    let mut rest = text.to_ascii_uppercase();
    for (place, _) in places {
        rest[place.clone()].fill(b' ');
    }
    let has = |part: &[u8]| memchr::memmem::find(&rest, part).is_some();
    !has(b"(") && !has(b":=") && !has(b"FROM") && !has(b"INTO")
}

impl Session {
    /// The upstream's answer to SHOW WARNINGS, to be kept with these status flags cleared; `None` when that is too
    /// long.
    pub(super) async fn take_messages(
        &mut self,
        cleared: u16,
    ) -> Result<Option<Vec<(PacketKind, Vec<u8>)>>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, b"SHOW WARNINGS", self.link.capabilities);
        self.write_upstream(&out).await?;
        let mut tracker = ResponseTracker::new(ResponseKind::Results, self.link.capabilities);
        let mut packets = Vec::new();
        let mut length = 0;
        while !tracker.is_done() {
            let mut payload = Vec::new();
            let packet_kind = self.link.read_packet(&mut tracker, &mut payload).await?;
            length += payload.len();
            if length > MOST_MESSAGES {
                packets.clear();
                continue;
            }
            if matches!(packet_kind, PacketKind::RowsEnd | PacketKind::Separator) {
                patch_status(&mut payload, cleared, 0);
            }
            packets.push((packet_kind, payload));
        }
        self.state.tracked.see_ours(&tracker);
        Ok((length <= MOST_MESSAGES).then_some(packets))
    }

    /// Asks the upstream for the numbers that tell of the client's last statement, before statements of our own.
    pub(super) async fn keep_numbers(&mut self) -> Result<(), Error> {
        let question = "SELECT ROW_COUNT(), @@warning_count, @@error_count";
        let InternalResponse::Row(row) = self.run_internal(question).await? else {
            return Ok(());
        };
        let number = |position: usize| -> Option<i64> {
            let value: &Option<Vec<u8>> = row.get(position)?;
            std::str::from_utf8(value.as_ref()?).ok()?.parse().ok()
        };
        let count = |position: usize| number(position).and_then(|count| count.try_into().ok());
        if let Some(row_count) = number(0) {
            self.state.diagnostics = Some(Diagnostics {
                row_count,
                messages: None,
                counts: count(1).zip(count(2)),
            });
        }
        Ok(())
    }

    /// Raises the error of a statement once more, behind a COMMIT that has cleared it, where it can be raised so that
    /// it reads the same: then it is the upstream's to tell, in every way in which it can be asked.
    pub(super) async fn raise_again(&mut self, last: &[u8]) -> Result<(), Error> {
        const LONGEST_MESSAGE: usize = 128;
        let Some(diagnostics) = &self.state.diagnostics else {
            return Ok(());
        };
        let (Some((1, 1)), Ok(error)) = (diagnostics.counts, reply::Err::decode(last)) else {
            return Ok(());
        };
        let (state, message) = (error.sql_state, error.message);
        let is_plain = message.iter().all(|byte| matches!(byte, b' '..=b'~'));
        // What a client raises itself has no origin.
        if !is_plain || message.len() > LONGEST_MESSAGE || state.starts_with(b"45") {
            return Ok(());
        }
        let facts = self.state.facts.as_ref();
        let plain = facts.is_some_and(|facts| facts.no_backslash_escapes);
        let state = String::from_utf8_lossy(state);
        let origin = match self.hot.catalog.mariadb {
            true => "",
            false => "CLASS_ORIGIN = 'ISO 9075', SUBCLASS_ORIGIN = 'ISO 9075', ",
        };
        let mut text = format!(
            "SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {}, {origin}MESSAGE_TEXT = ",
            error.code
        )
        .into_bytes();
        text.extend(string_literal(message, plain));
        if let InternalResponse::Err(raised) = self.run_internal(text).await?
            && raised == last
        {
            self.state.diagnostics = None;
        }
        Ok(())
    }

    /// Answers a question about the statement before from what is kept of it.
    pub(super) async fn tell(
        &mut self,
        diagnostics: Diagnostics,
        question: &Question,
        text: &[u8],
        kind: Kind,
        turn: Turn,
    ) -> Result<Told, Error> {
        let is_select = kind == Kind::Select && !self.is_hot(text, kind);
        let rewritten = match question {
            Question::Messages { errors, limit } => {
                // There are none, whatever a statement of ours has been warned of since: behind ROLLBACK TO SAVEPOINT
                // servers warn of temporary tables and of tables without transactions (1751, 1196).
                let none = match (&diagnostics.messages, diagnostics.counts) {
                    (None, Some((0, 0))) => self.take_messages(0).await?,
                    _ => None,
                };
                let (messages, limit) = match (&diagnostics.messages, &none) {
                    (Some(messages), _) => (messages, *limit),
                    (None, Some(none)) => (none, Some((0, 0))),
                    (None, None) => return Ok(Told::Not),
                };
                self.count(Reason::Metadata);
                let done = self.show(messages, *errors, limit, turn).await?;
                // It leaves the messages, and has no rows of its own to count.
                self.state.diagnostics = Some(Diagnostics {
                    row_count: -1,
                    ..diagnostics
                });
                return Ok(Told::Done(done));
            }
            Question::Into(items) => {
                let Some(assignment) = diagnostics.assigned(items) else {
                    return Ok(Told::Not);
                };
                let done = self.assign(diagnostics, assignment, turn).await?;
                return Ok(Told::Done(done));
            }
            Question::Count(count) => match diagnostics.number(*count) {
                Some(count) => format!("SELECT {count}").into_bytes(),
                None => return Ok(Told::Not),
            },
            Question::Numbers(places) => diagnostics.edited(text, places),
        };
        if !is_select && !matches!(question, Question::Count(_)) {
            return Ok(Told::Rewritten(rewritten));
        }
        self.count(Reason::Metadata);
        for _ in 0..RUNS {
            let sent = match self.send_read(text, &rewritten).await? {
                Ok(sent) => sent,
                Err(_) if is_repeatable(text, question) => {
                    self.read_internal().await?;
                    // MySQL prepares no text that names these variables.
                    let definitions = Definitions::new(self.columns_of(text).await?, None);
                    let definitions = Arc::new(definitions);
                    let mut out = Vec::new();
                    encode_query(&mut out, &rewritten, self.link.capabilities);
                    self.write_upstream(&out).await?;
                    let asked = None;
                    SentRead { definitions, asked }
                }
                Err(_) => {
                    self.read_internal().await?;
                    return Ok(Told::Not);
                }
            };
            let rewrite = Rewrite {
                columns: Some(&sent.definitions),
                ..turn.rewrite()
            };
            let ended = self.pass_rewritten(turn.response_kind, rewrite).await?;
            self.close_asked(sent.asked).await?;
            if self.note_agreement(text, sent, ended.agreement) {
                let failed = ended.tracker.error().is_some();
                if !failed && matches!(question, Question::Count(_)) {
                    // It leaves the messages.
                    self.state.diagnostics = Some(Diagnostics {
                        row_count: -1,
                        ..diagnostics
                    });
                }
                return Ok(Told::Done(Done {
                    sequence_id: ended.sequence_id,
                    failed,
                }));
            }
            self.may_run_again()?;
        }
        Ok(Told::Not)
    }

    /// Answers GET DIAGNOSTICS by an assignment.
    pub(super) async fn assign(
        &mut self,
        diagnostics: Diagnostics,
        assignment: Vec<u8>,
        turn: Turn,
    ) -> Result<Done, Error> {
        match self.run_internal(assignment).await? {
            InternalResponse::Ok(ok) => {
                // It leaves what it tells of.
                self.state.diagnostics = Some(diagnostics);
                self.answer_ok(turn, ok).await
            }
            InternalResponse::Err(error) => self.answer_err(turn, &error).await,
            InternalResponse::Row(_) => Err(Malformed.into()),
        }
    }

    /// The column definitions of a query that may be run for their sake.
    async fn columns_of(&mut self, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, text, self.link.capabilities);
        self.write_upstream(&out).await?;
        let mut tracker = ResponseTracker::new(ResponseKind::Results, self.link.capabilities);
        let mut columns = Vec::new();
        while !tracker.is_done() {
            let mut payload = Vec::new();
            if self.link.read_packet(&mut tracker, &mut payload).await? == PacketKind::Column {
                columns.push(payload);
            }
        }
        self.observe_internal(&tracker);
        Ok(columns)
    }

    async fn show(
        &mut self,
        messages: &[(PacketKind, Vec<u8>)],
        errors: bool,
        limit: Option<(usize, usize)>,
        turn: Turn,
    ) -> Result<Done, Error> {
        let (skipped, most) = limit.unwrap_or((0, usize::MAX));
        let mut out = Vec::new();
        let mut sequence_id = turn.sequence_id;
        let mut rows = 0;
        for (packet_kind, payload) in messages {
            if *packet_kind == PacketKind::Row {
                let shown = is_shown(*packet_kind, payload, errors);
                rows += usize::from(shown);
                if !shown || rows <= skipped || rows - skipped > most {
                    continue;
                }
            }
            let mut payload = payload.clone();
            if matches!(packet_kind, PacketKind::RowsEnd | PacketKind::Separator) {
                patch_status(&mut payload, 0, turn.rewrite().set_status);
            }
            sequence_id = encode_packet(&mut out, sequence_id, &payload);
        }
        self.link.client.write(&out).await.map_err(Error::client)?;
        Ok(Done {
            sequence_id,
            failed: false,
        })
    }
}

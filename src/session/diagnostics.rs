//! What MySQL would tell of the client's last statement, where by itself it would tell of a later one of ours: the
//! COMMIT behind a fold, an upsert that counts an existing slot row twice.

use std::ops::Range;
use std::sync::Arc;

use super::Session;
use super::definitions::SentRead;
use super::error::Error;
use super::link::definitions::Definitions;
use super::link::internal::InternalResponse;
use super::link::rewrite::{Rewrite, patch_status};
use super::literal::string_literal;
use super::read::RUNS;
use super::turn::{Done, Turn};
use crate::reason::Reason;
use crate::sql::Kind;
use crate::sql::diagnostics::{Number, Question};
use crate::sql::template::{Filling, Template};
use crate::wire::answer::{Form, Role, Walker};
use crate::wire::command::encode_query;
use crate::wire::packet::encode_packet;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::reply::{self, Ok as OkPacket};

/// How much of an answer to SHOW WARNINGS is kept, in bytes: `max_error_count` messages, 1024 by default, fit.
const MOST_MESSAGES: usize = 1024 * 1024;

/// Kept from one statement to the next.
#[derive(Debug)]
pub(super) struct Diagnostics {
    /// ROW_COUNT()
    pub row_count: i64,
    /// The answer to SHOW WARNINGS, packet by packet; `None` when the upstream still has it.
    pub messages: Option<Vec<(Role, Vec<u8>)>>,
    /// How many messages there are, and how many of them are errors, where that is known.
    counts: Option<(usize, usize)>,
}

/// What became of a question.
pub(super) enum Told {
    /// It is answered.
    Done(Done),
    /// The statement has to run with this text in place of its own.
    Rewritten(Vec<u8>),
    /// The upstream can answer.
    Not,
}

impl Diagnostics {
    /// After a statement whose answer ended in this packet.
    pub(super) fn of(last: &[u8], messages: Option<Vec<(Role, Vec<u8>)>>) -> Self {
        let (row_count, is_quiet) = match (last.first(), OkPacket::decode(last)) {
            (Some(&reply::OK), Ok(ok)) => {
                let count = i64::try_from(ok.affected_rows).unwrap_or(i64::MAX);
                (count, ok.warnings == 0)
            }
            _ => (-1, false),
        };
        let counts = match &messages {
            Some(messages) => Some((count(messages, false), count(messages, true))),
            None => is_quiet.then_some((0, 0)),
        };
        Self {
            row_count,
            messages,
            counts,
        }
    }

    /// After a statement that has failed in another session, or behind whose error statements of ours have run: it had
    /// one message.
    pub(super) fn of_an_error() -> Self {
        Self {
            row_count: -1,
            messages: None,
            counts: Some((1, 1)),
        }
    }

    /// There are no messages: the statement has left none, or one that the upstream has prepared since has cleared them.
    pub(super) fn clear_messages(&mut self) {
        self.messages = None;
        self.counts = Some((0, 0));
    }

    /// A number, as a literal; `None` where the upstream still has it.
    fn number(&self, number: Number) -> Option<String> {
        match number {
            // In parentheses, as it may be negative.
            Number::RowCount => Some(format!("({})", self.row_count)),
            Number::Warnings => self.counts.map(|(messages, _)| unsigned(messages)),
            Number::Errors => self.counts.map(|(_, errors)| unsigned(errors)),
        }
    }

    /// The text with the numbers that are known in the places where it asks for them.
    pub(super) fn edited(&self, text: &[u8], places: &[(Range<usize>, Number)]) -> Vec<u8> {
        let mut edited = Template::default();
        let mut at = 0;
        for (place, which) in places {
            let value = self.number(*which).map(String::into_bytes);
            edited
                .append_apart(&Template::text(&text[at..place.start]))
                .append_apart(&Template::text(
                    value.as_deref().unwrap_or(&text[place.clone()]),
                ));
            at = place.end;
        }
        edited.append_apart(&Template::text(&text[at..]));
        let mut out = Vec::new();
        edited.render(&Filling::default(), &mut out);
        out
    }

    /// GET DIAGNOSTICS as an assignment; `None` where one of the numbers is not known, or where the assignment would
    /// take from the upstream what it is to tell.
    pub(super) fn assigned(&self, items: &[(Vec<u8>, Number)]) -> Option<Vec<u8>> {
        if self.messages.is_none() && self.counts != Some((0, 0)) {
            return None;
        }
        let assignments = items.iter().map(|(variable, which)| {
            let value = self.number(*which)?;
            Some([variable, b" = ".as_slice(), value.as_bytes()].concat())
        });
        let assignments: Option<Vec<_>> = assignments.collect();
        Some([b"SET ".as_slice(), &assignments?.join(&b", "[..])].concat())
    }
}

fn unsigned(number: usize) -> String {
    format!("CAST({number} AS UNSIGNED)")
}

/// Messages; of level Error only where asked.
fn count(messages: &[(Role, Vec<u8>)], errors: bool) -> usize {
    let shown = messages
        .iter()
        .filter(|(role, row)| is_shown(*role, row, errors));
    shown.count()
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

/// Whether a packet is the row of a message that is asked for.
fn is_shown(role: Role, row: &[u8], errors: bool) -> bool {
    let level = Reader::new(row).lenenc_bytes();
    role == Role::Row && (!errors || level == Ok(b"Error"))
}

impl Session {
    /// The upstream's answer to SHOW WARNINGS, to be kept with these status flags cleared; `None` when that is too
    /// long.
    pub(super) async fn take_messages(
        &mut self,
        cleared: u16,
    ) -> Result<Option<Vec<(Role, Vec<u8>)>>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, b"SHOW WARNINGS", self.link.capabilities);
        self.write_upstream(&out).await?;
        let mut walker = Walker::new(Form::Results, self.link.capabilities);
        let mut packets = Vec::new();
        let mut length = 0;
        while !walker.is_done() {
            let mut payload = Vec::new();
            let role = self.link.read_packet(&mut walker, &mut payload).await?;
            length += payload.len();
            if length > MOST_MESSAGES {
                packets.clear();
                continue;
            }
            if matches!(role, Role::RowsEnd | Role::Separator) {
                patch_status(&mut payload, cleared, 0);
            }
            packets.push((role, payload));
        }
        self.state.tracked.see_ours(&walker);
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
            let ended = self.pass_rewritten(turn.form, rewrite).await?;
            self.close_asked(sent.asked).await?;
            if self.note_agreement(text, sent, ended.agreement) {
                let failed = ended.walker.error().is_some();
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
        let mut walker = Walker::new(Form::Results, self.link.capabilities);
        let mut columns = Vec::new();
        while !walker.is_done() {
            let mut payload = Vec::new();
            if self.link.read_packet(&mut walker, &mut payload).await? == Role::Column {
                columns.push(payload);
            }
        }
        self.observe_internal(&walker);
        Ok(columns)
    }

    async fn show(
        &mut self,
        messages: &[(Role, Vec<u8>)],
        errors: bool,
        limit: Option<(usize, usize)>,
        turn: Turn,
    ) -> Result<Done, Error> {
        let (skipped, most) = limit.unwrap_or((0, usize::MAX));
        let mut out = Vec::new();
        let mut sequence_id = turn.sequence_id;
        let mut rows = 0;
        for (role, payload) in messages {
            if *role == Role::Row {
                let shown = is_shown(*role, payload, errors);
                rows += usize::from(shown);
                if !shown || rows <= skipped || rows - skipped > most {
                    continue;
                }
            }
            let mut payload = payload.clone();
            if matches!(role, Role::RowsEnd | Role::Separator) {
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

//! Statements that ask about the one before them (SHOW WARNINGS, ROW_COUNT(), GET DIAGNOSTICS), in every form in which
//! they come: as text, prepared, or with hot tables.

use std::sync::Arc;

use crate::session::Session;
use crate::session::act::invocation::Invocation;
use crate::session::definitions::{RUNS, SentRead};
use crate::session::error::Error;
use crate::session::link::definitions::Definitions;
use crate::session::link::internal::InternalResponse;
use crate::session::link::rewrite::{Promised, Rewrite, patch_status};
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::diagnostics::{Diagnostics, is_shown};
use crate::session::text::kind_of;
use crate::sql::diagnostics::{Question, may_ask, may_ask_for_messages, may_be_question};
use crate::sql::plan::Reason;
use crate::sql::{self, Kind, Values, decide};
use crate::wire::command::encode_query;
use crate::wire::packet::encode_packet;
use crate::wire::reader::Malformed;
use crate::wire::response::{PacketKind, ResponseKind, ResponseTracker};
use crate::wire::status;

/// The outcome of a statement that asks about the one before it.
pub(crate) enum QuestionOutcome {
    /// The client has its response.
    Replied(Replied),
    /// The statement must run with this text in place of its own.
    Rewritten(Vec<u8>),
    /// It was not answered here: the upstream can answer it.
    Not,
}

impl Session {
    /// Keeps what a statement may ask about the one before it, if an internal query is due first: that would clear the
    /// diagnostics that MySQL has.
    pub(crate) async fn keep_what_it_may_ask_for(&mut self, text: &[u8]) -> Result<(), Error> {
        let is_query_due = self.state.variables.is_none() || self.state.temporary.are_doubted;
        if !is_query_due {
            return Ok(());
        }
        if let Some(kept) = self.state.diagnostics.take() {
            self.state.diagnostics = Some(match kept.are_upstream() {
                true => self.complete(kept).await?,
                false => kept,
            });
            return Ok(());
        }
        if may_ask(text) || sql::prepare::may_execute(text) {
            self.keep_numbers().await?;
        } else if may_ask_for_messages(text) {
            let messages = self.take_messages().await?;
            self.state.diagnostics = Some(Diagnostics::of(&[], messages));
        }
        Ok(())
    }

    /// The same, with the messages that the upstream still has.
    async fn complete(&mut self, kept: Diagnostics) -> Result<Diagnostics, Error> {
        let messages = self.take_messages().await?;
        Ok(Diagnostics {
            row_count: kept.row_count,
            ..Diagnostics::of(&[], messages)
        })
    }

    /// Answers what a statement asks about the one before it, if the upstream would report on an internal statement.
    pub(crate) async fn ask_of_last(
        &mut self,
        text: &[u8],
        kind: Kind,
        context: ReplyContext,
    ) -> Result<QuestionOutcome, Error> {
        if !may_be_question(text, kind) {
            self.forget_diagnostics(kind);
            return Ok(QuestionOutcome::Not);
        }
        // Internal statements run before the client's.
        if self.state.diagnostics.is_none() && may_ask(text) && self.is_hot(text, kind) {
            self.keep_numbers().await?;
        }
        let Some(diagnostics) = self.state.diagnostics.take() else {
            return Ok(QuestionOutcome::Not);
        };
        let variables = self.state.of_texts().cloned().unwrap_or_default();
        // The body of a routine asks when it runs, and the columns of a WITH are not known.
        let may_have_body = matches!(kind, Kind::Ddl | Kind::Other | Kind::With);
        match sql::diagnostics::question(text, &variables) {
            Some(question) if !may_have_body && !sql::is_several(text, &variables) => {
                let answered = self.answer_question(diagnostics, &question, text, kind, context);
                Box::pin(answered).await
            }
            _ => Ok(QuestionOutcome::Not),
        }
    }

    /// Runs a statement with an edited text, under the column definitions of the client's own text.
    pub(crate) async fn act_with(
        &mut self,
        edited: &[u8],
        text: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let plan = self.plan(edited).await?;
        let is_read = decide(&plan, self.circumstances(edited, Values::Known)).is_read();
        // MySQL prepares no text that names these variables.
        let asks_for_counts = ["WARNING_COUNT", "ERROR_COUNT"]
            .iter()
            .any(|name| sql::mentions(text, name.as_bytes()));
        if is_read
            && asks_for_counts
            && !self.hot.catalog.mariadb
            && let Err(error) = self.define_as_executed(text, original).await?
        {
            return self.reply_err(context, &error).await;
        }
        match original {
            Original::Payload(payload) if !is_read && kind_of(text) != Kind::Select => {
                let prefix = payload.len() - text.len();
                let original = Original::Payload([&payload[..prefix], edited].concat());
                let invocation = Invocation::of_text(edited, &original, context);
                self.act(&plan, invocation).await
            }
            _ => {
                let invocation = Invocation::of_text(text, original, context);
                self.act(&plan, invocation).await
            }
        }
    }

    /// Answers a question about the statement before from what is kept of it.
    pub(crate) async fn answer_question(
        &mut self,
        mut diagnostics: Diagnostics,
        question: &Question,
        text: &[u8],
        kind: Kind,
        context: ReplyContext,
    ) -> Result<QuestionOutcome, Error> {
        self.count_messages(&mut diagnostics, question, text)
            .await?;
        let is_select = kind == Kind::Select && !self.is_hot(text, kind);
        let rewritten = match question {
            Question::Messages { errors, limit } => {
                // There are no messages, whatever warnings an internal statement has raised since: after ROLLBACK TO
                // SAVEPOINT, servers warn of temporary tables and of tables without transactions (1751, 1196).
                let none = match (&diagnostics.messages, diagnostics.counts) {
                    (None, Some((0, 0))) => self.take_messages().await?,
                    _ => None,
                };
                let (messages, limit) = match (&diagnostics.messages, &none) {
                    (Some(messages), _) => (messages, *limit),
                    (None, Some(none)) => (none, Some((0, 0))),
                    (None, None) => return Ok(QuestionOutcome::Not),
                };
                self.count(Reason::Metadata);
                let done = self.show(messages, *errors, limit, context).await?;
                // SHOW WARNINGS leaves the messages, and has no rows of its own to count.
                self.state.diagnostics = Some(Diagnostics {
                    row_count: -1,
                    ..diagnostics
                });
                return Ok(QuestionOutcome::Replied(done));
            }
            Question::Into(items) => {
                let Some(assignment) = diagnostics.assigned(items) else {
                    return Ok(QuestionOutcome::Not);
                };
                let done = self.assign(diagnostics, assignment, context).await?;
                return Ok(QuestionOutcome::Replied(done));
            }
            Question::Count(count) => match diagnostics.number(*count) {
                Some(count) => format!("SELECT {count}").into_bytes(),
                None => return Ok(QuestionOutcome::Not),
            },
            Question::Numbers(places) => diagnostics.edited(text, places),
        };
        if !is_select && !matches!(question, Question::Count(_)) {
            return Ok(QuestionOutcome::Rewritten(rewritten));
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
                    return Ok(QuestionOutcome::Not);
                }
            };
            let rewrite = Rewrite {
                columns: Some(Promised {
                    definitions: &sent.definitions,
                    are_needed: false,
                }),
                ..context.rewrite()
            };
            let ended = self.pass_rewritten(context.response_kind, rewrite).await?;
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
                return Ok(QuestionOutcome::Replied(Replied {
                    sequence_id: ended.sequence_id,
                    failed,
                }));
            }
            self.may_run_again()?;
        }
        Ok(QuestionOutcome::Not)
    }

    /// Answers GET DIAGNOSTICS by an assignment.
    pub(crate) async fn assign(
        &mut self,
        diagnostics: Diagnostics,
        assignment: Vec<u8>,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        match self.run_internal(assignment).await? {
            InternalResponse::Ok(ok) => {
                // GET DIAGNOSTICS leaves the diagnostics that it reads.
                self.state.diagnostics = Some(diagnostics);
                self.reply_ok(context, ok).await
            }
            InternalResponse::Err(error) => self.reply_err(context, &error).await,
            InternalResponse::Row(_) => Err(Malformed.into()),
        }
    }

    /// The column definitions of a query that may be run to get them.
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
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let (skipped, most) = limit.unwrap_or((0, usize::MAX));
        let mut out = Vec::new();
        let mut sequence_id = context.sequence_id;
        let mut rows = 0;
        // The messages may have been taken within a transaction that has ended since.
        let transaction = status::IN_TRANS | status::IN_TRANS_READONLY;
        let set_status = context.rewrite().set_status | (self.state.last.status & transaction);
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
                patch_status(&mut payload, transaction, set_status);
            }
            sequence_id = encode_packet(&mut out, sequence_id, &payload);
        }
        self.link.client.write(&out).await.map_err(Error::client)?;
        Ok(Replied {
            sequence_id,
            failed: false,
        })
    }
}

/// Whether running a query does nothing else: it calls nothing, assigns nothing and reads no table.
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

//! Diagnostics of the client's last statement that are kept because the upstream by itself would report on a later
//! internal statement: the COMMIT after a fold, or an upsert that counts an existing slot row twice.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::literal::string_literal;
use crate::session::reply::Original;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::text::{kind_of, statement_text};
use crate::sql::diagnostics::{Number, Question};
use crate::sql::mentions;
use crate::wire::command::{self, encode_query};
use crate::wire::error_code::ER_PARSE_ERROR;
use crate::wire::reply;
use crate::wire::response::{PacketKind, ResponseKind, ResponseTracker};

/// How much of a response to SHOW WARNINGS is kept, in bytes. `max_error_count` messages, 1024 by default, fit.
const MOST_MESSAGES: usize = 1024 * 1024;

/// Asks for the messages of the statement before it.
pub(crate) const SHOW_WARNINGS: &[u8] = b"SHOW WARNINGS";

impl Session {
    /// The upstream's response to SHOW WARNINGS, to be kept. `None` if it is too long.
    pub(crate) async fn take_messages(
        &mut self,
    ) -> Result<Option<Vec<(PacketKind, Vec<u8>)>>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, SHOW_WARNINGS, self.link.capabilities);
        self.write_upstream(&out).await?;
        self.read_messages().await
    }

    /// The response to [`SHOW_WARNINGS`], to be kept. `None` if it is too long.
    pub(crate) async fn read_messages(
        &mut self,
    ) -> Result<Option<Vec<(PacketKind, Vec<u8>)>>, Error> {
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
            packets.push((packet_kind, payload));
        }
        self.state.tracked.see_internal(&tracker);
        // A KILL may have met the question.
        let is_known = length <= MOST_MESSAGES && tracker.error().is_none();
        Ok(is_known.then_some(packets))
    }

    /// Asks the upstream for the numbers that describe the client's last statement, before internal statements run.
    pub(crate) async fn keep_numbers(&mut self) -> Result<(), Error> {
        let question = "SELECT ROW_COUNT(), @@warning_count, @@error_count LIMIT 1";
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
                are_counted: true,
            });
        }
        Ok(())
    }

    /// Asks, between two commands of the client's, whether its transaction is still open; the client may ask about its
    /// last statement afterwards all the same.
    pub(crate) async fn ask_between(&mut self) -> Result<(), Error> {
        let owes_loss = std::mem::take(&mut self.link.owes_loss);
        match self.state.diagnostics {
            // COM_PING changes ROW_COUNT(), too.
            None => self.keep_numbers().await?,
            Some(_) => self.ping().await?,
        }
        if owes_loss {
            self.take_silent_loss();
        }
        Ok(())
    }

    /// Finds the counts of messages that a question is about, as the statement that asks will see them. MariaDB clears
    /// the messages when a statement opens a table. On MySQL, preparing the text with the answers in it would.
    pub(crate) async fn count_messages(
        &mut self,
        diagnostics: &mut Diagnostics,
        question: &Question,
        text: &[u8],
    ) -> Result<(), Error> {
        let Question::Numbers(places) = question else {
            return Ok(());
        };
        if places.iter().all(|(_, number)| *number == Number::RowCount) {
            return Ok(());
        }
        let opens_a_table = kind_of(text).is_write() || mentions(text, b"FROM");
        if self.hot.catalog.mariadb && opens_a_table {
            diagnostics.counts = Some((0, 0));
        } else if diagnostics.counts.is_none() {
            self.keep_numbers().await?;
            let asked = self.state.diagnostics.take();
            diagnostics.counts = asked.and_then(|asked| asked.counts);
        }
        Ok(())
    }

    /// Raises a statement's error again after a COMMIT that has cleared it, if it can be raised so that it reads the
    /// same. The upstream then reports it itself, in whichever way the client asks.
    pub(crate) async fn raise_again(&mut self, last: &[u8]) -> Result<(), Error> {
        const LONGEST_MESSAGE: usize = 128;
        let Some(diagnostics) = &self.state.diagnostics else {
            return Ok(());
        };
        let (Some((1, 1)), Ok(error)) = (diagnostics.counts, reply::Err::decode(last)) else {
            return Ok(());
        };
        let state = error.sql_state;
        // It may be in UTF-16.
        let message = error.message.iter().copied().filter(|&byte| byte != 0);
        let message: Vec<u8> = message.collect();
        let is_plain = message.iter().all(|byte| matches!(byte, b' '..=b'~'));
        // MariaDB sends no message then.
        let is_told = !message.is_empty() && message.len() <= LONGEST_MESSAGE;
        // A condition that a client raises itself has no origin.
        if !is_plain || !is_told || state.starts_with(b"45") {
            return Ok(());
        }
        let variables = self.state.of_texts();
        let plain = variables.is_some_and(|variables| variables.no_backslash_escapes);
        let state = String::from_utf8_lossy(state);
        let origin = match self.hot.catalog.mariadb {
            true => "",
            // That of a KILL is none of the standard's.
            false if state.starts_with("70") => {
                "CLASS_ORIGIN = 'MySQL', SUBCLASS_ORIGIN = 'MySQL', "
            }
            false => "CLASS_ORIGIN = 'ISO 9075', SUBCLASS_ORIGIN = 'ISO 9075', ",
        };
        let mut text = format!(
            "SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {}, {origin}MESSAGE_TEXT = ",
            error.code
        )
        .into_bytes();
        text.extend(string_literal(&message, plain));
        if let InternalResponse::Err(raised) = self.run_internal(text).await?
            && raised == last
        {
            self.state.diagnostics = None;
        }
        Ok(())
    }

    /// The same for a text that MySQL cannot parse: the error quotes it, and is longer than one that can be raised may
    /// be. To prepare the text raises it too, and runs nothing.
    pub(crate) async fn raise_syntax_error_again(
        &mut self,
        original: &Original,
        last: &[u8],
    ) -> Result<(), Error> {
        const LONGEST_TEXT: usize = 64 * 1024;
        const NAME: &str = "countersink_syntax_error";
        let counts = self.state.diagnostics.as_ref().map(|kept| kept.counts);
        let is_syntax_error =
            reply::Err::decode(last).is_ok_and(|error| error.code == ER_PARSE_ERROR);
        if self.hot.catalog.mariadb || counts != Some(Some((1, 1))) || !is_syntax_error {
            return Ok(());
        }
        let Original::Payload(payload) = original else {
            return Ok(());
        };
        let Some(variables) = self
            .state
            .of_texts()
            .filter(|_| payload.first() == Some(&command::QUERY))
        else {
            return Ok(());
        };
        let text = statement_text(payload, self.link.capabilities)?;
        if text.len() > LONGEST_TEXT {
            return Ok(());
        }
        let literal = string_literal(text, variables.no_backslash_escapes);
        let prepare = [format!("PREPARE {NAME} FROM ").as_bytes(), &literal].concat();
        match self.run_internal(prepare).await? {
            InternalResponse::Err(raised) if raised == last => self.state.diagnostics = None,
            InternalResponse::Err(_) => {}
            _ => {
                self.run_internal(format!("DEALLOCATE PREPARE {NAME}"))
                    .await?;
            }
        }
        Ok(())
    }
}

//! What MySQL would tell of the client's last statement, where by itself it would tell of a later one of ours: the COMMIT
//! behind a fold, an upsert that counts an existing slot row twice.

use super::Session;
use super::error::Error;
use super::hidden::encode_query;
use super::patched::{Patch, patch_status};
use super::turn::{Done, Original, Turn};
use crate::reason::Reason;
use crate::sql::diagnostics::{Number, Question};
use crate::wire::answer::{Form, Role, Walker};
use crate::wire::packet::encode_packet;
use crate::wire::reader::Reader;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// How much of an answer to SHOW WARNINGS is kept, in bytes: `max_error_count` messages, 1024 by default, fit.
const MOST_MESSAGES: usize = 1024 * 1024;

/// Kept from one statement to the next.
#[derive(Debug)]
pub(super) struct Diagnostics {
    /// ROW_COUNT()
    pub row_count: i64,
    /// The answer to SHOW WARNINGS, packet by packet; `None` when the upstream still has it.
    pub messages: Option<Vec<(Role, Vec<u8>)>>,
}

impl Diagnostics {
    /// After a statement whose answer ended in this packet.
    pub(super) fn of(last: &[u8], messages: Option<Vec<(Role, Vec<u8>)>>) -> Self {
        let row_count = match (last.first(), OkPacket::decode(last)) {
            (Some(&reply::OK), Ok(ok)) => i64::try_from(ok.affected_rows).unwrap_or(i64::MAX),
            _ => -1,
        };
        Self {
            row_count,
            messages,
        }
    }

    /// Messages; of level Error only where asked.
    fn count(&self, errors: bool) -> Option<usize> {
        let messages = self.messages.as_ref()?.iter();
        Some(
            messages
                .filter(|(role, row)| is_shown(*role, row, errors))
                .count(),
        )
    }
}

/// Whether a packet is the row of a message that is asked for.
fn is_shown(role: Role, row: &[u8], errors: bool) -> bool {
    let level = Reader::new(row).lenenc_bytes();
    role == Role::Row && (!errors || level == Ok(b"Error"))
}

impl Session {
    /// The upstream's answer to SHOW WARNINGS, to be kept; `None` when that is too long.
    pub(super) async fn take_messages(&mut self) -> Result<Option<Vec<(Role, Vec<u8>)>>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, b"SHOW WARNINGS", self.capabilities);
        self.write_upstream(&out).await?;
        let mut walker = Walker::new(Form::Results, self.capabilities);
        let mut packets = Vec::new();
        let mut length = 0;
        while !walker.is_done() {
            let mut payload = Vec::new();
            let role = self.read_packet(&mut walker, &mut payload).await?;
            length += payload.len();
            if length > MOST_MESSAGES {
                packets.clear();
                continue;
            }
            if matches!(role, Role::RowsEnd | Role::Separator) {
                // They will be shown when our transaction has ended.
                patch_status(
                    &mut payload,
                    status::IN_TRANS | status::IN_TRANS_READONLY,
                    0,
                );
            }
            packets.push((role, payload));
        }
        Ok((length <= MOST_MESSAGES).then_some(packets))
    }

    /// Answers a question about the statement before from what is kept of it; `None` when the upstream can answer.
    pub(super) async fn tell(
        &mut self,
        diagnostics: Diagnostics,
        question: &Question,
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Option<Done>, Error> {
        let number = |number: Number| match number {
            Number::RowCount => Some(diagnostics.row_count.to_string()),
            Number::Warnings => diagnostics.count(false).map(|count| count.to_string()),
            Number::Errors => diagnostics.count(true).map(|count| count.to_string()),
        };
        let rewritten = match question {
            Question::Messages { errors, limit } => {
                let Some(messages) = &diagnostics.messages else {
                    return Ok(None);
                };
                self.metrics().count(Reason::Metadata);
                let done = self.show(messages, *errors, *limit, turn).await?;
                self.state.diagnostics = Some(diagnostics);
                return Ok(Some(done));
            }
            Question::Count(count) => {
                number(*count).map(|count| format!("SELECT {count}").into_bytes())
            }
            Question::Numbers(places) => {
                let mut rewritten = Vec::new();
                let mut at = 0;
                for (place, which) in places {
                    rewritten.extend_from_slice(&text[at..place.start]);
                    match number(*which) {
                        // In parentheses, as it may be negative.
                        Some(value) => rewritten.extend_from_slice(format!("({value})").as_bytes()),
                        None => rewritten.extend_from_slice(&text[place.clone()]),
                    }
                    at = place.end;
                }
                rewritten.extend_from_slice(&text[at..]);
                Some(rewritten)
            }
        };
        let Some(rewritten) = rewritten else {
            return Ok(None);
        };
        self.metrics().count(Reason::Metadata);
        let Some(sent) = self.send_read(text, &rewritten).await? else {
            return self.run_original(original, turn).await.map(Some);
        };
        let patch = Patch {
            columns: Some(&sent.columns),
            ..turn.patch()
        };
        let ended = self.pass_patched(turn.form, patch).await?;
        self.close_asked(sent.asked).await?;
        Ok(Some(Done {
            sequence_id: ended.sequence_id,
            failed: ended.walker.error().is_some(),
        }))
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
                patch_status(&mut payload, 0, turn.patch().set_status);
            }
            sequence_id = encode_packet(&mut out, sequence_id, &payload);
        }
        self.client.write(&out).await.map_err(Error::client)?;
        Ok(Done {
            sequence_id,
            failed: false,
        })
    }
}

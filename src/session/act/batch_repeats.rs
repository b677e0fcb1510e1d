//! Statements that several sessions want alike: the first runs as it came, and one statement does what the others
//! would.

use crate::counter::combine::{Answer, Message};
use crate::session::Session;
use crate::session::act::batch_outcome::{is_in_transaction, is_of_the_statement};
use crate::session::act::batch_steps::{End, Sent, Steps, is_command_denied};
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::link::rewrite::patch_status;
use crate::session::state::combining::Combining;
use crate::sql::plan::RepeatedAs;
use crate::wire::command::encode_query;
use crate::wire::error_code::ER_WARN_DEPRECATED_SYNTAX;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::reply::Ok as OkPacket;
use crate::wire::response::PacketKind;
use crate::wire::status;

/// A statement for so many sessions.
struct Try {
    /// The step that they are of.
    index: usize,
    /// For how many sessions it is.
    count: u32,
    text: Vec<u8>,
}

/// What one has come to.
enum Tried {
    /// It has done what they want.
    Done(Vec<u8>),
    /// It is not what they would do.
    TooMany,
    End(End),
}

impl Session {
    /// Does in the open transaction what the others want whose first one has changed the row. Where it is too much for
    /// all of them, as when a stock runs out, it is tried for half as many.
    pub(super) async fn run_repeats(&mut self, steps: &mut Steps) -> Result<(), Error> {
        let mut tries: Vec<Try> = (0..steps.sent.len())
            .filter_map(|index| steps.first_try(index))
            .collect();
        for shape in steps.one_by_one.drain(..) {
            self.shared.learn_one_by_one(shape);
        }
        while !tries.is_empty() && steps.end.is_none() {
            let mut out = Vec::new();
            for tried in &tries {
                encode_query(&mut out, &tried.text, self.link.capabilities);
            }
            // A response at the end that says whether the transaction is open. An ERR does not.
            encode_query(&mut out, b"DO 0", self.link.capabilities);
            self.write_upstream(&out).await?;
            let mut next = Vec::new();
            for tried in tries {
                let response = self.read_internal().await?;
                match steps.judge(&tried, response)? {
                    Tried::Done(ok) => steps.others[tried.index] = steps.answers(&tried, ok)?,
                    Tried::TooMany => next.extend(steps.next_try(tried.index, tried.count / 2)),
                    Tried::End(end) => {
                        if matches!(&end, End::Error(error) if is_command_denied(error)) {
                            self.state.combining = Combining::Alone;
                        }
                        steps.end = steps.end.take().or(Some((tried.index, end)));
                    }
                }
            }
            let is_open = match self.read_internal().await? {
                InternalResponse::Ok(ok) => is_in_transaction(&ok),
                _ => false,
            };
            if !is_open && steps.end.is_none() {
                steps.end = Some((steps.sent.len(), End::Closed));
            }
            tries = next;
        }
        Ok(())
    }
}

/// Whether a response to SHOW WARNINGS has only messages that a text gets each time, whatever it finds: that its
/// syntax is deprecated. MySQL says so of VALUES(), which most upserts have.
fn are_of_the_text(messages: &[Message]) -> bool {
    let code = |row: &[u8]| {
        let mut row = Reader::new(row);
        row.lenenc_bytes().ok()?;
        let code = row.lenenc_bytes().ok()?;
        std::str::from_utf8(code).ok()?.parse::<u16>().ok()
    };
    let mut rows = messages.iter().filter(|(kind, _)| *kind == PacketKind::Row);
    rows.all(|(_, row)| code(row) == Some(ER_WARN_DEPRECATED_SYNTAX))
}

impl Steps {
    /// For all others of a step, if its first one has changed the row. They would be warned as it was, if that is for
    /// the text alone.
    fn first_try(&mut self, index: usize) -> Option<Try> {
        let Sent::Repeated {
            others,
            shape,
            repeated,
            ..
        } = &self.sent[index]
        else {
            return None;
        };
        let first = self.written(index)?;
        let ok = OkPacket::decode(&first.payload).ok()?;
        let is_told_alike = repeated.row.repeat.as_ref()?.answered == RepeatedAs::Upsert
            && first.messages.as_deref().is_some_and(are_of_the_text);
        if ok.warnings > 0 && !is_told_alike {
            self.one_by_one.push(*shape);
            return None;
        }
        (ok.affected_rows > 0).then(|| self.next_try(index, *others))?
    }

    /// For so many others of a step, or for fewer if that is too much at once.
    fn next_try(&self, index: usize, mut count: u32) -> Option<Try> {
        let Sent::Repeated { repeated, .. } = &self.sent[index] else {
            return None;
        };
        let repeat = repeated.row.repeat.as_ref()?;
        while count > 0 {
            if let Some(text) = repeat.render(&repeated.parameters, &repeated.amounts, count) {
                return Some(Try { index, count, text });
            }
            count /= 2;
        }
        None
    }

    fn judge(&mut self, tried: &Try, response: InternalResponse) -> Result<Tried, Error> {
        let Sent::Repeated { shape, .. } = &self.sent[tried.index] else {
            return Ok(Tried::TooMany);
        };
        Ok(match response {
            InternalResponse::Ok(payload) => {
                let ok = OkPacket::decode(&payload)?;
                if !is_in_transaction(&payload) {
                    // What it has done is committed, and the first one's statement is not.
                    return Err(Malformed.into());
                }
                match (ok.warnings, ok.affected_rows) {
                    (0, 1) => Tried::Done(payload),
                    (0, _) => Tried::TooMany,
                    _ => {
                        self.one_by_one.push(*shape);
                        Tried::End(End::Unasked)
                    }
                }
            }
            InternalResponse::Err(error) if is_of_the_statement(&error) => Tried::TooMany,
            InternalResponse::Err(error) => Tried::End(End::Error(error)),
            InternalResponse::Row(_) => return Err(Malformed.into()),
        })
    }

    /// How each of the sessions is answered whose statements this one has done.
    fn answers(&self, tried: &Try, mut ok: Vec<u8>) -> Result<Vec<Answer>, Error> {
        let Sent::Repeated { repeated, .. } = &self.sent[tried.index] else {
            return Ok(Vec::new());
        };
        let answered = repeated.row.repeat.as_ref().map(|repeat| repeat.answered);
        patch_status(&mut ok, status::IN_TRANS | status::IN_TRANS_READONLY, 0);
        let encoded = |ok: OkPacket<'_>| {
            let mut payload = Vec::new();
            ok.encode(&mut payload);
            Answer::from(payload)
        };
        let one = match answered {
            Some(RepeatedAs::Upsert) => {
                let first = self.written(tried.index).ok_or(Malformed)?;
                let ok = OkPacket::decode(&first.payload)?;
                Answer {
                    messages: first.messages.clone(),
                    ..encoded(OkPacket {
                        affected_rows: 2,
                        ..ok
                    })
                }
            }
            Some(RepeatedAs::Sequence(position)) => {
                let last = OkPacket::decode(&ok)?;
                let addend = repeated
                    .amounts
                    .get(position)
                    .and_then(|amount| amount.whole());
                let addend = addend.ok_or(Malformed)?;
                let handed_out = (0..tried.count).rev().map(|behind| {
                    // LAST_INSERT_ID() is unsigned, and shows a negative number as its complement.
                    let id = i128::from(last.last_insert_id) - i128::from(behind) * addend;
                    encoded(OkPacket {
                        last_insert_id: id.rem_euclid(1 << 64) as u64,
                        ..last
                    })
                });
                return Ok(handed_out.collect());
            }
            Some(RepeatedAs::Update) | None => Answer::from(ok),
        };
        Ok(vec![one; tried.count as usize])
    }
}

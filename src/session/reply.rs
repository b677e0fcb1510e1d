//! What the client is sent: its original, the reply context (the place of a response among those of one packet), and
//! packets of the proxy's own.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::rewrite::{Rewrite, patch_status};
use crate::sql::Kind;
use crate::wire::execute::CURSOR_TYPES;
use crate::wire::packet::{HEADER_LENGTH, encode_packet};
use crate::wire::reply::{self, Ok as OkPacket, row_counts};
use crate::wire::response::ResponseKind;
use crate::wire::{command, status};

/// The client's own command, to be run as it came.
#[derive(Debug)]
pub(crate) enum Original {
    /// Its payload, which has been taken from the client's stream.
    Payload(Vec<u8>),
    /// It is too long to hold, and still in the client's stream.
    Stream,
}

impl Original {
    /// The kind of its response. A command too long to hold is not looked into.
    pub(crate) fn response_kind(&self) -> ResponseKind {
        match self {
            Self::Payload(payload) => ResponseKind::of(payload),
            Self::Stream => ResponseKind::Results,
        }
    }

    /// Whether it is a prepared statement that opens, or may open, a cursor.
    pub(crate) fn may_open_cursor(&self) -> bool {
        match self {
            Self::Stream => true,
            Self::Payload(payload) => match payload[..] {
                // int<1> command, int<4> statement_id, int<1> flags
                [command::STMT_EXECUTE, _, _, _, _, flags, ..] => flags & CURSOR_TYPES != 0,
                _ => payload.first() != Some(&command::QUERY),
            },
        }
    }
}

/// Where a statement's response belongs among the responses of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyContext {
    /// The kind of the response.
    pub response_kind: ResponseKind,
    /// Sequence id of the response's first packet.
    pub sequence_id: u8,
    /// Another statement of the same packet follows.
    pub more: bool,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replied {
    /// Sequence id of the next packet toward the client.
    pub sequence_id: u8,
    /// The response was an ERR.
    pub failed: bool,
}

/// A response whose last packet is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldResponse {
    /// The packet's sequence id.
    sequence_id: u8,
    /// The packet's payload.
    pub last: Vec<u8>,
    /// It is an ERR.
    pub failed: bool,
}

impl HeldResponse {
    /// An ERR payload in place of the response.
    pub(crate) fn refused(context: ReplyContext, error: Vec<u8>) -> Self {
        Self {
            sequence_id: context.sequence_id,
            last: error,
            failed: true,
        }
    }
}

impl ReplyContext {
    /// The context of the only statement in its packet.
    pub(crate) fn single(response_kind: ResponseKind) -> Self {
        Self {
            response_kind,
            sequence_id: 1,
            more: false,
        }
    }

    /// The rewrite that gives a response its place, and changes nothing else.
    pub(crate) fn rewrite<'a>(self) -> Rewrite<'a> {
        Rewrite {
            sequence_id: self.sequence_id,
            set_status: match self.more {
                true => status::MORE_RESULTS_EXISTS,
                false => 0,
            },
            ..Rewrite::default()
        }
    }

    fn is_single(self) -> bool {
        self.sequence_id == 1 && !self.more
    }
}

impl Session {
    /// Sends the client's command to the upstream as it came. The context that is returned has the sequence id of the
    /// response, which follows that of a command of several packets.
    pub(crate) async fn send_original(
        &mut self,
        original: &Original,
        context: ReplyContext,
    ) -> Result<ReplyContext, Error> {
        match original {
            Original::Stream => {
                let sequence_id = self.pass_command().await?;
                Ok(ReplyContext {
                    sequence_id: sequence_id.wrapping_add(1),
                    ..context
                })
            }
            Original::Payload(payload) => {
                self.send_payload(payload).await?;
                Ok(context)
            }
        }
    }

    /// Sends a command to the upstream.
    pub(crate) async fn send_payload(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut out = Vec::with_capacity(payload.len() + HEADER_LENGTH);
        encode_packet(&mut out, 0, payload);
        self.write_upstream(&out).await
    }

    /// Runs the client's command as it came, and forwards the response.
    pub(crate) async fn run_original(
        &mut self,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let single = context.is_single();
        let context = self.send_original(original, context).await?;
        if single {
            let tracker = self.pass_response(context.response_kind).await?;
            return Ok(Replied {
                sequence_id: 0,
                failed: tracker.error().is_some(),
            });
        }
        let ended = self
            .pass_rewritten(context.response_kind, context.rewrite())
            .await?;
        Ok(Replied {
            sequence_id: ended.sequence_id,
            failed: ended.tracker.error().is_some(),
        })
    }

    /// Does the same, and returns the response's last packet as well.
    pub(crate) async fn run_original_and_see(
        &mut self,
        original: &Original,
        context: ReplyContext,
    ) -> Result<(Replied, Vec<u8>), Error> {
        let held = self.run_original_and_hold(original, context, false).await?;
        let done = self.release(&held).await?;
        Ok((done, held.last))
    }

    /// Does the same, except that the response's last packet is held, and must still be sent. `hide_transaction`: the
    /// client must not see that the transaction is the proxy's own.
    pub(crate) async fn run_original_and_hold(
        &mut self,
        original: &Original,
        context: ReplyContext,
        hide_transaction: bool,
    ) -> Result<HeldResponse, Error> {
        let context = self.send_original(original, context).await?;
        let rewrite = Rewrite {
            hold_last: true,
            hide_transaction,
            ..context.rewrite()
        };
        let ended = self.pass_rewritten(context.response_kind, rewrite).await?;
        let last = ended.held.unwrap_or_default();
        self.learn_language(&last);
        Ok(HeldResponse {
            sequence_id: ended.sequence_id,
            last,
            failed: ended.tracker.error().is_some(),
        })
    }

    /// Sends the packet that was held.
    pub(crate) async fn release(&mut self, held: &HeldResponse) -> Result<Replied, Error> {
        Ok(Replied {
            sequence_id: self.send_packet(held.sequence_id, &held.last).await?,
            failed: held.failed,
        })
    }

    /// Sends the client an OK payload as the response.
    pub(crate) async fn reply_ok(
        &mut self,
        context: ReplyContext,
        mut payload: Vec<u8>,
    ) -> Result<Replied, Error> {
        patch_status(&mut payload, 0, context.rewrite().set_status);
        self.report_transaction(&mut payload)?;
        self.link.timing.error = None;
        Ok(Replied {
            sequence_id: self.send_packet(context.sequence_id, &payload).await?,
            failed: false,
        })
    }

    /// Sends the client an ERR payload as the response.
    pub(crate) async fn reply_err(
        &mut self,
        context: ReplyContext,
        payload: &[u8],
    ) -> Result<Replied, Error> {
        // If there was a loss, this is it.
        self.state.lost = None;
        self.link.rolled_back = None;
        self.link.timing.error = reply::Err::decode(payload).ok().map(|error| error.code);
        Ok(Replied {
            sequence_id: self.send_packet(context.sequence_id, payload).await?,
            failed: true,
        })
    }

    /// Learns the words of the session's language from a response, if that is an UPDATE's.
    pub(crate) fn learn_language(&mut self, ok: &[u8]) {
        if let Some(variables) = &mut self.state.variables
            && self.state.running.kind == Kind::Update
        {
            variables.info.learn(ok, self.link.capabilities);
        }
    }
}

/// The payload of an ERR packet: code, state and message.
pub(crate) fn error_payload((code, sql_state, message): (u16, &str, &str)) -> Vec<u8> {
    let mut payload = Vec::new();
    reply::Err {
        code,
        sql_state: sql_state.as_bytes(),
        message: message.as_bytes(),
    }
    .encode(&mut payload);
    payload
}

/// Whether a response's last packet reports warnings, or is an error.
pub(crate) fn has_messages(last: &[u8], response_kind: ResponseKind) -> bool {
    match (last.first(), OkPacket::decode(last)) {
        (Some(&reply::ERR), _) => true,
        // In the old EOF, the warning count comes first. MySQL opens a cursor with one that does not count the
        // warnings.
        (Some(&reply::EOF), _) if last.len() == 5 => {
            last[1..3] != [0, 0] || response_kind == ResponseKind::Cursor
        }
        (Some(_), Ok(ok)) => {
            matches!(response_kind, ResponseKind::Results | ResponseKind::Cursor) && ok.warnings > 0
        }
        _ => false,
    }
}

/// Whether a statement of this kind whose response ends with this packet has changed nothing.
pub(crate) fn changes_nothing(last: &[u8], kind: Kind) -> bool {
    if last.first() == Some(&reply::ERR) {
        return true;
    }
    let Some(ok) = OkPacket::decode(last)
        .ok()
        .filter(|ok| ok.header == reply::OK)
    else {
        // The response is rows: of a query, or of RETURNING.
        return !kind.is_write();
    };
    // With CLIENT_FOUND_ROWS, the packet counts the rows that an UPDATE has matched; its info text has both counts.
    // The text of an INSERT has three numbers as well. If the kind does not show which it is, an English text does.
    let says_so = || memchr::memmem::find(ok.tail, b"Rows matched: ").is_some();
    match row_counts(ok.tail) {
        Some((_, changed)) if matches!(kind, Kind::Update | Kind::With) || says_so() => {
            changed == 0
        }
        _ => ok.affected_rows == 0,
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_update_has_changed_is_told_in_every_language() {
        let nothing = |info: &[u8], kind| {
            let mut payload = Vec::new();
            let length = u8::try_from(info.len()).expect("short");
            OkPacket {
                header: 0,
                affected_rows: 1,
                last_insert_id: 0,
                status: 2,
                warnings: 0,
                tail: &[&[length], info].concat(),
            }
            .encode(&mut payload);
            changes_nothing(&payload, kind)
        };
        let english = b"Rows matched: 1  Changed: 0  Warnings: 0";
        assert!(nothing(english, Kind::Update));
        assert!(nothing(english, Kind::Other));
        assert!(nothing(
            b"gefunden: 1  ge\xC3\xA4ndert: 0  Warnungen: 0",
            Kind::Update
        ));
        let records = b"Records: 1  Duplicates: 0  Warnings: 0";
        assert!(!nothing(records, Kind::Insert));
        assert!(!nothing(records, Kind::Other));
    }
}

//! One statement's turn: what the client sent, and how its answer stands among the answers of one packet.

use super::Session;
use super::error::Error;
use super::link::rewrite::{Rewrite, patch_status};
use crate::wire::command;
use crate::wire::execute::CURSOR_TYPES;
use crate::wire::packet::{HEADER_LENGTH, encode_packet};
use crate::wire::response::ResponseKind;
use crate::wire::status;

/// The client's own command, to be run as it came.
#[derive(Debug)]
pub(super) enum Original {
    /// Its payload, already taken from the client's stream.
    Payload(Vec<u8>),
    /// Too long to hold: still in the client's stream.
    Stream,
}

impl Original {
    /// The form of its answer. What is too long to hold is not looked into.
    pub(super) fn response_kind(&self) -> ResponseKind {
        match self {
            Self::Payload(payload) => ResponseKind::of(payload),
            Self::Stream => ResponseKind::Results,
        }
    }

    /// Whether it is a prepared statement that is to open a cursor, or may be.
    pub(super) fn may_open_cursor(&self) -> bool {
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

/// Where a statement's answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The form of the answer.
    pub response_kind: ResponseKind,
    /// Sequence id of the answer's first packet.
    pub sequence_id: u8,
    /// Another statement of the same packet follows.
    pub more: bool,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// Sequence id of the next packet toward the client.
    pub sequence_id: u8,
    /// The answer was an ERR.
    pub failed: bool,
}

/// An answer whose last packet is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Its sequence id.
    sequence_id: u8,
    /// Its payload.
    pub last: Vec<u8>,
    /// It is an ERR.
    pub failed: bool,
}

impl Held {
    /// An ERR payload in the place of the answer.
    pub(super) fn refused(turn: Turn, error: Vec<u8>) -> Self {
        Self {
            sequence_id: turn.sequence_id,
            last: error,
            failed: true,
        }
    }
}

impl Turn {
    /// The only statement of its packet.
    pub(super) fn single(response_kind: ResponseKind) -> Self {
        Self {
            response_kind,
            sequence_id: 1,
            more: false,
        }
    }

    /// What puts the response in its place, and changes nothing else.
    pub(super) fn rewrite<'a>(self) -> Rewrite<'a> {
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
    /// Sends the client's command to the upstream as it came. The turn that is returned has the answer's sequence
    /// id right behind a command of several packets.
    pub(super) async fn send_original(
        &mut self,
        original: &Original,
        turn: Turn,
    ) -> Result<Turn, Error> {
        match original {
            Original::Stream => {
                let sequence_id = self.pass_command().await?;
                Ok(Turn {
                    sequence_id: sequence_id.wrapping_add(1),
                    ..turn
                })
            }
            Original::Payload(payload) => {
                self.send_payload(payload).await?;
                Ok(turn)
            }
        }
    }

    /// Sends a command to the upstream.
    pub(super) async fn send_payload(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut out = Vec::with_capacity(payload.len() + HEADER_LENGTH);
        encode_packet(&mut out, 0, payload);
        self.write_upstream(&out).await
    }

    /// Runs the client's command as it came and passes the answer on.
    pub(super) async fn run_original(
        &mut self,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let single = turn.is_single();
        let turn = self.send_original(original, turn).await?;
        if single {
            let tracker = self.pass_answer(turn.response_kind).await?;
            return Ok(Done {
                sequence_id: 0,
                failed: tracker.error().is_some(),
            });
        }
        let ended = self
            .pass_rewritten(turn.response_kind, turn.rewrite())
            .await?;
        Ok(Done {
            sequence_id: ended.sequence_id,
            failed: ended.tracker.error().is_some(),
        })
    }

    /// The same; gives the answer's last packet as well.
    pub(super) async fn run_original_and_see(
        &mut self,
        original: &Original,
        turn: Turn,
    ) -> Result<(Done, Vec<u8>), Error> {
        let held = self.run_original_and_hold(original, turn, false).await?;
        let done = self.let_go(&held).await?;
        Ok((done, held.last))
    }

    /// The same, but for the answer's last packet, which is still to be sent. `hide_transaction`: that the transaction
    /// is ours is not for the client.
    pub(super) async fn run_original_and_hold(
        &mut self,
        original: &Original,
        turn: Turn,
        hide_transaction: bool,
    ) -> Result<Held, Error> {
        let turn = self.send_original(original, turn).await?;
        let rewrite = Rewrite {
            hold_last: true,
            hide_transaction,
            ..turn.rewrite()
        };
        let ended = self.pass_rewritten(turn.response_kind, rewrite).await?;
        let last = ended.held.unwrap_or_default();
        self.learn_language(&last);
        Ok(Held {
            sequence_id: ended.sequence_id,
            last,
            failed: ended.tracker.error().is_some(),
        })
    }

    /// Sends the packet that was held.
    pub(super) async fn let_go(&mut self, held: &Held) -> Result<Done, Error> {
        Ok(Done {
            sequence_id: self.answer(held.sequence_id, &held.last).await?,
            failed: held.failed,
        })
    }

    /// Answers with an OK payload.
    pub(super) async fn answer_ok(
        &mut self,
        turn: Turn,
        mut payload: Vec<u8>,
    ) -> Result<Done, Error> {
        patch_status(&mut payload, 0, turn.rewrite().set_status);
        self.tell_of_transaction(&mut payload)?;
        Ok(Done {
            sequence_id: self.answer(turn.sequence_id, &payload).await?,
            failed: false,
        })
    }

    /// Answers with an ERR payload.
    pub(super) async fn answer_err(&mut self, turn: Turn, payload: &[u8]) -> Result<Done, Error> {
        Ok(Done {
            sequence_id: self.answer(turn.sequence_id, payload).await?,
            failed: true,
        })
    }
}

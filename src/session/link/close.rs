//! A session's end in the middle of a command, of which the upstream has said why.
//!
//! A server that is sent more than max_allowed_packet says so at once (1153) and closes with most of the statement
//! unread, so that the rest cannot be sent. What it said is there to be read, and is the client's answer.

use super::Link;
use crate::session::error::Error;
use crate::wire::error_code::ER_NET_PACKET_TOO_LARGE;
use crate::wire::reply;

/// The longest ERR payload that is passed on so, in bytes.
const LONGEST_WORD: usize = 64 * 1024;

/// How far the command at hand is answered.
#[derive(Debug, Default)]
pub struct Answered {
    /// Sequence id of the next packet toward the client, where the session itself numbers them.
    pub next: Option<u8>,
    /// The last that was heard from the upstream is that a packet was too large, and the client has not been told.
    refusal: Option<Vec<u8>>,
}

impl Link {
    /// Takes in an ERR payload that the client has not been given.
    pub fn note_refusal(&mut self, error: &[u8]) {
        if reply::Err::decode(error).is_ok_and(|err| err.code == ER_NET_PACKET_TOO_LARGE) {
            self.answered.refusal = Some(error.to_vec());
        }
    }

    /// Whether the client is still to be told that a packet was too large. Behind one MySQL closes, MariaDB may go on.
    /// The client is told of the one, and not where something else was sent meanwhile, of which nobody knows what
    /// became.
    pub fn owes_refusal(&self) -> bool {
        self.answered.refusal.is_some()
    }

    /// The upstream goes on behind a packet that was too large.
    pub fn forget_refusal(&mut self) {
        self.answered.refusal = None;
    }

    /// The client has been given a packet by the session itself.
    pub fn has_answered(&mut self, next_sequence_id: u8) {
        self.answered = Answered {
            next: Some(next_sequence_id),
            refusal: None,
        };
    }

    /// What the upstream has said before it was lost by this error, and the client has not been told: an ERR payload,
    /// with the sequence id under which it is to be sent.
    pub async fn unsaid(&mut self, error: &Error) -> Option<(u8, Vec<u8>)> {
        let word = match error {
            Error::NotSent(_) => self.last_word().await,
            Error::Upstream(_) => None,
            _ => return None,
        };
        let answered = std::mem::take(&mut self.answered);
        let refusal = answered.refusal.map(|error| (1, error));
        let (sequence_id, error) = word.or(refusal)?;
        Some((answered.next.unwrap_or(sequence_id), error))
    }

    /// What the upstream has said to a command that it did not take whole: its first packet, if that is an ERR. Behind
    /// another one it would be about a statement of ours, and not about that of the client.
    async fn last_word(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut payload = Vec::new();
        let read = self.upstream.read_payload(&mut payload, LONGEST_WORD).await;
        let sequence_id = read.ok()?;
        (payload.first() == Some(&reply::ERR)).then_some((sequence_id, payload))
    }
}

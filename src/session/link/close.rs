//! A session's end in the middle of a command, when the upstream has said why.
//!
//! A server that is sent more than max_allowed_packet reports that at once (1153) and closes with most of the
//! statement unread, so the rest cannot be sent. Its ERR packet can still be read, and is the client's response.

use super::Link;
use crate::session::error::Error;
use crate::wire::error_code::{ER_NET_PACKET_TOO_LARGE, is_rolled_back};
use crate::wire::reply;

/// The longest ERR payload that is passed on in this case, in bytes.
const LONGEST_WORD: usize = 64 * 1024;

/// How much of the response to the current command the client has.
#[derive(Debug, Default)]
pub struct Answered {
    /// Sequence id of the next packet toward the client, if the session numbers the packets itself.
    pub next: Option<u8>,
    /// It has all of it.
    pub is_whole: bool,
    /// The ERR payload, if the upstream's last response was that a packet was too large, and the client does not have
    /// it.
    refusal: Option<Vec<u8>>,
}

impl Link {
    /// Takes in an ERR payload that the client has not received.
    pub fn note_refusal(&mut self, error: &[u8]) {
        let Ok(err) = reply::Err::decode(error) else {
            return;
        };
        if err.code == ER_NET_PACKET_TOO_LARGE {
            self.answered.refusal = Some(error.to_vec());
        } else if is_rolled_back(err.code, err.message) {
            self.rolled_back = Some(error.to_vec());
        }
    }

    /// Whether the client must still be told that a packet was too large. After that error MySQL closes, while MariaDB
    /// may go on. The client gets the error if the connection is lost, but not if something else was sent meanwhile:
    /// nobody knows the outcome of that.
    pub fn owes_refusal(&self) -> bool {
        self.answered.refusal.is_some()
    }

    /// Takes in that the upstream goes on after a packet that was too large.
    pub fn forget_refusal(&mut self) {
        self.answered.refusal = None;
    }

    /// Takes in that the session itself has sent the client a packet.
    pub fn has_answered(&mut self, next_sequence_id: u8) {
        self.answered = Answered {
            next: Some(next_sequence_id),
            is_whole: false,
            refusal: None,
        };
    }

    /// The last ERR payload that the upstream sent before it was lost by this error, if the client does not have it,
    /// with the sequence id under which to send it.
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

    /// The upstream's response to a command that it did not take whole: its first packet, if that is an ERR. After
    /// another packet, the ERR would be about an internal statement, not about the client's.
    async fn last_word(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut payload = Vec::new();
        let read = self.upstream.read_payload(&mut payload, LONGEST_WORD).await;
        let sequence_id = read.ok()?;
        (payload.first() == Some(&reply::ERR)).then_some((sequence_id, payload))
    }
}

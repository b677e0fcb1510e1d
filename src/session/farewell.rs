//! A session's end in the middle of a command, of which the upstream has said why.
//!
//! A server that is sent more than max_allowed_packet says so at once (1153) and closes with most of the statement
//! unread, so that the rest cannot be sent. What it said is there to be read, and is the client's answer.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use super::Session;
use super::error::Error;
use crate::net::PacketStream;
use crate::wire::reply;

/// Longest that it may take to tell a client why its connection ends, or to leave an upstream.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// Of what a client that has been told still sends, so much is read, in bytes.
const MOST_DRAINED: usize = 64 * 1024 * 1024;

/// The longest ERR payload that is passed on so, in bytes.
const LONGEST_WORD: usize = 64 * 1024;

/// The server's code for a packet that is too large.
const PACKET_TOO_LARGE: u16 = 1153;

/// How far the command at hand is answered.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// Sequence id of the next packet toward the client, where the session itself numbers them.
    pub next: Option<u8>,
    /// The last that was heard from the upstream is that a packet was too large, and the client has not been told.
    refusal: Option<Vec<u8>>,
}

impl Session {
    /// Takes in an ERR payload that the client has not been given.
    pub(super) fn note_refusal(&mut self, error: &[u8]) {
        if reply::Err::decode(error).is_ok_and(|err| err.code == PACKET_TOO_LARGE) {
            self.answered.refusal = Some(error.to_vec());
        }
    }

    /// To be called before something is sent. Behind a packet that was too large MySQL closes, MariaDB may go on: the
    /// client is told of the one, and not where something else was sent meanwhile, of which nobody knows what became.
    pub(super) async fn heed_refusal(&mut self) -> Result<(), Error> {
        if self.answered.refusal.is_some() {
            Box::pin(self.ping()).await?;
            self.answered.refusal = None;
        }
        Ok(())
    }

    /// The client has been given a packet by the session itself.
    pub(super) fn has_answered(&mut self, next_sequence_id: u8) {
        self.answered = Answered {
            next: Some(next_sequence_id),
            refusal: None,
        };
    }

    /// Tells the client why the upstream was lost, if that has told it. Takes bounded time, whatever the client does.
    pub(super) async fn say_why(&mut self, error: &Error) {
        let is_unsent = match error {
            Error::NotSent(_) => true,
            Error::Upstream(_) => false,
            _ => return,
        };
        let farewell = async {
            let word = match is_unsent {
                true => self.last_word().await,
                false => None,
            };
            let answered = std::mem::take(&mut self.answered);
            let refusal = answered.refusal.map(|error| (1, error));
            if let Some((sequence_id, error)) = word.or(refusal) {
                let sequence_id = answered.next.unwrap_or(sequence_id);
                self.answer(sequence_id, &error).await?;
                close(&mut self.client).await.map_err(Error::client)?;
            }
            Ok::<_, Error>(())
        };
        if let Ok(Err(error)) = timeout(FAREWELL, farewell).await {
            tracing::debug!("the client was not told why its session was lost: {error}");
        }
    }

    /// Takes leave of a client that the upstream has spoken to last, which may be sending still. The upstream's
    /// connection is closed first. Takes `FAREWELL` at most.
    pub async fn part(self) {
        let (mut client, parts) = (self.client, self.parts);
        drop((self.upstream, self.entry));
        if parts {
            // The client may be gone already.
            let _ = timeout(FAREWELL, close(&mut client)).await;
        }
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

/// Closes a stream for writing and reads on, within bounds, until its peer closes: a socket that is closed over unread
/// bytes could take along what was written last. To be given [`FAREWELL`].
pub(super) async fn close(stream: &mut PacketStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut drained = 0;
    while drained < MOST_DRAINED {
        stream.consume(stream.buffered().len());
        match stream.fill().await? {
            0 => break,
            read => drained += read,
        }
    }
    Ok(())
}

//! Gives a response to the tracker in pieces, as sockets would.

use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::response::{Next, PacketKind, ResponseKind, ResponseTracker};
use crate::wire::session_state::TransactionState;

/// What the tracker reported of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The kinds of its packets, without continuations.
    pub roles: Vec<PacketKind>,
    pub status: Option<u16>,
    pub error: Option<u16>,
    pub prepared: Option<u32>,
    pub is_multi_result: bool,
    pub is_ended_by_eof: bool,
    pub sends_rows: bool,
    pub transaction_state: Option<TransactionState>,
    pub has_no_warnings: Option<bool>,
    /// Where the response ends in the stream; `None` if it is incomplete.
    pub end: Option<usize>,
}

impl Told {
    fn new(tracker: &ResponseTracker, roles: Vec<PacketKind>, end: Option<usize>) -> Self {
        Self {
            roles,
            status: tracker.status(),
            error: tracker.error(),
            prepared: tracker.prepared(),
            is_multi_result: tracker.is_multi_result(),
            is_ended_by_eof: tracker.is_ended_by_eof(),
            sends_rows: tracker.sends_rows(),
            transaction_state: tracker.transaction_state(),
            has_no_warnings: tracker.has_no_warnings(),
            end,
        }
    }
}

/// Passes the stream on as a relay does: bytes that have been reported pass on as they come, and are not read again.
/// `ends` are the ends of the pieces, in order.
pub fn told_in_pieces(
    response_kind: ResponseKind,
    capabilities: u64,
    stream: &[u8],
    ends: impl IntoIterator<Item = usize>,
) -> Result<Told, String> {
    let mut tracker = ResponseTracker::new(response_kind, capabilities);
    let mut roles = Vec::new();
    let (mut at, mut there) = (0, 0);
    for end in ends {
        there = end;
        while at <= end && !tracker.is_done() {
            match tracker.next(&stream[at..end]) {
                Next::Need(length) if length <= end - at => {
                    return Err(format!(
                        "{length} bytes are asked for at {at}, and are there"
                    ));
                }
                Next::Need(length) if length > ResponseTracker::LOOKAHEAD => {
                    return Err(format!("{length} bytes are asked for at {at}"));
                }
                Next::Need(_) => break,
                Next::Packet { length: 0, .. } => {
                    return Err(format!("nothing is told at {at}"));
                }
                Next::Packet {
                    packet_kind,
                    length,
                } => {
                    if packet_kind != PacketKind::Continuation {
                        roles.push(packet_kind);
                    }
                    at += length;
                }
            }
        }
    }
    let end = (tracker.is_done() && at <= there).then_some(at);
    Ok(Told::new(&tracker, roles, end))
}

/// Reads each payload whole, as a rewrite does, once the tracker has reported its kind.
pub fn told_whole(
    response_kind: ResponseKind,
    capabilities: u64,
    stream: &[u8],
) -> Result<Told, String> {
    let mut tracker = ResponseTracker::new(response_kind, capabilities);
    let mut roles = Vec::new();
    let mut at = 0;
    while !tracker.is_done() {
        match tracker.next(&stream[at..]) {
            Next::Need(length) if length <= stream.len() - at => {
                return Err(format!(
                    "{length} bytes are asked for at {at}, and are there"
                ));
            }
            Next::Need(_) => return Ok(Told::new(&tracker, roles, None)),
            Next::Packet { packet_kind, .. } => {
                let Some((length, payload)) = whole(&stream[at..]) else {
                    return Ok(Told::new(&tracker, roles, None));
                };
                tracker.read_whole(&payload);
                at += length;
                roles.push(packet_kind);
            }
        }
    }
    Ok(Told::new(&tracker, roles, Some(at)))
}

/// The packet at the start of the stream, with its continuations: its length and its payload, if all of it is there.
fn whole(stream: &[u8]) -> Option<(usize, Vec<u8>)> {
    let mut payload = Vec::new();
    let mut at = 0;
    loop {
        let header = Header::decode(&stream[at..])?;
        let end = at + header.packet_length();
        payload.extend_from_slice(stream.get(at + HEADER_LENGTH..end)?);
        at = end;
        if !header.is_continued() {
            return Some((at, payload));
        }
    }
}

//! One side of the connection phase: sequence ids, and a time limit for the client.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use zeroize::Zeroizing;

use super::PACKET_LIMIT;
use super::error::ConnectError;
use crate::net::{PacketStream, ReadError};
use crate::wire::packet::{Header, encode_packet};

/// A stream whose sequence ids count up from the first packet of an exchange. Each side counts separately.
pub(super) struct Peer<'a> {
    pub(super) stream: &'a mut PacketStream,
    next_sequence_id: u8,
}

impl<'a> Peer<'a> {
    pub(super) fn new(stream: &'a mut PacketStream) -> Self {
        Self {
            stream,
            next_sequence_id: 0,
        }
    }

    /// Starts after a command packet, number 0, which has been read already.
    pub(super) fn after_command(stream: &'a mut PacketStream) -> Self {
        Self {
            stream,
            next_sequence_id: 1,
        }
    }

    /// Reads a packet. The next packet that is written gets the sequence id after it. Not cancel safe.
    pub(super) async fn read(&mut self, payload: &mut Vec<u8>) -> Result<(), ReadError> {
        let sequence_id = self.stream.read_payload(payload, PACKET_LIMIT).await?;
        self.next_sequence_id = sequence_id.wrapping_add(1);
        Ok(())
    }

    /// Reads a packet from the client and checks its sequence id, as servers do. Not cancel safe.
    pub(super) async fn read_in_order(
        &mut self,
        payload: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let header = self.stream.peek_header().await;
        self.expect(header.map_err(ConnectError::Client)?)?;
        self.read(payload).await.map_err(ConnectError::Client)
    }

    /// Checks that the packet at the start of the buffer has the next sequence id.
    pub(super) fn expect(&self, header: Header) -> Result<(), ConnectError> {
        match header.sequence_id == self.next_sequence_id || self.stream.is_compressed() {
            true => Ok(()),
            false => Err(ConnectError::ClientOutOfOrder),
        }
    }

    /// Consumes a packet that is completely buffered. The next packet that is written gets the sequence id after it.
    pub(super) fn skip(&mut self, header: Header) {
        self.stream.consume(header.packet_length());
        self.next_sequence_id = header.sequence_id.wrapping_add(1);
    }

    /// Writes a packet. Not cancel safe.
    pub(super) async fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut packet = Zeroizing::new(Vec::with_capacity(payload.len() + 8));
        self.next_sequence_id = encode_packet(&mut packet, self.next_sequence_id, payload);
        self.stream.write(&packet).await
    }
}

/// The time that the client has left. Waiting for the upstream does not count.
pub(super) struct Patience {
    left: Duration,
}

impl Patience {
    pub(super) fn new(left: Duration) -> Self {
        Self { left }
    }

    /// Waits for `future`, and deducts the time from what the client has left.
    pub(super) async fn wait<F: Future>(&mut self, future: F) -> Result<F::Output, ConnectError> {
        let begun = Instant::now();
        let output = timeout(self.left, future).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        output.map_err(|_| ConnectError::ClientStalled)
    }
}

//! Forwards bytes from one side to the other as they came: commands, responses, local files, endless streams.

use std::time::Instant;

use super::Link;
use crate::net::{PacketStream, ReadError};
use crate::session::error::Error;
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::reply;
use crate::wire::response::{Next, PacketKind, ResponseKind, ResponseTracker};

impl Link {
    /// Forwards the whole command at the front of the client's stream, and returns the sequence id of its last packet.
    /// Not cancel safe.
    pub async fn pass_command(&mut self) -> Result<u8, Error> {
        loop {
            let header = self.client.peek_header().await.map_err(Error::Client)?;
            pass_packet(&mut self.client, &mut self.upstream, header).await?;
            if !header.is_continued() {
                return Ok(header.sequence_id);
            }
        }
    }

    /// Skips a command too long to be buffered in the client's stream, unread, and returns the sequence id of its last
    /// packet.
    pub async fn skip_command(&mut self) -> Result<u8, Error> {
        loop {
            let header = self.client.peek_header().await.map_err(Error::Client)?;
            let mut left = header.packet_length();
            while left > 0 {
                self.client.fill_to(1).await.map_err(Error::Client)?;
                let part = left.min(self.client.buffered().len());
                self.client.consume(part);
                left -= part;
            }
            if !header.is_continued() {
                return Ok(header.sequence_id);
            }
        }
    }

    /// Consumes the command at the front of the client's stream, which is buffered whole.
    pub fn drop_command(&mut self) {
        let header = Header::decode(self.client.buffered()).expect("a command is buffered");
        self.client.consume(header.packet_length());
    }

    /// Forwards the upstream's response as it comes. Not cancel safe.
    pub async fn pass_response(
        &mut self,
        response_kind: ResponseKind,
    ) -> Result<ResponseTracker, Error> {
        let mut tracker = ResponseTracker::new(response_kind, self.capabilities);
        // Bytes of the tracker's current packet that have not been passed yet.
        let mut left_of_packet = 0;
        // The sequence id of the file's first packet, once the upstream has asked for one.
        let mut local_file = None;
        while !tracker.is_done() || left_of_packet > 0 {
            let buffered = self.upstream.buffered();
            let mut ready = 0;
            loop {
                let part = left_of_packet.min(buffered.len() - ready);
                ready += part;
                left_of_packet -= part;
                if left_of_packet > 0 || tracker.is_done() || local_file.is_some() {
                    break;
                }
                match tracker.next(&buffered[ready..]) {
                    Next::Need(_) => break,
                    Next::Packet {
                        packet_kind,
                        length,
                    } => {
                        left_of_packet = length;
                        if packet_kind == PacketKind::LocalInfile {
                            let request = Header::decode(&buffered[ready..]);
                            local_file = request.map(|request| request.sequence_id.wrapping_add(1));
                        }
                    }
                }
            }
            if ready > 0 {
                let written = self.upstream.forward(ready, &mut self.client).await;
                written.map_err(Error::client)?;
            }
            if left_of_packet == 0
                && let Some(first) = local_file.take()
            {
                self.pass_local_file(first).await?;
            } else if !tracker.is_done() || left_of_packet > 0 {
                self.await_upstream().await?;
            }
        }
        Ok(tracker)
    }

    /// Waits for more of the response. Meanwhile it reads what the client sends ahead, as far as the buffer reaches,
    /// and tells the upstream when the client has closed, so that a long statement can be given up. It does not do so
    /// while commands that the client sent before are still here: to a server that had received them, the client would
    /// not be gone.
    pub async fn await_upstream(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        loop {
            if self.client_closed && !self.shutdown_sent && self.client.buffered().is_empty() {
                self.shutdown_sent = true;
                self.upstream.shutdown().await.map_err(Error::upstream)?;
            }
            let listen = !self.client_closed && !self.client.is_full();
            tokio::select! {
                biased;
                read = self.upstream.fill() => {
                    if read.map_err(Error::upstream)? == 0 {
                        return Err(Error::Upstream(ReadError::Closed));
                    }
                    self.heard_since(since);
                    return Ok(());
                }
                read = self.client.fill(), if listen => {
                    if read.map_err(Error::client)? == 0 {
                        self.client_closed = true;
                    }
                }
            }
        }
    }

    /// Waits for more of a response after which the session has more to send, whatever the client does meanwhile:
    /// MySQL completes what it has received, and so must the session. Cancel safe.
    pub async fn await_upstream_only(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        if self.upstream.fill().await.map_err(Error::upstream)? == 0 {
            return Err(Error::Upstream(ReadError::Closed));
        }
        self.heard_since(since);
        Ok(())
    }

    /// Forwards the file of LOAD DATA LOCAL: the client sends packets up to an empty one, numbered from `next`. A
    /// server refuses a packet out of order, and then waits for the rest of the file as long as net_read_timeout; so
    /// its connection is shut down to tell it that there is no more.
    async fn pass_local_file(&mut self, mut next: u8) -> Result<(), Error> {
        loop {
            let header = self.client.peek_header().await.map_err(Error::Client)?;
            pass_packet(&mut self.client, &mut self.upstream, header).await?;
            if header.sequence_id != next {
                self.shutdown_sent = true;
                return self.upstream.shutdown().await.map_err(Error::upstream);
            }
            if header.length == 0 {
                return Ok(());
            }
            next = next.wrapping_add(1);
        }
    }

    /// Waits for the first byte of a stream that the client has asked for, and returns whether it is an ERR packet's
    /// instead, after which the session goes on.
    pub async fn is_refused(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(first) = self.upstream.buffered().get(HEADER_LENGTH) {
                return Ok(*first == reply::ERR);
            }
            self.await_upstream().await?;
        }
    }

    /// Forwards replication and clone streams: from here on bytes, both ways, until one side closes.
    pub async fn pass_everything(&mut self) -> Result<(), Error> {
        loop {
            let client = self.client.buffered().len();
            let written = self.client.forward(client, &mut self.upstream).await;
            written.map_err(Error::upstream)?;
            let upstream = self.upstream.buffered().len();
            let written = self.upstream.forward(upstream, &mut self.client).await;
            written.map_err(Error::client)?;
            tokio::select! {
                read = self.client.fill() => {
                    if read.map_err(Error::client)? == 0 {
                        return Err(Error::Client(ReadError::Closed));
                    }
                }
                read = self.upstream.fill() => {
                    if read.map_err(Error::upstream)? == 0 {
                        return Err(Error::Upstream(ReadError::Closed));
                    }
                }
            }
        }
    }
}

/// Forwards one packet in pieces of the buffer's size.
async fn pass_packet(
    from: &mut PacketStream,
    to: &mut PacketStream,
    header: Header,
) -> Result<(), Error> {
    let mut left = header.packet_length();
    while left > 0 {
        from.fill_to(left.min(HEADER_LENGTH))
            .await
            .map_err(Error::Client)?;
        let part = left.min(from.buffered().len());
        from.forward(part, to).await.map_err(Error::NotSent)?;
        left -= part;
    }
    Ok(())
}

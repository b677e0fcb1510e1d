//! A socket with a read buffer in which packets are examined in place.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use zeroize::Zeroize;

use super::buffer;
use super::compressed::{Algorithm, Compressed, Role};
use super::transport::Transport;
use crate::wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD};

/// Why a packet could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The peer closed the connection between two packets.
    #[error("connection closed")]
    Closed,
    /// The peer closed the connection inside a packet, or the socket failed.
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    /// A packet is longer than the reader accepts at this point.
    #[error("packet of {length} bytes where at most {limit} are accepted")]
    TooLong {
        /// Length of the payload so far, in bytes.
        length: usize,
        /// The maximum that is accepted, in bytes.
        limit: usize,
    },
}

/// The byte stream of one peer. Reads are buffered, writes are not.
///
/// Memory: none while no bytes are in flight. A read buffer is lent while it holds unread bytes or more are arriving.
/// It has [`PacketStream::BUFFER`] bytes, or [`PacketStream::LARGE_BUFFER`] while a stream fills the smaller one, and
/// temporarily up to [`PacketStream::LARGEST_PEEK`]. Larger payloads are streamed in pieces, or copied out by
/// [`PacketStream::read_payload`] under the caller's limit.
pub struct PacketStream {
    transport: Box<dyn Transport>,
    /// Empty while no buffer is lent.
    buffer: Box<[u8]>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The last read would have filled a buffer of [`PacketStream::BUFFER`] bytes.
    streams: bool,
    /// The buffer may hold secrets. It is kept until [`PacketStream::scrub`], and overwritten if it must be given back
    /// earlier.
    secret: bool,
    /// If the transport is a [`Compressed`], whether what is written next answers another command.
    compressed: Option<Arc<AtomicBool>>,
    /// How many bytes have been consumed so far.
    consumed: u64,
    /// How long the peer has kept this side waiting in the middle of something.
    waited: Duration,
}

impl PacketStream {
    /// Size of the read buffer in bytes.
    pub const BUFFER: usize = buffer::SMALL;

    /// Size of the read buffer, in bytes, while more arrives than fits into [`PacketStream::BUFFER`].
    pub const LARGE_BUFFER: usize = buffer::LARGE;

    /// Size of the largest packet that is usually examined in place, in bytes. The buffer grows to hold it and shrinks
    /// afterwards.
    pub const USUAL_PEEK: usize = 1024 * 1024;

    /// Size of the largest packet that may be examined in place, in bytes.
    pub const LARGEST_PEEK: usize = HEADER_LENGTH + MAX_PAYLOAD;

    /// Maximum duration of [`PacketStream::lingering_close`], and of any other way to close a connection.
    pub const LINGER: Duration = Duration::from_secs(1);

    /// Maximum number of bytes that [`PacketStream::lingering_close`] reads.
    const MOST_DRAINED: usize = 64 * 1024 * 1024;

    /// Wraps a connected transport. What arrives before [`PacketStream::scrub`] is treated as secret.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            buffer: Box::default(),
            start: 0,
            end: 0,
            streams: false,
            secret: true,
            compressed: None,
            consumed: 0,
            waited: Duration::ZERO,
        }
    }

    /// Replaces the transport by what `handshake` makes of it, usually TLS. Fails if bytes are buffered: the peer sent
    /// them in the clear, and they would be taken for encrypted ones. After a failure, reads return the end of the
    /// stream and writes are lost. Not cancel safe.
    pub async fn wrap<T, F>(
        &mut self,
        handshake: impl FnOnce(Box<dyn Transport>) -> F,
    ) -> io::Result<()>
    where
        T: Transport + 'static,
        F: Future<Output = io::Result<T>>,
    {
        let transport = std::mem::replace(&mut self.transport, Box::new(tokio::io::empty()));
        if self.start != self.end {
            self.consume(self.end - self.start);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "plain bytes where TLS must begin",
            ));
        }
        self.transport = Box::new(handshake(transport).await?);
        Ok(())
    }

    /// The peer sends and receives compressed packets from now on. What is buffered is the first of them.
    pub fn compress(&mut self, role: Role, algorithm: Algorithm) {
        let transport = std::mem::replace(&mut self.transport, Box::new(tokio::io::empty()));
        let is_other_answer = Arc::<AtomicBool>::default();
        self.compressed = Some(Arc::clone(&is_other_answer));
        let peer = (transport, self.buffered());
        self.transport = Box::new(Compressed::new(peer, role, algorithm, is_other_answer));
        self.consume(self.end - self.start);
    }

    /// What is written from now on answers the command that is read next: compressed packets count from there.
    pub fn begin_answer(&self) {
        if let Some(is_other_answer) = &self.compressed {
            is_other_answer.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the peer sends and receives compressed packets. Then these have the sequence ids that count, and those
    /// of the packets inside mean nothing.
    pub fn is_compressed(&self) -> bool {
        self.compressed.is_some()
    }

    /// Bytes that have been read from the peer and not consumed.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Removes the first `length` buffered bytes.
    pub fn consume(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
        self.consumed += length as u64;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > Self::LARGE_BUFFER {
                self.give_back();
            }
        }
    }

    /// How many bytes have been consumed so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Whether the buffer has no room after the unread bytes.
    pub fn is_full(&self) -> bool {
        self.end > self.start && self.end - self.start == self.buffer.len()
    }

    /// Reads more bytes into the buffer and returns how many; 0 means that the peer has closed. The buffer must not be
    /// full. Cancel safe.
    pub async fn fill(&mut self) -> io::Result<usize> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        debug_assert!(!self.is_full());
        if self.end == self.buffer.len() {
            self.make_room();
        }
        let mut room = ReadBuf::new(&mut self.buffer[self.end..]);
        let polled = Pin::new(&mut self.transport).poll_read(context, &mut room);
        let read = room.filled().len();
        match polled {
            Poll::Ready(result) => {
                self.end += read;
                self.streams = read >= Self::BUFFER;
                Poll::Ready(result.map(|()| read))
            }
            Poll::Pending => {
                if self.start == self.end && !self.secret {
                    self.give_back();
                }
                Poll::Pending
            }
        }
    }

    /// Makes room after the unread bytes, which reach to the end of the buffer.
    fn make_room(&mut self) {
        let length = match self.streams {
            true => Self::LARGE_BUFFER,
            false => Self::BUFFER,
        };
        match self.buffer.len() < length {
            true => self.grow(length),
            false => {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
        }
    }

    /// Waits until at least `length` bytes are buffered; `length` may be up to [`PacketStream::LARGEST_PEEK`]. Cancel
    /// safe.
    pub async fn fill_to(&mut self, length: usize) -> Result<(), ReadError> {
        if length > self.buffer.len() {
            self.grow(length);
        }
        while self.end - self.start < length {
            let had = self.end - self.start;
            let (read, waited) = measured(self.fill()).await;
            self.waited += waited;
            if read? == 0 {
                return Err(match had {
                    0 => ReadError::Closed,
                    _ => ReadError::Io(io::ErrorKind::UnexpectedEof.into()),
                });
            }
        }
        Ok(())
    }

    fn grow(&mut self, length: usize) {
        debug_assert!(length <= Self::LARGEST_PEEK);
        let mut larger = buffer::lend(length);
        let held = self.end - self.start;
        larger[..held].copy_from_slice(self.buffered());
        self.give_back();
        self.buffer = larger;
        self.end = held;
    }

    /// Gives the buffer back and continues without one.
    fn give_back(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.start = 0;
        self.end = 0;
        if self.secret {
            buffer.zeroize();
        }
        buffer::give_back(buffer);
    }

    /// Like [`PacketStream::fill_to`], but reads nothing beyond `length` bytes from the transport, so that what the
    /// peer sends next is left for TLS. For the first packets of a connection. Cancel safe.
    pub async fn fill_exactly(&mut self, length: usize) -> Result<(), ReadError> {
        if self.start + length > self.buffer.len() {
            self.grow(length);
        }
        while self.end - self.start < length {
            let room = self.end..self.start + length;
            let read = self.transport.read(&mut self.buffer[room]).await?;
            if read == 0 {
                return Err(match self.end - self.start {
                    0 => ReadError::Closed,
                    _ => ReadError::Io(io::ErrorKind::UnexpectedEof.into()),
                });
            }
            self.end += read;
        }
        Ok(())
    }

    /// Treats what arrives from now on as secret: the buffer is not shared with other streams before
    /// [`PacketStream::scrub`].
    pub fn expect_secrets(&mut self) {
        self.secret = true;
    }

    /// Overwrites consumed bytes that are still in the buffer, because a password may be among them. Ends
    /// [`PacketStream::expect_secrets`].
    pub fn scrub(&mut self) {
        self.buffer[..self.start].zeroize();
        self.buffer[self.end..].zeroize();
        self.secret = false;
    }

    /// Waits for the header of the next packet without consuming it. Cancel safe.
    pub async fn peek_header(&mut self) -> Result<Header, ReadError> {
        self.fill_to(HEADER_LENGTH).await?;
        Ok(Header::decode(self.buffered()).expect("four bytes are buffered"))
    }

    /// Reads the whole next payload into `payload`, which is cleared first, and joins the packets of a long one.
    /// Returns the sequence id of the last packet. Fails if the payload is longer than `limit` bytes. Not cancel safe.
    pub async fn read_payload(
        &mut self,
        payload: &mut Vec<u8>,
        limit: usize,
    ) -> Result<u8, ReadError> {
        payload.clear();
        loop {
            let header = self.peek_header().await?;
            let length = payload.len() + header.length;
            if length > limit {
                return Err(ReadError::TooLong { length, limit });
            }
            self.consume(HEADER_LENGTH);
            let mut missing = header.length;
            while missing > 0 {
                if self.start == self.end {
                    self.fill_to(1).await.map_err(|error| match error {
                        ReadError::Closed => ReadError::Io(io::ErrorKind::UnexpectedEof.into()),
                        other => other,
                    })?;
                }
                let part = missing.min(self.end - self.start);
                payload.extend_from_slice(&self.buffer[self.start..self.start + part]);
                self.consume(part);
                missing -= part;
            }
            if !header.is_continued() {
                return Ok(header.sequence_id);
            }
        }
    }

    /// Writes `bytes` unchanged. Not cancel safe.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let transport = &mut self.transport;
        let write = async {
            transport.write_all(bytes).await?;
            transport.flush().await
        };
        let (written, waited) = measured(write).await;
        self.waited += waited;
        written
    }

    /// How long the peer has kept this side waiting since the last call: for bytes that [`PacketStream::fill_to`] and
    /// its callers needed, and for room to write. Waits in [`PacketStream::fill`] do not count.
    pub fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Writes the first `length` buffered bytes to `peer` and consumes them. Not cancel safe.
    pub async fn forward(&mut self, length: usize, peer: &mut PacketStream) -> io::Result<()> {
        peer.write(&self.buffer[self.start..self.start + length])
            .await?;
        self.consume(length);
        Ok(())
    }

    /// Closes the stream for writing. What the peer still sends can be read.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.transport.shutdown().await
    }

    /// Closes the stream for writing, then reads, within bounds, until the peer closes. A socket that is closed with
    /// unread bytes resets the connection, and the peer may lose what was written last. Callers limit it to
    /// [`PacketStream::LINGER`].
    pub async fn lingering_close(&mut self) -> io::Result<()> {
        self.shutdown().await?;
        let mut drained = 0;
        while drained < Self::MOST_DRAINED {
            self.consume(self.buffered().len());
            match self.fill().await? {
                0 => break,
                read => drained += read,
            }
        }
        Ok(())
    }
}

/// Runs a step and measures how long it waited. The clock is read only if it has to wait.
async fn measured<T>(step: impl Future<Output = T>) -> (T, Duration) {
    let mut step = pin!(step);
    let mut since = None;
    let done = poll_fn(|context| {
        let polled = step.as_mut().poll(context);
        if polled.is_pending() {
            since.get_or_insert_with(Instant::now);
        }
        polled
    })
    .await;
    (done, since.map_or(Duration::ZERO, |since| since.elapsed()))
}

impl Drop for PacketStream {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// A stream after its login, and its peer.
    fn stream() -> (PacketStream, tokio::io::DuplexStream) {
        let (ours, theirs) = duplex(1 << 20);
        let mut stream = PacketStream::new(Box::new(ours));
        stream.scrub();
        (stream, theirs)
    }

    /// Polls once for bytes, of which there are none.
    async fn find_nothing(stream: &mut PacketStream) {
        tokio::select! {
            biased;
            _ = stream.fill() => panic!("nothing was sent"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn a_stream_with_nothing_in_flight_holds_no_buffer() {
        let (mut stream, mut peer) = stream();
        find_nothing(&mut stream).await;
        assert_eq!(stream.buffer.len(), 0);
        peer.write_all(b"command").await.unwrap();
        stream.fill_to(7).await.unwrap();
        assert_eq!(stream.buffer.len(), PacketStream::BUFFER);
        stream.consume(3);
        find_nothing(&mut stream).await;
        assert_eq!(stream.buffered(), b"mand");
        stream.consume(4);
        find_nothing(&mut stream).await;
        assert_eq!(stream.buffer.len(), 0);
        assert!(!stream.is_full());
    }

    #[tokio::test]
    async fn waiting_for_the_peer_is_counted_once() {
        let (mut stream, mut peer) = stream();
        peer.write_all(b"here").await.unwrap();
        stream.fill_to(4).await.unwrap();
        assert_eq!(stream.take_waited(), Duration::ZERO);
        let wait = tokio::join!(stream.fill_to(5), async {
            tokio::task::yield_now().await;
            peer.write_all(b"!").await.unwrap();
        });
        wait.0.unwrap();
        assert!(stream.take_waited() > Duration::ZERO);
        assert_eq!(stream.take_waited(), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_stream_that_fills_its_buffer_gets_a_larger_one_until_it_is_read_empty() {
        let (mut stream, mut peer) = stream();
        let sent: Vec<u8> = (0..PacketStream::LARGE_BUFFER).map(|at| at as u8).collect();
        peer.write_all(&sent).await.unwrap();
        stream.fill().await.unwrap();
        // As when a header is at the end of the buffer and the rest of its packet has not arrived.
        stream.consume(PacketStream::BUFFER - 2);
        stream.fill().await.unwrap();
        assert_eq!(stream.buffer.len(), PacketStream::LARGE_BUFFER);
        assert_eq!(stream.buffered(), &sent[PacketStream::BUFFER - 2..]);
        stream.consume(stream.buffered().len());
        peer.write_all(b"small").await.unwrap();
        stream.fill().await.unwrap();
        stream.consume(5);
        find_nothing(&mut stream).await;
        peer.write_all(b"small").await.unwrap();
        stream.fill().await.unwrap();
        assert_eq!(stream.buffer.len(), PacketStream::BUFFER);
    }

    #[tokio::test]
    async fn a_buffer_with_secrets_is_wiped_before_others_get_it() {
        let (mut stream, mut peer) = stream();
        stream.expect_secrets();
        peer.write_all(b"password").await.unwrap();
        stream.fill().await.unwrap();
        stream.consume(8);
        find_nothing(&mut stream).await;
        assert_eq!(stream.buffer[..8], *b"password");
        stream.scrub();
        assert_eq!(stream.buffer[..8], [0; 8]);
        find_nothing(&mut stream).await;
        assert_eq!(stream.buffer.len(), 0);
    }
}

//! A socket with a read buffer in which packets are looked at where they lie.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use zeroize::Zeroize;

use super::buffer;
use crate::wire::packet::{HEADER_LENGTH, Header};

/// What a packet stream runs over.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Transport for T {}

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
        /// The most that is accepted, in bytes.
        limit: usize,
    },
}

/// One peer's byte stream, buffered for reading, unbuffered for writing.
///
/// Memory: nothing while no bytes are in flight. A read buffer is lent for as long as unread bytes lie in it or more
/// of them keep coming: [`PacketStream::BUFFER`] bytes, or [`PacketStream::LARGE_BUFFER`] while a stream fills that,
/// and for a while up to [`PacketStream::LARGEST_PEEK`]; what is larger is streamed in pieces or copied out by
/// [`PacketStream::read_payload`] under the caller's limit.
pub struct PacketStream {
    transport: Box<dyn Transport>,
    /// Empty when none is lent.
    buffer: Box<[u8]>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The last read would have filled a buffer of the usual size.
    streams: bool,
    /// Secrets may lie in the buffer: it is not given back before [`PacketStream::scrub`].
    secret: bool,
    /// For how long the peer has had this side wait in the middle of something.
    waited: Duration,
}

impl PacketStream {
    /// Size of the read buffer in bytes.
    pub const BUFFER: usize = buffer::SMALL;

    /// Size of the read buffer while more comes than fits into [`PacketStream::BUFFER`], in bytes.
    pub const LARGE_BUFFER: usize = buffer::LARGE;

    /// Largest packet that may be looked at whole where it lies; the buffer grows to hold it and shrinks again.
    pub const LARGEST_PEEK: usize = 1024 * 1024;

    /// Longest that [`PacketStream::lingering_close`] may take, or any other leave-taking.
    pub const LINGER: Duration = Duration::from_secs(1);

    /// What [`PacketStream::lingering_close`] reads at most, in bytes.
    const MOST_DRAINED: usize = 64 * 1024 * 1024;

    /// Wraps a connected transport. Until [`PacketStream::scrub`] what comes is taken for secret.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            buffer: Box::default(),
            start: 0,
            end: 0,
            streams: false,
            secret: true,
            waited: Duration::ZERO,
        }
    }

    /// Wraps the transport, in TLS as a rule, by what `handshake` makes of it. Fails when bytes are buffered that the
    /// peer sent in the clear and that would otherwise be taken for encrypted ones. After a failure the stream is at
    /// its end, and what is written to it is lost. Not cancel safe.
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

    /// Bytes read from the peer and not consumed yet.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks the first `length` buffered bytes as done with.
    pub fn consume(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > Self::LARGE_BUFFER {
                self.give_back();
            }
        }
    }

    /// Whether no more bytes fit behind the buffered ones.
    pub fn is_full(&self) -> bool {
        self.end > self.start && self.end - self.start == self.buffer.len()
    }

    /// Reads more bytes behind the buffered ones and returns how many; 0 means that the peer has closed.
    /// The buffer must not be full. Cancel safe.
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

    /// Makes room behind the unread bytes, which reach to the buffer's end.
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

    /// Waits until at least `length` bytes (at most [`PacketStream::LARGEST_PEEK`]) are buffered. Cancel safe.
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

    /// Goes on without a buffer.
    fn give_back(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.start = 0;
        self.end = 0;
        if self.secret {
            buffer.zeroize();
        }
        buffer::give_back(buffer);
    }

    /// As [`PacketStream::fill_to`], but takes no byte beyond `length` from the transport, so that whatever
    /// the peer sends next is left for TLS. For the first packets of a connection. Cancel safe.
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

    /// What comes from now on may be secret: the buffer stays this stream's own until [`PacketStream::scrub`].
    pub fn expect_secrets(&mut self) {
        self.secret = true;
    }

    /// Overwrites consumed bytes that still lie in the buffer: a password may have been among them.
    pub fn scrub(&mut self) {
        self.buffer[..self.start].zeroize();
        self.buffer[self.end..].zeroize();
        self.secret = false;
    }

    /// Waits for the next packet's header without consuming it. Cancel safe.
    pub async fn peek_header(&mut self) -> Result<Header, ReadError> {
        self.fill_to(HEADER_LENGTH).await?;
        Ok(Header::decode(self.buffered()).expect("four bytes are buffered"))
    }

    /// Reads the next payload whole into `payload` (cleared first), joining packets of 16 MiB.
    /// Returns the sequence id of its last packet. Not cancel safe.
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

    /// Writes `bytes` as they are. Not cancel safe.
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

    /// For how long the peer has had this side wait since this was last asked: for bytes that [`PacketStream::fill_to`]
    /// and what uses it wanted, and for room to write. Not for [`PacketStream::fill`].
    pub fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Passes the first `length` buffered bytes on to `peer` and consumes them. Not cancel safe.
    pub async fn forward(&mut self, length: usize, peer: &mut PacketStream) -> io::Result<()> {
        peer.write(&self.buffer[self.start..self.start + length])
            .await?;
        self.consume(length);
        Ok(())
    }

    /// Says that nothing more will be written; what the peer still sends can be read.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.transport.shutdown().await
    }

    /// Closes the stream for writing and reads on, within bounds, until the peer closes: a socket that is closed over
    /// unread bytes resets the connection, and the peer may lose what was written last. To be given
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

/// What a step gives, and for how long it has waited. The clock is asked only where it has.
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

    /// A stream behind its login, and its peer.
    fn stream() -> (PacketStream, tokio::io::DuplexStream) {
        let (ours, theirs) = duplex(1 << 20);
        let mut stream = PacketStream::new(Box::new(ours));
        stream.scrub();
        (stream, theirs)
    }

    /// Polls once for bytes that are not there.
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
        // As a header stands at the end, the rest of its packet still to come.
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

//! A socket with a read buffer in which packets are looked at where they lie.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeroize::Zeroize;

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
/// Memory: one read buffer of [`PacketStream::BUFFER`] bytes, for a while up to [`PacketStream::LARGEST_PEEK`];
/// what is larger is streamed in pieces or copied out by [`PacketStream::read_payload`] under the caller's limit.
pub struct PacketStream {
    transport: Box<dyn Transport>,
    buffer: Box<[u8]>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
}

impl PacketStream {
    /// Size of the read buffer in bytes.
    pub const BUFFER: usize = 32 * 1024;

    /// Largest packet that may be looked at whole where it lies; the buffer grows to hold it and shrinks again.
    pub const LARGEST_PEEK: usize = 1024 * 1024;

    /// Wraps a connected transport.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            buffer: vec![0; Self::BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
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
            if self.buffer.len() > Self::BUFFER {
                self.buffer = vec![0; Self::BUFFER].into_boxed_slice();
            }
        }
    }

    /// Whether no more bytes fit behind the buffered ones.
    pub fn is_full(&self) -> bool {
        self.end - self.start == self.buffer.len()
    }

    /// Reads more bytes behind the buffered ones and returns how many; 0 means that the peer has closed.
    /// The buffer must not be full. Cancel safe.
    pub async fn fill(&mut self) -> io::Result<usize> {
        debug_assert!(!self.is_full());
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let read = self.transport.read(&mut self.buffer[self.end..]).await?;
        self.end += read;
        Ok(read)
    }

    /// Waits until at least `length` bytes (at most [`PacketStream::LARGEST_PEEK`]) are buffered. Cancel safe.
    pub async fn fill_to(&mut self, length: usize) -> Result<(), ReadError> {
        if length > self.buffer.len() {
            self.grow(length);
        }
        while self.end - self.start < length {
            let had = self.end - self.start;
            if self.fill().await? == 0 {
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
        let mut larger = vec![0; length].into_boxed_slice();
        let held = self.end - self.start;
        larger[..held].copy_from_slice(&self.buffer[self.start..self.end]);
        self.buffer = larger;
        self.start = 0;
        self.end = held;
    }

    /// As [`PacketStream::fill_to`], but takes no byte beyond `length` from the transport, so that whatever
    /// the peer sends next is left for TLS. For the first packets of a connection. Cancel safe.
    pub async fn fill_exactly(&mut self, length: usize) -> Result<(), ReadError> {
        debug_assert!(self.start + length <= self.buffer.len());
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

    /// Overwrites consumed bytes that still lie in the buffer: a password may have been among them.
    pub fn scrub(&mut self) {
        self.buffer[..self.start].zeroize();
        self.buffer[self.end..].zeroize();
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
        self.transport.write_all(bytes).await?;
        self.transport.flush().await
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
}

//! Compression of the command phase (manual: "Compression").
//!
//! Packets travel in compressed packets, whose bounds have nothing to do with theirs: a header of the length in bytes,
//! a number, and the length before compression, or 0 if it is not compressed. This is a transport, so that nobody above
//! it has to know.

mod codec;
mod sequence;
#[cfg(test)]
mod tests;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use zeroize::Zeroize;

pub use codec::Algorithm;
use codec::{Decompression, Steps};
pub use sequence::Role;
use sequence::Sequence;

use super::buffer;
use super::transport::Transport;
use crate::wire::packet::Header;

/// Length in bytes of a compressed packet's header.
const OUTER_HEADER_LENGTH: usize = 7;

/// What is shorter, in bytes, is not worth it. Both servers draw the line here.
const SHORTEST: usize = 50;

/// Most bytes that one compressed packet holds.
const MOST: usize = 0xFF_FFFF;

/// How much is compressed at a time, in bytes. The thread has other sessions to serve, and at the higher levels of zstd
/// a packet of 16 MiB takes seconds.
const STEP: usize = 64 * 1024;

/// How much may be written at a time, in bytes, where all of it is compressed at once.
const MOST_AT_ONCE: usize = 4 * STEP;

/// A transport whose peer sends and receives compressed packets.
///
/// Memory: none while no bytes are in flight. What arrives is decompressed into the reader's buffer, as far as that has
/// room. What is sent to a client is held until its packet, of up to 16 MiB, is whole.
pub struct Compressed {
    transport: Box<dyn Transport>,
    algorithm: Algorithm,
    sequence: Sequence,
    /// Empty while no buffer is lent. What has arrived and was not unpacked is `input[start..end]`.
    input: Box<[u8]>,
    start: usize,
    end: usize,
    unpacking: Unpacking,
    /// Why nothing can be read behind what was read last.
    failure: Option<io::Error>,
    /// Compressed packets, of which this much has been written.
    output: Vec<u8>,
    written: usize,
    /// The beginning of a packet.
    held: Vec<u8>,
    /// What is compressed of that already, if it is long.
    ahead: Option<Ahead>,
    /// Other sessions have their turn before more is compressed.
    rests: bool,
}

/// The first compressed packet of a long packet that has not come whole.
struct Ahead {
    steps: Steps,
    /// How much of it has been compressed, and how much there will be, before compression.
    done: usize,
    total: usize,
    packet: Vec<u8>,
}

/// Where the reader is in a compressed packet.
enum Unpacking {
    /// Before one.
    Between,
    /// What is left of it is not compressed.
    Plain { left: usize },
    /// What is left of it, compressed and decompressed.
    Compressed {
        left: usize,
        plain: usize,
        decompression: Decompression,
    },
}

impl Compressed {
    /// Wraps a transport, of which these bytes have been read already. A server sets `is_other_answer` when what it
    /// sends next answers another command than what it has sent last.
    pub fn new(
        (transport, read): (Box<dyn Transport>, &[u8]),
        role: Role,
        algorithm: Algorithm,
        is_other_answer: Arc<AtomicBool>,
    ) -> Self {
        let mut input: Box<[u8]> = Box::default();
        if !read.is_empty() {
            input = buffer::lend(read.len());
            input[..read.len()].copy_from_slice(read);
        }
        Self {
            transport,
            algorithm,
            sequence: Sequence::new(role, is_other_answer),
            input,
            start: 0,
            end: read.len(),
            unpacking: Unpacking::Between,
            failure: None,
            output: Vec::new(),
            written: 0,
            held: Vec::new(),
            ahead: None,
            rests: false,
        }
    }

    /// Unpacks what has arrived, as far as there is room.
    fn unpack(&mut self, room: &mut ReadBuf<'_>) -> io::Result<()> {
        while room.remaining() > 0 || self.is_at_the_end_of_one() {
            let arrived = &self.input[self.start..self.end];
            match &mut self.unpacking {
                Unpacking::Between => {
                    let Some(header) = arrived.first_chunk() else {
                        return Ok(());
                    };
                    self.start += OUTER_HEADER_LENGTH;
                    self.unpacking = self.begin(*header)?;
                }
                Unpacking::Plain { left: 0 } => self.unpacking = Unpacking::Between,
                Unpacking::Plain { left } => {
                    let part = (*left).min(arrived.len()).min(room.remaining());
                    if part == 0 {
                        return Ok(());
                    }
                    room.put_slice(&arrived[..part]);
                    *left -= part;
                    self.start += part;
                }
                Unpacking::Compressed {
                    left: 0,
                    plain: 0,
                    decompression,
                } => {
                    // Otherwise it would depend on the pieces in which it came whether it is read.
                    if !decompression.is_whole().map_err(broken)? {
                        return Err(broken("it has no end"));
                    }
                    self.unpacking = Unpacking::Between;
                }
                Unpacking::Compressed {
                    left,
                    plain,
                    decompression,
                } => {
                    let from = &arrived[..arrived.len().min(*left)];
                    // A checksum may follow what it holds.
                    let mut nothing = [0];
                    let to = match *plain {
                        0 => &mut nothing[..],
                        plain => {
                            let most = plain.min(room.remaining());
                            room.initialize_unfilled_to(most)
                        }
                    };
                    let (taken, put) = decompression.run(from, to).map_err(broken)?;
                    if put > *plain || taken + put == 0 && (*left == 0 || !from.is_empty()) {
                        return Err(broken("it has another length than its header says"));
                    }
                    *plain -= put;
                    *left -= taken;
                    room.advance(put);
                    self.start += taken;
                    if taken + put == 0 {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether no more comes out of the compressed packet, though it goes on.
    fn is_at_the_end_of_one(&self) -> bool {
        matches!(self.unpacking, Unpacking::Compressed { plain: 0, .. })
    }

    fn begin(&mut self, header: [u8; OUTER_HEADER_LENGTH]) -> io::Result<Unpacking> {
        let [a, b, c, number, d, e, f] = header;
        if !self.sequence.receive(number) {
            return Err(broken(format!("it has number {number}")));
        }
        let left = u32::from_le_bytes([a, b, c, 0]) as usize;
        Ok(match u32::from_le_bytes([d, e, f, 0]) as usize {
            0 => Unpacking::Plain { left },
            plain => Unpacking::Compressed {
                left,
                plain,
                decompression: self.algorithm.decompress()?,
            },
        })
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.is_empty() {
                self.input = buffer::lend(buffer::SMALL);
            }
        }
        if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let mut room = ReadBuf::new(&mut self.input[self.end..]);
        let polled = Pin::new(&mut self.transport).poll_read(context, &mut room);
        let read = room.filled().len();
        self.end += read;
        match polled {
            Poll::Ready(Ok(())) if read == 0 => {
                match self.start == self.end && matches!(self.unpacking, Unpacking::Between) {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                }
            }
            Poll::Pending if self.end == 0 => {
                self.give_back();
                Poll::Pending
            }
            polled => polled,
        }
    }

    /// Gives the buffer back and continues without one. A password may have been in it.
    fn give_back(&mut self) {
        let mut input = std::mem::take(&mut self.input);
        input.zeroize();
        buffer::give_back(input);
    }

    /// Packs what is sent next. Returns how much of it.
    fn pack(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            let bytes = &bytes[..bytes.len().min(MOST_AT_ONCE)];
            let length = self.sequence.measure(bytes);
            if length > 0 {
                self.rests = length > STEP;
                self.pack_whole(&bytes[..length])?;
                return Ok(length);
            }
        }
        let bytes = &bytes[..bytes.len().min(STEP)];
        self.held.extend_from_slice(bytes);
        self.compress_ahead()?;
        let mut joined = std::mem::take(&mut self.held);
        let mut packed = 0;
        loop {
            let length = self.sequence.measure(&joined[packed..]);
            if length == 0 {
                break;
            }
            let mut plain = &joined[packed..packed + length];
            if let Some(ahead) = self.ahead.take() {
                let (first, rest) = plain.split_at(ahead.total);
                self.pack_ahead(first, ahead);
                plain = rest;
            }
            self.pack_whole(plain)?;
            packed += length;
        }
        self.held = match packed {
            0 => joined,
            _ => joined.split_off(packed),
        };
        Ok(bytes.len())
    }

    /// Compresses what has come of a long packet. The number that it gets is not known before it is whole.
    fn compress_ahead(&mut self) -> io::Result<()> {
        if self.held.len() < STEP {
            return Ok(());
        }
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            None => {
                let header = Header::decode(&self.held);
                let total = header.map_or(0, |header| header.packet_length().min(MOST));
                if total <= self.held.len() {
                    return Ok(());
                }
                self.ahead.insert(Ahead {
                    steps: self.algorithm.compress_in_steps(total)?,
                    done: 0,
                    total,
                    packet: Vec::new(),
                })
            }
        };
        let come = self.held.len().min(ahead.total);
        let plain = &self.held[ahead.done..come];
        let is_last = come == ahead.total;
        if !plain.is_empty() {
            ahead.steps.run(plain, is_last, &mut ahead.packet)?;
            ahead.done = come;
            self.rests = true;
        }
        Ok(())
    }

    /// Packs what has been compressed as it came.
    fn pack_ahead(&mut self, plain: &[u8], mut ahead: Ahead) {
        let is_shorter = ahead.packet.len() < plain.len();
        let (body, before) = match is_shorter {
            true => (&*ahead.packet, plain.len()),
            false => (plain, 0),
        };
        self.output.reserve(OUTER_HEADER_LENGTH + body.len());
        self.output
            .extend_from_slice(&body.len().to_le_bytes()[..3]);
        self.output.push(self.sequence.send());
        self.output.extend_from_slice(&before.to_le_bytes()[..3]);
        self.output.extend_from_slice(body);
        ahead.packet.zeroize();
    }

    fn pack_whole(&mut self, plain: &[u8]) -> io::Result<()> {
        for part in plain.chunks(MOST) {
            self.pack_one(part)?;
        }
        Ok(())
    }

    fn pack_one(&mut self, plain: &[u8]) -> io::Result<()> {
        let start = self.output.len();
        let most = start + OUTER_HEADER_LENGTH + Algorithm::room(plain.len());
        self.output.resize(most, 0);
        let (header, room) = self.output[start..].split_at_mut(OUTER_HEADER_LENGTH);
        let compressed = match plain.len() {
            ..SHORTEST => None,
            _ => self.algorithm.compress(plain, room)?,
        };
        let (length, before) = match compressed {
            Some(length) if length < plain.len() => (length, plain.len()),
            _ => {
                room[..plain.len()].copy_from_slice(plain);
                (plain.len(), 0)
            }
        };
        header[..3].copy_from_slice(&length.to_le_bytes()[..3]);
        header[3] = self.sequence.send();
        header[4..].copy_from_slice(&before.to_le_bytes()[..3]);
        self.output.truncate(start + OUTER_HEADER_LENGTH + length);
        Ok(())
    }

    /// Writes what is packed.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.output.len() {
            let rest = &self.output[self.written..];
            let written = ready!(Pin::new(&mut self.transport).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        self.output.zeroize();
        self.output = Vec::new();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

fn broken(why: impl std::fmt::Display) -> io::Error {
    let what = format!("a compressed packet cannot be read: {why}");
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl AsyncRead for Compressed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = room.filled().len();
        loop {
            if let Some(failure) = self.failure.take() {
                return Poll::Ready(Err(failure));
            }
            self.failure = self.unpack(room).err();
            if room.filled().len() > before || room.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            if self.failure.is_some() {
                continue;
            }
            let had = self.end - self.start;
            ready!(self.poll_fill(context))?;
            if self.end - self.start == had {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Compressed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_output(context))?;
        if std::mem::take(&mut self.rests) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.pack(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_output(context))?;
        Pin::new(&mut self.transport).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_output(context))?;
        Pin::new(&mut self.transport).poll_shutdown(context)
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        self.give_back();
    }
}

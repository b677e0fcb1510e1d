//! What a compressed packet holds, with zlib or zstd.

use std::cell::RefCell;
use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

use crate::wire::capability;

/// What a connection is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// At zlib's own level, as both servers do.
    Zlib,
    /// At the level that the client has asked for.
    Zstd {
        /// From 1, the fastest, to 22.
        level: u8,
    },
}

thread_local! {
    /// A compressor has hundreds of KiB, so each thread has one rather than each connection.
    static ZLIB: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), true));
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

impl Algorithm {
    /// What client and server have agreed on, if anything: these are their common capabilities, and zstd's level.
    pub fn agreed(capabilities: u64, level: u8) -> Option<Self> {
        match capabilities & (capability::COMPRESS | capability::ZSTD_COMPRESSION) {
            0 => None,
            capability::ZSTD_COMPRESSION => Some(Self::Zstd { level }),
            _ => Some(Self::Zlib),
        }
    }

    /// The highest of zstd's levels.
    const HIGHEST: u8 = 22;

    /// How many bytes so many can become, when they only get longer.
    pub(super) fn room(length: usize) -> usize {
        zstd::zstd_safe::compress_bound(length)
    }

    /// Compresses `plain` into `room`, which has [`Algorithm::room`]. Returns the length, or `None` if it does not fit.
    pub(super) fn compress(self, plain: &[u8], room: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Zlib => ZLIB.with_borrow_mut(|zlib| {
                zlib.reset();
                let status = zlib.compress(plain, room, FlushCompress::Finish)?;
                let length = usize::try_from(zlib.total_out()).expect("the length of a slice");
                Ok((status == Status::StreamEnd).then_some(length))
            }),
            Self::Zstd { level } => ZSTD.with_borrow_mut(|zstd| {
                let zstd = match zstd {
                    Some(zstd) => zstd,
                    None => zstd.insert(zstd::bulk::Compressor::default()),
                };
                zstd.set_compression_level(level.clamp(1, Self::HIGHEST).into())?;
                zstd.compress_to_buffer(plain, room).map(Some)
            }),
        }
    }

    /// Begins to compress one packet, of which `length` bytes will come.
    pub(super) fn compress_in_steps(self, length: usize) -> io::Result<Steps> {
        Ok(match self {
            Self::Zlib => Steps::Zlib(Compress::new(Compression::default(), true)),
            Self::Zstd { level } => {
                let mut encoder = Encoder::new(level.clamp(1, Self::HIGHEST).into())?;
                // Otherwise the higher levels take memory for far more.
                let length = u64::try_from(length).expect("the length of a slice");
                encoder.set_pledged_src_size(Some(length))?;
                Steps::Zstd(encoder)
            }
        })
    }

    /// Begins to decompress one packet.
    pub(super) fn decompress(self) -> io::Result<Decompression> {
        Ok(match self {
            Self::Zlib => Decompression::new(Decoding::Zlib(Decompress::new(true))),
            Self::Zstd { .. } => {
                let mut decoder = Decoder::new()?;
                // No compressed packet holds more, and a hostile one could ask for much memory.
                decoder.set_parameter(DParameter::WindowLogMax(24))?;
                Decompression::new(Decoding::Zstd(decoder))
            }
        })
    }
}

/// A packet that is being compressed.
pub(super) enum Steps {
    Zlib(Compress),
    Zstd(Encoder<'static>),
}

impl Steps {
    /// Compresses what comes next; behind the last of it, the packet is whole.
    pub(super) fn run(
        &mut self,
        plain: &[u8],
        is_last: bool,
        packet: &mut Vec<u8>,
    ) -> io::Result<()> {
        match self {
            Self::Zlib(zlib) => {
                let flush = match is_last {
                    true => FlushCompress::Finish,
                    false => FlushCompress::None,
                };
                let before = zlib.total_in();
                loop {
                    packet.reserve(Algorithm::room(plain.len()));
                    let taken =
                        usize::try_from(zlib.total_in() - before).expect("a slice's length");
                    if taken == plain.len() && !is_last {
                        return Ok(());
                    }
                    let status = zlib.compress_vec(&plain[taken..], packet, flush)?;
                    if status == Status::StreamEnd {
                        return Ok(());
                    }
                }
            }
            Self::Zstd(zstd) => {
                let mut from = InBuffer::around(plain);
                let mut room = vec![0; Algorithm::room(plain.len())];
                loop {
                    let mut to = OutBuffer::around(&mut room[..]);
                    zstd.run(&mut from, &mut to)?;
                    let is_read = from.pos() == plain.len();
                    let left = match is_read && is_last {
                        true => zstd.finish(&mut to, true)?,
                        false => 0,
                    };
                    packet.extend_from_slice(to.as_slice());
                    if is_read && left == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// A packet that is being decompressed.
pub(super) struct Decompression {
    decoding: Decoding,
    /// It has come to its end.
    has_ended: bool,
}

enum Decoding {
    Zlib(Decompress),
    Zstd(Decoder<'static>),
}

impl Decompression {
    fn new(decoding: Decoding) -> Self {
        Self {
            decoding,
            has_ended: false,
        }
    }

    /// Decompresses what it can. Returns how much it has taken from `input`, and put into `output`.
    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<(usize, usize)> {
        match &mut self.decoding {
            Decoding::Zlib(zlib) => {
                let (taken, put) = (zlib.total_in(), zlib.total_out());
                let status = zlib.decompress(input, output, FlushDecompress::None)?;
                self.has_ended = status == Status::StreamEnd;
                let since = |now: u64, before: u64| {
                    usize::try_from(now - before).expect("the length of a slice")
                };
                Ok((since(zlib.total_in(), taken), since(zlib.total_out(), put)))
            }
            Decoding::Zstd(zstd) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(output));
                let wanted = zstd.run(&mut from, &mut to)?;
                self.has_ended = wanted == 0;
                Ok((from.pos(), to.pos()))
            }
        }
    }

    /// Whether all has been decompressed, once nothing more comes.
    pub(super) fn is_whole(&mut self) -> io::Result<bool> {
        if self.has_ended {
            return Ok(true);
        }
        let (_, put) = self.run(&[], &mut [0])?;
        Ok(self.has_ended && put == 0)
    }
}

//! Any bytes as compressed packets, in any pieces, and any packets sent compressed.

use countersink::net::{Algorithm, PacketStream, Role};

use crate::input::Input;
use crate::transport::{Scripted, block_on, taken};

/// How much is read, in bytes: what is compressed can be a thousand times as long.
const MOST_READ: usize = 256 * 1024;

/// What was read, and whether that ended with an error.
#[derive(Debug)]
struct Told {
    plain: Vec<u8>,
    is_broken: bool,
}

/// An input: `int<1>` whose the stream is and how it is compressed, `int<1>` the length of a piece, less one, then the
/// stream.
///
/// # Panics
///
/// If the pieces matter, or if packets of these bytes, sent compressed, are read as others.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let choices = input.byte();
    let length = usize::from(input.byte()) + 1;
    let algorithm = match choices >> 2 {
        0 => Algorithm::Zlib,
        level => Algorithm::Zstd { level },
    };
    let (sender, receiver) = match choices & 1 {
        0 => (Role::Client, Role::Server),
        _ => (Role::Server, Role::Client),
    };
    let stream = input.0;
    match choices & 2 {
        0 => unpack(receiver, algorithm, stream, length),
        _ => send(sender, receiver, algorithm, stream, length),
    }
}

/// The bytes are what a peer has sent.
fn unpack(role: Role, algorithm: Algorithm, stream: &[u8], length: usize) {
    let at_once = read(role, algorithm, [stream]);
    let in_pieces = read(role, algorithm, stream.chunks(length));
    // Of a packet that is broken, more or less may have been read.
    let common = at_once.plain.len().min(in_pieces.plain.len());
    assert_eq!(at_once.plain[..common], in_pieces.plain[..common]);
    let all = at_once.plain.len().max(in_pieces.plain.len());
    if all < MOST_READ {
        assert_eq!(
            at_once.is_broken, in_pieces.is_broken,
            "in pieces and at once"
        );
        assert!(at_once.is_broken || common == all, "one is shorter");
    }
}

/// The bytes are payloads of this length, each behind the number of its packet.
fn send(sender: Role, receiver: Role, algorithm: Algorithm, stream: &[u8], length: usize) {
    let mut packets = Vec::new();
    let (transport, written) = Scripted::new([], false);
    let mut peer = PacketStream::new(Box::new(transport));
    peer.compress(sender, algorithm);
    for packet in stream.chunks(length + 1) {
        let [number, payload @ ..] = packet else {
            continue;
        };
        let header = payload.len().to_le_bytes();
        let packet = [&header[..3], &[*number], payload].concat();
        block_on(peer.write(&packet)).expect("it is written");
        packets.extend_from_slice(&packet);
    }
    let sent = taken(&written);
    let told = read(receiver, algorithm, [&sent[..]]);
    packets.truncate(MOST_READ);
    assert!(!told.is_broken, "it can be read");
    assert_eq!(told.plain, packets);
}

fn read<'a>(role: Role, algorithm: Algorithm, pieces: impl IntoIterator<Item = &'a [u8]>) -> Told {
    let mut stream = PacketStream::new(Box::new(Scripted::saying(pieces)));
    stream.compress(role, algorithm);
    let mut plain = Vec::new();
    let mut is_broken = false;
    while plain.len() < MOST_READ {
        match block_on(stream.fill()) {
            Ok(0) => break,
            Ok(_) => {
                plain.extend_from_slice(stream.buffered());
                stream.consume(stream.buffered().len());
            }
            Err(_) => {
                is_broken = true;
                break;
            }
        }
    }
    plain.truncate(MOST_READ);
    Told { plain, is_broken }
}

/// What both roles send, with each algorithm, and the packets that it is made of.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let text = b"\x03SELECT views FROM posts WHERE id IN (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)";
    let mut seeds = Vec::new();
    for algorithm in [0, 3] {
        for role in [0, 1] {
            seeds.push([&[algorithm << 2 | 2 | role, 199], &[0][..], text].concat());
            let (transport, written) = Scripted::new([], false);
            let mut peer = PacketStream::new(Box::new(transport));
            let (sender, how) = match (role, algorithm) {
                (0, 0) => (Role::Client, Algorithm::Zlib),
                (0, level) => (Role::Client, Algorithm::Zstd { level }),
                (_, 0) => (Role::Server, Algorithm::Zlib),
                (_, level) => (Role::Server, Algorithm::Zstd { level }),
            };
            peer.compress(sender, how);
            for payload in [&text[..], b"\x0e"] {
                let header = payload.len().to_le_bytes();
                let packet = [&header[..3], &[0], payload].concat();
                block_on(peer.write(&packet)).expect("it is written");
            }
            let sent = taken(&written);
            seeds.push([&[algorithm << 2 | role, 6], &sent[..]].concat());
        }
    }
    seeds
}

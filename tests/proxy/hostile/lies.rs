//! What a lying server makes of a packet.

use countersink::wire::packet::{MAX_PAYLOAD, encode_packet};
use countersink::wire::reader::put_lenenc;
use rand::RngExt;
use rand::rngs::StdRng;

/// A way to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lie {
    SequenceId,
    /// An OK where an EOF belongs, an ERR where a row belongs, a request for a file that nobody asked for.
    FirstByte,
    /// A count of columns that the rows do not have.
    ColumnCount,
    /// More columns than there can be.
    HugeColumnCount,
    /// A payload that is shorter than its fields.
    Shorter,
    Longer,
    /// A header that tells of more than comes, so that what comes next is taken for it.
    TooLongHeader,
    TooShortHeader,
    /// A packet of 16 MiB is announced, and the connection is closed.
    Largest,
    Flipped,
    Twice,
    Left,
    Unasked,
    LocalInfile,
    AuthSwitch,
    Empty,
    Progress,
    /// Status flags that announce what does not follow.
    Status,
    /// Session state changes whose lengths are wrong.
    SessionState,
    Endless,
    Cut,
    Silence,
    Garbage,
}

impl Lie {
    pub(super) const ALL: [Self; 23] = [
        Self::SequenceId,
        Self::FirstByte,
        Self::ColumnCount,
        Self::HugeColumnCount,
        Self::Shorter,
        Self::Longer,
        Self::TooLongHeader,
        Self::TooShortHeader,
        Self::Largest,
        Self::Flipped,
        Self::Twice,
        Self::Left,
        Self::Unasked,
        Self::LocalInfile,
        Self::AuthSwitch,
        Self::Empty,
        Self::Progress,
        Self::Status,
        Self::SessionState,
        Self::Endless,
        Self::Cut,
        Self::Silence,
        Self::Garbage,
    ];
}

/// What is sent in place of a packet.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) bytes: Vec<u8>,
    /// The connection is closed behind it.
    pub(super) is_last: bool,
    /// Nothing that the server says is passed on from here on.
    pub(super) is_silent: bool,
}

/// How often an endless answer repeats its packet.
const REPEATED: usize = 20_000;

/// Repeats what is no longer than this, in bytes.
const SHORT: usize = 200;

/// What `lie` makes of a packet.
pub(super) fn tell(dice: &mut StdRng, lie: Lie, sequence_id: u8, payload: &[u8]) -> Told {
    let mut told = Told::default();
    let mut changed = payload.to_vec();
    let next = sequence_id.wrapping_add(1);
    let out = &mut told.bytes;
    let pass = |out: &mut Vec<u8>| encode_packet(out, sequence_id, payload);
    match lie {
        Lie::SequenceId => {
            encode_packet(out, dice.random(), payload);
        }
        Lie::FirstByte => {
            const FIRST: [u8; 7] = [0x00, 0x01, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
            if let Some(first) = changed.first_mut() {
                *first = FIRST[dice.random_range(0..FIRST.len())];
            }
            encode_packet(out, sequence_id, &changed);
        }
        Lie::ColumnCount => {
            let count = dice.random_range(0..300);
            changed.clear();
            put_lenenc(&mut changed, count);
            encode_packet(out, sequence_id, &changed);
        }
        Lie::HugeColumnCount => {
            const COUNTS: [u64; 4] = [0xFFFF, 0xFF_FFFF, u32::MAX as u64, u64::MAX];
            changed.clear();
            put_lenenc(&mut changed, COUNTS[dice.random_range(0..COUNTS.len())]);
            encode_packet(out, sequence_id, &changed);
        }
        Lie::Shorter => {
            changed.truncate(dice.random_range(0..=payload.len()));
            encode_packet(out, sequence_id, &changed);
        }
        Lie::Longer => {
            changed.extend((0..dice.random_range(1..40)).map(|_| dice.random::<u8>()));
            encode_packet(out, sequence_id, &changed);
        }
        Lie::TooLongHeader => {
            let length = payload.len() + dice.random_range(1..5_000);
            header(out, length, sequence_id);
            out.extend_from_slice(payload);
        }
        Lie::TooShortHeader => {
            header(out, dice.random_range(0..=payload.len()), sequence_id);
            out.extend_from_slice(payload);
        }
        Lie::Largest => {
            header(out, MAX_PAYLOAD, sequence_id);
            out.extend_from_slice(payload);
            told.is_last = true;
        }
        Lie::Flipped => {
            for _ in 0..dice.random_range(1..4) {
                if !changed.is_empty() {
                    let at = dice.random_range(0..changed.len());
                    changed[at] = dice.random();
                }
            }
            encode_packet(out, sequence_id, &changed);
        }
        Lie::Twice => {
            pass(out);
            encode_packet(out, next, payload);
        }
        Lie::Left => {}
        Lie::Unasked => {
            const OK: &[u8] = b"\x00\x01\x00\x02\x00\x00\x00";
            const EOF: &[u8] = b"\xfe\x00\x00\x02\x00";
            const ERR: &[u8] = b"\xff\x51\x04#HY000lies";
            const NULL_ROW: &[u8] = b"\xfb\xfb\xfb";
            const MORE: &[u8] = b"\x00\x01\x00\x0a\x00\x00\x00";
            let packet = [OK, EOF, ERR, NULL_ROW, MORE][dice.random_range(0..5)];
            encode_packet(out, sequence_id, packet);
            if dice.random() {
                encode_packet(out, next, payload);
            }
        }
        Lie::LocalInfile => {
            encode_packet(out, sequence_id, b"\xfb/etc/passwd");
        }
        Lie::AuthSwitch => {
            for number in 0..dice.random_range(1..50) {
                let packet = b"\xfemysql_native_password\0aaaaaaaaaaaaaaaaaaaa\0";
                encode_packet(out, sequence_id.wrapping_add(number), packet);
            }
        }
        Lie::Empty => {
            encode_packet(out, sequence_id, &[]);
            encode_packet(out, next, payload);
        }
        Lie::Progress => {
            for _ in 0..dice.random_range(1..20) {
                encode_packet(
                    out,
                    sequence_id,
                    b"\xff\xff\xff\x01\x01\x01\x00\x00\x00\x03abc",
                );
            }
            pass(out);
        }
        Lie::Status => {
            // Behind the first byte, affected rows and last id, or warnings: wherever the flags may be.
            for at in [1, 3, 4] {
                if let Some(byte) = changed.get_mut(at)
                    && dice.random()
                {
                    *byte ^= 1 << dice.random_range(0..8);
                }
            }
            encode_packet(out, sequence_id, &changed);
        }
        Lie::SessionState => {
            // OK, SERVER_SESSION_STATE_CHANGED and AUTOCOMMIT, no info, and changes of any kind.
            changed = b"\x00\x00\x00\x02\x40\x00\x00\x00".to_vec();
            put_lenenc(&mut changed, dice.random_range(0..70_000));
            changed.push(dice.random_range(0..7));
            put_lenenc(&mut changed, dice.random_range(0..70_000));
            changed.extend((0..dice.random_range(0..60)).map(|_| dice.random::<u8>()));
            encode_packet(out, sequence_id, &changed);
        }
        Lie::Endless => {
            changed.truncate(SHORT);
            for number in 0..REPEATED {
                let [number, ..] = number.to_le_bytes();
                encode_packet(out, sequence_id.wrapping_add(number), &changed);
            }
            told.is_last = true;
        }
        Lie::Cut => {
            pass(out);
            out.truncate(dice.random_range(0..out.len()));
            told.is_last = true;
        }
        Lie::Silence => told.is_silent = true,
        Lie::Garbage => {
            out.extend((0..dice.random_range(1..3_000)).map(|_| dice.random::<u8>()));
        }
    }
    told
}

fn header(out: &mut Vec<u8>, length: usize, sequence_id: u8) {
    let [a, b, c, ..] = length.min(MAX_PAYLOAD).to_le_bytes();
    out.extend_from_slice(&[a, b, c, sequence_id]);
}

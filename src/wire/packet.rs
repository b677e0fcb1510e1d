//! The four-byte packet header, and how long payloads are split into packets (manual: "MySQL Packets").

/// Length of a packet header in bytes: three for the payload length, one for the sequence id.
pub const HEADER_LENGTH: usize = 4;

/// Maximum payload of one packet, in bytes. A packet of this length is continued by the next one, which may be empty.
pub const MAX_PAYLOAD: usize = 0xFF_FFFF;

/// A packet header: `int<3>` payload length, `int<1>` sequence id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the payload in bytes.
    pub length: usize,
    /// Position of the packet in its exchange. It wraps at 256.
    pub sequence_id: u8,
}

impl Header {
    /// Reads the header at the start of `bytes`, or returns `None` if there are fewer than four bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence_id, ..] = bytes else {
            return None;
        };
        Some(Self {
            length: usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16,
            sequence_id,
        })
    }

    /// The header's bytes. `length` must not exceed [`MAX_PAYLOAD`].
    pub fn encode(self) -> [u8; HEADER_LENGTH] {
        debug_assert!(self.length <= MAX_PAYLOAD);
        let [a, b, c, ..] = self.length.to_le_bytes();
        [a, b, c, self.sequence_id]
    }

    /// Whether the payload continues in the next packet.
    pub fn is_continued(self) -> bool {
        self.length == MAX_PAYLOAD
    }

    /// Length of header and payload together, in bytes.
    pub fn packet_length(self) -> usize {
        HEADER_LENGTH + self.length
    }
}

/// Appends `payload` to `out` as one packet, or as several if it is at least [`MAX_PAYLOAD`] long. Returns the sequence
/// id that follows that of the last packet.
pub fn encode_packet(out: &mut Vec<u8>, first_sequence_id: u8, payload: &[u8]) -> u8 {
    let mut sequence_id = first_sequence_id;
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        let header = Header {
            length: part.len(),
            sequence_id,
        };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(part);
        sequence_id = sequence_id.wrapping_add(1);
        rest = after;
        if part.len() < MAX_PAYLOAD {
            return sequence_id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_round_trip() {
        for length in [0, 1, 255, 256, 65_536, MAX_PAYLOAD] {
            let header = Header {
                length,
                sequence_id: 7,
            };
            assert_eq!(Header::decode(&header.encode()), Some(header));
        }
        assert_eq!(Header::decode(&[1, 0, 0]), None);
    }

    #[test]
    fn a_payload_of_exactly_16_mib_less_one_is_followed_by_an_empty_packet() {
        let mut out = Vec::new();
        let next = encode_packet(&mut out, 0, &vec![b'x'; MAX_PAYLOAD]);
        assert_eq!(next, 2);
        assert_eq!(out.len(), MAX_PAYLOAD + 2 * HEADER_LENGTH);
        assert_eq!(&out[out.len() - 4..], &[0, 0, 0, 1]);
    }
}

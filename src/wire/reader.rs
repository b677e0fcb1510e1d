//! Reading fields from the start of a payload (manual: "Protocol Basics", data types).

/// The payload ended within a field, or a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet")]
pub struct Malformed;

/// A cursor over one payload.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a `string<fix>`: the next `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (field, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(field)
    }

    /// Reads an `int<1>`.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.bytes(1)?[0])
    }

    /// Reads an `int<2>`.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        let field = self.bytes(2)?;
        Ok(u16::from_le_bytes([field[0], field[1]]))
    }

    /// Reads an `int<4>`.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        let field = self.bytes(4)?;
        Ok(u32::from_le_bytes([field[0], field[1], field[2], field[3]]))
    }

    /// Reads an `int<8>`.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        let field: [u8; 8] = self.bytes(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(field))
    }

    /// Reads an `int<lenenc>`. Fails at 0xFB (NULL) and 0xFF, which do not begin an integer.
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            short @ 0..=0xFA => Ok(u64::from(short)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => {
                let field = self.bytes(3)?;
                Ok(u64::from(u32::from_le_bytes([
                    field[0], field[1], field[2], 0,
                ])))
            }
            0xFE => self.u64(),
            _ => Err(Malformed),
        }
    }

    /// Reads a `string<lenenc>`.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.lenenc()?).map_err(|_| Malformed)?;
        self.bytes(length)
    }

    /// Reads a `string<NUL>` and returns it without the NUL.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let end = memchr::memchr(0, self.rest).ok_or(Malformed)?;
        let field = self.bytes(end)?;
        self.bytes(1)?;
        Ok(field)
    }
}

/// Appends an `int<lenenc>`.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a `string<lenenc>`.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_lenenc(out, value.len() as u64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_integers_survive_the_round_trip_and_every_truncation_is_an_error() {
        for value in [0, 250, 251, 65_535, 65_536, 0xFF_FFFF, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(Reader::new(&out).lenenc(), Ok(value));
            for end in 0..out.len() {
                assert_eq!(Reader::new(&out[..end]).lenenc(), Err(Malformed));
            }
        }
    }
}

//! The server's first packet (manual: "Protocol::HandshakeV10").

use super::last_string;
use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader};

/// Bytes of random data that the plugins use; a NUL follows them on the wire.
pub(super) const NONCE_LENGTH: usize = 20;

/// What the server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// `string<NUL>`: version, with MariaDB's `5.5.5-` prefix where it stands.
    pub server_version: Vec<u8>,
    /// `int<4>`: connection id.
    pub thread_id: u32,
    /// The random data that authentication starts from, without the NUL behind them.
    pub nonce: Vec<u8>,
    /// Capability flags; MariaDB's own ones in the upper half.
    pub capabilities: u64,
    /// `int<1>`: default collation, its lower eight bits.
    pub collation: u8,
    /// `int<2>`: status flags.
    pub status: u16,
    /// `string<NUL>`: the plugin that authentication starts with.
    pub plugin: Vec<u8>,
    /// Where the lower two bytes of the capability flags stand.
    capabilities_at: usize,
}

impl Greeting {
    /// First byte of the greeting of every server since MySQL 3.21.
    pub const PROTOCOL_VERSION: u8 = 10;

    /// Reads a greeting, whose first byte is [`Greeting::PROTOCOL_VERSION`].
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::PROTOCOL_VERSION {
            return Err(Malformed);
        }
        let server_version = reader.nul_bytes()?.to_vec();
        let thread_id = reader.u32()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.bytes(1)?;
        let capabilities_at = payload.len() - reader.rest().len();
        let low = u64::from(reader.u16()?);
        let collation = reader.u8()?;
        let status = reader.u16()?;
        let mut capabilities = low | u64::from(reader.u16()?) << 16;
        let data_length = usize::from(reader.u8()?);
        reader.bytes(6)?;
        let mariadb = u64::from(reader.u32()?);
        if capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= mariadb << 32;
        }
        if capabilities & capability::SECURE_CONNECTION != 0 {
            let part = data_length.saturating_sub(8).max(13);
            nonce.extend_from_slice(reader.bytes(part)?);
            nonce.truncate(NONCE_LENGTH);
        }
        let plugin = match capabilities & capability::PLUGIN_AUTH {
            0 => b"mysql_native_password",
            _ => last_string(&mut reader)?,
        };
        Ok(Self {
            server_version,
            thread_id,
            nonce,
            capabilities,
            collation,
            status,
            plugin: plugin.to_vec(),
            capabilities_at,
        })
    }

    /// Whether the server is a MariaDB: it says so in its version, or does without `CLIENT_MYSQL`.
    pub fn is_mariadb(&self) -> bool {
        self.capabilities & capability::LONG_PASSWORD == 0
            || memchr::memmem::find(&self.server_version, b"MariaDB").is_some()
    }

    /// A handshake response for an account that no server has, without a password. A client that leaves before its own
    /// response counts as a connection error, and MySQL blocks the host of too many of them; an account that does not
    /// exist does not count.
    pub fn leave_taking(&self) -> Vec<u8> {
        let capabilities = self.capabilities
            & (capability::LONG_PASSWORD
                | capability::PROTOCOL_41
                | capability::SECURE_CONNECTION
                | capability::PLUGIN_AUTH);
        let mut payload = capabilities.to_le_bytes()[..4].to_vec();
        // Largest packet, collation, filler.
        payload.extend_from_slice(&[0, 0, 0, 1, self.collation]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(b"countersink-client-left\0\0");
        payload.extend_from_slice(&self.plugin);
        payload.push(0);
        payload
    }

    /// Writes the lower half of `capabilities` over those of `payload`, which this greeting was read from.
    pub fn put_capabilities(&self, payload: &mut [u8], capabilities: u64) {
        let bytes = capabilities.to_le_bytes();
        let at = self.capabilities_at;
        payload[at..at + 2].copy_from_slice(&bytes[..2]);
        payload[at + 5..at + 7].copy_from_slice(&bytes[2..4]);
        if self.capabilities & capability::LONG_PASSWORD == 0
            && let Some(extended) = payload.get_mut(at + 14..at + 18)
        {
            extended.copy_from_slice(&bytes[4..]);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wire::handshake::HandshakeResponse;

    /// MySQL 9.7.4, TLS on.
    pub const MYSQL_9_7: &[u8] = b"\n9.7.4-2\0\x16\0\0\0N%aT-S{\x7f\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0 \x1f:d<y\x07oA|E@\0caching_sha2_password\0";
    /// MariaDB 10.11.18, TLS off.
    pub const MARIADB_10_11: &[u8] = b"\n5.5.5-10.11.18-MariaDB-0+deb12u1-log\0\x0e\0\0\0yI=79Z9O\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0_r>|v\\K@AeWe\0mysql_native_password\0";

    #[test]
    fn the_greeting_of_mysql_9_7() {
        let greeting = Greeting::decode(MYSQL_9_7).unwrap();
        assert_eq!(greeting.server_version, b"9.7.4-2");
        assert_eq!(greeting.thread_id, 22);
        assert_eq!(greeting.nonce, b"N%aT-S{\x7f \x1f:d<y\x07oA|E@");
        assert_eq!(greeting.capabilities, 0xDFFF_FFFF);
        assert_eq!(greeting.collation, 255);
        assert_eq!(greeting.status, 2);
        assert_eq!(greeting.plugin, b"caching_sha2_password");
        assert!(!greeting.is_mariadb());
    }

    #[test]
    fn the_greeting_of_mariadb_10_11() {
        let greeting = Greeting::decode(MARIADB_10_11).unwrap();
        assert_eq!(greeting.thread_id, 14);
        assert_eq!(greeting.nonce, b"yI=79Z9O_r>|v\\K@AeWe");
        assert_eq!(greeting.capabilities, 0x1D_81FF_F7FE);
        assert_eq!(greeting.capabilities & capability::SSL, 0);
        assert_eq!(greeting.plugin, b"mysql_native_password");
        assert!(greeting.is_mariadb());
    }

    #[test]
    fn a_greeting_cut_anywhere_before_its_last_field_is_malformed() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let name = Greeting::decode(whole).unwrap().plugin.len() + 1;
            for end in 0..whole.len() - name {
                assert_eq!(Greeting::decode(&whole[..end]), Err(Malformed), "{end}");
            }
        }
    }

    #[test]
    fn another_protocol_version_is_not_read() {
        let mut old = MYSQL_9_7.to_vec();
        old[0] = 9;
        assert_eq!(Greeting::decode(&old), Err(Malformed));
    }

    #[test]
    fn the_leave_taking_is_a_handshake_response() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let greeting = Greeting::decode(whole).unwrap();
            let payload = greeting.leave_taking();
            let response = HandshakeResponse::decode(&payload, greeting.capabilities).unwrap();
            assert_eq!(response.user, b"countersink-client-left");
            assert_eq!(response.plugin, Some(greeting.plugin));
        }
    }

    #[test]
    fn a_patch_changes_the_capabilities_and_no_other_byte() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let greeting = Greeting::decode(whole).unwrap();
            let wanted = (greeting.capabilities ^ capability::SSL) & !capability::MASKED;
            let mut patched = whole.to_vec();
            greeting.put_capabilities(&mut patched, wanted);
            let expected = Greeting {
                capabilities: wanted,
                ..greeting.clone()
            };
            assert_eq!(Greeting::decode(&patched), Ok(expected));
            greeting.put_capabilities(&mut patched, greeting.capabilities);
            assert_eq!(patched, whole);
        }
    }
}

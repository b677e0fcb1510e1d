//! The server's first packet (manual: "Protocol::HandshakeV10").

use super::last_string;
use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader};

/// Length of auth_plugin_data in bytes, without the NUL that follows it on the wire.
pub(super) const NONCE_LENGTH: usize = 20;

/// The server's initial handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialHandshake {
    /// `string<NUL>`: version, including MariaDB's `5.5.5-` prefix if there is one.
    pub server_version: Vec<u8>,
    /// `int<4>`: connection id.
    pub thread_id: u32,
    /// The random data that authentication plugins use, without the NUL after it.
    pub auth_plugin_data: Vec<u8>,
    /// Capability flags, with MariaDB's own in the upper half.
    pub capabilities: u64,
    /// `int<1>`: the lower eight bits of the default collation.
    pub collation: u8,
    /// `int<2>`: status flags.
    pub status: u16,
    /// `string<NUL>`: the plugin that authentication starts with.
    pub plugin: Vec<u8>,
    /// Offset of the lower two bytes of the capability flags in the payload.
    capabilities_at: usize,
}

impl InitialHandshake {
    /// First byte of the initial handshake of every server since MySQL 3.21.
    pub const PROTOCOL_VERSION: u8 = 10;

    /// Reads an initial handshake, whose first byte is [`InitialHandshake::PROTOCOL_VERSION`].
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::PROTOCOL_VERSION {
            return Err(Malformed);
        }
        let server_version = reader.nul_bytes()?.to_vec();
        let thread_id = reader.u32()?;
        let mut auth_plugin_data = reader.bytes(8)?.to_vec();
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
            auth_plugin_data.extend_from_slice(reader.bytes(part)?);
            auth_plugin_data.truncate(NONCE_LENGTH);
        }
        let plugin = match capabilities & capability::PLUGIN_AUTH {
            0 => b"mysql_native_password",
            _ => last_string(&mut reader)?,
        };
        Ok(Self {
            server_version,
            thread_id,
            auth_plugin_data,
            capabilities,
            collation,
            status,
            plugin: plugin.to_vec(),
            capabilities_at,
        })
    }

    /// Whether the server is a MariaDB: its version says so, or it does not set `CLIENT_MYSQL`.
    pub fn is_mariadb(&self) -> bool {
        self.capabilities & capability::LONG_PASSWORD == 0
            || memchr::memmem::find(&self.server_version, b"MariaDB").is_some()
    }

    /// A handshake response for an account that no server has, without a password. It is for clients that disconnect
    /// before they respond: the server would count a connection error, and MySQL blocks hosts with too many of them. A
    /// failed login of an account that does not exist does not count.
    pub fn abandoned_response(&self) -> Vec<u8> {
        let capabilities = self.capabilities
            & (capability::LONG_PASSWORD
                | capability::PROTOCOL_41
                | capability::SECURE_CONNECTION
                | capability::PLUGIN_AUTH);
        let mut payload = capabilities.to_le_bytes()[..4].to_vec();
        // Maximum packet size, collation, filler.
        payload.extend_from_slice(&[0, 0, 0, 1, self.collation]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(b"countersink-client-left\0\0");
        payload.extend_from_slice(&self.plugin);
        payload.push(0);
        payload
    }

    /// Writes `capabilities` over the flags in `payload`, from which this initial handshake was decoded. The upper half
    /// is written only where the server uses MariaDB's flags.
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
        let initial_handshake = InitialHandshake::decode(MYSQL_9_7).unwrap();
        assert_eq!(initial_handshake.server_version, b"9.7.4-2");
        assert_eq!(initial_handshake.thread_id, 22);
        assert_eq!(
            initial_handshake.auth_plugin_data,
            b"N%aT-S{\x7f \x1f:d<y\x07oA|E@"
        );
        assert_eq!(initial_handshake.capabilities, 0xDFFF_FFFF);
        assert_eq!(initial_handshake.collation, 255);
        assert_eq!(initial_handshake.status, 2);
        assert_eq!(initial_handshake.plugin, b"caching_sha2_password");
        assert!(!initial_handshake.is_mariadb());
    }

    #[test]
    fn the_greeting_of_mariadb_10_11() {
        let initial_handshake = InitialHandshake::decode(MARIADB_10_11).unwrap();
        assert_eq!(initial_handshake.thread_id, 14);
        assert_eq!(initial_handshake.auth_plugin_data, b"yI=79Z9O_r>|v\\K@AeWe");
        assert_eq!(initial_handshake.capabilities, 0x1D_81FF_F7FE);
        assert_eq!(initial_handshake.capabilities & capability::SSL, 0);
        assert_eq!(initial_handshake.plugin, b"mysql_native_password");
        assert!(initial_handshake.is_mariadb());
    }

    #[test]
    fn a_greeting_cut_anywhere_before_its_last_field_is_malformed() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let name = InitialHandshake::decode(whole).unwrap().plugin.len() + 1;
            for end in 0..whole.len() - name {
                assert_eq!(
                    InitialHandshake::decode(&whole[..end]),
                    Err(Malformed),
                    "{end}"
                );
            }
        }
    }

    #[test]
    fn another_protocol_version_is_not_read() {
        let mut old = MYSQL_9_7.to_vec();
        old[0] = 9;
        assert_eq!(InitialHandshake::decode(&old), Err(Malformed));
    }

    #[test]
    fn the_leave_taking_is_a_handshake_response() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let initial_handshake = InitialHandshake::decode(whole).unwrap();
            let payload = initial_handshake.abandoned_response();
            let response =
                HandshakeResponse::decode(&payload, initial_handshake.capabilities).unwrap();
            assert_eq!(response.user, b"countersink-client-left");
            assert_eq!(response.plugin, Some(initial_handshake.plugin));
        }
    }

    #[test]
    fn a_patch_changes_the_capabilities_and_no_other_byte() {
        for whole in [MYSQL_9_7, MARIADB_10_11] {
            let initial_handshake = InitialHandshake::decode(whole).unwrap();
            let wanted = (initial_handshake.capabilities ^ capability::SSL) & !capability::MASKED;
            let mut patched = whole.to_vec();
            initial_handshake.put_capabilities(&mut patched, wanted);
            let expected = InitialHandshake {
                capabilities: wanted,
                ..initial_handshake.clone()
            };
            assert_eq!(InitialHandshake::decode(&patched), Ok(expected));
            initial_handshake.put_capabilities(&mut patched, initial_handshake.capabilities);
            assert_eq!(patched, whole);
        }
    }
}

//! The client's response to the initial handshake (manual: "Protocol::HandshakeResponse41", "Protocol::SSLRequest").

use super::{Attributes, Credentials, attributes, authentication_data, last_string};
use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader};

/// Length in bytes of the SSL request, which consists of the handshake response's fields before the user name.
pub const SSL_REQUEST_LENGTH: usize = 32;

/// A decoded handshake response: the account to log in as, and its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeResponse {
    /// The client's capability flags, as it set them, with MariaDB's own in the upper half.
    pub capabilities: u64,
    /// `int<1>`: the lower eight bits of the connection's collation.
    pub collation: u8,
    /// `string<NUL>`: account name.
    pub user: Vec<u8>,
    /// `string<NUL>`: default schema.
    pub schema: Option<Vec<u8>>,
    /// `string<NUL>`: the plugin that the authentication data is for.
    pub plugin: Option<Vec<u8>>,
    /// The connection attributes.
    pub attributes: Attributes,
    /// `int<1>`: the level of zstd compression, 0 without it.
    pub zstd_level: u8,
    credentials: Credentials,
}

impl HandshakeResponse {
    /// Reads the capability flags at the start of a handshake response or an SSL request. A client older than 4.1 sends
    /// only two bytes of them.
    pub fn capabilities(payload: &[u8]) -> Result<u64, Malformed> {
        let low = u64::from(Reader::new(payload).u16()?);
        match low & capability::PROTOCOL_41 {
            0 => Ok(low),
            _ => Ok(u64::from(Reader::new(payload).u32()?)),
        }
    }

    /// Reads a handshake response as a server would that offered the capabilities `offered`.
    pub fn decode(payload: &[u8], offered: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let at = |reader: &Reader<'_>| payload.len() - reader.rest().len();
        let mut capabilities = u64::from(reader.u32()?);
        reader.u32()?;
        let collation = reader.u8()?;
        reader.bytes(19)?;
        let mariadb = u64::from(reader.u32()?);
        if capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= mariadb << 32;
        }
        let common = capabilities & offered;
        let has = |flag| common & flag != 0;
        let user = reader.nul_bytes()?.to_vec();
        let data_start = at(&reader);
        authentication_data(
            &mut reader,
            common,
            capability::PLUGIN_AUTH_LENENC_CLIENT_DATA,
        )?;
        let data = data_start..at(&reader);
        let schema = match has(capability::CONNECT_WITH_DB) && !reader.is_empty() {
            true => Some(last_string(&mut reader)?.to_vec()),
            false => None,
        };
        let plugin_start = at(&reader);
        let plugin = match has(capability::PLUGIN_AUTH) && !reader.is_empty() {
            true => Some(last_string(&mut reader)?.to_vec()),
            false => None,
        };
        let credentials = Credentials {
            data,
            plugin: plugin_start..at(&reader),
        };
        let attributes = match has(capability::CONNECT_ATTRS) {
            true => attributes(&mut reader),
            false => Attributes::new(),
        };
        let zstd_level = match has(capability::ZSTD_COMPRESSION) {
            true => payload.last().copied().unwrap_or_default(),
            false => 0,
        };
        Ok(Self {
            capabilities,
            collation,
            user,
            schema: schema.filter(|schema| !schema.is_empty()),
            plugin,
            attributes,
            zstd_level,
            credentials,
        })
    }

    /// Sets the flags in `payload`, from which this response was decoded, to `capabilities`.
    pub fn put_capabilities(&self, payload: &mut [u8], capabilities: u64) {
        let bytes = capabilities.to_le_bytes();
        payload[..4].copy_from_slice(&bytes[..4]);
        if self.capabilities & capability::LONG_PASSWORD == 0 {
            payload[28..32].copy_from_slice(&bytes[4..]);
        }
    }

    /// Appends the level of zstd to `payload`, from which this response was decoded, or takes it away, if the flags
    /// `capabilities` in it ask for compression otherwise than the client did. `offered` are the capabilities that the
    /// server offered.
    pub fn put_zstd_level(&self, payload: &mut Vec<u8>, capabilities: u64, offered: u64) {
        let has = |flags: u64| flags & offered & capability::ZSTD_COMPRESSION != 0;
        match (has(self.capabilities), has(capabilities)) {
            (false, true) => payload.push(Self::USUAL_ZSTD_LEVEL),
            (true, false) => {
                payload.pop();
            }
            (true, true) | (false, false) => {}
        }
    }

    /// The level of zstd that a server is asked for: the client's, if its own connection has one.
    pub fn zstd_level_toward_upstream(&self) -> u8 {
        match self.zstd_level {
            0 => Self::USUAL_ZSTD_LEVEL,
            level => level,
        }
    }

    /// The level of clients that do not ask for another.
    const USUAL_ZSTD_LEVEL: u8 = 3;

    /// The authentication data in `payload`, from which this response was decoded. `offered` are the capabilities that
    /// the server offered.
    pub fn authentication_data<'a>(
        &self,
        payload: &'a [u8],
        offered: u64,
    ) -> Result<&'a [u8], Malformed> {
        let field = payload.get(self.credentials.data.clone());
        authentication_data(
            &mut Reader::new(field.ok_or(Malformed)?),
            self.capabilities & offered,
            capability::PLUGIN_AUTH_LENENC_CLIENT_DATA,
        )
    }

    /// Returns `payload`, from which this response was decoded, without authentication data, so that the server asks
    /// for it in a separate packet.
    pub fn withhold_credentials(&self, payload: &[u8]) -> Vec<u8> {
        self.credentials.withheld(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: u64 = capability::LONG_PASSWORD
        | capability::PROTOCOL_41
        | capability::CONNECT_WITH_DB
        | capability::SECURE_CONNECTION
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | capability::CONNECT_ATTRS;

    fn packet(capabilities: u64, tail: &[u8]) -> Vec<u8> {
        let mut payload = capabilities.to_le_bytes()[..4].to_vec();
        payload.extend_from_slice(&[0, 0, 0, 1, 45]);
        payload.extend_from_slice(&[0; 19]);
        payload.extend_from_slice(&capabilities.to_le_bytes()[4..]);
        payload.extend_from_slice(tail);
        payload
    }

    const TAIL: &[u8] = b"ann\0\x05DATA!shop\0sha256_password\0\x0e\x03key\x03val\x01a\x03bcd";

    #[test]
    fn every_field_is_found() {
        let payload = packet(PLAIN, TAIL);
        let response = HandshakeResponse::decode(&payload, u64::MAX).unwrap();
        assert_eq!(response.capabilities, PLAIN);
        assert_eq!(response.collation, 45);
        assert_eq!(response.user, b"ann");
        assert_eq!(response.schema.as_deref(), Some(&b"shop"[..]));
        assert_eq!(response.plugin.as_deref(), Some(&b"sha256_password"[..]));
        assert_eq!(
            response.attributes,
            [
                (b"key".to_vec(), b"val".to_vec()),
                (b"a".to_vec(), b"bcd".to_vec())
            ]
        );
        assert_eq!(&payload[response.credentials.data.clone()], b"\x05DATA!");
        let data = response.authentication_data(&payload, u64::MAX);
        assert_eq!(data, Ok(&b"DATA!"[..]));
    }

    #[test]
    fn a_flag_the_server_did_not_offer_has_no_field() {
        let offered = !(capability::CONNECT_WITH_DB | capability::CONNECT_ATTRS);
        let payload = packet(PLAIN, b"ann\0\x00sha256_password\0");
        let response = HandshakeResponse::decode(&payload, offered).unwrap();
        assert_eq!(response.schema, None);
        assert_eq!(response.plugin.as_deref(), Some(&b"sha256_password"[..]));
    }

    #[test]
    fn mariadb_flags_count_only_without_client_mysql() {
        let mariadb = capability::MARIADB_STMT_BULK;
        let with = packet(PLAIN | mariadb, TAIL);
        assert_eq!(
            HandshakeResponse::decode(&with, u64::MAX)
                .unwrap()
                .capabilities,
            PLAIN
        );
        let without = packet(PLAIN & !capability::LONG_PASSWORD | mariadb, TAIL);
        assert_eq!(
            HandshakeResponse::decode(&without, u64::MAX)
                .unwrap()
                .capabilities,
            PLAIN & !capability::LONG_PASSWORD | mariadb
        );
    }

    #[test]
    fn a_response_cut_inside_user_or_data_is_malformed_and_never_panics() {
        for flags in [
            PLAIN,
            PLAIN & !capability::PLUGIN_AUTH_LENENC_CLIENT_DATA,
            PLAIN & !capability::PLUGIN_AUTH_LENENC_CLIENT_DATA & !capability::SECURE_CONNECTION,
        ] {
            let payload = packet(flags, TAIL);
            for end in 0..=payload.len() {
                let decoded = HandshakeResponse::decode(&payload[..end], u64::MAX);
                assert!(
                    end >= SSL_REQUEST_LENGTH + 9 || decoded == Err(Malformed),
                    "{end}"
                );
                let _ = HandshakeResponse::capabilities(&payload[..end]);
            }
        }
    }

    #[test]
    fn the_level_of_zstd_is_the_last_byte() {
        let flags = PLAIN | capability::ZSTD_COMPRESSION;
        let mut payload = packet(flags, TAIL);
        payload.push(7);
        let response = HandshakeResponse::decode(&payload, u64::MAX).unwrap();
        assert_eq!(response.zstd_level, 7);
        let response = HandshakeResponse::decode(&payload, PLAIN).unwrap();
        assert_eq!(response.zstd_level, 0);
    }

    #[test]
    fn withheld_credentials_leave_the_other_fields_as_they_were() {
        for flags in [PLAIN, PLAIN & !capability::PLUGIN_AUTH_LENENC_CLIENT_DATA] {
            let payload = packet(flags, TAIL);
            let response = HandshakeResponse::decode(&payload, u64::MAX).unwrap();
            let withheld = response.withhold_credentials(&payload);
            let again = HandshakeResponse::decode(&withheld, u64::MAX).unwrap();
            assert_eq!(&withheld[again.credentials.data.clone()], b"\0");
            assert_eq!(
                again.plugin.as_deref(),
                Some(&b"countersink_asks_again"[..])
            );
            assert_eq!(
                (again.user, again.schema, again.attributes),
                (response.user, response.schema, response.attributes)
            );
        }
    }
}

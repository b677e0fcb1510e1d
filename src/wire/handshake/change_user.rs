//! COM_CHANGE_USER, which logs in again on the same connection (manual: "COM_CHANGE_USER").

use super::{Attributes, Credentials, attributes, authentication_data, last_string};
use crate::wire::capability;
use crate::wire::reader::{Malformed, Reader};

/// A decoded COM_CHANGE_USER: the account to log in as, and its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeUser {
    /// `string<NUL>`: account name.
    pub user: Vec<u8>,
    /// `string<NUL>`: default schema.
    pub schema: Option<Vec<u8>>,
    /// `int<2>`: collation of the connection. The server uses its default where this is missing.
    pub collation: Option<u16>,
    /// `string<NUL>`: the plugin that the authentication data is for.
    pub plugin: Option<Vec<u8>>,
    /// The connection attributes.
    pub attributes: Attributes,
    credentials: Credentials,
}

impl ChangeUser {
    /// Reads the payload, including the command byte, under the connection's `capabilities`.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let at = |reader: &Reader<'_>| payload.len() - reader.rest().len();
        reader.u8()?;
        let user = reader.nul_bytes()?.to_vec();
        let data_start = at(&reader);
        authentication_data(&mut reader, capabilities, 0)?;
        let data = data_start..at(&reader);
        let schema = last_string(&mut reader)?.to_vec();
        let collation = reader.u16().ok();
        let plugin_start = at(&reader);
        let plugin = match capabilities & capability::PLUGIN_AUTH != 0 && !reader.is_empty() {
            true => Some(last_string(&mut reader)?.to_vec()),
            false => None,
        };
        let credentials = Credentials {
            data,
            plugin: plugin_start..at(&reader),
        };
        let attributes = match capabilities & capability::CONNECT_ATTRS {
            0 => Attributes::new(),
            _ => attributes(&mut reader),
        };
        Ok(Self {
            user,
            schema: Some(schema).filter(|schema| !schema.is_empty()),
            collation,
            plugin,
            attributes,
            credentials,
        })
    }

    /// Returns `payload`, from which this command was decoded, without authentication data, so that the server asks for
    /// it in a separate packet.
    pub fn withhold_credentials(&self, payload: &[u8]) -> Vec<u8> {
        self.credentials.withheld(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: u64 =
        capability::SECURE_CONNECTION | capability::PLUGIN_AUTH | capability::CONNECT_ATTRS;
    const WHOLE: &[u8] = b"\x11bob\0\x03abcshop\0\x2d\0caching_sha2_password\0\x08\x03key\x03val";

    #[test]
    fn every_field_is_found() {
        let command = ChangeUser::decode(WHOLE, FLAGS).unwrap();
        assert_eq!(command.user, b"bob");
        assert_eq!(command.schema.as_deref(), Some(&b"shop"[..]));
        assert_eq!(command.collation, Some(45));
        assert_eq!(
            command.plugin.as_deref(),
            Some(&b"caching_sha2_password"[..])
        );
        assert_eq!(command.attributes, [(b"key".to_vec(), b"val".to_vec())]);
        let withheld = command.withhold_credentials(WHOLE);
        let again = ChangeUser::decode(&withheld, FLAGS).unwrap();
        assert_eq!(&withheld[again.credentials.data.clone()], b"\0");
        assert_eq!((again.user, again.schema), (command.user, command.schema));
    }

    #[test]
    fn a_command_cut_anywhere_does_not_panic() {
        for end in 0..WHOLE.len() {
            let decoded = ChangeUser::decode(&WHOLE[..end], FLAGS);
            assert!(end >= 9 || decoded == Err(Malformed), "{end}");
        }
    }

    #[test]
    fn an_old_client_stops_after_the_schema() {
        let command = ChangeUser::decode(b"\x11bob\0\0\0", FLAGS).unwrap();
        assert_eq!(
            (command.schema, command.collation, command.plugin),
            (None, None, None)
        );
    }
}

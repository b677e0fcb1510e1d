//! Packets of the authentication exchange (manual: "Protocol::AuthSwitchRequest", "Protocol::AuthMoreData",
//! "Protocol::AuthNextFactorRequest").

use super::last_string;
use crate::wire::reader::{Malformed, Reader};

/// First byte of AuthSwitchRequest. Alone, it asks for the password hash that servers used before 4.1.
pub const SWITCH: u8 = 0xFE;
/// First byte of AuthMoreData.
pub const MORE_DATA: u8 = 0x01;
/// First byte of AuthNextFactorRequest.
pub const NEXT_FACTOR: u8 = 0x02;

/// AuthSwitchRequest or AuthNextFactorRequest: the server asks for the response of another plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginRequest<'a> {
    /// `string<NUL>`: name of the plugin.
    pub plugin: &'a [u8],
    /// `string<EOF>`: the plugin's first data, usually auth_plugin_data. The NUL behind a scramble is left out.
    pub data: &'a [u8],
}

/// Length of the scramble of MySQL's own plugins in bytes. No byte of it is NUL, and one NUL follows it. The data of
/// other plugins may end with a NUL of its own: that of `client_ed25519` is 32 random bytes.
const SCRAMBLE_LENGTH: usize = 20;

impl<'a> PluginRequest<'a> {
    /// Reads the request, whose first byte is [`SWITCH`] or [`NEXT_FACTOR`].
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let plugin = last_string(&mut reader)?;
        let data = reader.rest();
        Ok(Self {
            plugin,
            data: match data.strip_suffix(b"\0") {
                Some(scramble) if scramble.len() == SCRAMBLE_LENGTH => scramble,
                _ => data,
            },
        })
    }
}

/// A plugin that sends the password in the clear over a secure connection, or encrypted with RSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordPlugin {
    /// `caching_sha2_password`: sends a scramble first, and the password itself only when the server's cache does not
    /// hold it.
    CachingSha2,
    /// `sha256_password`: always sends the password itself.
    Sha256,
}

impl PasswordPlugin {
    /// AuthMoreData of [`PasswordPlugin::CachingSha2`]: the scramble was not enough.
    pub const PERFORM_FULL_AUTHENTICATION: &'static [u8] = &[MORE_DATA, 0x04];

    /// AuthMoreData of [`PasswordPlugin::CachingSha2`]: the scramble was enough, and an OK packet follows.
    pub const FAST_AUTHENTICATION_SUCCESS: &'static [u8] = &[MORE_DATA, 0x03];

    /// The plugin with this name, if it is one of these.
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"sha256_password" => Some(Self::Sha256),
            _ => None,
        }
    }

    /// The plugin's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
        }
    }

    /// The payload with which a client asks for the server's public key.
    pub fn key_request(self) -> &'static [u8] {
        match self {
            Self::CachingSha2 => &[0x02],
            Self::Sha256 => &[0x01],
        }
    }
}

/// The name of the plugin, if its client sends a secret unencrypted and relies on the connection to protect it.
pub fn in_the_clear(name: &[u8]) -> Option<&'static str> {
    const PLUGINS: [&str; 3] = [
        "mysql_clear_password",
        "dialog",
        "authentication_openid_connect_client",
    ];
    let mut plugins = PLUGINS.into_iter();
    plugins.find(|plugin| plugin.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_names_plugin_and_nonce() {
        let request =
            PluginRequest::decode(b"\xfesha256_password\0 0123456789abcdefghi\0").unwrap();
        assert_eq!(request.plugin, b"sha256_password");
        assert_eq!(request.data, b" 0123456789abcdefghi");
    }

    #[test]
    fn the_last_byte_of_another_plugins_data_is_its_own() {
        let mut payload = b"\xfeclient_ed25519\0".to_vec();
        let nonce = [&[7; 31][..], b"\0"].concat();
        payload.extend_from_slice(&nonce);
        let request = PluginRequest::decode(&payload).unwrap();
        assert_eq!(request.data, nonce);
    }

    #[test]
    fn the_switch_of_before_4_1_names_nothing() {
        let request = PluginRequest::decode(b"\xfe").unwrap();
        assert_eq!((request.plugin, request.data), (&b""[..], &b""[..]));
        assert_eq!(PluginRequest::decode(b""), Err(Malformed));
    }
}

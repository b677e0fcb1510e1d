//! Packets that the proxy's own server, the console, sends in the connection phase (manual: "Protocol::HandshakeV10",
//! "Protocol::AuthSwitchRequest").

use super::authentication::SWITCH;
use super::initial_handshake::{InitialHandshake, NONCE_LENGTH};
use crate::wire::status;

/// auth_plugin_data, the random data that authentication plugins use. It contains no NUL, which would end it on the
/// wire.
pub type Nonce = [u8; NONCE_LENGTH];

/// Collation 45: utf8mb4_general_ci, which both MySQL's and MariaDB's clients know.
const UTF8MB4: u8 = 45;

/// An initial handshake of the proxy's own server.
#[derive(Clone, Copy, Debug)]
pub struct OwnGreeting<'a> {
    /// Version, without a NUL.
    pub server_version: &'a str,
    /// Connection id.
    pub thread_id: u32,
    /// Random data for the plugin's first round.
    pub auth_plugin_data: &'a Nonce,
    /// Capability flags; MySQL's only.
    pub capabilities: u32,
    /// The plugin that authentication starts with.
    pub plugin: &'a str,
}

impl OwnGreeting<'_> {
    /// Encodes the packet's payload.
    pub fn encode(&self) -> Vec<u8> {
        let [a, b, c, d] = self.capabilities.to_le_bytes();
        let (first, second) = self.auth_plugin_data.split_at(8);
        let mut out = vec![InitialHandshake::PROTOCOL_VERSION];
        out.extend_from_slice(self.server_version.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(&[0, a, b, UTF8MB4]);
        out.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
        out.extend_from_slice(&[c, d]);
        // The length of auth_plugin_data including its NUL, then ten reserved bytes.
        out.push(NONCE_LENGTH_ON_THE_WIRE);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(second);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
        out
    }
}

const NONCE_LENGTH_ON_THE_WIRE: u8 = 21;

/// Encodes the payload of an AuthSwitchRequest, which asks for the response of another plugin.
pub fn encode_switch(plugin: &str, auth_plugin_data: &Nonce) -> Vec<u8> {
    let mut out = vec![SWITCH];
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(auth_plugin_data);
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::capability;
    use crate::wire::handshake::authentication::PluginRequest;

    const NONCE: &Nonce = b"0123456789abcdefghij";

    #[test]
    fn our_greeting_is_read_as_any_servers() {
        let capabilities = capability::LONG_PASSWORD
            | capability::PROTOCOL_41
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH;
        let payload = OwnGreeting {
            server_version: "8.4.0-console",
            thread_id: 0x8000_0001,
            auth_plugin_data: NONCE,
            capabilities: u32::try_from(capabilities).expect("MySQL's own"),
            plugin: "caching_sha2_password",
        }
        .encode();
        let initial_handshake = InitialHandshake::decode(&payload).unwrap();
        assert_eq!(initial_handshake.server_version, b"8.4.0-console");
        assert_eq!(initial_handshake.thread_id, 0x8000_0001);
        assert_eq!(initial_handshake.auth_plugin_data, NONCE);
        assert_eq!(initial_handshake.capabilities, capabilities);
        assert_eq!(initial_handshake.plugin, b"caching_sha2_password");
        assert_eq!(initial_handshake.status, status::AUTOCOMMIT);
        assert!(!initial_handshake.is_mariadb());
    }

    #[test]
    fn our_switch_is_read_as_any_servers() {
        let payload = encode_switch("mysql_native_password", NONCE);
        let request = PluginRequest::decode(&payload).unwrap();
        assert_eq!(request.plugin, b"mysql_native_password");
        assert_eq!(request.data, NONCE);
    }
}

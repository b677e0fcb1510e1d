//! The connection phase (manual: "Connection Phase"): initial handshake, handshake response, authentication packets,
//! and COM_CHANGE_USER, which starts the phase again.
//!
//! Packets are decoded and patched in place; none is ever reassembled from its parts. `own` has the packets of the
//! proxy's own server, the console.

mod initial_handshake;
mod own;
mod response;

pub mod authentication;
pub mod change_user;

pub use initial_handshake::InitialHandshake;
pub use own::{Nonce, OwnGreeting, encode_switch};
pub use response::{HandshakeResponse, SSL_REQUEST_LENGTH};

use super::capability;
use super::reader::{Malformed, Reader};

/// Connection attributes: pairs of key and value that describe the client.
pub type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// A plugin that no server has. When a client names it, the server asks for the plugin of the account.
const NO_PLUGIN: &[u8] = b"countersink_asks_again\0";

/// The positions of the authentication fields in the payload of a handshake response or a COM_CHANGE_USER.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Credentials {
    /// The authentication data, including its length prefix or the NUL at its end.
    data: std::ops::Range<usize>,
    /// The plugin's name, including the NUL at its end. Empty when no plugin is named.
    plugin: std::ops::Range<usize>,
}

impl Credentials {
    /// Returns `payload` without authentication data, and with a plugin name that makes the server ask for it again.
    fn withheld(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() + NO_PLUGIN.len());
        out.extend_from_slice(&payload[..self.data.start]);
        out.push(0);
        out.extend_from_slice(&payload[self.data.end..self.plugin.start]);
        out.extend_from_slice(NO_PLUGIN);
        out.extend_from_slice(&payload[self.plugin.end..]);
        out
    }
}

/// Reads a `string<NUL>`, or everything that is left if the sender omitted the NUL of the last field.
fn last_string<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let rest = reader.rest();
    match memchr::memchr(0, rest) {
        Some(_) => reader.nul_bytes(),
        None => reader.bytes(rest.len()),
    }
}

/// Reads authentication data: `string<lenenc>`, `int<1>` length and data, or `string<NUL>`, depending on the
/// capabilities.
fn authentication_data<'a>(
    reader: &mut Reader<'a>,
    capabilities: u64,
    lenenc: u64,
) -> Result<&'a [u8], Malformed> {
    if capabilities & lenenc != 0 {
        reader.lenenc_bytes()
    } else if capabilities & capability::SECURE_CONNECTION != 0 {
        let length = reader.u8()?;
        reader.bytes(usize::from(length))
    } else {
        reader.nul_bytes()
    }
}

/// Reads connection attributes: an `int<lenenc>` with the length of the whole, then pairs of `string<lenenc>`.
/// Malformed attributes are for the server to refuse; this returns those before the first malformed one.
fn attributes(reader: &mut Reader<'_>) -> Attributes {
    let mut pairs = Attributes::new();
    let Ok(block) = reader.lenenc_bytes() else {
        return pairs;
    };
    let mut block = Reader::new(block);
    while !block.is_empty() {
        let (Ok(key), Ok(value)) = (block.lenenc_bytes(), block.lenenc_bytes()) else {
            break;
        };
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

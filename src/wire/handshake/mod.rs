//! The connection phase (manual: "Connection Phase"): initial handshake, handshake response, authentication packets,
//! and COM_CHANGE_USER, which begins the phase anew.
//!
//! Packets are read, and patched where they stand; none is ever put together again from its parts. What a server of
//! our own says is in `own`.

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

/// Key and value pairs that a client tells about itself.
pub type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// A plugin that no server has. Named by a client, it makes the server ask for the plugin of the account.
const NO_PLUGIN: &[u8] = b"countersink_asks_again\0";

/// Where the authentication fields of a handshake response or a COM_CHANGE_USER stand in its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Credentials {
    /// The authentication data, its length prefix or its closing NUL included.
    data: std::ops::Range<usize>,
    /// The plugin's name with its closing NUL. Empty when none is named.
    plugin: std::ops::Range<usize>,
}

impl Credentials {
    /// `payload` without authentication data and with a plugin name that makes the server ask for them again.
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

/// `string<NUL>`, or what is left where a sender forgot the NUL of the last field.
fn last_string<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let rest = reader.rest();
    match memchr::memchr(0, rest) {
        Some(_) => reader.nul_bytes(),
        None => reader.bytes(rest.len()),
    }
}

/// Authentication data: `string<lenenc>`, `int<1>` length and data, or `string<NUL>`, by capability.
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

/// Connection attributes: `int<lenenc>` length of the whole, then pairs of `string<lenenc>`.
/// Malformed ones are left to the server to refuse; what was read before them is returned.
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

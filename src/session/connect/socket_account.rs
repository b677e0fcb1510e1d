//! Accounts that authenticate by the operating system user at the other end of a unix socket: MySQL's auth_socket,
//! MariaDB's unix_socket. At that end is the proxy, whoever the client is, so no such account may log in.
//!
//! The packets do not show which plugin let an account in. The server sends OK to an account without a password, to one
//! with the right password, and to one that such a plugin accepts, and MariaDB tries several plugins without saying so.
//! So the proxy asks the server on the client's own connection, where this needs no privilege.

use super::error::ConnectError;
use super::peer::Peer;
use crate::wire::capability;
use crate::wire::command::query_payload;
use crate::wire::packet::encode_packet;
use crate::wire::reader::Reader;
use crate::wire::reply;

/// The plugins' names in the server's response.
const PLUGINS: [&str; 2] = ["auth_socket", "unix_socket"];

const QUESTION: &[u8] = b"SHOW CREATE USER CURRENT_USER()";

/// Resets ROW_COUNT() to what it is in a new session.
const AFTERWARDS: &[u8] = b"DO 0";

/// Refuses the account that has just logged in over a unix socket if one of [`PLUGINS`] may have accepted it, or if the
/// server does not say. Not cancel safe.
pub(super) async fn refuse(upstream: &mut Peer<'_>, capabilities: u64) -> Result<(), ConnectError> {
    let mut packets = Vec::new();
    for text in [QUESTION, AFTERWARDS] {
        encode_packet(&mut packets, 0, &query_payload(text, capabilities));
    }
    let written = upstream.stream.write(&packets).await;
    written.map_err(ConnectError::upstream)?;
    let mut upstream = Peer::new(upstream.stream);
    let account = answer(&mut upstream, capabilities).await?;
    let mut done = Vec::new();
    let read = upstream.read(&mut done).await;
    read.map_err(ConnectError::Upstream)?;
    let account = account.to_ascii_lowercase();
    // The names are searched for anywhere in the text. A comment or a name that contains such a word costs a login, but
    // the quoting need not be understood.
    let names = |plugin: &&str| memchr::memmem::find(&account, plugin.as_bytes()).is_some();
    match PLUGINS.into_iter().find(names) {
        None => Ok(()),
        Some(plugin) => Err(ConnectError::SocketAccount { plugin }),
    }
}

/// The only value of the response.
async fn answer(upstream: &mut Peer<'_>, capabilities: u64) -> Result<Vec<u8>, ConnectError> {
    let mut payload = Vec::new();
    let read = upstream.read(&mut payload).await;
    read.map_err(ConnectError::Upstream)?;
    if payload.first() == Some(&reply::ERR) {
        let err = reply::Err::decode(&payload).map_err(ConnectError::UpstreamPacket)?;
        return Err(ConnectError::UnknownAccount {
            message: String::from_utf8_lossy(err.message).into_owned(),
        });
    }
    // The column definition, an EOF unless it is deprecated, the row, and the end.
    let before = match capabilities & capability::DEPRECATE_EOF {
        0 => 2,
        _ => 1,
    };
    for _ in 0..=before {
        let read = upstream.read(&mut payload).await;
        read.map_err(ConnectError::Upstream)?;
    }
    let value = Reader::new(&payload).lenenc_bytes();
    let value = value.map_err(ConnectError::UpstreamPacket)?.to_vec();
    let read = upstream.read(&mut payload).await;
    read.map_err(ConnectError::Upstream)?;
    Ok(value)
}

//! Accounts that prove who they are by the operating system's user at the other end of a unix socket: MySQL's
//! auth_socket, MariaDB's unix_socket. At that end is the proxy, whoever the client is, so no such account may be let
//! in.
//!
//! The packets do not tell: an account without a password, one whose password was right, and one that the plugin lets
//! in are all answered with OK, and MariaDB tries several plugins without a word. So the server is asked, on the
//! client's own connection, which needs no privilege for that.

use super::error::ConnectError;
use super::peer::Peer;
use crate::wire::capability;
use crate::wire::command::query_payload;
use crate::wire::packet::encode_packet;
use crate::wire::reader::Reader;
use crate::wire::reply;

/// The plugins, as the server names them.
const PLUGINS: [&str; 2] = ["auth_socket", "unix_socket"];

const QUESTION: &[u8] = b"SHOW CREATE USER CURRENT_USER()";

/// Leaves ROW_COUNT() as a new session has it.
const AFTERWARDS: &[u8] = b"DO 0";

/// Refuses the account that has just been let in over a unix socket, if one of [`PLUGINS`] may have let it in, or the
/// server does not tell. Not cancel safe.
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
    // Anywhere in the text: a comment or a name with that word in it costs a login, and no quotes need be understood.
    let names = |plugin: &&str| memchr::memmem::find(&account, plugin.as_bytes()).is_some();
    match PLUGINS.into_iter().find(names) {
        None => Ok(()),
        Some(plugin) => Err(ConnectError::SocketAccount { plugin }),
    }
}

/// The one value of the answer.
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
    // The column's definition, EOF unless that is deprecated, the row, and the end.
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

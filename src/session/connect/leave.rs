//! Ends an unfinished login on the upstream as a failed login rather than an aborted handshake. The server counts
//! aborted handshakes for each host, here the proxy's, and after max_connect_errors of them refuses all connections
//! from it (1129).

use tokio::time::timeout;
use zeroize::Zeroizing;

use super::peer::Peer;
use crate::net::PacketStream;
use crate::net::ReadError;
use crate::wire::command;
use crate::wire::handshake::authentication::{NEXT_FACTOR, PasswordPlugin, PluginRequest, SWITCH};
use crate::wire::reply;

/// How far a login has come on the upstream's side.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The proxy is waiting for the initial handshake.
    Dialed,
    /// The upstream is waiting for the client's handshake response. This one can be sent instead.
    Greeted { abandoned_response: Vec<u8> },
    /// A TLS handshake is in progress, and nothing can be sent before it has finished.
    Securing,
    /// The upstream is waiting for the client's response by this plugin.
    Asked { plugin: Vec<u8> },
    /// It is the upstream's turn to send. As far as is known, the plugin is this one.
    Answered { plugin: Vec<u8> },
    /// The upstream has accepted the client.
    Accepted,
    /// The upstream has denied the client access.
    Denied,
}

/// Maximum number of wrong responses that are sent.
const MOST_ROUNDS: usize = 8;

/// Fails the login with wrong responses until the upstream denies it. Takes at most [`PacketStream::LINGER`].
pub(super) async fn leave(upstream: &mut Peer<'_>, stage: Stage) {
    // Errors do not matter: the connection is closed in any case.
    let _ = timeout(PacketStream::LINGER, fail(upstream, stage)).await;
}

async fn fail(upstream: &mut Peer<'_>, stage: Stage) -> Result<(), ReadError> {
    let mut plugin = match stage {
        Stage::Dialed | Stage::Securing | Stage::Denied => return Ok(()),
        Stage::Accepted => return quit(upstream).await,
        Stage::Greeted { abandoned_response } => {
            upstream.write(&abandoned_response).await?;
            Vec::new()
        }
        Stage::Asked { plugin } => {
            upstream.write(&wrong_answer(&plugin)).await?;
            plugin
        }
        Stage::Answered { plugin } => plugin,
    };
    let mut payload = Zeroizing::new(Vec::new());
    for _ in 0..MOST_ROUNDS {
        upstream.read(&mut payload).await?;
        match payload.first() {
            // The client had authenticated before it left.
            Some(&reply::OK) => return quit(upstream).await,
            Some(&reply::ERR) => return Ok(()),
            Some(&(SWITCH | NEXT_FACTOR)) => {
                if let Ok(request) = PluginRequest::decode(&payload) {
                    plugin = request.plugin.to_vec();
                }
            }
            _ if *payload == PasswordPlugin::FAST_AUTHENTICATION_SUCCESS => continue,
            _ => {}
        }
        upstream.write(&wrong_answer(&plugin)).await?;
    }
    Ok(())
}

async fn quit(upstream: &mut Peer<'_>) -> Result<(), ReadError> {
    Peer::new(upstream.stream).write(&[command::QUIT]).await?;
    Ok(())
}

/// A response that no account accepts. It has the length that the plugin expects: where all valid responses have the
/// same length, servers treat another length as an aborted handshake.
fn wrong_answer(plugin: &[u8]) -> Vec<u8> {
    let length = match plugin {
        b"client_ed25519" => 64,
        // Eight bytes for the plugin that servers used before 4.1, and a NUL.
        b"mysql_old_password" | b"" => 9,
        // The 20 bytes of mysql_native_password. Other plugins accept any length.
        _ => 20,
    };
    vec![b'-'; length]
}

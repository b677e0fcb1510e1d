//! Leaving an upstream in the middle of a login, so that it counts a login that failed and not a handshake that was
//! broken off: of those it takes max_connect_errors from one host, here the proxy's, and then refuses all (1129).

use tokio::time::timeout;
use zeroize::Zeroizing;

use super::peer::Peer;
use crate::net::PacketStream;
use crate::net::ReadError;
use crate::wire::command;
use crate::wire::handshake::authentication::{NEXT_FACTOR, PasswordPlugin, PluginRequest, SWITCH};
use crate::wire::reply;

/// How far the upstream side of a login has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The initial handshake is awaited.
    Dialed,
    /// The client's handshake response is awaited; this one can take its place.
    Greeted { abandoned_response: Vec<u8> },
    /// TLS has begun: nothing can be said until it stands.
    Securing,
    /// The upstream waits for the client's answer by this plugin.
    Asked { plugin: Vec<u8> },
    /// The upstream is to speak, by this plugin as far as is known.
    Answered { plugin: Vec<u8> },
    /// The upstream has let the client in.
    Accepted,
    /// The upstream has refused the client.
    Denied,
}

/// The most questions that are answered wrongly.
const MOST_ROUNDS: usize = 8;

/// Ends the login with wrong answers until the upstream has refused it. Takes [`PacketStream::LINGER`] at most.
pub(super) async fn leave(upstream: &mut Peer<'_>, stage: Stage) {
    // Whatever goes wrong here, this connection is over.
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
            // The client had proved who it is before it left.
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

/// An answer that no account accepts. Servers take one of the wrong length for a broken handshake where the plugin's
/// answers are all of one length.
fn wrong_answer(plugin: &[u8]) -> Vec<u8> {
    let length = match plugin {
        b"client_ed25519" => 64,
        // The eight bytes of before 4.1, and a NUL.
        b"mysql_old_password" | b"" => 9,
        // mysql_native_password's 20; the others take any.
        _ => 20,
    };
    vec![b'-'; length]
}

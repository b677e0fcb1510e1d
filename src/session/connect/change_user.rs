//! COM_CHANGE_USER: the authentication exchange again, on an established connection.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::admission::Place;
use super::bridge::{Bridge, Sides};
use super::error::ConnectError;
use super::exchange::{Compression, Exchange, Verdict};
use super::handshake::turn_away;
use super::leave::{Stage, leave};
use super::login::Login;
use super::password::PasswordKey;
use super::peer::{Patience, Peer};
use crate::config::Address;
use crate::net::PacketStream;
use crate::wire::handshake::change_user::ChangeUser;

/// What COM_CHANGE_USER needs to know about how the connection was made.
#[derive(Clone)]
pub struct Reauthentication {
    pub(super) sides: Sides,
    pub(super) capabilities: u64,
    /// The plugin and the auth_plugin_data of the initial handshake.
    pub(super) plugin: Vec<u8>,
    pub(super) auth_plugin_data: Vec<u8>,
    pub(super) key: Arc<PasswordKey>,
    pub(super) upstream_key: Option<Arc<ArcSwap<Vec<u8>>>>,
    pub(super) timeout: Duration,
    /// Where the upstream is.
    pub(in crate::session) upstream: Arc<Address>,
}

/// The outcome of COM_CHANGE_USER. The client has received the packet.
#[derive(Debug)]
pub enum ChangeUserOutcome {
    /// OK: the session starts again with this login.
    Changed(Login),
    /// ERR. MySQL then closes the connection. MariaDB keeps it under the former login, with the session state reset.
    Refused {
        /// The server's error code.
        code: u16,
        /// The server's message.
        message: String,
    },
}

/// Relays COM_CHANGE_USER. `command` is its payload including the command byte, already read from the client. After an
/// error the connection is unusable, and the client has been sent the error where possible, unless the server is gone.
/// Not cancel safe.
pub async fn change_user(
    context: &Reauthentication,
    place: &mut Place,
    client: &mut PacketStream,
    upstream: &mut PacketStream,
    command: &[u8],
) -> Result<ChangeUserOutcome, ConnectError> {
    let mut client = Peer::after_command(client);
    let mut upstream = Peer::new(upstream);
    let mut stage = Stage::Denied;
    let sides = (&mut client, &mut upstream);
    let outcome = relay((context, place), sides, &mut stage, command).await;
    if let Err(error) = &outcome {
        // A server that ends the session says nothing, as at any other command: it may have been refused before.
        let payload = match error {
            ConnectError::Upstream(_) => None,
            error => error.payload(&context.upstream, true),
        };
        tokio::join!(turn_away(&mut client, payload), leave(&mut upstream, stage));
    }
    client.stream.scrub();
    upstream.stream.scrub();
    outcome
}

async fn relay<'s>(
    (context, place): (&Reauthentication, &mut Place),
    (client, upstream): (&mut Peer<'s>, &mut Peer<'s>),
    stage: &mut Stage,
    command: &[u8],
) -> Result<ChangeUserOutcome, ConnectError> {
    let request =
        ChangeUser::decode(command, context.capabilities).map_err(ConnectError::ClientPacket)?;
    let plugin = request.plugin.as_deref();
    let bridge = Bridge::new(
        context.sides,
        context.capabilities,
        plugin.unwrap_or(&context.plugin),
        &context.auth_plugin_data,
    );
    let written = match context.sides.spoil_first_data(plugin) {
        true => upstream.write(&request.withhold_credentials(command)).await,
        false => upstream.write(command).await,
    };
    written.map_err(ConnectError::upstream)?;
    let exchange = Exchange {
        client,
        upstream,
        bridge,
        key: &context.key,
        upstream_key: context.upstream_key.as_deref(),
        patience: &mut Patience::new(context.timeout),
        place,
        user: &request.user,
        // It stays as it was agreed on at login.
        compression: Compression::default(),
        stage,
    };
    Ok(match exchange.run().await? {
        Verdict::Accepted { status } => ChangeUserOutcome::Changed(Login {
            user: request.user,
            schema: request.schema,
            collation: request.collation.unwrap_or_default(),
            attributes: request.attributes,
            status,
        }),
        Verdict::Denied { code, message } => ChangeUserOutcome::Refused { code, message },
    })
}

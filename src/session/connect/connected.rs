//! Connects an accepted client to the upstream and logs it in.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::timeout;

use super::admission::Place;
use super::change_user::Reauthentication;
use super::error::ConnectError;
use super::handshake::{Entry, Handshake, turn_away};
use super::login::Login;
use super::peer::Peer;
use super::setup::ConnectSetup;
use crate::config::Address;
use crate::net::proxy_protocol::{HeaderError, header, read_header};
use crate::net::{Origin, PacketStream, Transport, dial};

/// A logged-in client and its upstream connection. Both sides are ready for the next command.
pub struct Connected {
    /// The client's side.
    pub client: PacketStream,
    /// MySQL's side.
    pub upstream: PacketStream,
    /// The capabilities that both sides have agreed on, with MariaDB's own in the upper half. They are the same for
    /// both sides except SSL and compression, which describe the client's side.
    pub capabilities: u64,
    /// The capabilities that the server offered, before any were masked.
    pub server_capabilities: u64,
    /// Whether the server is a MariaDB.
    pub mariadb: bool,
    /// The server's version, as in its initial handshake.
    pub server_version: String,
    /// The connection's id on the server.
    pub thread_id: u32,
    /// The account that is logged in.
    pub login: Login,
    /// The context for [`change_user`](super::change_user()).
    pub reauthentication: Reauthentication,
    /// The client's place among those that may be there.
    pub place: Place,
    /// Where it has connected from.
    pub origin: Origin,
}

/// Connects an accepted client: dials the upstream and relays the handshake. On failure, the client has been sent the
/// error where possible. Not cancel safe; when dropped, it closes both sides.
pub async fn connect(
    client: Box<dyn Transport>,
    origin: Origin,
    setup: &ConnectSetup,
) -> Result<Connected, ConnectError> {
    let mut client = PacketStream::new(client);
    let (place, origin) = match admit(&mut client, origin, setup).await {
        Ok(admitted) => admitted,
        Err(error) => {
            if let Some(_farewell) = setup.admission.farewell() {
                let payload = error.payload(&setup.route.address(), false);
                turn_away(&mut Peer::new(&mut client), payload).await;
            }
            return Err(error);
        }
    };
    let mut address = setup.route.address();
    let mut reached = tokio::select! {
        reached = reach(&address, origin, setup) => reached,
        // Another has taken its place meanwhile.
        Some(other) = setup.route.other_than(&address, setup.handshake_timeout) => {
            address = other;
            reach(&address, origin, setup).await
        }
    };
    if reached.is_err() && !setup.failover_patience.is_zero() {
        setup.route.doubt();
        let other = setup.route.other_than(&address, setup.failover_patience);
        if let Some(other) = other.await {
            address = other;
            reached = reach(&address, origin, setup).await;
        }
    }
    let error = match reached {
        Ok(upstream) => {
            return relay((client, origin), (upstream, address), place, setup).await;
        }
        Err(error) => error,
    };
    let payload = error.payload(&address, false);
    turn_away(&mut Peer::new(&mut client), payload).await;
    Err(error)
}

/// Gives the client a place, and finds out where it has connected from.
async fn admit(
    client: &mut PacketStream,
    origin: Origin,
    setup: &ConnectSetup,
) -> Result<(Place, Origin), ConnectError> {
    let mut place = setup.admission.arrive()?;
    let is_balancer = |from: SocketAddr| setup.proxy_protocol.is_expected_from(from.ip());
    let origin = match origin {
        Origin::Tcp { from, .. } if is_balancer(from) => {
            let header = timeout(setup.handshake_timeout, read_header(client)).await;
            header.unwrap_or(Err(HeaderError::None))?.unwrap_or(origin)
        }
        origin => origin,
    };
    place.comes_from(origin)?;
    Ok((place, origin))
}

/// Dials the upstream at this address, for a client that comes from there, and waits until it says something: the
/// kernel accepts connections for a server that hangs, too.
async fn reach(
    address: &Arc<Address>,
    origin: Origin,
    setup: &ConnectSetup,
) -> Result<PacketStream, ConnectError> {
    tracing::trace!(upstream = %address, "dialing");
    let limit = setup.time_to_greet();
    let reached = async {
        let mut transport = dial(address).await?;
        if !setup.failover_patience.is_zero() {
            transport = setup.route.until_given_up(address, transport);
        }
        let mut upstream = PacketStream::new(transport);
        if setup.proxy_protocol.send {
            upstream.write(&header(origin)).await?;
        }
        // The end of the stream, too, is for the handshake to judge.
        upstream.fill().await?;
        Ok(upstream)
    };
    match timeout(limit, reached).await {
        Ok(reached) => reached.map_err(ConnectError::Unreachable),
        Err(_) => Err(ConnectError::UpstreamSilent(limit)),
    }
}

/// Relays the handshake between an accepted client and a dialed upstream: [`connect`] without the dialing, for tests
/// that are the upstream themselves. Not cancel safe.
///
/// # Errors
///
/// As [`connect`].
pub async fn relay(
    (mut client, origin): (PacketStream, Origin),
    (mut upstream, address): (PacketStream, Arc<Address>),
    mut place: Place,
    setup: &ConnectSetup,
) -> Result<Connected, ConnectError> {
    let (sides, server) = ((&mut client, origin), (&mut upstream, &*address));
    let entry = Handshake::new(sides, server, &mut place, setup)
        .run()
        .await?;
    client.scrub();
    upstream.scrub();
    Ok(connected(
        entry,
        (client, place, origin),
        (upstream, address),
        setup,
    ))
}

fn connected(
    entry: Entry,
    (client, place, origin): (PacketStream, Place, Origin),
    (upstream, address): (PacketStream, Arc<Address>),
    setup: &ConnectSetup,
) -> Connected {
    let Entry {
        initial_handshake,
        response,
        ..
    } = entry;
    Connected {
        client,
        upstream,
        place,
        origin,
        capabilities: entry.capabilities,
        server_capabilities: initial_handshake.capabilities,
        mariadb: initial_handshake.is_mariadb(),
        server_version: String::from_utf8_lossy(&initial_handshake.server_version).into_owned(),
        thread_id: initial_handshake.thread_id,
        login: Login {
            user: response.user,
            schema: response.schema,
            collation: u16::from(response.collation),
            attributes: response.attributes,
            status: entry.status,
        },
        reauthentication: Reauthentication {
            sides: entry.sides,
            capabilities: entry.capabilities,
            plugin: initial_handshake.plugin,
            auth_plugin_data: initial_handshake.auth_plugin_data,
            key: Arc::clone(&setup.password_key),
            upstream_key: setup.upstream_key.clone(),
            timeout: setup.handshake_timeout,
            upstream: address,
        },
    }
}

//! The handshake between an accepted client and a dialed upstream.

use tokio::time::timeout;
use zeroize::Zeroizing;

use super::admission::Place;
use super::bridge::{Bridge, Protection, Sides};
use super::error::ConnectError;
use super::exchange::{Compression, Exchange, Verdict};
use super::leave::{Stage, leave};
use super::peer::{Patience, Peer};
use super::setup::{ConnectSetup, UpstreamTls};
use crate::config::Address;
use crate::net::tls::{Said, UpstreamConnector};
use crate::net::{Algorithm, Origin, PacketStream};
use crate::wire::capability;
use crate::wire::handshake::{HandshakeResponse, InitialHandshake, SSL_REQUEST_LENGTH};
use crate::wire::packet::HEADER_LENGTH;
use crate::wire::reply;

/// A handshake in progress.
pub(super) struct Handshake<'a, 's> {
    client: Peer<'a>,
    upstream: Peer<'a>,
    /// Where the upstream is.
    address: &'s Address,
    setup: &'s ConnectSetup,
    place: &'s mut Place,
    patience: Patience,
    /// What the client has said by TLS.
    said: Said,
    sides: Sides,
    stage: Stage,
}

/// The result of a successful handshake.
pub(super) struct Entry {
    pub(super) initial_handshake: InitialHandshake,
    pub(super) response: HandshakeResponse,
    pub(super) sides: Sides,
    /// The capabilities that both sides have agreed on, with SSL as on the client's side.
    pub(super) capabilities: u64,
    pub(super) status: u16,
}

impl<'a, 's> Handshake<'a, 's> {
    pub(super) fn new(
        (client, origin): (&'a mut PacketStream, Origin),
        (upstream, address): (&'a mut PacketStream, &'s Address),
        place: &'s mut Place,
        setup: &'s ConnectSetup,
    ) -> Self {
        Self {
            place,
            client: Peer::new(client),
            upstream: Peer::new(upstream),
            address,
            setup,
            patience: Patience::new(setup.handshake_timeout),
            said: Said::default(),
            sides: Sides {
                client: match origin {
                    Origin::Unix => Protection::Local,
                    Origin::Tcp { .. } => Protection::Plain,
                },
                upstream: match address.is_local() {
                    true => Protection::Local,
                    false => Protection::Plain,
                },
            },
            stage: Stage::Dialed,
        }
    }

    /// Performs the handshake. After an error both sides are closed, and the client has been sent the error where
    /// possible. Not cancel safe.
    pub(super) async fn run(mut self) -> Result<Entry, ConnectError> {
        let error = match self.relay().await {
            Ok(entry) => return Ok(entry),
            Err(error) => error,
        };
        let greeted = self.stage != Stage::Dialed;
        let payload = error.payload(self.address, greeted);
        tokio::join!(
            turn_away(&mut self.client, payload),
            leave(&mut self.upstream, self.stage)
        );
        Err(error)
    }

    async fn relay(&mut self) -> Result<Entry, ConnectError> {
        let initial_handshake = self.greet().await?;
        let mut payload = self.receive_response().await?;
        let response = HandshakeResponse::decode(&payload, initial_handshake.capabilities)
            .map_err(ConnectError::ClientPacket)?;
        self.admit(initial_handshake.is_mariadb())?;
        self.secure_upstream(&initial_handshake, &payload).await?;
        if self.sides.spoil_first_data(response.plugin.as_deref()) {
            payload = Zeroizing::new(response.withhold_credentials(&payload));
        }
        let offered = initial_handshake.capabilities;
        let capabilities = self.toward_upstream(response.capabilities, offered);
        response.put_capabilities(&mut payload, capabilities);
        response.put_zstd_level(&mut payload, capabilities, offered);
        let written = self.upstream.write(&payload).await;
        written.map_err(ConnectError::upstream)?;
        drop(payload);
        let common = response.capabilities & offered & !capability::MASKED;
        let toward_upstream = capabilities & offered;
        let compression = Compression {
            client: Algorithm::agreed(common, response.zstd_level),
            upstream: Algorithm::agreed(toward_upstream, response.zstd_level_toward_upstream()),
        };
        let status = self
            .authenticate(&initial_handshake, &response, (common, compression))
            .await?;
        let ssl = match self.sides.client {
            Protection::Tls => capability::SSL,
            Protection::Plain | Protection::Local => 0,
        };
        Ok(Entry {
            initial_handshake,
            response,
            sides: self.sides,
            capabilities: common & !capability::SSL | ssl,
            status,
        })
    }

    /// Relays the upstream's initial handshake with the capabilities that the proxy offers to clients.
    async fn greet(&mut self) -> Result<InitialHandshake, ConnectError> {
        let mut payload = Vec::new();
        let limit = self.setup.handshake_timeout;
        let read = timeout(limit, self.upstream.read(&mut payload)).await;
        read.map_err(|_| ConnectError::UpstreamSilent(limit))?
            .map_err(ConnectError::Upstream)?;
        match payload.first() {
            Some(&reply::ERR) => {
                self.write_client(&payload).await?;
                let err = reply::Err::decode(&payload).map_err(ConnectError::UpstreamPacket)?;
                return Err(ConnectError::Refused {
                    code: err.code,
                    message: String::from_utf8_lossy(err.message).into_owned(),
                });
            }
            Some(&version) if version != InitialHandshake::PROTOCOL_VERSION => {
                return Err(ConnectError::UpstreamVersion(version));
            }
            _ => {}
        }
        let initial_handshake =
            InitialHandshake::decode(&payload).map_err(ConnectError::UpstreamPacket)?;
        let mut offered = initial_handshake.capabilities & !capability::MASKED & !capability::SSL;
        if self.setup.client_tls.is_some() {
            offered |= capability::SSL;
        }
        initial_handshake.put_capabilities(&mut payload, offered);
        self.stage = Stage::Greeted {
            abandoned_response: initial_handshake.abandoned_response(),
        };
        self.write_client(&payload).await?;
        Ok(initial_handshake)
    }

    /// Reads the client's handshake response, after a TLS handshake if the client asks for one.
    async fn receive_response(&mut self) -> Result<Zeroizing<Vec<u8>>, ConnectError> {
        if self.patience.wait(asks_for_tls(&mut self.client)).await?? {
            let Some(offered) = &self.setup.client_tls else {
                return Err(ConnectError::ClientTlsNotOffered);
            };
            let said = &mut self.said;
            let wrapped = self.client.stream.wrap(async |plain| {
                let stream = offered.acceptor.accept(plain).await?;
                *said = Said::by(&stream);
                Ok(stream)
            });
            let wrapped = self.patience.wait(wrapped).await?;
            wrapped.map_err(ConnectError::ClientTls)?;
            self.sides.client = Protection::Tls;
        }
        let mut payload = Zeroizing::new(Vec::with_capacity(512));
        let read = self.client.read_in_order(&mut payload);
        self.patience.wait(read).await??;
        let capabilities =
            HandshakeResponse::capabilities(&payload).map_err(ConnectError::ClientPacket)?;
        if capabilities & capability::PROTOCOL_41 == 0 {
            return Err(ConnectError::ClientTooOld);
        }
        if capabilities & capability::SSL != 0 && self.sides.client != Protection::Tls {
            return Err(ConnectError::ClientTlsNotOffered);
        }
        Ok(payload)
    }

    /// Refuses a client without the TLS or the certificate that the setup requires. Servers look at the password first.
    /// Here the server does not hear of the client, so nobody asks it for a password that others could read.
    fn admit(&self, mariadb: bool) -> Result<(), ConnectError> {
        let Some(offered) = &self.setup.client_tls else {
            return Ok(());
        };
        match self.sides.client {
            Protection::Plain if offered.is_required => {
                Err(ConnectError::ClientWithoutTls { mariadb })
            }
            Protection::Tls if offered.needs_certificate && !self.said.is_certified => {
                Err(ConnectError::ClientWithoutCertificate)
            }
            Protection::Plain | Protection::Local | Protection::Tls => Ok(()),
        }
    }

    /// Wraps the upstream side in TLS according to the setup. The fields of the SSL request come from `response`.
    async fn secure_upstream(
        &mut self,
        initial_handshake: &InitialHandshake,
        response: &[u8],
    ) -> Result<(), ConnectError> {
        let Some(connector) = self.upstream_connector(initial_handshake)? else {
            return Ok(());
        };
        self.stage = Stage::Securing;
        let mut request = response
            .get(..SSL_REQUEST_LENGTH)
            .expect("the response has been decoded")
            .to_vec();
        let flags =
            HandshakeResponse::capabilities(&request).map_err(ConnectError::ClientPacket)?;
        // MySQL goes by the flags of this packet, and does not read them again.
        let flags = self.toward_upstream(flags, initial_handshake.capabilities) | capability::SSL;
        request[..4].copy_from_slice(&flags.to_le_bytes()[..4]);
        let written = self.upstream.write(&request).await;
        written.map_err(ConnectError::upstream)?;
        let (address, said) = (self.address, &self.said);
        let wrapped = self
            .upstream
            .stream
            .wrap(|plain| connector.connect(address, said, plain));
        let wrapped = timeout(self.setup.handshake_timeout, wrapped).await;
        wrapped
            .unwrap_or_else(|late| Err(late.into()))
            .map_err(ConnectError::UpstreamTls)?;
        self.sides.upstream = Protection::Tls;
        Ok(())
    }

    fn upstream_connector(
        &self,
        initial_handshake: &InitialHandshake,
    ) -> Result<Option<&'s UpstreamConnector>, ConnectError> {
        let setup = self.setup;
        let offered = initial_handshake.capabilities & capability::SSL != 0;
        let client = self.sides.client;
        match &setup.upstream_tls {
            _ if self.address.is_local() => Ok(None),
            UpstreamTls::Disabled => Ok(None),
            UpstreamTls::AsClient { .. } if client == Protection::Plain => Ok(None),
            UpstreamTls::Preferred(connector)
            | UpstreamTls::Required(connector)
            | UpstreamTls::AsClient { connector, .. }
                if offered =>
            {
                Ok(Some(connector))
            }
            UpstreamTls::Preferred(_)
            | UpstreamTls::AsClient {
                is_required: false, ..
            } => Ok(None),
            // It has not asked for TLS.
            UpstreamTls::AsClient { .. } if client == Protection::Local => Ok(None),
            UpstreamTls::Required(_) | UpstreamTls::AsClient { .. } => {
                Err(ConnectError::UpstreamWithoutTls)
            }
        }
    }

    /// The client's capabilities as the upstream should see them, which offers these.
    fn toward_upstream(&self, capabilities: u64, offered: u64) -> u64 {
        let flags = self.setup.compressed(capabilities, offered);
        let flags = flags & !capability::MASKED & !capability::SSL;
        match self.sides.upstream {
            Protection::Tls => flags | capability::SSL,
            Protection::Plain | Protection::Local => flags,
        }
    }

    /// Relays the authentication exchange until the client is logged in. Returns the status flags.
    async fn authenticate(
        &mut self,
        initial_handshake: &InitialHandshake,
        response: &HandshakeResponse,
        (capabilities, compression): (u64, Compression),
    ) -> Result<u16, ConnectError> {
        let plugin = response
            .plugin
            .as_deref()
            .unwrap_or(&initial_handshake.plugin);
        let exchange = Exchange {
            client: &mut self.client,
            upstream: &mut self.upstream,
            bridge: Bridge::new(
                self.sides,
                capabilities,
                plugin,
                &initial_handshake.auth_plugin_data,
            ),
            key: &self.setup.password_key,
            upstream_key: self.setup.upstream_key.as_deref(),
            patience: &mut self.patience,
            place: self.place,
            user: &response.user,
            compression,
            stage: &mut self.stage,
        };
        match exchange.run().await? {
            Verdict::Accepted { status } => Ok(status),
            Verdict::Denied { code, message } => Err(ConnectError::Denied { code, message }),
        }
    }

    async fn write_client(&mut self, payload: &[u8]) -> Result<(), ConnectError> {
        let written = self.patience.wait(self.client.write(payload)).await?;
        written.map_err(ConnectError::client)
    }
}

/// Whether the client's first packet is an SSL request. If so, consumes it. Reads nothing after it: those bytes belong
/// to TLS, or the TLS handshake will refuse them.
async fn asks_for_tls(client: &mut Peer<'_>) -> Result<bool, ConnectError> {
    let wait = client.stream.fill_exactly(HEADER_LENGTH).await;
    wait.map_err(ConnectError::Client)?;
    let header = client.stream.peek_header().await;
    let header = header.map_err(ConnectError::Client)?;
    client.expect(header)?;
    if header.length != SSL_REQUEST_LENGTH {
        return Ok(false);
    }
    let wait = client.stream.fill_exactly(header.packet_length()).await;
    wait.map_err(ConnectError::Client)?;
    let payload = &client.stream.buffered()[HEADER_LENGTH..header.packet_length()];
    let flags = HandshakeResponse::capabilities(payload).map_err(ConnectError::ClientPacket)?;
    if flags & capability::SSL == 0 {
        return Ok(false);
    }
    client.skip(header);
    Ok(true)
}

/// Sends the client the error, if there is one to send, and closes its side.
pub(super) async fn turn_away(client: &mut Peer<'_>, payload: Option<Vec<u8>>) {
    let farewell = async {
        if let Some(payload) = payload {
            client.write(&payload).await?;
        }
        client.stream.lingering_close().await
    };
    // If the client is already gone, there is nobody to inform.
    let _ = timeout(PacketStream::LINGER, farewell).await;
}

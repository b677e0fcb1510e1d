//! Relays the packets of authentication plugins in both directions until OK or ERR.
//!
//! No order is assumed: a plugin may take any number of rounds, and a side may send several packets in succession.

use arc_swap::ArcSwap;
use zeroize::Zeroizing;

use super::admission::Place;
use super::bridge::{Bridge, FromClient, FromUpstream};
use super::error::ConnectError;
use super::leave::Stage;
use super::password::{self, PasswordError, PasswordKey};
use super::peer::{Patience, Peer};
use super::socket_account;
use crate::net::{Algorithm, ReadError, Role};
use crate::wire::handshake::authentication::{MORE_DATA, PasswordPlugin};
use crate::wire::packet::Header;
use crate::wire::reply;

/// How the exchange ended. The client has received the packet.
pub(super) enum Verdict {
    /// OK, with these status flags.
    Accepted { status: u16 },
    /// ERR.
    Denied { code: u16, message: String },
}

/// The side that the exchange is waiting for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Client,
    Upstream,
}

/// What each side is compressed with from the end of a login on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compression {
    pub(super) client: Option<Algorithm>,
    pub(super) upstream: Option<Algorithm>,
}

/// The two sides during an exchange.
pub(super) struct Exchange<'e, 's> {
    pub(super) client: &'e mut Peer<'s>,
    pub(super) upstream: &'e mut Peer<'s>,
    pub(super) bridge: Bridge,
    pub(super) key: &'e PasswordKey,
    /// The upstream's public key, if it was configured.
    pub(super) upstream_key: Option<&'e ArcSwap<Vec<u8>>>,
    pub(super) patience: &'e mut Patience,
    /// The client's place, which becomes this account's.
    pub(super) place: &'e mut Place,
    pub(super) user: &'e [u8],
    /// If the upstream accepts.
    pub(super) compression: Compression,
    /// How far the exchange has come, which determines how to leave the upstream.
    pub(super) stage: &'e mut Stage,
}

impl Exchange<'_, '_> {
    /// Relays until the upstream accepts or denies the client. The upstream sends first. Not cancel safe.
    pub(super) async fn run(mut self) -> Result<Verdict, ConnectError> {
        let mut turn = Turn::Upstream;
        self.set_stage(turn);
        let mut payload = Zeroizing::new(Vec::with_capacity(512));
        loop {
            turn = match self.next(turn).await? {
                Turn::Upstream => {
                    let read = self.upstream.read(&mut payload).await;
                    read.map_err(ConnectError::Upstream)?;
                    match self.handle_upstream(&payload).await? {
                        Ok(turn) => turn,
                        Err(verdict) => return Ok(verdict),
                    }
                }
                Turn::Client => {
                    let read = self.client.read_in_order(&mut payload);
                    self.patience.wait(read).await??;
                    self.handle_client(&payload).await?
                }
            };
        }
    }

    /// Waits for a packet from either side and returns which side sent it. The client is watched even while it is the
    /// upstream's turn, so that a client that has gone is noticed.
    async fn next(&mut self, turn: Turn) -> Result<Turn, ConnectError> {
        let either = async {
            tokio::select! {
                biased;
                header = self.upstream.stream.peek_header() => side(header, Turn::Upstream),
                header = self.client.stream.peek_header() => side(header, Turn::Client),
            }
        };
        match turn {
            Turn::Client => self.patience.wait(either).await?,
            Turn::Upstream => either.await,
        }
    }

    /// Handles a packet from the upstream. Returns whose turn is next, or the outcome.
    async fn handle_upstream(
        &mut self,
        payload: &[u8],
    ) -> Result<Result<Turn, Verdict>, ConnectError> {
        let decision = self.bridge.upstream_sent(payload);
        match decision {
            FromUpstream::Accepted => *self.stage = Stage::Accepted,
            FromUpstream::Denied => *self.stage = Stage::Denied,
            FromUpstream::Pass => self.set_stage(Turn::Client),
            FromUpstream::PassOn => {}
            FromUpstream::Key(..) => self.set_stage(Turn::Client),
        }
        if decision == FromUpstream::Accepted
            && let Some(algorithm) = self.compression.upstream
        {
            self.upstream.stream.compress(Role::Client, algorithm);
        }
        if decision == FromUpstream::Accepted && self.bridge.is_upstream_local() {
            socket_account::refuse(self.upstream, self.bridge.capabilities()).await?;
        }
        if decision == FromUpstream::Accepted {
            self.place.log_in(self.user)?;
        }
        if let FromUpstream::Key(plugin, password) = &decision {
            // Over a plain connection, the key comes in an AuthMoreData packet.
            let pem = payload.strip_prefix(&[MORE_DATA]).unwrap_or(payload);
            let encrypted = password::encrypt(password, self.bridge.auth_plugin_data(), pem)
                .map_err(|source| failure(*plugin, source))?;
            self.write_upstream(&encrypted).await?;
            return Ok(Ok(Turn::Upstream));
        }
        self.write_client(payload).await?;
        Ok(match decision {
            FromUpstream::PassOn => Ok(Turn::Upstream),
            FromUpstream::Accepted => {
                if let Some(algorithm) = self.compression.client {
                    self.client.stream.compress(Role::Server, algorithm);
                }
                let ok = reply::Ok::decode(payload).map_err(ConnectError::UpstreamPacket)?;
                Err(Verdict::Accepted { status: ok.status })
            }
            FromUpstream::Denied => {
                let err = reply::Err::decode(payload).map_err(ConnectError::UpstreamPacket)?;
                Err(Verdict::Denied {
                    code: err.code,
                    message: String::from_utf8_lossy(err.message).into_owned(),
                })
            }
            FromUpstream::Pass | FromUpstream::Key(..) => Ok(Turn::Client),
        })
    }

    /// Handles a packet from the client. Returns whose turn is next.
    async fn handle_client(&mut self, payload: &[u8]) -> Result<Turn, ConnectError> {
        match self.bridge.client_sent(payload) {
            FromClient::Pass => self.write_upstream(payload).await?,
            FromClient::AskKey(request) => self.write_upstream(request).await?,
            FromClient::Expose(plugin) => {
                return Err(ConnectError::Password {
                    plugin,
                    source: PasswordError::PlainUpstream,
                });
            }
            FromClient::IntoPlain(plugin, password) => {
                let Some(pem) = self.upstream_key else {
                    return Err(failure(plugin, PasswordError::PlainUpstream));
                };
                let pem = pem.load();
                let encrypted = password::encrypt(&password, self.bridge.auth_plugin_data(), &pem);
                let encrypted = encrypted.map_err(|source| failure(plugin, source))?;
                self.write_upstream(&encrypted).await?;
            }
            FromClient::Decrypt(plugin) => {
                let password = self
                    .key
                    .decrypt(payload, self.bridge.auth_plugin_data())
                    .await;
                let password = password.map_err(|source| failure(plugin, source))?;
                self.write_upstream(&password).await?;
            }
            FromClient::OfferKey(plugin) => {
                let pem = self.key.public_pem().await;
                let pem = pem.map_err(|source| failure(plugin, source))?;
                let key = [&[MORE_DATA], pem.as_bytes()].concat();
                self.write_client(&key).await?;
                return Ok(Turn::Client);
            }
        }
        Ok(Turn::Upstream)
    }

    async fn write_client(&mut self, payload: &[u8]) -> Result<(), ConnectError> {
        let written = self.patience.wait(self.client.write(payload)).await?;
        written.map_err(ConnectError::client)
    }

    async fn write_upstream(&mut self, payload: &[u8]) -> Result<(), ConnectError> {
        let written = self.upstream.write(payload).await;
        written.map_err(ConnectError::upstream)?;
        self.set_stage(Turn::Upstream);
        Ok(())
    }

    /// Records which side the upstream is waiting for.
    fn set_stage(&mut self, turn: Turn) {
        let plugin = self.bridge.plugin().to_vec();
        *self.stage = match turn {
            Turn::Client => Stage::Asked { plugin },
            Turn::Upstream => Stage::Answered { plugin },
        };
    }
}

fn side(header: Result<Header, ReadError>, side: Turn) -> Result<Turn, ConnectError> {
    match (header, side) {
        (Ok(_), side) => Ok(side),
        (Err(error), Turn::Client) => Err(ConnectError::Client(error)),
        (Err(error), Turn::Upstream) => Err(ConnectError::Upstream(error)),
    }
}

fn failure(plugin: PasswordPlugin, source: PasswordError) -> ConnectError {
    ConnectError::Password {
        plugin: plugin.name(),
        source,
    }
}

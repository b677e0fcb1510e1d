//! The authentication exchange where one side is secure and the other is not: decides for each packet what is sent
//! where.
//!
//! `caching_sha2_password` and `sha256_password` send a password in the clear over a secure connection, and encrypted
//! with the server's RSA key over a plain one. Where the two sides differ, one form is converted into the other.

use zeroize::Zeroizing;

use super::password::Password;
use crate::wire::capability;
use crate::wire::handshake::authentication::{
    MORE_DATA, NEXT_FACTOR, PasswordPlugin, PluginRequest, SWITCH, in_the_clear,
};
use crate::wire::reply;

/// Minimum length in bytes of a password that is encrypted with RSA: that of a 2048-bit key.
const SHORTEST_ENCRYPTED: usize = 256;

/// How a side is protected against eavesdroppers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Plain TCP.
    Plain,
    /// A unix socket.
    Local,
    /// TLS.
    Tls,
}

impl Protection {
    /// Whether `plugin` permits a password in the clear on this side. MySQL's `sha256_password` requires TLS for that;
    /// a unix socket is not enough.
    fn is_enough_for(self, plugin: PasswordPlugin) -> bool {
        match self {
            Self::Plain => false,
            Self::Local => plugin == PasswordPlugin::CachingSha2,
            Self::Tls => true,
        }
    }
}

/// The two sides that a password has to cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) client: Protection,
    pub(super) upstream: Protection,
}

/// What the two sides require of one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    /// Both sides are secure, or neither is: every packet passes unchanged.
    Even,
    /// The client's side is secure, the upstream's is plain.
    IntoPlain,
    /// The client's side is plain, the upstream's is secure.
    IntoSecure,
}

impl Sides {
    fn crossing(self, plugin: PasswordPlugin) -> Crossing {
        let (client, upstream) = (self.client, self.upstream);
        match (client.is_enough_for(plugin), upstream.is_enough_for(plugin)) {
            (true, false) => Crossing::IntoPlain,
            (false, true) => Crossing::IntoSecure,
            _ => Crossing::Even,
        }
    }

    /// The plugin of this name, if its client sends a secret unencrypted and the secret would leave TLS, or this
    /// machine, here.
    fn exposes(self, plugin: &[u8]) -> Option<&'static str> {
        let is_exposed = self.client != Protection::Plain && self.upstream == Protection::Plain;
        in_the_clear(plugin).filter(|_| is_exposed)
    }

    /// Whether authentication data for `plugin` in the client's first packet would be useless to the upstream, or must
    /// not be sent there.
    pub(super) fn spoil_first_data(self, plugin: Option<&[u8]>) -> bool {
        let Some(plugin) = plugin else {
            return false;
        };
        let is_sha256 = PasswordPlugin::named(plugin) == Some(PasswordPlugin::Sha256);
        is_sha256 && self.crossing(PasswordPlugin::Sha256) != Crossing::Even
            || self.exposes(plugin).is_some()
    }
}

/// What the bridge is waiting for.
#[derive(Debug)]
enum State {
    /// Any packet; it passes unchanged.
    Relay,
    /// The client's password, in the form that the client's side requires.
    Password(PasswordPlugin),
    /// The upstream's public key, to encrypt this password.
    UpstreamKey(PasswordPlugin, Password),
    /// The client's password, encrypted with the proxy's key.
    Encrypted(PasswordPlugin),
}

/// What to do with a packet from the upstream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromUpstream {
    /// Send it to the client unchanged. The client must respond.
    Pass,
    /// Send it to the client unchanged. The upstream sends another packet.
    PassOn,
    /// Send it to the client unchanged. The client is logged in.
    Accepted,
    /// Send it to the client unchanged. The client has been denied access.
    Denied,
    /// The key that the bridge asked for, as PEM. Respond with the password, encrypted with it.
    Key(PasswordPlugin, Password),
}

/// What to do with a packet from the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromClient {
    /// Send it to the upstream unchanged.
    Pass,
    /// Hold it back, and send these bytes to the upstream.
    AskKey(&'static [u8]),
    /// It is a secret of this plugin that must not be sent over a plain connection.
    Expose(&'static str),
    /// A password that leaves TLS here. Send it to the upstream encrypted, but only with a key that was configured
    /// beforehand: a key that is received over a plain connection may be anybody's.
    IntoPlain(PasswordPlugin, Password),
    /// Respond with the proxy's public key.
    OfferKey(PasswordPlugin),
    /// Send it to the upstream decrypted.
    Decrypt(PasswordPlugin),
}

/// One authentication exchange.
pub(super) struct Bridge {
    sides: Sides,
    capabilities: u64,
    /// The current plugin.
    plugin: Vec<u8>,
    auth_plugin_data: Vec<u8>,
    state: State,
}

impl Bridge {
    /// Begins with the plugin and the auth_plugin_data that the client's first authentication data was made with.
    pub(super) fn new(
        sides: Sides,
        capabilities: u64,
        plugin: &[u8],
        auth_plugin_data: &[u8],
    ) -> Self {
        Self {
            sides,
            capabilities,
            plugin: plugin.to_vec(),
            auth_plugin_data: auth_plugin_data.to_vec(),
            state: State::Relay,
        }
    }

    /// The name of the current plugin. It is empty for the one that servers used before 4.1.
    pub(super) fn plugin(&self) -> &[u8] {
        &self.plugin
    }

    /// The capabilities that both sides have agreed on.
    pub(super) fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// Whether the upstream is reached over a unix socket.
    pub(super) fn is_upstream_local(&self) -> bool {
        self.sides.upstream == Protection::Local
    }

    /// The random data that the client's password is currently combined with.
    pub(super) fn auth_plugin_data(&self) -> &[u8] {
        &self.auth_plugin_data
    }

    /// Decides what to do with a packet from the upstream.
    pub(super) fn upstream_sent(&mut self, payload: &[u8]) -> FromUpstream {
        match payload.first() {
            Some(&reply::OK) => return FromUpstream::Accepted,
            Some(&reply::ERR) => return FromUpstream::Denied,
            Some(&SWITCH) => self.switch(payload),
            Some(&NEXT_FACTOR)
                if self.capabilities & capability::MULTI_FACTOR_AUTHENTICATION != 0 =>
            {
                self.switch(payload);
            }
            Some(&MORE_DATA) => {
                if let State::UpstreamKey(..) = self.state {
                    let State::UpstreamKey(plugin, password) =
                        std::mem::replace(&mut self.state, State::Relay)
                    else {
                        unreachable!("matched above");
                    };
                    return FromUpstream::Key(plugin, password);
                }
                return self.more_data(payload);
            }
            _ => {}
        }
        FromUpstream::Pass
    }

    fn switch(&mut self, payload: &[u8]) {
        self.state = State::Relay;
        self.plugin.clear();
        let Ok(request) = PluginRequest::decode(payload) else {
            return;
        };
        self.plugin = request.plugin.to_vec();
        self.auth_plugin_data = request.data.to_vec();
        if let Some(plugin @ PasswordPlugin::Sha256) = PasswordPlugin::named(request.plugin) {
            self.state = State::Password(plugin);
        }
    }

    fn more_data(&mut self, payload: &[u8]) -> FromUpstream {
        let Some(plugin @ PasswordPlugin::CachingSha2) = PasswordPlugin::named(&self.plugin) else {
            return FromUpstream::Pass;
        };
        match payload {
            PasswordPlugin::PERFORM_FULL_AUTHENTICATION => {
                self.state = State::Password(plugin);
                FromUpstream::Pass
            }
            PasswordPlugin::FAST_AUTHENTICATION_SUCCESS => FromUpstream::PassOn,
            _ => FromUpstream::Pass,
        }
    }

    /// Decides what to do with a packet from the client.
    pub(super) fn client_sent(&mut self, payload: &[u8]) -> FromClient {
        // An account without a password sends an empty one.
        let empty = matches!(payload, [] | [0]);
        if !empty && let Some(plugin) = self.sides.exposes(&self.plugin) {
            return FromClient::Expose(plugin);
        }
        match std::mem::replace(&mut self.state, State::Relay) {
            State::Password(plugin) if !empty => match self.sides.crossing(plugin) {
                Crossing::Even => FromClient::Pass,
                Crossing::IntoPlain => self.leave_tls(plugin, payload),
                Crossing::IntoSecure if payload == plugin.key_request() => {
                    self.state = State::Encrypted(plugin);
                    FromClient::OfferKey(plugin)
                }
                // Encrypted with a key that the client obtained elsewhere: the proxy's, or another.
                Crossing::IntoSecure if payload.len() >= SHORTEST_ENCRYPTED => {
                    FromClient::Decrypt(plugin)
                }
                Crossing::IntoSecure => FromClient::Pass,
            },
            State::Encrypted(plugin) => FromClient::Decrypt(plugin),
            held @ State::UpstreamKey(..) => {
                // Nothing may follow the password. Let the upstream judge it when it comes to it.
                self.state = held;
                FromClient::Pass
            }
            State::Password(_) | State::Relay => FromClient::Pass,
        }
    }

    fn leave_tls(&mut self, plugin: PasswordPlugin, payload: &[u8]) -> FromClient {
        let mut password = Zeroizing::new(payload.to_vec());
        if password.last() != Some(&0) {
            password.push(0);
        }
        match self.sides.upstream {
            Protection::Local => {
                self.state = State::UpstreamKey(plugin, password);
                FromClient::AskKey(plugin.key_request())
            }
            Protection::Plain | Protection::Tls => FromClient::IntoPlain(plugin, password),
        }
    }
}

//! The authentication exchange between a plain side and a secure one: decides, packet by packet, what goes where.
//!
//! `caching_sha2_password` and `sha256_password` send a password in the clear over a secure connection, and
//! encrypted with the server's RSA key over a plain one. Where the two sides differ, the one form is made the other.

use zeroize::Zeroizing;

use super::password::Password;
use crate::wire::capability;
use crate::wire::handshake::authentication::{
    MORE_DATA, NEXT_FACTOR, PasswordPlugin, PluginRequest, SWITCH, in_the_clear,
};
use crate::wire::reply;

/// Shortest that a password encrypted with RSA can be, in bytes: that of a 2048-bit key.
const SHORTEST_ENCRYPTED: usize = 256;

/// How a side is protected against listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// TCP as it is.
    Plain,
    /// A unix socket.
    Local,
    /// TLS.
    Tls,
}

impl Protection {
    /// Whether `plugin` lets a password travel in the clear here. MySQL's `sha256_password` wants TLS for it; a unix
    /// socket is not enough.
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

/// What the two sides mean for one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    /// Both sides are secure, or neither: every packet passes as it is.
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

    /// The plugin of that name, if what its client sends is a secret as it stands, and would leave TLS here.
    fn exposes(self, plugin: &[u8]) -> Option<&'static str> {
        let leaves_tls = self.client == Protection::Tls && self.upstream == Protection::Plain;
        in_the_clear(plugin).filter(|_| leaves_tls)
    }

    /// Whether authentication data for `plugin` in the client's first packet would be of no use upstream, or must not
    /// get there.
    pub(super) fn spoil_first_data(self, plugin: Option<&[u8]>) -> bool {
        let Some(plugin) = plugin else {
            return false;
        };
        let is_sha256 = PasswordPlugin::named(plugin) == Some(PasswordPlugin::Sha256);
        is_sha256 && self.crossing(PasswordPlugin::Sha256) != Crossing::Even
            || self.exposes(plugin).is_some()
    }
}

/// What is awaited.
#[derive(Debug)]
enum State {
    /// Anything; it passes.
    Relay,
    /// The client's password, in the form of its side.
    Password(PasswordPlugin),
    /// The upstream's public key, for this password.
    UpstreamKey(PasswordPlugin, Password),
    /// The client's password, encrypted with our key.
    Encrypted(PasswordPlugin),
}

/// What becomes of a packet of the upstream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromUpstream {
    /// To the client as it is; the client is to answer.
    Pass,
    /// To the client as it is; the upstream goes on.
    PassOn,
    /// To the client as it is; it is in.
    Accepted,
    /// To the client as it is; it is out.
    Denied,
    /// The key that was asked for, PEM text: the password, encrypted with it, goes back.
    Key(PasswordPlugin, Password),
}

/// What becomes of a packet of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromClient {
    /// To the upstream as it is.
    Pass,
    /// Held. These bytes go to the upstream.
    AskKey(&'static [u8]),
    /// A secret, by this plugin, that must not go where it would go.
    Expose(&'static str),
    /// A password that leaves TLS here: to the upstream encrypted, if its key is known beforehand. One that it gives
    /// over a plain connection may be anybody's.
    IntoPlain(PasswordPlugin, Password),
    /// Answered with our public key.
    OfferKey(PasswordPlugin),
    /// To the upstream decrypted.
    Decrypt(PasswordPlugin),
}

/// One authentication exchange.
pub(super) struct Bridge {
    sides: Sides,
    capabilities: u64,
    /// The plugin at work.
    plugin: Vec<u8>,
    auth_plugin_data: Vec<u8>,
    state: State,
}

impl Bridge {
    /// Begins with the plugin and the auth plugin data that the client's first authentication data were made with.
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

    /// The name of the plugin at work; empty for the one of before 4.1.
    pub(super) fn plugin(&self) -> &[u8] {
        &self.plugin
    }

    /// Flags that both sides have agreed on.
    pub(super) fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// Whether the upstream is reached over a unix socket.
    pub(super) fn is_upstream_local(&self) -> bool {
        self.sides.upstream == Protection::Local
    }

    /// The random data that the client's password is mixed with now.
    pub(super) fn auth_plugin_data(&self) -> &[u8] {
        &self.auth_plugin_data
    }

    /// Decides about a packet of the upstream.
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

    /// Decides about a packet of the client.
    pub(super) fn client_sent(&mut self, payload: &[u8]) -> FromClient {
        // No password is sent for an account without one.
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
                // Encrypted with a key that the client had from elsewhere: ours, or not.
                Crossing::IntoSecure if payload.len() >= SHORTEST_ENCRYPTED => {
                    FromClient::Decrypt(plugin)
                }
                Crossing::IntoSecure => FromClient::Pass,
            },
            State::Encrypted(plugin) => FromClient::Decrypt(plugin),
            held @ State::UpstreamKey(..) => {
                // Nothing may follow the password; the upstream shall judge it when its turn has come.
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

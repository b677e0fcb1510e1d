//! What a client tells of its login and its session.

use serde::Deserialize;

use crate::login::client::{Login, OTHER};

/// One line of the scripts in tests/clients; the command line programs are made to tell the same.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Said {
    /// Whether it logged in and ended its session.
    pub ok: bool,
    /// CURRENT_USER(): the account that the server chose.
    pub current_user: String,
    pub version: String,
    /// CONNECTION_ID().
    pub connection_id: u64,
    /// The id that the initial handshake named.
    pub thread_id: u64,
    /// The cipher of the connection that the server sees; empty without TLS.
    pub upstream_cipher: String,
    /// Whether the client's own connection has TLS.
    pub client_tls: bool,
    /// What the ordinary session found.
    pub session: Option<Session>,
    /// What there was after COM_CHANGE_USER, where the client has it.
    pub changed: Option<Changed>,
    /// The error's code; none when the driver gave up by itself and has no codes.
    pub code: Option<u32>,
    pub sql_state: Option<String>,
    pub message: String,
}

/// Values of an ordinary session, the same on each server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Session {
    pub id: u64,
    /// Zero by MariaDB's driver, which tells it otherwise when MySQL gives it.
    pub inserted: u64,
    pub prepared: String,
    pub rolled_back: String,
    pub committed: String,
    pub duplicate: u32,
    pub multi: Vec<Vec<u32>>,
    pub large: usize,
}

/// The identity after COM_CHANGE_USER.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Changed {
    pub current_user: String,
    pub version: String,
    pub connection_id: u64,
    pub upstream_cipher: String,
    pub state_is_gone: bool,
}

impl Said {
    /// Reads a script's line: JSON, which is YAML.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_saphyr::from_str(line).map_err(|error| format!("{error} in: {line}"))
    }

    /// The same without what differs from login to login: ids, ciphers, the host, and the name of `user`, for accounts
    /// are used once where that matters.
    pub fn comparable(&self, user: &str) -> Self {
        let mut plain = self.clone();
        (plain.connection_id, plain.thread_id) = (0, 0);
        plain.upstream_cipher.clear();
        plain.current_user = plain.current_user.replace(user, "USER");
        plain.message = without_host(&plain.message.replace(user, "USER"));
        if let Some(session) = &mut plain.session {
            session.id = 0;
        }
        if let Some(changed) = &mut plain.changed {
            changed.connection_id = 0;
            changed.upstream_cipher.clear();
        }
        plain
    }

    /// What is wrong whatever the way that the login took: the ids, who has TLS, what the session found.
    pub fn faults(&self, login: &Login<'_>, upstream_tls: bool) -> Vec<&'static str> {
        if !self.ok {
            return Vec::new();
        }
        let mut faults = vec![
            (
                self.connection_id != self.thread_id,
                "CONNECTION_ID() is not the id of the greeting",
            ),
            (
                self.client_tls != login.tls,
                "the client has TLS without asking, or asked and has none",
            ),
            (
                self.upstream_cipher.is_empty() == upstream_tls,
                "TLS toward the server is not as configured",
            ),
            (
                !self.session.as_ref().is_some_and(Session::is_ordinary),
                "the session is not as it should be",
            ),
            (
                self.changed.is_some() != login.changes_user,
                "COM_CHANGE_USER is missing",
            ),
        ];
        if let Some(changed) = &self.changed {
            faults.extend([
                (
                    changed.connection_id != self.connection_id,
                    "COM_CHANGE_USER gave another connection id",
                ),
                (
                    changed.current_user != format!("{}@%", OTHER.0),
                    "COM_CHANGE_USER did not change the user",
                ),
                (
                    !changed.state_is_gone,
                    "COM_CHANGE_USER left the session's variables",
                ),
            ]);
        }
        let found = faults.into_iter().filter(|(is_wrong, _)| *is_wrong);
        found.map(|(_, fault)| fault).collect()
    }
}

impl Session {
    fn is_ordinary(&self) -> bool {
        let values = (
            self.prepared.as_str(),
            self.rolled_back.as_str(),
            self.committed.as_str(),
        );
        values == ("two", "one", "kept") && (self.duplicate, self.large) == (1062, 200_000)
    }
}

/// `'user'@'127.0.0.1'` as `'user'@'HOST'`; and without the connection's number, which MariaDB's driver adds.
pub fn without_host(message: &str) -> String {
    let mut text = message.to_owned();
    if let Some((before, (_, after))) = text
        .split_once("'@'")
        .and_then(|(before, rest)| Some((before, rest.split_once('\'')?)))
    {
        text = format!("{before}'@'HOST'{after}");
    }
    if let Some((before, (_, after))) = text
        .split_once("(conn:")
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        text = format!("{before}(conn){after}");
    }
    text
}

//! The console's login: its one account, by `caching_sha2_password` or `mysql_native_password`.
//!
//! Both are checked by a hash of a hash alone, so the password is neither kept nor ever sent. The wire code is this
//! project's own, because the crate knows only one round of authentication: MariaDB's library must be told that the
//! first round was enough (`01 03`) before the OK.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::RngExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{error::Elapsed, sleep, timeout};

use crate::config::Admin;
use crate::net::{PacketStream, ReadError};
use crate::wire::capability;
use crate::wire::error_code::{ER_ACCESS_DENIED_ERROR, ER_CON_COUNT_ERROR, ER_HANDSHAKE_ERROR};
use crate::wire::handshake::authentication::PasswordPlugin;
use crate::wire::handshake::{HandshakeResponse, Nonce, OwnGreeting, encode_switch};
use crate::wire::packet::encode_packet;
use crate::wire::reader::Malformed;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// The version that clients see: some decide on features by its first number.
pub(super) const SERVER_VERSION: &str = concat!("8.4.0-countersink-", env!("CARGO_PKG_VERSION"));

/// What the console offers. CLIENT_LONG_PASSWORD tells MariaDB's library that this is not a MariaDB server.
const OFFERED: u64 = capability::LONG_PASSWORD
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | capability::DEPRECATE_EOF;

/// The longest packet of a login, in bytes: names, a scramble, and attributes that are ignored.
const LONGEST_PACKET: usize = 4 * 1024;

/// The longest names that are kept, in bytes.
const LONGEST_NAME: usize = 256;

const NATIVE: &str = "mysql_native_password";

/// Maximum number of clients that are logged in; further ones are refused with an error.
const MOST_CLIENTS: usize = 32;

const NO_TLS: &str =
    "the console has neither TLS nor the protocol of before 4.1; connect without TLS";

/// A client that is logged in.
#[derive(Debug)]
pub(super) struct LoggedIn {
    /// What both sides have agreed on.
    pub(super) capabilities: u64,
    pub(super) user: String,
    /// The schema that statements to explain start in.
    pub(super) schema: Option<String>,
    /// Its place among the logged-in clients.
    pub(super) place: OwnedSemaphorePermit,
}

/// Why a login failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    #[error("the account or its password is wrong")]
    Denied(Farewell),
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("{0}")]
    Write(#[from] io::Error),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("it asks for TLS, or speaks the protocol of before 4.1")]
    Protocol(Farewell),
    #[error("not logged in within its time")]
    Late(#[from] Elapsed),
    #[error("{MOST_CLIENTS} clients are at the console, which is the most")]
    Full(Farewell),
}

impl LoginError {
    /// Whether the client gets the reason: it speaks MySQL, and may be an operator's.
    pub(super) fn is_told(&self) -> bool {
        self.farewell().is_some()
    }

    fn farewell(&self) -> Option<&Farewell> {
        match self {
            Self::Denied(told) | Self::Protocol(told) | Self::Full(told) => Some(told),
            Self::Read(_) | Self::Write(_) | Self::Malformed(_) | Self::Late(_) => None,
        }
    }
}

/// The error for a client that is refused.
#[derive(Debug)]
pub(super) struct Farewell {
    sequence_id: u8,
    payload: Vec<u8>,
}

/// Decides which clients may log in.
#[derive(Debug)]
pub(super) struct Door {
    admin: Admin,
    /// How long a login may take.
    patience: Duration,
    /// One for each client that may be logged in.
    places: Arc<Semaphore>,
    failures: Mutex<Failures>,
}

/// Logins that have failed lately.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    last: Option<Instant>,
}

/// A failure is forgotten with all before it after so long without another.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// How long the first failure is kept waiting for its answer; each further one twice as long as the one before it,
const FIRST_DELAY: Duration = Duration::from_millis(50);

/// up to this, which is doubled no more.
const MOST_DOUBLINGS: u32 = 6;

impl Door {
    pub(super) fn new(admin: Admin, patience: Duration) -> Self {
        Self {
            admin,
            patience,
            places: Arc::new(Semaphore::new(MOST_CLIENTS)),
            failures: Mutex::default(),
        }
    }

    /// Lets a client in, or sends it the reason why not. Not cancel safe.
    pub(super) async fn admit(
        &self,
        client: &mut PacketStream,
        thread_id: u32,
    ) -> Result<LoggedIn, LoginError> {
        let login = timeout(self.patience, self.login(client, thread_id)).await?;
        if let Err(LoginError::Denied(_)) = &login {
            // A client that guesses waits for each response; one with the right password does not.
            sleep(self.delay(Instant::now())).await;
        }
        if let Some(told) = login.as_ref().err().and_then(LoginError::farewell) {
            let written = write(client, told.sequence_id, &told.payload);
            timeout(self.patience, written).await??;
        }
        client.scrub();
        login
    }

    /// How long this failure is kept waiting, now.
    fn delay(&self, now: Instant) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures
            .last
            .is_none_or(|last| now.saturating_duration_since(last) > FORGOTTEN)
        {
            failures.count = 0;
        }
        failures.last = Some(now);
        let delay = FIRST_DELAY * 2_u32.pow(failures.count.min(MOST_DOUBLINGS));
        failures.count = failures.count.saturating_add(1);
        delay
    }

    async fn login(
        &self,
        client: &mut PacketStream,
        thread_id: u32,
    ) -> Result<LoggedIn, LoginError> {
        let auth_plugin_data = fresh_nonce();
        let initial_handshake = OwnGreeting {
            server_version: SERVER_VERSION,
            thread_id,
            auth_plugin_data: &auth_plugin_data,
            capabilities: u32::try_from(OFFERED).expect("MySQL's own flags"),
            plugin: PasswordPlugin::CachingSha2.name(),
        };
        write(client, 0, &initial_handshake.encode()).await?;
        let mut payload = Vec::new();
        let sequence_id = client.read_payload(&mut payload, LONGEST_PACKET).await;
        let mut next = sequence_id?.wrapping_add(1);
        let flags = HandshakeResponse::capabilities(&payload)?;
        if flags & capability::PROTOCOL_41 == 0 || flags & capability::SSL != 0 {
            return Err(LoginError::Protocol(Farewell {
                sequence_id: next,
                payload: err(ER_HANDSHAKE_ERROR, b"08S01", NO_TLS),
            }));
        }
        let response = HandshakeResponse::decode(&payload, OFFERED)?;
        let data = response.authentication_data(&payload, OFFERED)?;
        let plugin = response.plugin.as_deref().unwrap_or(NATIVE.as_bytes());
        let sha2 = PasswordPlugin::CachingSha2.name();
        let is_native = plugin == NATIVE.as_bytes();
        let hashes = &self.admin.password;
        let (with_password, is_right) = if plugin == sha2.as_bytes() {
            // No password is a lone NUL.
            (
                data.len() > 1,
                hashes.accept_sha256(&auth_plugin_data, data),
            )
        } else if is_native {
            (
                !data.is_empty(),
                hashes.accept_sha1(&auth_plugin_data, data),
            )
        } else {
            // The one that every client of today has: to MySQL 9 the other is a file that may not be installed.
            let auth_plugin_data = fresh_nonce();
            write(client, next, &encode_switch(sha2, &auth_plugin_data)).await?;
            let mut answer = Vec::new();
            let sequence_id = client.read_payload(&mut answer, LONGEST_PACKET).await;
            next = sequence_id?.wrapping_add(1);
            (
                answer.len() > 1,
                hashes.accept_sha256(&auth_plugin_data, &answer),
            )
        };
        let user = name(&response.user);
        if !(is_right && response.user == self.admin.user.as_bytes()) {
            let using = if with_password { "YES" } else { "NO" };
            let message = format!("Access denied for user '{user}' (using password: {using})");
            return Err(LoginError::Denied(Farewell {
                sequence_id: next,
                payload: err(ER_ACCESS_DENIED_ERROR, b"28000", &message),
            }));
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let message = format!(
                "Too many connections: {MOST_CLIENTS} clients are at the console; close one of them"
            );
            return Err(LoginError::Full(Farewell {
                sequence_id: next,
                payload: err(ER_CON_COUNT_ERROR, b"08004", &message),
            }));
        };
        if !is_native {
            write(client, next, PasswordPlugin::FAST_AUTHENTICATION_SUCCESS).await?;
            next = next.wrapping_add(1);
        }
        write(client, next, &ok()).await?;
        Ok(LoggedIn {
            capabilities: response.capabilities & OFFERED,
            user,
            schema: response.schema.as_deref().map(name),
            place,
        })
    }
}

/// Printable ASCII without `$`, which the plugin keeps for other purposes.
fn fresh_nonce() -> Nonce {
    let mut random = rand::rng();
    std::array::from_fn(|_| random.random_range(b'%'..=b'~'))
}

/// As text that may be shown.
fn name(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_NAME)]);
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// The payload of an OK packet.
pub(super) fn ok() -> Vec<u8> {
    let mut payload = Vec::new();
    OkPacket {
        header: reply::OK,
        affected_rows: 0,
        last_insert_id: 0,
        status: status::AUTOCOMMIT,
        warnings: 0,
        tail: &[],
    }
    .encode(&mut payload);
    payload
}

/// The payload of an ERR packet.
pub(super) fn err(code: u16, sql_state: &[u8], message: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    reply::Err {
        code,
        sql_state,
        message: message.as_bytes(),
    }
    .encode(&mut payload);
    payload
}

async fn write(
    client: &mut PacketStream,
    sequence_id: u8,
    payload: &[u8],
) -> Result<(), LoginError> {
    let mut packet = Vec::new();
    encode_packet(&mut packet, sequence_id, payload);
    Ok(client.write(&packet).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HostPort, PasswordHashes};

    #[test]
    fn each_failure_waits_longer_until_they_are_forgotten() {
        let admin = Admin {
            address: HostPort::parse("127.0.0.1:0").expect("an address"),
            user: "admin".to_owned(),
            password: PasswordHashes::new("secret"),
        };
        let door = Door::new(admin, Duration::from_secs(1));
        let first = Instant::now();
        let delays: Vec<_> = (0..9).map(|_| door.delay(first)).collect();
        let milliseconds = [50, 100, 200, 400, 800, 1600, 3200, 3200, 3200];
        assert_eq!(delays, milliseconds.map(Duration::from_millis));
        let later = first + FORGOTTEN + Duration::from_millis(1);
        assert_eq!(door.delay(later), FIRST_DELAY);
    }

    #[test]
    fn nonces_are_fresh_and_of_letters_that_nothing_ends_at() {
        let nonces: std::collections::HashSet<Nonce> = (0..1000).map(|_| fresh_nonce()).collect();
        assert_eq!(nonces.len(), 1000);
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'$';
        assert!(nonces.iter().flatten().all(is_plain));
    }

    #[test]
    fn names_are_cut_and_hold_no_control_characters() {
        assert_eq!(name(b"a\x1b[31m\nb"), "a[31mb");
        assert_eq!(name(&[b'x'; 10_000]).len(), LONGEST_NAME);
    }
}

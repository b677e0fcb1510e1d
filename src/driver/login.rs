//! The connection phase from the client's side.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use mysql_common::scramble::{scramble_native, scramble_sha256};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use zeroize::Zeroizing;

use super::{Driver, Error, server_error};
use crate::net::{Algorithm, PacketStream, Role, Transport};
use crate::wire::capability;
use crate::wire::handshake::InitialHandshake;
use crate::wire::handshake::authentication::{MORE_DATA, PasswordPlugin, PluginRequest};
use crate::wire::packet::encode_packet;
use crate::wire::reader::{Malformed, put_lenenc_bytes};
use crate::wire::reply;

/// Maximum packet size of the connection phase, in bytes.
const LARGEST_PACKET: usize = 64 * 1024;

/// Collation 45: utf8mb4_general_ci, which MySQL and MariaDB both have.
const UTF8MB4: u8 = 45;

/// The level of zstd that it asks for, which is that of clients that do not ask for one.
const ZSTD_LEVEL: u8 = 3;

/// The account to log in as, and the kind of client.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// User name.
    pub user: &'a str,
    /// Password; empty for none.
    pub password: &'a str,
    /// Default schema.
    pub schema: Option<&'a str>,
    /// Capabilities to request. Those that the server does not have are left out.
    pub capabilities: u64,
    /// The transport is a unix socket. Servers consider it secure, so a password may be sent in the clear.
    pub is_local: bool,
}

impl<'a> Login<'a> {
    /// A login as of most clients, over TCP and without a schema.
    pub fn new(user: &'a str, password: &'a str) -> Self {
        Self {
            user,
            password,
            schema: None,
            capabilities: Driver::CAPABILITIES,
            is_local: false,
        }
    }
}

impl Driver {
    /// Logs in over a connected transport.
    pub async fn connect(transport: Box<dyn Transport>, login: &Login<'_>) -> Result<Self, Error> {
        let mut stream = PacketStream::new(transport);
        let mut payload = Vec::new();
        stream.read_payload(&mut payload, LARGEST_PACKET).await?;
        if payload.first() == Some(&reply::ERR) {
            return Err(Error::Login(server_error(&payload)?));
        }
        let initial_handshake = InitialHandshake::decode(&payload)?;
        let wanted = login.capabilities
            | match login.schema {
                Some(_) => capability::CONNECT_WITH_DB,
                None => 0,
            };
        let mut driver = Self {
            stream,
            // MySQL's servers set CLIENT_LONG_PASSWORD, MariaDB's do not. In a client's flags, the bit says which kind
            // it is.
            capabilities: wanted & (initial_handshake.capabilities | capability::LONG_PASSWORD),
            thread_id: initial_handshake.thread_id,
            scratch: Vec::new(),
        };
        driver.respond(login, &initial_handshake).await?;
        driver.authenticate(login, &initial_handshake).await?;
        if let Some(algorithm) = Algorithm::agreed(driver.capabilities, ZSTD_LEVEL) {
            driver.stream.compress(Role::Client, algorithm);
        }
        driver.stream.scrub();
        Ok(driver)
    }

    /// Sends the handshake response (manual: "Protocol::HandshakeResponse41").
    async fn respond(
        &mut self,
        login: &Login<'_>,
        initial_handshake: &InitialHandshake,
    ) -> Result<(), Error> {
        let mut response = Vec::new();
        let capabilities = self.capabilities.to_le_bytes();
        let (lower, upper) = capabilities.split_at(4);
        response.extend_from_slice(lower);
        response.extend_from_slice(&LARGEST_MESSAGE.to_le_bytes());
        response.push(UTF8MB4);
        response.extend_from_slice(&[0; 19]);
        response.extend_from_slice(upper);
        response.extend_from_slice(login.user.as_bytes());
        response.push(0);
        put_lenenc_bytes(
            &mut response,
            &scramble(
                &initial_handshake.plugin,
                &initial_handshake.auth_plugin_data,
                login,
            )?,
        );
        if let Some(schema) = login.schema {
            response.extend_from_slice(schema.as_bytes());
            response.push(0);
        }
        response.extend_from_slice(&initial_handshake.plugin);
        response.push(0);
        if self.capabilities & capability::ZSTD_COMPRESSION != 0 {
            response.push(ZSTD_LEVEL);
        }
        self.write(1, &response).await
    }

    /// Responds to the server's requests until it sends OK.
    async fn authenticate(
        &mut self,
        login: &Login<'_>,
        initial_handshake: &InitialHandshake,
    ) -> Result<(), Error> {
        let mut payload = Vec::new();
        let mut plugin = initial_handshake.plugin.clone();
        let mut auth_plugin_data = initial_handshake.auth_plugin_data.to_vec();
        loop {
            let read = self.stream.read_payload(&mut payload, LARGEST_PACKET);
            let sequence_id = read.await?;
            match payload.first() {
                Some(&reply::OK) => return Ok(()),
                Some(&reply::ERR) => return Err(Error::Login(server_error(&payload)?)),
                Some(&reply::EOF) => {
                    let request = PluginRequest::decode(&payload)?;
                    plugin = request.plugin.to_vec();
                    auth_plugin_data = request.data.to_vec();
                    let answer = scramble(&plugin, &auth_plugin_data, login)?;
                    self.write(sequence_id.wrapping_add(1), &answer).await?;
                }
                _ if payload == PasswordPlugin::FAST_AUTHENTICATION_SUCCESS => {}
                _ if payload == PasswordPlugin::PERFORM_FULL_AUTHENTICATION => {
                    let next = sequence_id.wrapping_add(1);
                    self.send_password(login, &auth_plugin_data, next).await?;
                }
                _ => {
                    let plugin = String::from_utf8_lossy(&plugin);
                    return Err(Error::Unsupported(format!("the full exchange of {plugin}")));
                }
            }
        }
    }

    /// Sends the password itself, which caching_sha2_password asks for when the server's cache does not hold it. It is
    /// encrypted with the server's key unless the transport is secure (manual: "Caching_sha2_password information").
    async fn send_password(
        &mut self,
        login: &Login<'_>,
        auth_plugin_data: &[u8],
        sequence_id: u8,
    ) -> Result<(), Error> {
        let mut password = Zeroizing::new(login.password.as_bytes().to_vec());
        password.push(0);
        if login.is_local {
            return self.write(sequence_id, &password).await;
        }
        let request = PasswordPlugin::CachingSha2.key_request();
        self.write(sequence_id, request).await?;
        let mut payload = Vec::new();
        let read = self.stream.read_payload(&mut payload, LARGEST_PACKET);
        let sequence_id = read.await?;
        let key = match payload.split_first() {
            Some((&MORE_DATA, key)) => key,
            Some((&reply::ERR, _)) => return Err(Error::Login(server_error(&payload)?)),
            _ => return Err(Malformed.into()),
        };
        for (byte, mask) in password.iter_mut().zip(auth_plugin_data.iter().cycle()) {
            *byte ^= mask;
        }
        let encrypted = encrypt(&password, key)?;
        self.write(sequence_id.wrapping_add(1), &encrypted).await
    }

    async fn write(&mut self, sequence_id: u8, payload: &[u8]) -> Result<(), Error> {
        self.scratch.clear();
        encode_packet(&mut self.scratch, sequence_id, payload);
        Ok(self.stream.write(&self.scratch).await?)
    }
}

/// Encrypts a password with the server's key, which is the PEM of a SubjectPublicKeyInfo.
fn encrypt(password: &[u8], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let unusable = || Error::Unsupported("a password under its RSA key".to_owned());
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| unusable())?;
    let key =
        PublicEncryptingKey::from_der(&der).and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?));
    let key = key.map_err(|_| unusable())?;
    let mut encrypted = vec![0; key.ciphertext_size()];
    let sealed = key.encrypt(&OAEP_SHA1_MGF1SHA1, password, &mut encrypted, None);
    let length = sealed.map_err(|_| unusable())?.len();
    encrypted.truncate(length);
    Ok(encrypted)
}

/// `max_packet_size` of the handshake response: 1 GiB, the protocol's limit.
const LARGEST_MESSAGE: u32 = 1 << 30;

fn scramble(plugin: &[u8], auth_plugin_data: &[u8], login: &Login<'_>) -> Result<Vec<u8>, Error> {
    if login.password.is_empty() {
        return Ok(Vec::new());
    }
    let auth_plugin_data: &[u8; 20] = auth_plugin_data.try_into().map_err(|_| Malformed)?;
    let password = login.password.as_bytes();
    let scrambled = match plugin {
        b"mysql_native_password" => scramble_native(auth_plugin_data, password).map(Vec::from),
        b"caching_sha2_password" => scramble_sha256(auth_plugin_data, password).map(Vec::from),
        other => {
            let other = String::from_utf8_lossy(other).into_owned();
            return Err(Error::Unsupported(format!("the plugin {other}")));
        }
    };
    Ok(scrambled.unwrap_or_default())
}

//! A client that speaks every plugin, over TLS or plain, and tells what it was told.

use std::net::SocketAddr;

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use aws_lc_rs::signature::Ed25519KeyPair;
use countersink::net::PacketStream;
use countersink::wire::capability;
use countersink::wire::handshake::InitialHandshake;
use countersink::wire::handshake::authentication::{
    MORE_DATA, NEXT_FACTOR, PasswordPlugin, PluginRequest, SWITCH,
};
use countersink::wire::packet::encode_packet;
use countersink::wire::reader::{Reader, put_lenenc_bytes};
use countersink::wire::reply;
use mysql_common::scramble::{scramble_native, scramble_sha256};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{ServerName, SubjectPublicKeyInfoDer};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

use crate::login::said::without_host;

/// No packet of a login, or of what is asked after it, is larger.
const LARGEST: usize = 1 << 20;

/// The client says that it can deal with an account whose password has expired.
const CAN_HANDLE_EXPIRED_PASSWORDS: u64 = 1 << 22;

/// What is asked by whoever has been let in.
const QUESTION: &str = "SELECT CURRENT_USER(), CURRENT_ROLE(), DATABASE()";

/// Who logs in, and as what kind of client.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    pub user: &'static str,
    /// One for each factor; the first one's again where there are fewer.
    pub passwords: &'static [&'static str],
    pub schema: Option<&'static str>,
    /// The plugin that the client begins with; the server's own unless told otherwise.
    pub announces: Option<&'static str>,
    pub handles_expired: bool,
    /// Whether it knows that there are plugins.
    pub knows_plugins: bool,
    /// The last byte of the address that it comes from, 127.0.0.x.
    pub from: u8,
    /// What it says first, once it is in.
    pub says: Option<&'static str>,
}

/// What became of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was let in, and was answered this.
    In(Answer),
    /// It was refused; and what it was answered then, or that nobody answered.
    Refused(Answer, Option<Answer>),
    /// It gave up, for the server asked for this.
    Unable(String),
}

/// An answer to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Row(Vec<Option<String>>),
    Err {
        code: u16,
        sql_state: String,
        message: String,
    },
}

/// A connection.
pub struct Speaker {
    stream: PacketStream,
    sequence_id: u8,
    is_tls: bool,
    capabilities: u64,
    plugin: Vec<u8>,
    nonce: Vec<u8>,
}

impl Speaker {
    /// Logs in.
    pub async fn log_in(port: u16, tls: Option<&TlsConnector>, who: &Who) -> Result<Self, Outcome> {
        let mut speaker = Self::greeted(port, who.from).await?;
        speaker.respond(tls, who).await;
        match speaker.authenticate(who).await {
            Ok(()) => Ok(speaker),
            Err(answer) => Err(speaker.refused(answer).await),
        }
    }

    /// Becomes another account, and is answered as it.
    pub async fn change_user(mut self, who: &Who) -> Outcome {
        self.sequence_id = 0;
        let plugin = who.announces.map_or(self.plugin.clone(), Into::into);
        let data = self.first_data(&plugin, who.passwords[0]);
        let mut command = vec![0x11];
        command.extend_from_slice(who.user.as_bytes());
        command.push(0);
        command.push(u8::try_from(data.len()).expect("it is short"));
        command.extend_from_slice(&data);
        command.extend_from_slice(who.schema.unwrap_or_default().as_bytes());
        command.extend_from_slice(&[0, 45, 0]);
        command.extend_from_slice(&plugin);
        command.push(0);
        self.write(&command).await;
        match self.authenticate(who).await {
            Ok(()) => self.asked(who).await,
            Err(answer) => self.refused(answer).await,
        }
    }

    /// What one who is in is answered.
    pub async fn asked(mut self, who: &Who) -> Outcome {
        let first = match who.says {
            None => None,
            Some(text) => match self.query(text).await {
                Some(error @ Answer::Err { .. }) => Some(error),
                Some(_) => None,
                None => return Outcome::Unable("the connection ended".to_owned()),
            },
        };
        let answer = match first {
            Some(error) => Some(error),
            None => self.query(QUESTION).await,
        };
        self.sequence_id = 0;
        self.write(&[1]).await;
        answer.map_or(
            Outcome::Unable("the connection ended".to_owned()),
            Outcome::In,
        )
    }

    /// Runs a statement; none if the connection has ended.
    pub async fn query(&mut self, text: &str) -> Option<Answer> {
        self.sequence_id = 0;
        self.write(&[&[3], text.as_bytes()].concat()).await;
        let first = self.read().await?;
        match first[0] {
            reply::OK => return Some(Answer::Ok),
            reply::ERR => return Some(error(&first)),
            _ => {}
        }
        for _ in 0..=first[0] {
            self.read().await?;
        }
        let mut row = Vec::new();
        loop {
            let packet = self.read().await?;
            match packet[0] {
                reply::EOF if packet.len() < 9 => return Some(Answer::Row(row)),
                reply::ERR => return Some(error(&packet)),
                _ => {}
            }
            let mut reader = Reader::new(&packet);
            row.clear();
            while !reader.is_empty() {
                if reader.rest()[0] == 0xfb {
                    reader.u8().expect("it is there");
                    row.push(None);
                    continue;
                }
                let value = reader.lenenc_bytes().expect("a value");
                row.push(Some(String::from_utf8_lossy(value).into_owned()));
            }
        }
    }

    async fn greeted(port: u16, from: u8) -> Result<Self, Outcome> {
        let mut stream = PacketStream::new(Box::new(dial(port, from).await));
        let mut payload = Vec::new();
        let sequence_id = stream.read_payload(&mut payload, LARGEST).await;
        let sequence_id = sequence_id.expect("a greeting");
        if payload[0] == reply::ERR {
            return Err(Outcome::Refused(error(&payload), None));
        }
        let greeting = InitialHandshake::decode(&payload).expect("a greeting");
        Ok(Self {
            stream,
            sequence_id: sequence_id.wrapping_add(1),
            is_tls: false,
            capabilities: greeting.capabilities,
            plugin: greeting.plugin,
            nonce: greeting.auth_plugin_data.to_vec(),
        })
    }

    async fn respond(&mut self, tls: Option<&TlsConnector>, who: &Who) {
        // The server has refused it already, and is to be heard.
        if !self.stream.buffered().is_empty() {
            return;
        }
        let when = |is_so: bool, flag: u64| if is_so { flag } else { 0 };
        let wanted = capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | capability::MULTI_FACTOR_AUTHENTICATION
            | when(who.knows_plugins, capability::PLUGIN_AUTH)
            | when(who.handles_expired, CAN_HANDLE_EXPIRED_PASSWORDS)
            | when(who.schema.is_some(), capability::CONNECT_WITH_DB)
            | when(tls.is_some(), capability::SSL);
        let flags = wanted & self.capabilities | capability::LONG_PASSWORD;
        let mut head = flags.to_le_bytes()[..4].to_vec();
        head.extend_from_slice(&[0, 0, 0, 1, 45]);
        head.extend_from_slice(&[0; 23]);
        if let Some(connector) = tls {
            self.write(&head).await;
            let name = ServerName::try_from("localhost").expect("a name");
            let wrapped = self.stream.wrap(|plain| connector.connect(name, plain));
            wrapped.await.expect("TLS");
            self.is_tls = true;
        }
        let plugin = who.announces.map_or(self.plugin.clone(), Into::into);
        let mut response = head;
        response.extend_from_slice(who.user.as_bytes());
        response.push(0);
        put_lenenc_bytes(&mut response, &self.first_data(&plugin, who.passwords[0]));
        if let Some(schema) = who.schema {
            response.extend_from_slice(schema.as_bytes());
            response.push(0);
        }
        if who.knows_plugins {
            response.extend_from_slice(&plugin);
            response.push(0);
        }
        self.write(&response).await;
    }

    /// Answers the server's questions until it lets the client in.
    async fn authenticate(&mut self, who: &Who) -> Result<(), Option<Answer>> {
        let mut factor = 0;
        let mut nonce = self.nonce.clone();
        loop {
            let packet = self.read().await.ok_or(None)?;
            let password = who.passwords.get(factor).unwrap_or(&who.passwords[0]);
            let answer = match packet[0] {
                reply::OK => return Ok(()),
                reply::ERR => return Err(Some(error(&packet))),
                SWITCH | NEXT_FACTOR => {
                    factor += usize::from(packet[0] == NEXT_FACTOR);
                    let request = PluginRequest::decode(&packet).expect("a request");
                    nonce = request.data.to_vec();
                    let password = who.passwords.get(factor).unwrap_or(&who.passwords[0]);
                    self.data(request.plugin, &nonce, password)
                }
                _ if packet == PasswordPlugin::FAST_AUTHENTICATION_SUCCESS => continue,
                _ if packet == PasswordPlugin::PERFORM_FULL_AUTHENTICATION => match self.is_tls {
                    true => in_the_clear(password),
                    false => PasswordPlugin::CachingSha2.key_request().to_vec(),
                },
                MORE_DATA if packet[1..].starts_with(b"-----") => {
                    encrypted(password, &nonce, &packet[1..])
                }
                // A further question of PAM's.
                _ => in_the_clear(password),
            };
            self.write(&answer).await;
        }
    }

    fn first_data(&self, plugin: &[u8], password: &str) -> Vec<u8> {
        self.data(plugin, &self.nonce, password)
    }

    /// What the plugin says first.
    fn data(&self, plugin: &[u8], nonce: &[u8], password: &str) -> Vec<u8> {
        let is_empty = password.is_empty();
        let bytes = password.as_bytes();
        let short = || <[u8; 20]>::try_from(&nonce[..20]).expect("it is as long");
        match plugin {
            b"mysql_native_password" if !is_empty => {
                let data = scramble_native(&short(), bytes);
                data.expect("there is a password").to_vec()
            }
            b"caching_sha2_password" if !is_empty => {
                let data = scramble_sha256(&short(), bytes);
                data.expect("there is a password").to_vec()
            }
            b"sha256_password" if is_empty || self.is_tls => in_the_clear(password),
            b"sha256_password" => PasswordPlugin::Sha256.key_request().to_vec(),
            b"mysql_clear_password" | b"dialog" => in_the_clear(password),
            // MariaDB's variety takes the password for what others take for a seed, of which all have 32 bytes.
            b"client_ed25519" => match Ed25519KeyPair::from_seed_unchecked(bytes) {
                Ok(pair) => pair.sign(nonce).as_ref().to_vec(),
                Err(_) => vec![0; 64],
            },
            _ => Vec::new(),
        }
    }

    async fn refused(mut self, answer: Option<Answer>) -> Outcome {
        match answer {
            Some(answer) => Outcome::Refused(answer, self.query(QUESTION).await),
            None => Outcome::Unable("the connection ended".to_owned()),
        }
    }

    /// What cannot be written shows in what is read.
    async fn write(&mut self, payload: &[u8]) {
        let mut packet = Vec::new();
        self.sequence_id = encode_packet(&mut packet, self.sequence_id, payload);
        self.stream.write(&packet).await.ok();
    }

    /// The next packet; none if the connection has ended.
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let read = self.stream.read_payload(&mut payload, LARGEST).await;
        self.sequence_id = read.ok()?.wrapping_add(1);
        Some(payload)
    }
}

impl Outcome {
    /// As the table says it.
    pub fn code(&self) -> String {
        match self {
            Self::In(Answer::Err { code, .. }) => format!("ok, then {code}"),
            Self::In(_) => "ok".to_owned(),
            Self::Refused(Answer::Err { code, .. }, _) => code.to_string(),
            Self::Refused(..) | Self::Unable(_) => "gives up".to_owned(),
        }
    }

    /// The same without the host, which for the server is the proxy's.
    pub fn comparable(self) -> Self {
        match self {
            Self::In(answer) => Self::In(answer.comparable()),
            Self::Refused(answer, then) => {
                Self::Refused(answer.comparable(), then.map(Answer::comparable))
            }
            unable @ Self::Unable(_) => unable,
        }
    }

    pub fn message(&self) -> &str {
        match self {
            Self::In(Answer::Err { message, .. })
            | Self::Refused(Answer::Err { message, .. }, _)
            | Self::Unable(message) => message,
            Self::In(_) | Self::Refused(..) => "",
        }
    }
}

impl Answer {
    fn comparable(self) -> Self {
        match self {
            Self::Err {
                code,
                sql_state,
                message,
            } => Self::Err {
                code,
                sql_state,
                message: without_host(&message),
            },
            other => other,
        }
    }
}

async fn dial(port: u16, from: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let ours = SocketAddr::from(([127, 0, 0, from], 0));
    socket.bind(ours).expect("an address of this machine");
    let theirs = SocketAddr::from(([127, 0, 0, 1], port));
    let stream = socket.connect(theirs).await.expect("somebody listens");
    stream.set_nodelay(true).expect("an option");
    stream
}

fn in_the_clear(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

fn encrypted(password: &str, nonce: &[u8], pem: &[u8]) -> Vec<u8> {
    let mut mixed = in_the_clear(password);
    for (byte, mask) in mixed.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).expect("a key");
    let key =
        PublicEncryptingKey::from_der(&der).and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?));
    let key = key.expect("a key");
    let mut sealed = vec![0; key.ciphertext_size()];
    let length = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut sealed, None)
        .expect("it is short")
        .len();
    sealed.truncate(length);
    sealed
}

fn error(payload: &[u8]) -> Answer {
    let error = reply::Err::decode(payload).expect("an ERR packet");
    Answer::Err {
        code: error.code,
        sql_state: String::from_utf8_lossy(error.sql_state).into_owned(),
        message: String::from_utf8_lossy(error.message).into_owned(),
    }
}

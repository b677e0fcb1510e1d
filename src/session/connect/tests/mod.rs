//! The connection phase over in-memory streams, with a scripted client and a scripted upstream.

mod admission;
mod bridging;
mod changing_user;
mod leaving;
mod login;
mod refusal;
mod socket_account;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::connected::relay;
use super::{
    Admission, ConnectError, ConnectSetup, Connected, OfferedTls, PasswordKey, UpstreamTls,
};
use crate::config::{Address, Config, HostPort, ProxyProtocol, UpstreamCompression};
use crate::net::{Origin, PacketStream, Route, Transport, tls};
use crate::wire::capability;
use crate::wire::packet::{HEADER_LENGTH, Header, encode_packet};

/// MySQL 9.7.4, TLS on.
const GREETING: &[u8] = b"\n9.7.4-2\0\x16\0\0\0N%aT-S{\x7f\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0 \x1f:d<y\x07oA|E@\0caching_sha2_password\0";
/// The auth_plugin_data in it.
const NONCE: &[u8] = b"N%aT-S{\x7f \x1f:d<y\x07oA|E@";
/// An OK packet with the autocommit flag.
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
/// The capabilities of the scripted clients.
const CLIENT: u64 = capability::LONG_PASSWORD
    | capability::PROTOCOL_41
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH
    | capability::CONNECT_WITH_DB;

/// One scripted side, which sends and receives whole packets.
struct Script<T = DuplexStream>(T);

impl<T: Transport> Script<T> {
    async fn send(&mut self, sequence_id: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        encode_packet(&mut packet, sequence_id, payload);
        self.0.write_all(&packet).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Receives the next packet, which must have this sequence id.
    async fn receive(&mut self, sequence_id: u8) -> Vec<u8> {
        let mut header = [0; HEADER_LENGTH];
        self.0.read_exact(&mut header).await.unwrap();
        let header = Header::decode(&header).unwrap();
        assert_eq!(header.sequence_id, sequence_id);
        let mut payload = vec![0; header.length];
        self.0.read_exact(&mut payload).await.unwrap();
        payload
    }

    /// Reads until the other side closes.
    async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A TLS peer may close without close_notify.
        let _ = self.0.read_to_end(&mut rest).await;
        rest
    }
}

/// A handshake between two scripted sides.
struct Stage {
    client: Script,
    upstream: Script,
    relay: JoinHandle<Result<Connected, ConnectError>>,
}

impl Stage {
    fn new(setup: ConnectSetup) -> Self {
        Self::from(origin(([127, 0, 0, 1], 1).into()), setup)
    }

    /// With a client that has connected from there.
    fn from(origin: Origin, setup: ConnectSetup) -> Self {
        let (client, client_end) = duplex(1 << 20);
        let (upstream, upstream_end) = duplex(1 << 20);
        let relay = tokio::spawn(async move {
            let client = PacketStream::new(Box::new(client_end));
            let address = setup.route.address();
            let upstream = PacketStream::new(Box::new(upstream_end));
            let place = setup.admission.arrive().expect("a place");
            relay((client, origin), (upstream, address), place, &setup).await
        });
        Self {
            client: Script(client),
            upstream: Script(upstream),
            relay,
        }
    }

    /// Lets the upstream send its initial handshake, and returns what the client receives.
    async fn greet(&mut self) -> Vec<u8> {
        self.upstream.send(0, GREETING).await;
        self.client.receive(0).await
    }

    async fn failure(self) -> ConnectError {
        match self.relay.await.unwrap() {
            Ok(_) => panic!("connected"),
            Err(error) => error,
        }
    }

    async fn success(self) -> Connected {
        self.relay.await.unwrap().expect("connected")
    }
}

/// Over TCP, from there.
fn origin(from: SocketAddr) -> Origin {
    let to = ([127, 0, 0, 1], 6033).into();
    Origin::Tcp { from, to }
}

/// The code of an ERR payload.
fn code(payload: &[u8]) -> u16 {
    assert_eq!(payload[0], 0xFF, "{payload:?}");
    u16::from_le_bytes([payload[1], payload[2]])
}

/// No TLS on either side.
fn plain() -> ConnectSetup {
    ConnectSetup {
        admission: admission(""),
        proxy_protocol: ProxyProtocol::default(),
        route: Arc::new(Route::to(tcp("db", 3306))),
        failover_patience: Duration::ZERO,
        upstream_tls: UpstreamTls::Disabled,
        client_tls: None,
        password_key: key(),
        upstream_key: None,
        upstream_compression: UpstreamCompression::AsClient,
        handshake_timeout: Duration::from_secs(10),
    }
}

/// Nobody is there yet; these are the limits.
fn admission(limits: &str) -> Arc<Admission> {
    let rules = format!(
        "upstream: db:3306\n{limits}\ncounters:\n- {{table: shop.posts, columns: [views]}}\n"
    );
    let config = Config::from_str(&rules, &|_| None).expect("limits");
    Arc::new(Admission::new(Arc::new(ArcSwap::from_pointee(config))))
}

/// A key pair for all tests, because generating one is slow.
fn key() -> Arc<PasswordKey> {
    static KEY: LazyLock<Arc<PasswordKey>> = LazyLock::new(Arc::default);
    Arc::clone(&KEY)
}

/// TLS for clients, and none to the upstream.
fn tls_for_clients() -> ConnectSetup {
    ConnectSetup {
        client_tls: Some(offered()),
        ..plain()
    }
}

/// TLS that clients need not use.
fn offered() -> OfferedTls {
    OfferedTls {
        acceptor: Arc::new(tls::self_signed_acceptor(vec!["localhost".to_owned()]).unwrap()),
        is_required: false,
        needs_certificate: false,
    }
}

/// Plain clients, and an upstream reached over a unix socket.
fn local_upstream() -> ConnectSetup {
    ConnectSetup {
        route: Arc::new(Route::to(Address::Unix("/run/mysqld/mysqld.sock".into()))),
        ..plain()
    }
}

fn response(capabilities: u64, data: &[u8], plugin: &str) -> Vec<u8> {
    let mut payload = ssl_request(capabilities);
    payload.extend_from_slice(b"ann\0");
    payload.push(u8::try_from(data.len()).unwrap());
    payload.extend_from_slice(data);
    payload.extend_from_slice(b"shop\0");
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    payload
}

fn ssl_request(capabilities: u64) -> Vec<u8> {
    let mut payload = capabilities.to_le_bytes()[..4].to_vec();
    payload.extend_from_slice(&[0, 0, 0, 1, 45]);
    payload.extend_from_slice(&[0; 23]);
    payload
}

/// Begins TLS as clients do: the first TLS bytes follow the SSL request immediately.
async fn begin_tls(mut client: Script) -> Script<impl Transport> {
    client.send(1, &ssl_request(CLIENT | capability::SSL)).await;
    let upstream = tcp("localhost", 3306);
    let connector = connector_to(&upstream);
    Script(
        connector
            .connect(&upstream, &tls::Said::default(), client.0)
            .await
            .unwrap(),
    )
}

/// TLS to the upstream that verifies nothing.
fn connector_to(upstream: &Address) -> tls::UpstreamConnector {
    tls::UpstreamConnector::new(&upstream.clone().into(), tls::Verification::None, None).unwrap()
}

/// Answers the query that the proxy sends over a unix socket about the account that has logged in.
async fn tell_plugin(upstream: &mut Script, plugin: &str) {
    assert_eq!(
        upstream.receive(0).await,
        b"\x03SHOW CREATE USER CURRENT_USER()"
    );
    assert_eq!(upstream.receive(0).await, b"\x03DO 0");
    let account = format!("CREATE USER `ann`@`%` IDENTIFIED WITH '{plugin}' REQUIRE NONE");
    let row = [&[u8::try_from(account.len()).unwrap()], account.as_bytes()].concat();
    let packets = [
        &b"\x01"[..],
        b"definition",
        b"\xfe\0\0\x02\0",
        &row,
        b"\xfe\0\0\x02\0",
    ];
    for (number, payload) in packets.into_iter().enumerate() {
        upstream
            .send(u8::try_from(number).unwrap() + 1, payload)
            .await;
    }
    upstream.send(1, OK).await;
}

fn switch(plugin: &str, auth_plugin_data: &[u8]) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0", auth_plugin_data, b"\0"].concat()
}

fn tcp(host: &str, port: u16) -> Address {
    let host = host.to_owned();
    Address::Tcp(HostPort { host, port })
}

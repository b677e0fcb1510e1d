//! The connection phase with any client and any server: it ends, and both sides are told what belongs to it.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use countersink::config::{Address, Config, HostPort, ProxyProtocol, UpstreamCompression};
use countersink::net::{Origin, PacketStream, Route};
use countersink::session::connect::{
    Admission, ConnectError, ConnectSetup, Connected, PACKET_LIMIT, PasswordKey, UpstreamTls,
    change_user, relay,
};
use tokio::time::timeout;

use crate::input::Input;
use crate::transport::{Piece, Scripted, Written, block_on, taken};
use crate::wire::capability;
use crate::wire::command;
use crate::wire::handshake::{HandshakeResponse, InitialHandshake};
use crate::wire::packet::{HEADER_LENGTH, Header, encode_packet};
use crate::wire::reply;

/// When a login has not ended by then, on a clock that does not wait, it never will.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Choices of an input.
mod choice {
    /// The upstream is reached over a unix socket.
    pub const LOCAL_UPSTREAM: u8 = 1;
    /// The client has connected over a unix socket.
    pub const LOCAL_CLIENT: u8 = 1 << 1;
    /// The client stays when it has nothing more to say.
    pub const STALLS: u8 = 1 << 2;
}

/// Marks of a piece of the script.
mod mark {
    /// The upstream says it, not the client.
    pub const UPSTREAM: u8 = 1;
    /// It is the payload of a packet, which gets a header. Its sequence id is in the upper bits.
    pub const PACKET: u8 = 1 << 1;
    /// The other side gets a turn first.
    pub const LATE: u8 = 1 << 2;
    /// The first bit of the sequence id.
    pub const SEQUENCE: u32 = 3;
}

static KEY: LazyLock<Arc<PasswordKey>> = LazyLock::new(|| {
    let key = Arc::new(PasswordKey::new());
    block_on(key.prepare()).expect("a key");
    key
});

/// One login at a time, so that a place that is not given back is noticed at the next one.
static ADMISSION: LazyLock<Arc<Admission>> = LazyLock::new(|| {
    let rules = "upstream: db:3306\nmax_logins: 1\nmax_connections: 1\n\
                 counters:\n- {table: shop.posts, columns: [views]}\n";
    let config = Config::from_str(rules, &|_| None).expect("rules");
    Arc::new(Admission::new(Arc::new(ArcSwap::from_pointee(config))))
});

/// An input: `int<1>` choices, then the pieces of the script: `int<1>` marks, `int<2>` length, the bytes.
///
/// # Panics
///
/// If the login never ends, if a side is told something that is no packet, or if the proxy takes the client for another
/// one than the server has been told of.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let choices = input.byte();
    let has = |choice| choices & choice != 0;
    let (client, upstream) = script(input);
    let (client, to_client) = Scripted::new(client, has(choice::STALLS));
    let (upstream, to_upstream) = Scripted::new(upstream, false);
    let origin = match has(choice::LOCAL_CLIENT) {
        true => Origin::Unix,
        false => Origin::Tcp {
            from: ([127, 0, 0, 1], 1).into(),
            to: ([127, 0, 0, 1], 6033).into(),
        },
    };
    let address = match has(choice::LOCAL_UPSTREAM) {
        true => Address::Unix("/run/mysqld/mysqld.sock".into()),
        false => Address::Tcp(HostPort {
            host: "db".to_owned(),
            port: 3306,
        }),
    };
    let setup = setup(address);
    let place = ADMISSION.arrive().expect("the last one has left");
    block_on(async {
        let sides = (
            (PacketStream::new(Box::new(client)), origin),
            (PacketStream::new(Box::new(upstream)), setup.route.address()),
        );
        let login = relay(sides.0, sides.1, place, &setup);
        let outcome = timeout(LONGEST, login).await.expect("the login ends");
        after_login(outcome, &to_client, &to_upstream).await;
    });
}

/// What each side says.
fn script(mut input: Input<'_>) -> (Vec<Piece>, Vec<Piece>) {
    let (mut client, mut upstream) = (Vec::new(), Vec::new());
    while !input.0.is_empty() {
        let marks = input.byte();
        let length = usize::from(input.two_bytes());
        let said = input.bytes(length);
        let bytes = match marks & mark::PACKET {
            0 => said.to_vec(),
            _ => {
                let mut packet = Vec::new();
                encode_packet(&mut packet, marks >> mark::SEQUENCE, said);
                packet
            }
        };
        let side = match marks & mark::UPSTREAM {
            0 => &mut client,
            _ => &mut upstream,
        };
        side.push(Piece {
            bytes,
            is_late: marks & mark::LATE != 0,
        });
    }
    (client, upstream)
}

/// No TLS on either side.
fn setup(address: Address) -> ConnectSetup {
    ConnectSetup {
        admission: Arc::clone(&ADMISSION),
        proxy_protocol: ProxyProtocol::default(),
        route: Arc::new(Route::to(address)),
        failover_patience: Duration::ZERO,
        upstream_tls: UpstreamTls::Disabled,
        client_tls: None,
        password_key: Arc::clone(&KEY),
        upstream_key: None,
        upstream_compression: UpstreamCompression::AsClient,
        handshake_timeout: Duration::from_secs(10),
    }
}

async fn after_login(
    outcome: Result<Connected, ConnectError>,
    to_client: &Written,
    to_upstream: &Written,
) {
    let (told_client, client_rest) = whole_packets(&taken(to_client));
    let (told_upstream, upstream_rest) = whole_packets(&taken(to_upstream));
    let asks = told_upstream.first().map(|(_, response)| response);
    let flags = asks.map_or(Ok(0), |response| HandshakeResponse::capabilities(response));
    let compression = capability::COMPRESS | capability::ZSTD_COMPRESSION;
    let may_be_compressed = flags.unwrap_or_default() & compression != 0;
    // Whoever leaves behind an OK packet says so in a compressed one.
    let is_whole = client_rest == 0 && upstream_rest == 0;
    assert!(is_whole || may_be_compressed, "whole packets");
    if let Some((_, greeting)) = told_client.first()
        && let Ok(greeting) = InitialHandshake::decode(greeting)
    {
        let masked = capability::MASKED | capability::SSL;
        assert_eq!(greeting.capabilities & masked, 0, "what is not offered");
    }
    let mut connected = match outcome {
        Ok(connected) => connected,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without words");
            return;
        }
    };
    assert_eq!(connected.capabilities & capability::MASKED, 0, "agreed on");
    let (_, last) = told_client.last().expect("the client is told");
    assert_eq!(last.first(), Some(&reply::OK), "that it is logged in");
    let (_, response) = told_upstream.first().expect("the server is told");
    let response = HandshakeResponse::decode(response, connected.server_capabilities);
    let response = response.expect("a packet that the proxy has read");
    let login = &connected.login;
    assert_eq!(
        (&response.user, &response.schema, &response.attributes),
        (&login.user, &login.schema, &login.attributes),
        "both know the same client"
    );
    assert_eq!(u16::from(response.collation), login.collation);
    let is_compressed = connected.client.is_compressed();
    login_again(&mut connected).await;
    if !is_compressed {
        packets(&taken(to_client));
        packets(&taken(to_upstream));
    }
}

/// COM_CHANGE_USER, if that is what the client goes on with.
async fn login_again(connected: &mut Connected) {
    let mut payload = Vec::new();
    let (client, upstream) = (&mut connected.client, &mut connected.upstream);
    let read = timeout(LONGEST, client.read_payload(&mut payload, PACKET_LIMIT)).await;
    if !matches!(read, Ok(Ok(0))) || payload.first() != Some(&command::CHANGE_USER) {
        return;
    }
    let place = &mut connected.place;
    let changed = change_user(
        &connected.reauthentication,
        place,
        client,
        upstream,
        &payload,
    );
    let outcome = timeout(LONGEST, changed).await;
    // It says by itself what went wrong.
    let _ = outcome.expect("the login ends");
}

/// The packets that a side has been told, which must be whole.
fn packets(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (packets, rest) = whole_packets(bytes);
    assert_eq!(rest, 0, "whole packets");
    packets
}

/// The packets at the beginning, and how many bytes are left behind them.
fn whole_packets(mut bytes: &[u8]) -> (Vec<(u8, Vec<u8>)>, usize) {
    let mut packets = Vec::new();
    while let Some(header) = Header::decode(bytes)
        && let Some(payload) = bytes.get(HEADER_LENGTH..header.packet_length())
    {
        packets.push((header.sequence_id, payload.to_vec()));
        bytes = &bytes[header.packet_length()..];
    }
    (packets, bytes.len())
}

/// Logins by several plugins, with and without COM_CHANGE_USER.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    const GREETING: &[u8] = b"\n9.7.4-2\0\x16\0\0\0N%aT-S{\x7f\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0 \x1f:d<y\x07oA|E@\0caching_sha2_password\0";
    const OK: &[u8] = b"\0\0\0\x02\0\0\0";
    let response = [
        &b"\x09\xa2\x08\0\0\0\0\x01\x2d"[..],
        &[0; 23],
        b"ann\0\x04datashop\0caching_sha2_password\0",
    ]
    .concat();
    let change = b"\x11bob\0\x04datashop\0\x2d\0caching_sha2_password\0";
    let full = b"\x01\x04";
    let key = b"\x02";
    let secret = [0x5a; 256];
    let switch = b"\xfesha256_password\0 0123456789abcdefghij\0";
    let denied = b"\xff\x15\x04#28000Access denied";
    let account = b"\x34CREATE USER `ann`@`%` IDENTIFIED WITH 'mysql_native'";
    let said = |is_upstream: bool, sequence_id: u8, payload: &[u8]| {
        let marks = (u8::from(is_upstream) * mark::UPSTREAM) | mark::PACKET | mark::LATE;
        let length = u16::try_from(payload.len()).expect("a short packet");
        let marks = marks | sequence_id << mark::SEQUENCE;
        [&[marks], &length.to_le_bytes()[..], payload].concat()
    };
    let begin = [said(true, 0, GREETING), said(false, 1, &response)].concat();
    let accept = said(true, 2, OK);
    let rows = [
        said(true, 1, b"\x01"),
        said(true, 2, b"definition"),
        said(true, 3, b"\xfe\0\0\x02\0"),
        said(true, 4, account),
        said(true, 5, b"\xfe\0\0\x02\0"),
        said(true, 1, OK),
    ]
    .concat();
    let scripts = [
        (0, vec![accept.clone()]),
        (choice::LOCAL_CLIENT, vec![said(true, 2, denied)]),
        (choice::STALLS, vec![said(true, 2, full)]),
        (
            choice::LOCAL_UPSTREAM,
            vec![
                said(true, 2, full),
                said(false, 3, key),
                said(false, 5, &secret),
                said(true, 4, OK),
                rows.clone(),
            ],
        ),
        (choice::LOCAL_UPSTREAM, vec![accept.clone(), rows]),
        (
            0,
            vec![
                said(true, 2, switch),
                said(false, 3, b"secret\0"),
                said(true, 4, OK),
            ],
        ),
        (0, vec![accept, said(false, 0, change), said(true, 1, OK)]),
    ];
    let scripts = scripts.into_iter();
    scripts
        .map(|(choices, rest)| [&[choices], &begin[..], &rest.concat()].concat())
        .collect()
}

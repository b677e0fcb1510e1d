//! What is larger than the server's max_allowed_packet is refused in the server's own words, through the proxy as
//! directly.
//!
//! A server says so at once and closes, whatever is still to come. What it said must not get lost on the way.

use std::collections::BTreeMap;
use std::time::Duration;

use countersink::driver::{Driver, Login};
use countersink::wire::command;
use countersink::wire::packet::Header;
use countersink::wire::reader::put_lenenc_bytes;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::{Address, Flavour, Options, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use crate::support::client::{connect, create_schema, number, prepare};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::every_nth;
use crate::support::twin::{installation, options};

const SCHEMA: &str = "cs_packet_size";
const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL); \
    CREATE TABLE cold (n INT); INSERT INTO posts VALUES (1, 'a', 10)";

/// The limit of each server, in bytes.
const LIMIT: &str = "--max-allowed-packet=65536";
const SIZES: [usize; 4] = [100_000, 900_000, 3_000_000, 40_000_000];
const TRIES: usize = 3;

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a client sends, given a text, `{}` or `?` standing for what is too large.
#[derive(Clone, Copy, Debug)]
enum Way {
    Query(&'static str),
    Prepare(&'static str),
    Execute(&'static str),
    LongData(&'static str),
}

const COLD: &str = "INSERT INTO cold VALUES (LENGTH('{}'))";
const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> '{}'";
const FOLDED: &str = "UPDATE posts SET views = 5, title = '{}' WHERE id = 1";
const REWRITTEN: &str = "SELECT views, '{}' FROM posts WHERE id = 1";

const WAYS: [Way; 14] = [
    Way::Query(COLD),
    Way::Query(INCREMENT),
    Way::Query(FOLDED),
    Way::Query(REWRITTEN),
    Way::Prepare(COLD),
    Way::Prepare(INCREMENT),
    Way::Prepare(REWRITTEN),
    Way::Execute("INSERT INTO cold VALUES (LENGTH(?))"),
    Way::Execute("UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> ?"),
    Way::Execute("UPDATE posts SET views = 5, title = ? WHERE id = 1"),
    Way::Execute("SELECT views FROM posts WHERE title <> ?"),
    Way::LongData("INSERT INTO cold VALUES (LENGTH(?))"),
    Way::LongData("UPDATE posts SET views = 5, title = ? WHERE id = 1"),
    Way::LongData("SELECT views FROM posts WHERE title <> ?"),
];

on_both![
    what_is_too_large_is_refused_as_directly,
    a_client_that_goes_on_sending_is_left,
];

async fn what_is_too_large_is_refused_as_directly(flavour: Flavour) {
    let stage = Stage::new(flavour).await;
    let all = SIZES
        .iter()
        .flat_map(|size| WAYS.iter().map(|way| (*size, *way)));
    let what = format!("packet size on {flavour}, ways and sizes");
    for (size, way) in every_nth(&what, 3, all.collect()) {
        let mut directly = BTreeMap::new();
        let mut proxied = BTreeMap::new();
        for _ in 0..TRIES {
            for (address, said) in [
                (&stage.direct, &mut directly),
                (&stage.proxy.address, &mut proxied),
            ] {
                let answer = tokio::time::timeout(PATIENCE, way.answer(address, size)).await;
                *said.entry(answer.expect("an answer in time")).or_insert(0) += 1;
            }
        }
        let others = proxied.keys().filter(|said| !directly.contains_key(*said));
        assert_eq!(
            others.count(),
            0,
            "{way:?} of {size}: directly {directly:?}, proxied {proxied:?}"
        );
        let are_refused = directly.keys().any(|said| said.starts_with("1: 1153"));
        assert!(are_refused, "{way:?} of {size}: directly {directly:?}");
    }
    let mut client = connect(&stage.proxy.address, Some(SCHEMA)).await;
    let views = "SELECT views FROM posts WHERE id = 1 AND title = 'a'";
    assert_eq!(number(&mut client, views).await, 10, "all were refused");
    assert_eq!(number(&mut client, "SELECT COUNT(*) FROM cold").await, 0);
}

impl Way {
    /// What becomes of it in a session of its own: the answer's last packet, or how it was lost.
    async fn answer(self, address: &Address, size: usize) -> String {
        let mut client = connect(address, Some(SCHEMA)).await;
        let data = vec![b'x'; size];
        let filled = |text: &str| {
            let data = String::from_utf8_lossy(&data);
            text.replace("{}", &data)
        };
        match self {
            Self::Query(text) => {
                let payload = client.query_payload(&filled(text));
                said(&mut client, &payload, ResponseKind::Results).await
            }
            Self::Prepare(text) => {
                let payload = [&[command::STMT_PREPARE], filled(text).as_bytes()].concat();
                said(&mut client, &payload, ResponseKind::Prepared).await
            }
            Self::Execute(text) => {
                let id = prepare(&mut client, text).await;
                let mut value = Vec::new();
                put_lenenc_bytes(&mut value, &data);
                said(&mut client, &execute(id, &value), ResponseKind::Results).await
            }
            Self::LongData(text) => {
                let id = prepare(&mut client, text).await;
                let first = 0_u16.to_le_bytes();
                let head = [
                    &[command::STMT_SEND_LONG_DATA][..],
                    &id.to_le_bytes(),
                    &first,
                ];
                let payload = [&head.concat()[..], &data].concat();
                // There is no answer but to what is too large.
                said(&mut client, &payload, ResponseKind::Single).await
            }
        }
    }
}

/// COM_STMT_EXECUTE with one parameter, a string.
fn execute(id: u32, value: &[u8]) -> Vec<u8> {
    const VAR_STRING: [u8; 2] = [0xFD, 0];
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
    payload.extend_from_slice(&[0, 1]); // no NULL, types follow
    payload.extend_from_slice(&VAR_STRING);
    payload.extend_from_slice(value);
    payload
}

async fn said(client: &mut Driver, payload: &[u8], response_kind: ResponseKind) -> String {
    // It may be refused while it is sent.
    client.send(payload).await.ok();
    match client.packets(response_kind).await {
        Ok(packets) => {
            let last = packets.last().expect("a packet");
            let shown = match &last.payload[..] {
                [0xFF, low, high, message @ ..] => {
                    let code = u16::from_le_bytes([*low, *high]);
                    format!("{code} {}", String::from_utf8_lossy(message))
                }
                other => format!("{other:?}"),
            };
            format!("{}: {shown}", last.sequence_id)
        }
        Err(_) => "lost".to_owned(),
    }
}

/// Whether it reads or not, its session comes to an end.
async fn a_client_that_goes_on_sending_is_left(flavour: Flavour) {
    let stage = Stage::new(flavour).await;
    let reads = async {
        let (mut from, to) = raw(&stage.proxy.address).await.into_split();
        let mut answer = Vec::new();
        // Sending ends when the proxy has closed.
        let (read, ()) = tokio::join!(from.read_to_end(&mut answer), send_for_ever(to));
        read.map_or_else(|_| Vec::new(), |_| answer)
    };
    let does_not = async {
        let (_from, to) = raw(&stage.proxy.address).await.into_split();
        send_for_ever(to).await;
    };
    let both = tokio::time::timeout(PATIENCE, async { tokio::join!(reads, does_not) });
    let (answer, ()) = both.await.expect("the proxy closes");
    let header = Header::decode(&answer).expect("an answer");
    assert_eq!(
        answer.len(),
        header.packet_length(),
        "one packet, then the end"
    );
    let code = u16::from_le_bytes([answer[5], answer[6]]);
    assert_eq!((answer[4], code), (0xFF, 1153));
}

/// A socket behind its login.
async fn raw(address: &Address) -> TcpStream {
    let socket = TcpStream::connect((address.host.as_str(), address.port)).await;
    let socket = socket.and_then(TcpStream::into_std).expect("a connection");
    let same = socket.try_clone().and_then(TcpStream::from_std);
    let login = Login {
        schema: Some(SCHEMA),
        ..Login::new(&address.user, &address.password)
    };
    let transport = Box::new(same.expect("a second handle"));
    drop(Driver::connect(transport, &login).await.expect("a login"));
    TcpStream::from_std(socket).expect("a socket")
}

/// A command without an end.
async fn send_for_ever(mut to: OwnedWriteHalf) {
    let mut part = vec![b'x'; 64 * 1024];
    part[..5].copy_from_slice(b"\xff\xff\xff\0\x03");
    while to.write_all(&part).await.is_ok() {}
}

/// A server with a low limit, and a proxy in front of it.
struct Stage {
    direct: Address,
    proxy: Proxy,
    _server: Server,
}

impl Stage {
    async fn new(flavour: Flavour) -> Self {
        let mut options: Options = options();
        options.extra.push(LIMIT.to_owned());
        let server = Server::start(&installation(flavour), &options).expect("a server");
        let direct = server.address();
        drop(create_schema(&direct, SCHEMA, TABLES).await);
        let rules = format!("counters:\n  - {{table: {SCHEMA}.posts, columns: [views]}}\n");
        Self {
            proxy: Proxy::start(&direct, &rules),
            direct,
            _server: server,
        }
    }
}

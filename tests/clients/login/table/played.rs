//! A server that is played, for plugins that no free server has: passwords in the clear as PAM and LDAP want them, and
//! several factors. Until it begins, it passes everything on to a real one, so that proxies can start before it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink::net::tls::{Acceptor, self_signed_acceptor};
use countersink::net::{PacketStream, Transport};
use countersink::wire::capability;
use countersink::wire::handshake::authentication::{MORE_DATA, NEXT_FACTOR, SWITCH};
use countersink::wire::handshake::change_user::ChangeUser;
use countersink::wire::handshake::{HandshakeResponse, InitialHandshake, SSL_REQUEST_LENGTH};
use countersink::wire::packet::{HEADER_LENGTH, encode_packet};
use countersink::wire::reader::put_lenenc_bytes;
use countersink_sandbox::Server;
use mysql_common::scramble::scramble_native;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::case::{Case, PASSWORD, SECOND};
use super::difference::{CLEAR, from_tls_to_plain};

/// No packet is larger.
const LARGEST: usize = 1 << 20;

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

pub const CASES: &[Case] = &[
    Case::new("mysql_clear_password", "clear", "ok").differs(&[(from_tls_to_plain, &CLEAR)]),
    Case::new("mysql_clear_password, wrong password", "clear", "1045")
        .wrong()
        .differs(&[(from_tls_to_plain, &CLEAR)]),
    Case::new(
        "mysql_clear_password, with which the client begins",
        "clear",
        "ok",
    )
    .announces("mysql_clear_password")
    .differs(&[(from_tls_to_plain, &CLEAR)]),
    Case::new("mysql_clear_password, empty password", "nothing", "ok").empty(),
    Case::new("dialog, two questions", "dialog", "ok")
        .passwords(&[PASSWORD])
        .differs(&[(from_tls_to_plain, &CLEAR)]),
    Case::new("two factors: native, native", "two", "ok").passwords(&[PASSWORD, SECOND]),
    Case::new("two factors, the second wrong", "two", "1045"),
    Case::new(
        "three factors: native, native, mysql_clear_password",
        "three",
        "ok",
    )
    .passwords(&[PASSWORD, SECOND, PASSWORD])
    .differs(&[(from_tls_to_plain, &CLEAR)]),
];

/// What the server asks, and the password that it wants.
type Question = (u8, &'static str, &'static str);

/// The questions to an account.
fn questions(user: &[u8]) -> &'static [Question] {
    match user {
        b"first" => &[(SWITCH, "mysql_native_password", PASSWORD)],
        b"clear" => &[(SWITCH, "mysql_clear_password", PASSWORD)],
        b"nothing" => &[(SWITCH, "mysql_clear_password", "")],
        b"dialog" => &[(SWITCH, "dialog", PASSWORD), (MORE_DATA, "", PASSWORD)],
        b"two" => &[
            (SWITCH, "mysql_native_password", PASSWORD),
            (NEXT_FACTOR, "mysql_native_password", SECOND),
        ],
        b"three" => &[
            (SWITCH, "mysql_native_password", PASSWORD),
            (NEXT_FACTOR, "mysql_native_password", SECOND),
            (NEXT_FACTOR, "mysql_clear_password", PASSWORD),
        ],
        _ => &[(SWITCH, "mysql_native_password", "nobody's")],
    }
}

/// Where it is played.
pub struct Played {
    pub port: u16,
    pub socket: PathBuf,
    begun: Arc<AtomicBool>,
}

impl Played {
    /// Passes everything on to this server.
    pub async fn start(real: &Server) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = tcp.local_addr().expect("an address").port();
        let socket = real.socket.with_extension("played");
        let unix = UnixListener::bind(&socket).expect("a socket");
        let begun = Arc::new(AtomicBool::new(false));
        let acceptor = self_signed_acceptor(vec!["localhost".to_owned()]);
        let acceptor = Arc::new(acceptor.expect("a certificate"));
        let greeting = greeting(real.port).await;
        let (is_begun, real_port, real_socket) =
            (Arc::clone(&begun), real.port, real.socket.clone());
        tokio::spawn(async move {
            loop {
                let begun = &is_begun;
                let (greeting, acceptor) = (greeting.clone(), Arc::clone(&acceptor));
                tokio::select! {
                    Ok((client, _)) = tcp.accept() => if begun.load(Ordering::SeqCst) {
                        tokio::spawn(serve(Box::new(client), greeting, acceptor));
                    } else {
                        let server = TcpStream::connect(("127.0.0.1", real_port)).await;
                        pass(client, server.expect("it listens"));
                    },
                    Ok((client, _)) = unix.accept() => if begun.load(Ordering::SeqCst) {
                        tokio::spawn(serve(Box::new(client), greeting, acceptor));
                    } else {
                        let server = UnixStream::connect(&real_socket).await;
                        pass(client, server.expect("it listens"));
                    },
                }
            }
        });
        Self {
            port,
            socket,
            begun,
        }
    }

    /// From now on it is played.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }
}

fn pass(mut client: impl Transport + 'static, mut server: impl Transport + 'static) {
    tokio::spawn(async move {
        copy_bidirectional(&mut client, &mut server).await.ok();
    });
}

/// The real server's, with a nonce that is known.
async fn greeting(port: u16) -> Vec<u8> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await;
    let mut stream = PacketStream::new(Box::new(stream.expect("it listens")));
    let mut payload = Vec::new();
    let read = stream.read_payload(&mut payload, LARGEST).await;
    read.expect("a greeting");
    payload
}

/// Ends when the client does, or says what nobody says.
async fn serve(stream: Box<dyn Transport>, greeting: Vec<u8>, acceptor: Arc<Acceptor>) {
    let mut session = Session {
        stream: PacketStream::new(stream),
        sequence_id: 0,
    };
    session.run(greeting, acceptor).await;
}

struct Session {
    stream: PacketStream,
    sequence_id: u8,
}

impl Session {
    async fn run(&mut self, greeting: Vec<u8>, acceptor: Arc<Acceptor>) -> Option<()> {
        let offered = InitialHandshake::decode(&greeting).expect("a greeting");
        self.write(&greeting).await;
        let mut payload = self.read_exactly().await?;
        if payload.len() == SSL_REQUEST_LENGTH {
            let wrapped = self.stream.wrap(|plain| acceptor.accept(plain)).await;
            wrapped.ok()?;
            payload = self.read().await?;
        }
        let response = HandshakeResponse::decode(&payload, offered.capabilities).ok()?;
        let capabilities = response.capabilities & offered.capabilities;
        let mut user = response.user;
        self.authenticate(&user).await?;
        loop {
            let command = self.read().await?;
            match command[0] {
                0x11 => {
                    user = ChangeUser::decode(&command, capabilities).ok()?.user;
                    self.authenticate(&user).await?;
                }
                3 if command[1..].starts_with(b"S") => {
                    assert_eq!(capabilities & capability::DEPRECATE_EOF, 0);
                    self.answer(&user).await;
                }
                3 => self.write(b"\0\0\0\x02\0\0\0").await,
                _ => return None,
            }
        }
    }

    /// Whether the client has been let in. It has been told.
    async fn authenticate(&mut self, user: &[u8]) -> Option<()> {
        let mut plugin = "";
        for (kind, asked, password) in questions(user) {
            if !asked.is_empty() {
                plugin = asked;
            }
            let mut question = vec![*kind];
            match plugin {
                "dialog" if *kind == MORE_DATA => question.extend_from_slice(b"\x05Again: "),
                "dialog" => question.extend_from_slice(b"dialog\0\x04Password: "),
                _ => question.extend_from_slice(&[plugin.as_bytes(), b"\0", NONCE, b"\0"].concat()),
            }
            self.write(&question).await;
            let expected = match plugin {
                "mysql_native_password" => scramble_native(NONCE, password.as_bytes())
                    .expect("there is a password")
                    .to_vec(),
                _ => [password.as_bytes(), b"\0"].concat(),
            };
            if self.read().await? != expected {
                let user = String::from_utf8_lossy(user);
                let text =
                    format!("Access denied for user '{user}'@'localhost' (using password: YES)");
                self.write(&[b"\xff\x15\x04#28000", text.as_bytes()].concat())
                    .await;
                return None;
            }
        }
        self.write(b"\0\0\0\x02\0\0\0").await;
        Some(())
    }

    /// A row of one column: the user's name.
    async fn answer(&mut self, user: &[u8]) {
        let mut column = b"\x03def\0\0\0\x01c\0\x0c".to_vec();
        column.extend_from_slice(&[45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
        let mut row = Vec::new();
        put_lenenc_bytes(&mut row, user);
        for payload in [
            &[1],
            column.as_slice(),
            b"\xfe\0\0\x02\0",
            &row,
            b"\xfe\0\0\x02\0",
        ] {
            self.write(payload).await;
        }
    }

    async fn write(&mut self, payload: &[u8]) {
        let mut packet = Vec::new();
        self.sequence_id = encode_packet(&mut packet, self.sequence_id, payload);
        self.stream.write(&packet).await.ok();
    }

    /// Leaves what follows in the socket, for it may be TLS.
    async fn read_exactly(&mut self) -> Option<Vec<u8>> {
        self.stream.fill_exactly(HEADER_LENGTH).await.ok()?;
        let header = self.stream.peek_header().await.ok()?;
        let filled = self.stream.fill_exactly(header.packet_length()).await;
        filled.ok()?;
        self.read().await
    }

    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let read = self.stream.read_payload(&mut payload, LARGEST).await;
        self.sequence_id = read.ok()?.wrapping_add(1);
        Some(payload)
    }
}

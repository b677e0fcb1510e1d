//! A client that says what it likes, packet by packet; and a relay by which the server sees another host than its own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use countersink::wire::capability;
use countersink::wire::handshake::InitialHandshake;
use countersink::wire::packet::encode_packet;

/// No answer takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the responses ask for.
pub const CLIENT: u64 = capability::LONG_PASSWORD
    | capability::PROTOCOL_41
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH;

/// A connection in the connection phase.
pub struct Raw {
    pub stream: TcpStream,
}

impl Raw {
    /// Connects, and does not read yet.
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        Self { stream }
    }

    /// Connects and reads the initial handshake.
    pub fn greeted(port: u16) -> (Self, InitialHandshake) {
        let mut raw = Self::connect(port);
        let (_, payload) = raw.read().expect("a greeting");
        let initial_handshake = InitialHandshake::decode(&payload);
        let initial_handshake =
            initial_handshake.unwrap_or_else(|_| panic!("no greeting: {payload:?}"));
        (raw, initial_handshake)
    }

    pub fn write(&mut self, sequence_id: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        encode_packet(&mut packet, sequence_id, payload);
        self.stream.write_all(&packet).expect("it is open");
    }

    /// The next packet: its number and its payload.
    pub fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((header[3], payload))
    }

    /// The next packet, which is an ERR: its number and its code.
    pub fn error(&mut self) -> (u8, u16) {
        let (sequence_id, payload) = self.read().expect("an answer");
        assert_eq!(payload[0], 0xff, "{payload:?}");
        (sequence_id, u16::from_le_bytes([payload[1], payload[2]]))
    }
}

/// A handshake response as far as the user's name.
pub fn head(capabilities: u64, user: &str) -> Vec<u8> {
    let mut payload = capabilities.to_le_bytes()[..4].to_vec();
    payload.extend_from_slice(&[0, 0, 0, 1, 45]);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user.as_bytes());
    payload.push(0);
    payload
}

/// A whole one.
pub fn response(user: &str, data: &[u8], plugin: &str) -> Vec<u8> {
    let mut payload = head(CLIENT, user);
    payload.push(u8::try_from(data.len()).expect("it is short"));
    payload.extend_from_slice(data);
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    payload
}

/// Passes everything on from 127.0.0.2: another host than 127.0.0.1, to which servers forgive everything. The port that
/// it listens at.
pub fn from_another_host(server: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let upstream = connect_from([127, 0, 0, 2], server);
            let back = (upstream.try_clone(), client.try_clone());
            let (Ok(from), Ok(to)) = back else {
                continue;
            };
            thread::spawn(move || pass(client, upstream));
            thread::spawn(move || pass(from, to));
        }
    });
    port
}

fn connect_from(host: [u8; 4], port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let ours = SocketAddr::from((host, 0));
    socket
        .bind(&ours.into())
        .expect("an address of this machine");
    let theirs = SocketAddr::from(([127, 0, 0, 1], port));
    socket.connect(&theirs.into()).expect("the server listens");
    socket.into()
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Write).ok();
}

//! A client of its own bytes, which reads an answer, a part of it, or nothing.

use std::time::Duration;

use countersink::driver::{Driver, Login};
use countersink::wire::capability;
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink_sandbox::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long anything may take that is waited for. TLS toward MySQL is slow in a debug build: on a machine with five
/// times more to do than it can, 128 MiB took 40 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// A client of its own bytes, for answers that are not to be gathered.
pub(super) struct Raw {
    pub(super) socket: TcpStream,
}

impl Raw {
    pub(super) async fn login(address: &Address, schema: &str) -> Self {
        let socket = connect_tcp(address).await.into_std().expect("a socket");
        let same = socket.try_clone().expect("a second handle");
        let login = Login {
            schema: Some(schema),
            capabilities: Driver::CAPABILITIES | capability::LOCAL_FILES,
            ..Login::new(&address.user, &address.password)
        };
        let stream = TcpStream::from_std(same).expect("a socket");
        Driver::connect(Box::new(stream), &login)
            .await
            .expect("a login");
        Self {
            socket: TcpStream::from_std(socket).expect("a socket"),
        }
    }

    pub(super) async fn query(&mut self, text: &str) {
        let mut packet = Vec::new();
        let payload = [b"\x03", text.as_bytes()].concat();
        countersink::wire::packet::encode_packet(&mut packet, 0, &payload);
        self.socket.write_all(&packet).await.expect("sent");
    }

    /// A statement of this length, which the server reads and does next to nothing with.
    pub(super) async fn send_and_read(&mut self, length: u64) {
        let literal = "x".repeat(usize::try_from(length).expect("it fits"));
        self.query(&format!("SELECT LENGTH('{literal}')")).await;
        self.read_result().await;
    }

    /// Reads an answer and returns the length of its payloads, in bytes. One row has no more than 16 MiB.
    pub(super) async fn read_result(&mut self) -> u64 {
        let mut passed = 0;
        let mut rest = vec![0; 64 * 1024];
        for packet in 0.. {
            let mut header = [0; HEADER_LENGTH];
            self.read(&mut header).await;
            let header = Header::decode(&header).expect("a header");
            let mut left = header.length;
            let mut first = None;
            while left > 0 {
                let part = left.min(rest.len());
                self.read(&mut rest[..part]).await;
                first.get_or_insert(rest[0]);
                left -= part;
            }
            passed += header.length as u64;
            match first {
                Some(0x00) if packet == 0 => return passed,
                Some(0xFF) => panic!("{}", String::from_utf8_lossy(&rest[..header.length])),
                Some(0xFE) if header.length < 100 => return passed,
                _ => {}
            }
        }
        passed
    }

    async fn read(&mut self, buffer: &mut [u8]) {
        let read = tokio::time::timeout(PATIENCE, self.socket.read_exact(buffer)).await;
        read.expect("an answer in time").expect("an answer");
    }
}

pub(super) async fn connect_tcp(address: &Address) -> TcpStream {
    let socket = TcpStream::connect((address.host.as_str(), address.port)).await;
    socket.expect("the proxy listens")
}

pub(super) async fn read_some(socket: &mut TcpStream) {
    let mut buffer = [0; 1024];
    let read = tokio::time::timeout(PATIENCE, socket.read(&mut buffer)).await;
    assert!(read.expect("bytes in time").expect("bytes") > 0);
}

pub(super) async fn read_to_the_close(socket: &mut TcpStream) {
    let mut all = Vec::new();
    let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut all)).await;
    // A reset is a close as well.
    drop(read.expect("the proxy closes"));
}

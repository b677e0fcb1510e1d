//! Reads the version in a server's initial handshake, which shows that the server responds, without logging in (manual:
//! "Protocol::HandshakeV10").
//!
//! This does not use the proxy's own decoder, so that a bug in that does not look like a server that fails to start.

use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::{Flavour, Version};

/// Maximum length of an initial handshake, in bytes. It consists of a version and some tens of bytes; anything longer
/// is something else.
const MOST_BYTES: usize = 1024;
const PROTOCOL_VERSION: u8 = 0x0a;

/// Family and version of the server that listens on a unix socket.
pub(super) fn at_socket(path: &Path, patience: Duration) -> io::Result<(Flavour, Version)> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    read_greeting(stream)
}

/// Family and version of the server that listens on a TCP port.
pub(super) fn at_port(host: &str, port: u16, patience: Duration) -> io::Result<(Flavour, Version)> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_read_timeout(Some(patience))?;
                return read_greeting(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn read_greeting(mut stream: impl Read) -> io::Result<(Flavour, Version)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length =
        usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    if length > MOST_BYTES {
        return Err(not_a_greeting());
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    let (&protocol, rest) = payload.split_first().ok_or_else(not_a_greeting)?;
    if protocol != PROTOCOL_VERSION {
        return Err(not_a_greeting()); // an error packet, such as too many connections
    }
    let end = rest
        .iter()
        .position(|&byte| byte == 0)
        .ok_or_else(not_a_greeting)?;
    let text = String::from_utf8_lossy(&rest[..end]);
    let version = Version::parse(&text).ok_or_else(not_a_greeting)?;
    Ok((Flavour::of(&text), version))
}

fn not_a_greeting() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "what it sends is not a MySQL greeting",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of MySQL 9.7's initial handshake, cut after the thread id.
    const MYSQL: &[u8] = b"\x0d\x00\x00\x00\x0a9.7.4-2\x00\x08\x00\x00\x00";
    const MARIADB: &[u8] =
        b"\x21\x00\x00\x00\x0a5.5.5-10.11.18-MariaDB-log\x00\x08\x00\x00\x00\x00";

    #[test]
    fn both_families_are_told() {
        let (flavour, version) = read_greeting(MYSQL).expect("a greeting");
        assert_eq!(
            (flavour, version.text.as_str()),
            (Flavour::MySql, "9.7.4-2")
        );
        let (flavour, version) = read_greeting(MARIADB).expect("a greeting");
        assert_eq!(
            (flavour, version.text.as_str()),
            (Flavour::MariaDb, "10.11.18-MariaDB-log")
        );
    }

    #[test]
    fn a_cut_greeting_is_an_error_at_every_length() {
        for length in 0..MYSQL.len() {
            assert!(read_greeting(&MYSQL[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn an_error_packet_is_no_greeting() {
        let refused = b"\x17\x00\x00\x00\xff\x10\x04Too many connections";
        assert!(read_greeting(&refused[..]).is_err());
        let older_protocol = b"\x08\x00\x00\x00\x095.0.96\x00";
        assert!(read_greeting(&older_protocol[..]).is_err());
        assert!(read_greeting(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]).is_err());
        assert!(read_greeting(&b"\x00\x00\x00\x00"[..]).is_err());
    }
}

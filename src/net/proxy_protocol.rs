//! The PROXY protocol of HAProxy: a header in front of the first packet, which says where the client of a proxy has
//! connected from (specification: proxy-protocol.txt, versions 1 and 2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ppp::v2::{self, Addresses, Builder, Command, Protocol, Version};
use ppp::{HeaderResult, PartialResult, v1};

use super::{Origin, PacketStream, ReadError};

/// The longest header that is read, in bytes. What a balancer has to add to the addresses is shorter.
const LONGEST: usize = 2048;

/// The longest line of version 1, in bytes.
const LONGEST_LINE: usize = 107;

/// Why a connection has no header that can be read.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// It ended, or could not be read.
    #[error("before a PROXY protocol header: {0}")]
    Read(#[from] ReadError),
    /// It begins with something else, or with a longer header than is read.
    #[error("no PROXY protocol header")]
    None,
}

/// What is at the front of a stream.
enum Front {
    Header {
        length: usize,
        origin: Option<Origin>,
    },
    Part,
    Other,
}

/// Reads the header at the front of a stream. Returns `None` if it names no address: the connection is then the
/// sender's own (a health check), or of a kind that has none. Cancel safe.
pub async fn read_header(stream: &mut PacketStream) -> Result<Option<Origin>, HeaderError> {
    loop {
        match front(stream.buffered()) {
            Front::Header { length, origin } => {
                stream.consume(length);
                return Ok(origin);
            }
            Front::Part if stream.buffered().len() < LONGEST => {
                let more = stream.buffered().len() + 1;
                stream.fill_to(more).await?;
            }
            Front::Part | Front::Other => return Err(HeaderError::None),
        }
    }
}

fn front(bytes: &[u8]) -> Front {
    let begins = |prefix: &[u8]| bytes.iter().zip(prefix).all(|(byte, other)| byte == other);
    let is_text = begins(v1::PROTOCOL_PREFIX.as_bytes());
    // The crate takes half an address for a wrong one, so it gets whole lines.
    let is_part = match is_text {
        true => !bytes.windows(2).any(|end| end == b"\r\n"),
        false => begins(v2::PROTOCOL_PREFIX) && v2::Header::try_from(bytes).is_incomplete(),
    };
    match is_part {
        true if is_text && bytes.len() >= LONGEST_LINE => return Front::Other,
        true => return Front::Part,
        false => {}
    }
    match HeaderResult::parse(bytes) {
        HeaderResult::V1(Ok(header)) => Front::Header {
            length: header.header.len(),
            origin: match header.addresses {
                v1::Addresses::Tcp4(it) => Some(origin(
                    (it.source_address.into(), it.source_port),
                    (it.destination_address.into(), it.destination_port),
                )),
                v1::Addresses::Tcp6(it) => Some(origin(
                    (it.source_address.into(), it.source_port),
                    (it.destination_address.into(), it.destination_port),
                )),
                v1::Addresses::Unknown => None,
            },
        },
        HeaderResult::V2(Ok(header)) => Front::Header {
            length: header.len(),
            origin: match (header.command, header.addresses) {
                (Command::Local, _) => None,
                (Command::Proxy, Addresses::IPv4(it)) => Some(origin(
                    (it.source_address.into(), it.source_port),
                    (it.destination_address.into(), it.destination_port),
                )),
                (Command::Proxy, Addresses::IPv6(it)) => Some(origin(
                    (it.source_address.into(), it.source_port),
                    (it.destination_address.into(), it.destination_port),
                )),
                // A socket on the sender's machine, which says nothing on this one.
                (Command::Proxy, Addresses::Unspecified | Addresses::Unix(_)) => None,
            },
        },
        HeaderResult::V1(Err(_)) | HeaderResult::V2(Err(_)) => Front::Other,
    }
}

fn origin(from: (IpAddr, u16), to: (IpAddr, u16)) -> Origin {
    Origin::Tcp {
        from: from.into(),
        to: to.into(),
    }
}

/// The header of version 2 for a client from there. One that has connected over a unix socket has no address that means
/// anything elsewhere: the connection is then the proxy's own.
pub fn header(origin: Origin) -> Vec<u8> {
    let (command, addresses) = match origin {
        Origin::Tcp { from, to } => {
            let from = canonical(from);
            let to = of_family(canonical(to), from.ip());
            (Command::Proxy, Addresses::from((from, to)))
        }
        Origin::Unix => (Command::Local, Addresses::Unspecified),
    };
    let builder = Builder::with_addresses(Version::Two | command, Protocol::Stream, addresses);
    builder.build().expect("addresses are short")
}

/// An IPv4 address as such, which comes to a socket of IPv6 as a part of one of those.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// This address if it is of the other's family, or none that is.
fn of_family(address: SocketAddr, other: IpAddr) -> SocketAddr {
    let none: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    match address.is_ipv4() == other.is_ipv4() {
        true => address,
        false => SocketAddr::new(none, address.port()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    /// Reads `bytes` as they come, one by one; what is left, and what the header says.
    async fn read(bytes: &[u8]) -> (Vec<u8>, Result<Option<Origin>, HeaderError>) {
        let (mut near, far) = duplex(1);
        let bytes = bytes.to_vec();
        let writing = tokio::spawn(async move { near.write_all(&bytes).await });
        let mut stream = PacketStream::new(Box::new(far));
        let read = read_header(&mut stream).await;
        while let Ok(1..) = stream.fill().await {}
        writing.abort();
        (stream.buffered().to_vec(), read)
    }

    fn tcp(from: &str, to: &str) -> Origin {
        Origin::Tcp {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        }
    }

    #[tokio::test]
    async fn both_versions_are_read_up_to_their_end_and_no_further() {
        let four = tcp("192.168.0.1:56324", "192.168.0.11:443");
        let six = tcp("[2001:db8::1]:1", "[2001:db8::2]:3306");
        for (bytes, expected) in [
            (
                b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n".to_vec(),
                Some(four),
            ),
            (
                b"PROXY TCP6 2001:db8::1 2001:db8::2 1 3306\r\n".to_vec(),
                Some(six),
            ),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (header(four), Some(four)),
            (header(six), Some(six)),
            (header(Origin::Unix), None),
        ] {
            let (left, said) = read(&[&bytes[..], b"\x01\0\0\x01rest"].concat()).await;
            assert_eq!(said.unwrap(), expected, "{bytes:?}");
            assert_eq!(left, b"\x01\0\0\x01rest");
        }
    }

    #[tokio::test]
    async fn what_follows_the_addresses_is_skipped() {
        let four = tcp("10.0.0.1:1", "10.0.0.2:2");
        let mut bytes = header(four);
        // A checksum, of no interest here.
        bytes.extend_from_slice(&[0x03, 0, 4, 1, 2, 3, 4]);
        bytes[15] += 7;
        let (left, said) = read(&bytes).await;
        assert_eq!(said.unwrap(), Some(four));
        assert!(left.is_empty());
    }

    #[tokio::test]
    async fn anything_else_is_no_header() {
        let mut endless = header(tcp("10.0.0.1:1", "10.0.0.2:2"));
        endless[14] = 0xff;
        endless.resize(10_000, 0);
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            b"PROXY TCP4 a.b.c.d 10.0.0.2 1 2\r\n".to_vec(),
            b"PROXY TCP4 10.0.0.1 10.0.0.2 1 99999\r\n".to_vec(),
            b"PROXY".repeat(1000),
            b"\x20\0\0\x01\x85\xa6\xff\x01".to_vec(),
            endless,
        ] {
            let (_, said) = read(&bytes).await;
            assert!(
                matches!(said, Err(HeaderError::None)),
                "{bytes:?}: {said:?}"
            );
        }
        let (_, said) = read(b"PROXY TCP4 10.").await;
        assert!(matches!(said, Err(HeaderError::Read(_))), "{said:?}");
    }

    #[test]
    fn an_address_is_told_in_the_clients_family() {
        let mapped = tcp("[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:2");
        assert_eq!(header(mapped), header(tcp("10.0.0.1:1", "10.0.0.2:2")));
        let mixed = tcp("10.0.0.1:1", "[2001:db8::2]:2");
        assert_eq!(header(mixed), header(tcp("10.0.0.1:1", "0.0.0.0:2")));
    }
}

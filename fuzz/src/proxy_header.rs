//! Any bytes at the front of a connection as a header of the PROXY protocol, in any pieces.

use std::net::SocketAddr;

use countersink::net::proxy_protocol::{HeaderError, header, read_header};
use countersink::net::{Origin, PacketStream};

use crate::input::Input;
use crate::transport::{Scripted, block_on};

/// How many bytes may be asked for before it is known that there is no header.
const MOST_READ: usize = 64 * 1024;

/// What was read: the address, or whether the stream ended, and how many bytes were taken off it.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    origin: Result<Option<Origin>, bool>,
    consumed: u64,
}

/// An input: `int<1>` the length of a piece, less one, then the stream.
///
/// # Panics
///
/// If the pieces matter, if more is taken off the stream than a header, or if the header that the proxy itself would
/// send for the address means another address.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let length = usize::from(input.byte()) + 1;
    let stream = input.0;
    let told = read(stream.chunks(length));
    assert_eq!(told, read([stream]), "in pieces and at once");
    match told.origin {
        Ok(origin) => {
            let consumed = usize::try_from(told.consumed).expect("a short header");
            assert!(
                (1..=stream.len().min(MOST_READ)).contains(&consumed),
                "a header of {consumed} bytes"
            );
            // What is behind the header does not belong to it.
            assert_eq!(read([&stream[..consumed]]), told, "the header alone");
            let own = header(origin.unwrap_or(Origin::Unix));
            let again = read([&own[..]]);
            assert_eq!(
                again.origin,
                Ok(origin.map(canonical)),
                "as we would say it"
            );
        }
        Err(_) => assert_eq!(told.consumed, 0, "nothing is taken off without a header"),
    }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Told {
    let mut stream = PacketStream::new(Box::new(Scripted::saying(pieces)));
    let origin = block_on(read_header(&mut stream));
    Told {
        origin: origin.map_err(|error| matches!(error, HeaderError::Read(_))),
        consumed: stream.consumed(),
    }
}

/// The address as it is told to others: IPv4 inside IPv6 as IPv4, both ends of one family.
fn canonical(origin: Origin) -> Origin {
    let Origin::Tcp { from, to } = origin else {
        return origin;
    };
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (from, to) = (plain(from), plain(to));
    let none: SocketAddr = match from.is_ipv4() {
        true => ([0, 0, 0, 0], to.port()).into(),
        false => ([0_u16; 8], to.port()).into(),
    };
    let to = if from.is_ipv4() == to.is_ipv4() {
        to
    } else {
        none
    };
    Origin::Tcp { from, to }
}

/// Headers of both versions.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let tcp = |from: &str, to: &str| Origin::Tcp {
        from: from.parse().expect("an address"),
        to: to.parse().expect("an address"),
    };
    let lines = [
        "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
        "PROXY TCP6 2001:db8::1 ::ffff:10.0.0.2 1 3306\r\nrest",
        "PROXY UNKNOWN ffff::1 ::1 1 2\r\n",
        "PROXY UNKNOWN\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    ];
    let mut long = header(tcp("10.0.0.1:1", "10.0.0.2:2"));
    long.extend_from_slice(&[0x03, 0, 4, 1, 2, 3, 4]);
    long[15] += 7;
    let binary = [
        header(tcp("192.168.0.1:56324", "192.168.0.11:443")),
        header(tcp("[2001:db8::1]:1", "[2001:db8::2]:3306")),
        header(Origin::Unix),
        long,
    ];
    let lines = lines.into_iter().map(|line| line.as_bytes().to_vec());
    let seeds = lines.chain(binary);
    seeds.map(|seed| [&[3], &seed[..]].concat()).collect()
}

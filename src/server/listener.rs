//! The port that clients connect to. A new process may take it over from a running one.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::config::HostPort;

/// Connections that wait to be accepted; the system has a limit of its own (net.core.somaxconn).
const BACKLOG: u32 = 4096;

/// Listens at the first address of the host that is available. All processes that share a port must say so
/// (SO_REUSEPORT, manual: socket(7)), so each does. But unless it is to `take_over` the port, a port in use is refused,
/// because a second proxy on the same port is usually a mistake.
pub(super) async fn listen(address: &HostPort, take_over: bool) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in lookup_host((address.host.as_str(), address.port)).await? {
        match at(address, take_over) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn at(address: SocketAddr, take_over: bool) -> io::Result<TcpListener> {
    if !take_over && address.port() != 0 {
        bound(address, false)?;
    }
    bound(address, true)?.listen(BACKLOG)
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections of an earlier process may linger.
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(shared)?;
    socket.bind(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_is_shared_with_whoever_takes_it_over() {
        let any = HostPort {
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let first = listen(&any, false).await.unwrap();
        let same = HostPort {
            port: first.local_addr().unwrap().port(),
            ..any
        };
        let refused = listen(&same, false).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        let second = listen(&same, true).await.unwrap();
        assert_eq!(second.local_addr().unwrap(), first.local_addr().unwrap());
        drop(first);
        drop(second);
        listen(&same, false).await.unwrap();
    }
}

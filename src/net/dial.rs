//! Connecting to the upstream.

use std::io;

use tokio::net::{TcpStream, UnixStream};

use super::Transport;
use super::options::prepare;
use crate::config::{Address, HostPort};

/// Connects to `address`. A TCP connection gets the socket options of [`prepare`]. Cancel safe: a dropped attempt
/// leaves nothing behind.
pub async fn dial(address: &Address) -> io::Result<Box<dyn Transport>> {
    match address {
        Address::Tcp(HostPort { host, port }) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            prepare(&stream)?;
            Ok(Box::new(stream))
        }
        Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
    }
}

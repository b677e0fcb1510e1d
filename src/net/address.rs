//! Where the upstream listens: TCP by host and port, or a unix socket.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::{TcpStream, UnixStream};

use super::Transport;

/// The port of MySQL, taken where none is named.
const DEFAULT_PORT: u16 = 3306;

/// The upstream's address. Written `host`, `host:port`, `[::1]:port` or `unix:/path/to/mysqld.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host name or an IP address, and a port.
    Tcp {
        /// Name or address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// The path of a unix socket.
    Unix(PathBuf),
}

/// The text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an address: write host, host:port, [ipv6]:port or unix:/path")]
pub struct InvalidAddress(String);

impl Address {
    /// Connects. A TCP connection gets TCP_NODELAY. Cancel safe: a dropped attempt leaves nothing behind.
    pub async fn dial(&self) -> io::Result<Box<dyn Transport>> {
        match self {
            Self::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        }
    }

    /// Whether a server takes the transport for secure without TLS: a unix socket.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err(invalid()),
                false => Ok(Self::Unix(path.into())),
            };
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(invalid)?;
                match after.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None if after.is_empty() => (host, None),
                    None => return Err(invalid()),
                }
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().map_err(|_| invalid())?,
            None => DEFAULT_PORT,
        };
        if host.is_empty() || host.contains(['/', ' ']) || port == 0 {
            return Err(invalid());
        }
        Ok(Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(out, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(out, "{host}:{port}"),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_the_same() {
        for text in [
            "127.0.0.1:3306",
            "db.example.org:33061",
            "[::1]:3306",
            "unix:/run/mysqld/mysqld.sock",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("db".parse::<Address>().unwrap().to_string(), "db:3306");
        assert_eq!(
            "[::1]".parse::<Address>().unwrap().to_string(),
            "[::1]:3306"
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "", ":3306", "db:", "db:0", "db:70000", "::1", "unix:", "[::1", "[::1]x", "/run/x",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}

//! `countersink health`: whether the proxy of these rules serves. For the health checks of containers, whose images
//! contain no other program for that.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::RulesArguments;
use crate::config::{Address, Config, HostPort};
use crate::net::{Transport, dial};

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink health                                whether the process lives: /healthz, or a connection to its port
  countersink health --ready                        whether clients should be sent there: /readyz

The addresses are those of the rules file: `http`, and where that is not set `listen`.

Exit codes:
  0  it is healthy
  1  it is not, or does not answer
  2  rules.yaml is wrong, or has no address that can be asked";

/// How long the proxy may take to respond. It allows its own check of the server two seconds.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Maximum number of bytes that are read of a response.
const LONGEST_ANSWER: usize = 4096;

/// Arguments of `countersink health`.
#[derive(Debug, Args)]
pub(super) struct HealthArguments {
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// Ask whether clients should be sent there: the proxy is not stopping, and the server behind it responds.
    #[arg(long)]
    ready: bool,
}

/// Why the proxy is not considered healthy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing listens at the address.
    #[error("{address}: {source}; start the proxy, or correct its address in the rules")]
    Unreachable {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// There was no response in time.
    #[error("{address}: no answer within {TIMEOUT:?}")]
    Silent {
        /// The address.
        address: String,
    },
    /// What listens there is not an HTTP server.
    #[error("{address}: {source}; is this the proxy's http port?")]
    NoHttp {
        /// The address.
        address: String,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The proxy reports that it is unhealthy.
    #[error("http://{address}{path}: {status}: {why}")]
    Unhealthy {
        /// The address.
        address: String,
        /// The path of the request.
        path: &'static str,
        /// The status of the response.
        status: StatusCode,
        /// The reason that the proxy gives.
        why: String,
    },
    /// The rules have no HTTP address to ask at.
    #[error("http: is missing; --ready asks there: write an address, as in http: 127.0.0.1:6034")]
    NoAddress,
    /// The port is one that the system chooses.
    #[error("{field}: port 0 stands for one that the system chooses; name a port to be asked at")]
    AnyPort {
        /// `http` or `listen`.
        field: &'static str,
    },
}

impl Error {
    /// 2 for errors to correct in the rules; 1 for all others.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoAddress | Self::AnyPort { .. } => 2,
            _ => 1,
        }
    }
}

/// The text to print for a healthy proxy.
pub(super) async fn health(config: &Config, arguments: &HealthArguments) -> Result<String, Error> {
    let (field, address) = match (&config.http, arguments.ready) {
        (Some(http), _) => ("http", Address::Tcp(http.clone())),
        (None, false) => ("listen", config.listen.addresses()[0].clone()),
        (None, true) => return Err(Error::NoAddress),
    };
    let address = match address {
        Address::Tcp(HostPort { port: 0, .. }) => return Err(Error::AnyPort { field }),
        Address::Tcp(address) => Address::Tcp(reachable(&address)),
        Address::Unix(_) => address,
    };
    let asked = async {
        let unreachable = |source| Error::Unreachable {
            address: address.to_string(),
            source,
        };
        let stream = dial(&address).await.map_err(unreachable)?;
        match (field, arguments.ready) {
            ("http", true) => ask(stream, &address, "/readyz").await,
            ("http", false) => ask(stream, &address, "/healthz").await,
            _ => Ok("listening\n".to_owned()),
        }
    };
    timeout(TIMEOUT, asked).await.unwrap_or_else(|_| {
        Err(Error::Silent {
            address: address.to_string(),
        })
    })
}

/// The address to connect to. For a proxy that listens on all addresses, this is the local host.
fn reachable(address: &HostPort) -> HostPort {
    let everywhere = match address.host.parse() {
        Ok(std::net::IpAddr::V4(host)) => host
            .is_unspecified()
            .then(|| Ipv4Addr::LOCALHOST.to_string()),
        Ok(std::net::IpAddr::V6(host)) => host
            .is_unspecified()
            .then(|| std::net::Ipv6Addr::LOCALHOST.to_string()),
        Err(_) => None,
    };
    HostPort {
        host: everywhere.unwrap_or_else(|| address.host.clone()),
        port: address.port,
    }
}

async fn ask(
    stream: Box<dyn Transport>,
    address: &Address,
    path: &'static str,
) -> Result<String, Error> {
    let (status, body) = get(stream, address, path)
        .await
        .map_err(|source| Error::NoHttp {
            address: address.to_string(),
            source,
        })?;
    match status.is_success() {
        true => Ok(body),
        false => Err(Error::Unhealthy {
            address: address.to_string(),
            path,
            status,
            why: body.trim().to_owned(),
        }),
    }
}

async fn get(
    stream: Box<dyn Transport>,
    address: &Address,
    path: &str,
) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Errors of the connection are also returned by the request.
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, address.to_string());
    let response = sender
        .send_request(request.body(Empty::<Bytes>::new())?)
        .await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST_ANSWER);
    let body = body.collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_here() {
        for (listens, asked) in [
            ("0.0.0.0:6034", "127.0.0.1:6034"),
            ("[::]:6034", "[::1]:6034"),
            ("127.0.0.2:1", "127.0.0.2:1"),
            ("db.test:1", "db.test:1"),
        ] {
            let listens = HostPort::parse(listens).unwrap();
            assert_eq!(reachable(&listens).to_string(), asked);
        }
    }
}

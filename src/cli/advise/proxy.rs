//! Asks a running proxy for its traffic: `GET /traffic.json` on its HTTP port.

use std::fmt;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Error;
use crate::config::HostPort;
use crate::traffic::Report;

/// How long the proxy may take to respond.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a response, in bytes. A longer one is an error.
const MOST: usize = 16 * 1024 * 1024;

/// The URL of a proxy's HTTP port.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Url(HostPort);

impl Url {
    /// Parses `http://HOST:PORT`, with or without a slash at the end.
    pub fn parse(text: &str) -> Result<Self, String> {
        let address = text
            .strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'));
        let address = address.ok_or("write http://HOST:PORT, as in http://127.0.0.1:9090")?;
        HostPort::parse(address)
            .map(Self)
            .map_err(|problem| problem.to_string())
    }

    /// The traffic since the first request, which starts the observation.
    pub async fn ask(&self) -> Result<Report, Error> {
        match tokio::time::timeout(TIMEOUT, self.answer()).await {
            Ok(answer) => answer,
            Err(_) => Err(self.failed(format!("no answer within {TIMEOUT:?}"))),
        }
    }

    async fn answer(&self) -> Result<Report, Error> {
        let failed = |why: &dyn fmt::Display| self.failed(why.to_string());
        let Self(address) = self;
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
        let stream = TokioIo::new(stream.map_err(|error| failed(&error))?);
        let handshake = http1::handshake(stream).await;
        let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
        let connection = tokio::spawn(connection);
        let request = Request::get("/traffic.json")
            .header(HOST, address.to_string())
            .body(Empty::<Bytes>::new())
            .map_err(|error| failed(&error))?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST).collect().await;
        let body = body.map_err(|error| failed(&error))?.to_bytes();
        connection.abort();
        if status == StatusCode::NOT_FOUND {
            return Err(failed(
                &"it has no /traffic.json; it is an older version, or no Countersink",
            ));
        }
        if status != StatusCode::OK {
            return Err(failed(&format!("status {status}")));
        }
        let report: Report = serde_json::from_slice(&body).map_err(|error| failed(&error))?;
        match report.format {
            Report::FORMAT => Ok(report),
            _ => Err(failed(
                &"it is another version, whose reports this one does not read",
            )),
        }
    }

    fn failed(&self, why: String) -> Error {
        Error::Proxy {
            url: self.to_string(),
            why,
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}", self.0)
    }
}

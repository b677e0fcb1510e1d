//! A port that an operator's clients connect to: had at once, or when the process has ended that is taken over.

use std::io;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::config::HostPort;

/// How often an address is tried that another process has still.
const GLANCE: Duration = Duration::from_millis(200);

/// The port cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {address}: {source}; choose another address or stop what listens there")]
pub struct Error {
    setting: &'static str,
    address: String,
    source: io::Error,
}

/// A port that is listened on, or will be.
#[derive(Debug)]
pub struct Port {
    /// The key of rules.yaml that names it.
    setting: &'static str,
    address: HostPort,
    /// None while the process that is taken over still has it: if both served one address, counters would seem to jump.
    listener: Option<TcpListener>,
}

impl Port {
    /// Listens. `take_over` says that another process may have the port, which is to end.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub async fn open(
        setting: &'static str,
        address: HostPort,
        take_over: bool,
    ) -> Result<Self, Error> {
        let listener = match bind(&address).await {
            Err(error) if take_over && is_in_use(&error) => {
                tracing::info!(
                    "{setting}: {address} is taken over when the other process has ended"
                );
                None
            }
            bound => Some(bound.map_err(|source| refused(setting, &address, source))?),
        };
        Ok(Self {
            setting,
            address,
            listener,
        })
    }

    /// What listens there, as soon as it does.
    ///
    /// # Errors
    ///
    /// When it cannot be had after all.
    pub(super) async fn listener(self) -> Result<TcpListener, Error> {
        if let Some(listener) = self.listener {
            return Ok(listener);
        }
        loop {
            tokio::time::sleep(GLANCE).await;
            match bind(&self.address).await {
                Err(error) if is_in_use(&error) => {}
                bound => {
                    return bound.map_err(|source| refused(self.setting, &self.address, source));
                }
            }
        }
    }
}

async fn bind(address: &HostPort) -> io::Result<TcpListener> {
    TcpListener::bind((address.host.as_str(), address.port)).await
}

fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

fn refused(setting: &'static str, address: &HostPort, source: io::Error) -> Error {
    Error {
        setting,
        address: address.to_string(),
        source,
    }
}

//! The proxy itself, in this process, as `countersink serve` would run it: for the demo and the benchmark.

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Error, serve};
use crate::config::{Config, HostPort};
use crate::counter::control::Control;
use crate::server::Server;

/// A proxy that serves.
pub(super) struct Proxy {
    /// Where clients connect.
    pub address: HostPort,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Starts one by these rules.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let control = Control::open(&config).await?;
        let catalog = serve::prepare_with(&control, &config).await?;
        let server = Server::bind(config, None, (catalog, control), false).await?;
        let address = server
            .address()
            .map_err(|source| Error::Runtime { source })?;
        let (stop, stopped) = oneshot::channel();
        // It also stops when this is dropped.
        let serving = tokio::spawn(server.run(async {
            stopped.await.ok();
        }));
        Ok(Self {
            address: HostPort {
                host: address.ip().to_string(),
                port: address.port(),
            },
            stop,
            serving,
        })
    }

    /// Closes it in good order.
    pub async fn stop(self) {
        self.stop.send(()).ok();
        self.serving.await.expect("the server does not panic");
    }
}

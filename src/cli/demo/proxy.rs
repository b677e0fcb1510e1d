//! The proxy itself, in this process, as `countersink serve` would run it.

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cli::{Error, serve};
use crate::config::{Address, Config, HostPort};
use crate::counter::control::Control;
use crate::server::Server;

/// A proxy that serves.
pub(super) struct Proxy {
    /// Where clients connect.
    pub address: Address,
    /// The rules that it follows, as rules.yaml would have them.
    pub rules: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Starts one in front of `upstream`.
    pub async fn start(listen: &HostPort, upstream: &Address) -> Result<Self, Error> {
        let config = Config::from_str(&rules(listen, upstream), &|_| None)?;
        let control = Control::open(&config).await?;
        let catalog = serve::prepare_with(&control, &config).await?;
        let server = Server::bind(config, catalog, control).await?;
        let address = server.address().map_err(|source| Error::Runtime { source })?;
        let address = HostPort {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let rules = rules(&address, upstream);
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.run(async {
            stopped.await.ok();
        }));
        Ok(Self {
            address: Address::Tcp(address),
            rules,
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

/// No TLS, which the clients of the comparison do not speak on the direct way either.
fn rules(listen: &HostPort, upstream: &Address) -> String {
    format!(
        "\
listen: \"{listen}\"
upstream: {upstream}
control: {{ user: root }}
tls: {{ client: disabled }}
upstream_tls: {{ mode: disabled }}
counters:
  - table: shop.posts
    columns: [views, likes]
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_right_for_any_address() {
        for listen in ["127.0.0.1:0", "[::1]:6033", "0.0.0.0:1"] {
            let listen = HostPort::parse(listen).expect("an address");
            let upstream = Address::Tcp(HostPort {
                host: "127.0.0.1".into(),
                port: 3306,
            });
            let config = Config::from_str(&rules(&listen, &upstream), &|_| None).expect("rules");
            assert_eq!((config.listen, config.upstream), (listen, upstream));
        }
    }
}

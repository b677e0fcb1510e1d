//! Runs the proxy in this process, as `countersink serve` would, for the demo and the benchmark.

use std::net::SocketAddr;

use countersink_bench::lent::{self, NotServing};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::client::Account;
use super::{Error, serve};
use crate::config::{self, Config};
use crate::counter::control::Control;
use crate::server::Server;

/// A running proxy.
pub(super) struct Proxy {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl lent::Proxy for Proxy {
    type Account = Account;

    async fn start(rules: &str, upstream: &Account) -> Result<Self, NotServing> {
        let started = async { serving(config(rules, upstream)?).await };
        started.await.map_err(|error: Error| NotServing {
            exit_code: error.exit_code(),
            source: error.into(),
        })
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    async fn stop(self) {
        self.stop.send(()).ok();
        self.serving.await.expect("the server does not panic");
    }
}

fn config(rules: &str, upstream: &Account) -> Result<Config, config::Error> {
    Config::from_str(rules, &|name| match name {
        "UPSTREAM" => Some(upstream.address.to_string()),
        "USER" => Some(upstream.user.clone()),
        "PASSWORD" => Some(upstream.password.reveal().to_owned()),
        _ => None,
    })
}

async fn serving(config: Config) -> Result<Proxy, Error> {
    let control = Control::open(&config).await?;
    let catalog = serve::prepare_with(&control, &config).await?;
    let server = Server::bind(config, None, (catalog, control), false).await?;
    let address = server.address().expect("its rules name a port");
    let (stop, stopped) = oneshot::channel();
    // It also stops when the sender is dropped.
    let serving = tokio::spawn(server.run(async {
        stopped.await.ok();
    }));
    Ok(Proxy {
        address,
        stop,
        serving,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, HostPort, Secret};
    use countersink_bench::{bench, demo};

    fn account(address: &str) -> Account {
        Account {
            address: Address::parse(address).expect("an address"),
            user: "o'brien: \"x\"".to_owned(),
            password: Secret::new("${USER} $$ # '\"\\ {".to_owned()),
            schema: None,
        }
    }

    #[test]
    fn the_rules_of_the_benchmark_are_right_for_any_name_and_password() {
        for address in ["[::1]:3306", "unix:/run/my sql/a.sock"] {
            let account = account(address);
            let rules = bench::rules("countersink_bench", 8);
            let config = config(&rules, &account).expect("rules");
            assert_eq!(config.upstream.only(), Some(&account.address));
            assert_eq!(config.control.user, account.user);
            assert_eq!(config.control.password, account.password);
            assert_eq!(config.rules[0].slots, 8);
        }
    }

    #[test]
    fn the_rules_of_the_demo_are_right_for_any_address() {
        for listen in ["127.0.0.1:0", "[::1]:6033", "0.0.0.0:1"] {
            let upstream = SocketAddr::from(([127, 0, 0, 1], 3306));
            let rules = demo::rules(listen, upstream);
            let config = config(&rules, &account("[::1]:1")).expect("rules");
            let listen = HostPort::parse(listen).expect("an address");
            assert_eq!(config.listen, listen.into());
            let expected = Address::Tcp(HostPort::from(upstream));
            assert_eq!(config.upstream.only(), Some(&expected));
        }
    }
}

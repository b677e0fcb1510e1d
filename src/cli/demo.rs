//! `countersink demo`: a real server, one hot row and many clients, directly and through the proxy, with the results.

use std::time::Duration;

use clap::{Args, ValueEnum};
use countersink_bench::demo::{self, Options};
use tokio::runtime::Runtime;

use super::client::Account;
use super::proxy::Proxy;
use crate::config::{Address, HostPort, Secret};

pub(super) const EXAMPLES: &str = "\
Examples:
  countersink demo                                  MySQL, 64 clients, 5 seconds each way
  countersink demo --flavour mariadb --clients 200
  countersink demo --seconds 30                     steadier figures
  countersink demo --keep --listen 127.0.0.1:6033   leaves it all running, to try by hand
  countersink demo > report.txt                     the report alone; progress stays on the terminal

The server is the one on PATH, or else the distribution's packages, fetched once and unpacked into target/servers
(or ~/.cache/countersink/servers): nothing is installed. Its data lives in a folder that goes away with the demo.
Ctrl-C stops at any moment and leaves nothing behind.";

#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// The server behind the proxy.
    #[arg(long, value_enum, default_value_t = Flavour::Mysql)]
    flavour: Flavour,
    /// Clients that increment the one row at the same time.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1000))]
    clients: u16,
    /// Seconds of load each way: directly, and through the proxy.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Where the proxy listens; port 0 lets the system choose.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0", value_parser = HostPort::parse)]
    listen: HostPort,
    /// Keep the server and the proxy running afterwards, until Ctrl-C, and say how to connect.
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Flavour {
    Mysql,
    Mariadb,
}

impl From<Flavour> for countersink_sandbox::Flavour {
    fn from(flavour: Flavour) -> Self {
        match flavour {
            Flavour::Mysql => Self::MySql,
            Flavour::Mariadb => Self::MariaDb,
        }
    }
}

/// Runs the demo. The proxy runs on `runtime`.
pub(super) fn run(arguments: DemoArguments, runtime: &Runtime) -> Result<(), demo::Error> {
    let options = Options {
        flavour: arguments.flavour.into(),
        clients: arguments.clients,
        each_way: Duration::from_secs(arguments.seconds.into()),
        listen: arguments.listen.to_string(),
        keep: arguments.keep,
    };
    let anybody = Account {
        address: Address::Tcp(arguments.listen),
        user: "root".to_owned(),
        password: Secret::default(),
        schema: None,
    };
    demo::run::<Proxy>(&options, &anybody, runtime)
}

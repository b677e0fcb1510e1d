//! Real MySQL and MariaDB servers in throwaway folders, for `countersink demo` and for the tests.
//!
//! A server's programs are found on the machine, or fetched as the distribution's own packages, which are unpacked
//! beside the build and never installed. Each [`Server`] runs on a private copy of an initialised data folder and
//! listens on a free port of 127.0.0.1 and on a unix socket. It disappears with everything that it wrote when it is
//! dropped or its owner dies, even by `kill -9`.
//!
//! All functions block; async callers use `spawn_blocking`. Unix only.
//!
//! ```no_run
//! # use countersink_sandbox::{Flavour, Installation, Options, Server};
//! # use std::path::Path;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let installation = Installation::obtain(Flavour::MySql, Path::new("target/servers"), &|_| {})?;
//! let server = Server::start(&installation, &Options::default())?;
//! let mut client = installation.client()?;
//! client.args(server.client_options()).args(["-e", "SELECT VERSION()"]).status()?;
//! # Ok(()) }
//! ```

mod distribution;
mod sources;

mod apt;
mod fetch;
mod find;
mod installation;
mod program;

mod template;

mod cluster;
mod galera;

mod guard;
mod initial_handshake;
mod start;

mod given;

mod error;
mod flavour;
mod once;

pub use cluster::{Replication, start_cluster};
pub use error::Error;
pub use flavour::{Flavour, Version};
pub use given::{Address, from_env};
pub use installation::Installation;
pub use start::{Options, Server};

//! What the tests run against: real servers, a proxy in front of one of them, and clients of both.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "every test binary takes the parts that it needs"
)]

pub mod binary;
pub mod browser;
pub mod client;
pub mod drivers;
pub mod forwarder;
pub mod http;
pub mod process;
pub mod proxy;
mod sandbox;
pub mod thorough;
pub mod twin;

use std::future::Future;

pub use binary::countersink;
pub use sandbox::{Sandbox, servers};

/// Runs a test's body on a runtime of its own.
pub fn block_on<T>(body: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(body)
}

/// The number that an environment variable has, if it is set.
pub fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// Makes tests of functions that take a flavour: each runs on both servers.
macro_rules! on_both {
    (@$server:ident $flavour:ident $($(#[$attribute:meta])* $name:ident)*) => {
        mod $server {
            $($(#[$attribute])* #[test] fn $name() {
                let flavour = countersink_sandbox::Flavour::$flavour;
                $crate::support::block_on(super::$name(flavour));
            })*
        }
    };
    ($($(#[$attribute:meta])* $name:ident),* $(,)?) => {
        $crate::support::on_both!(@mysql MySql $($(#[$attribute])* $name)*);
        $crate::support::on_both!(@mariadb MariaDb $($(#[$attribute])* $name)*);
    };
}
pub(crate) use on_both;

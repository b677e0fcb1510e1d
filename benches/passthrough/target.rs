//! What the statements are sent to: the server, or a proxy in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use countersink_sandbox::Address;
use tempfile::TempDir;

use crate::machine;
use crate::support::proxy::rules_head;

/// A way to the server.
pub struct Target {
    pub name: &'static str,
    pub address: Address,
    proxy: Option<Proxy>,
}

/// How HAProxy is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haproxy {
    /// `nbthread 1`
    OneThread,
    /// As many threads as processors.
    Default,
}

/// A proxy's process, killed when dropped.
struct Proxy {
    child: Child,
    _folder: TempDir,
}

impl Target {
    /// The server itself.
    pub fn direct(upstream: &Address) -> Self {
        Self {
            name: "direct",
            address: upstream.clone(),
            proxy: None,
        }
    }

    /// HAProxy in TCP mode.
    pub fn haproxy(upstream: &Address, kind: Haproxy) -> Self {
        let (name, threads) = match kind {
            Haproxy::OneThread => ("haproxy, nbthread 1", "nbthread 1"),
            Haproxy::Default => ("haproxy, default", ""),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("haproxy.cfg");
        // HAProxy gets its socket as standard input: no port has to be guessed.
        let config = format!(
            "global\n  maxconn 6000\n  {threads}\n\
             defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen mysql\n  bind fd@0\n  server upstream {}:{}\n",
            upstream.host, upstream.port
        );
        fs::write(&file, config).expect("it can be written");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let child = Command::new("haproxy")
            .arg("-db")
            .arg("-f")
            .arg(&file)
            .stdin(OwnedFd::from(listener))
            .spawn()
            .expect("haproxy is on PATH");
        Self::behind(name, upstream, port, child, folder)
    }

    /// This binary of Countersink with a rule for `posts` in this schema.
    pub fn countersink(
        name: &'static str,
        binary: &Path,
        upstream: &Address,
        schema: &str,
        upstream_tls: bool,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rules.yaml");
        let encryption = match upstream_tls {
            true => "upstream_tls: {mode: preferred}\n",
            false => "upstream_tls: {mode: disabled}\n",
        };
        let counters = format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n");
        let rules = rules_head(upstream) + encryption + &counters;
        fs::write(&file, rules).expect("it can be written");
        let mut child = Command::new(binary)
            .args(["serve", "--rules"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = child.stderr.take().expect("it is piped");
        let lines = BufReader::new(log).lines().map_while(Result::ok);
        let port = lines.filter_map(port_of).next().expect("it listens");
        Self::behind(name, upstream, port, child, folder)
    }

    fn behind(
        name: &'static str,
        upstream: &Address,
        port: u16,
        child: Child,
        folder: TempDir,
    ) -> Self {
        Self {
            name,
            address: Address {
                host: "127.0.0.1".to_owned(),
                port,
                ..upstream.clone()
            },
            proxy: Some(Proxy {
                child,
                _folder: folder,
            }),
        }
    }

    /// The proxy's process; none for the server itself.
    pub fn process(&self) -> Option<u32> {
        self.proxy.as_ref().map(|proxy| proxy.child.id())
    }

    /// Processor time that the proxy has used so far; nothing for the server itself.
    pub fn processor_time(&self) -> Duration {
        self.process()
            .map_or(Duration::ZERO, machine::processor_time)
    }
}

/// The port in `listening on 127.0.0.1:41234, upstream ..`.
fn port_of(line: String) -> Option<u16> {
    let (_, address) = line.split_once("listening on ")?;
    let (address, _) = address.split_once(',')?;
    let (_, port) = address.rsplit_once(':')?;
    port.parse().ok()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

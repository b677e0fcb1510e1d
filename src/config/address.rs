//! Addresses: `host:port`, `[::1]:port`, `unix:/path`; and several of them to listen on.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::check::Text;
use super::error::Problem;

/// Where a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// Over TCP.
    Tcp(HostPort),
    /// Over a unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Parses an address to connect to, as `--upstream` gives it.
    ///
    /// # Errors
    ///
    /// What is wrong with it and what would be right.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        upstream(&Text::plain(text))
    }

    /// Whether a server takes the transport for secure without TLS: a unix socket.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Whether it is on this host, by its own word: a unix socket, a loopback address, or localhost.
    pub fn is_this_host(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(tcp) => {
                let address = tcp.host.parse::<std::net::IpAddr>();
                address.is_ok_and(|address| address.is_loopback())
                    || tcp.host.eq_ignore_ascii_case("localhost")
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(tcp) => tcp.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// The server that the proxy connects to, or several, of which it connects to the one that takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    first: Address,
    others: Vec<Address>,
}

impl Upstreams {
    /// All of them, in the order in which they are written. There is at least one.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The one that is written first.
    pub fn first(&self) -> &Address {
        &self.first
    }

    /// The only one, if there are not several.
    pub fn only(&self) -> Option<&Address> {
        Some(&self.first).filter(|_| self.others.is_empty())
    }

    /// Whether all of them are on this host, by their own word.
    pub fn are_this_host(&self) -> bool {
        self.addresses().all(Address::is_this_host)
    }

    /// Whether it is a unix socket. Several are reached over TCP.
    pub fn is_local(&self) -> bool {
        self.first.is_local()
    }
}

impl From<Address> for Upstreams {
    fn from(first: Address) -> Self {
        Self {
            first,
            others: Vec::new(),
        }
    }
}

impl fmt::Display for Upstreams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        separated(formatter, self.addresses())
    }
}

/// Writes addresses with commas in between.
fn separated<'a>(
    formatter: &mut fmt::Formatter<'_>,
    addresses: impl Iterator<Item = &'a Address>,
) -> fmt::Result {
    for (index, address) in addresses.enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(formatter, "{comma}{address}")?;
    }
    Ok(())
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A host name or an IP address; an IPv6 address has no brackets here.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

/// Where clients connect: at one address, or at several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen(Vec<Address>);

impl Listen {
    /// Parses addresses to listen on, with commas in between, as `serve --listen` gives them.
    ///
    /// # Errors
    ///
    /// What is wrong with them and what would be right.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        listen(&Text::plain(text))
    }

    /// All of them, in the order in which they are written.
    pub fn addresses(&self) -> &[Address] {
        &self.0
    }
}

impl From<HostPort> for Listen {
    fn from(address: HostPort) -> Self {
        Self(vec![Address::Tcp(address)])
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        separated(formatter, self.0.iter())
    }
}

/// The longest path of a socket that is listened on, in bytes. The system has room for 107, and the socket is made
/// under a longer name.
const LONGEST_PATH: usize = 96;

const TCP_EXAMPLE: &str = "host:port, as in 127.0.0.1:6033 or [::1]:6033";
const EXAMPLE: &str = "host:port, as in 127.0.0.1:3306 or [::1]:3306, or unix:/path/to/mysqld.sock";
const TCP_UPSTREAM: &str = "host:port, as in db1:3306 or [::1]:3306";
const LISTEN_EXAMPLE: &str =
    "host:port, as in 127.0.0.1:6033 or [::1]:6033, or unix:/path/to/mysqld.sock";

/// An address to connect to.
pub(super) fn upstream(text: &Text) -> Result<Address, Problem> {
    let refuse = |why| Problem::Address {
        value: text.to_string(),
        why,
        example: EXAMPLE,
    };
    if let Some(path) = text.value.strip_prefix("unix:") {
        return match path.is_empty() {
            true => Err(refuse("the path is missing")),
            false => Ok(Address::Unix(path.into())),
        };
    }
    let tcp = host_port(&text.value).map_err(refuse)?;
    match tcp.port {
        0 => Err(refuse("nothing can be reached at port 0")),
        _ => Ok(Address::Tcp(tcp)),
    }
}

/// One of several addresses to connect to: each is another host's, or another port of this one.
pub(super) fn one_of_several(text: &Text) -> Result<Address, Problem> {
    match upstream(text)? {
        Address::Unix(_) => Err(Problem::Address {
            value: text.to_string(),
            why: "several servers are reached over TCP",
            example: TCP_UPSTREAM,
        }),
        tcp @ Address::Tcp(_) => Ok(tcp),
    }
}

/// Several addresses to connect to.
pub(super) fn several(addresses: Vec<Address>) -> Result<Upstreams, Problem> {
    let mut addresses = addresses.into_iter();
    let first = addresses.next().ok_or(Problem::Empty {
        remedy: "name the servers, as in upstreams: [db1:3306, db2:3306]",
    })?;
    let others: Vec<_> = addresses.collect();
    let mut before = Vec::with_capacity(others.len());
    before.push(&first);
    for other in &others {
        if before.contains(&other) {
            return Err(Problem::Address {
                value: format!("`{other}`"),
                why: "it stands there twice",
                example: TCP_UPSTREAM,
            });
        }
        before.push(other);
    }
    Ok(Upstreams { first, others })
}

/// Addresses for clients to connect to.
pub(super) fn listen(text: &Text) -> Result<Listen, Problem> {
    let mut addresses = Vec::new();
    for written in text.value.split(',').map(str::trim) {
        let refuse = |why| Problem::Address {
            value: text.to_string(),
            why,
            example: LISTEN_EXAMPLE,
        };
        let address = match written.strip_prefix("unix:") {
            Some("") => return Err(refuse("the path is missing")),
            Some(path) if path.len() > LONGEST_PATH => {
                return Err(refuse("the path has more than 96 bytes"));
            }
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp(host_port(written).map_err(refuse)?),
        };
        if addresses.contains(&address) {
            return Err(refuse("an address stands there twice"));
        }
        addresses.push(address);
    }
    Ok(Listen(addresses))
}

/// An address of a port for operators.
pub(super) fn port(text: &Text) -> Result<HostPort, Problem> {
    host_port(&text.value).map_err(|why| Problem::Address {
        value: text.to_string(),
        why,
        example: TCP_EXAMPLE,
    })
}

impl HostPort {
    /// Parses an address to listen on, as `demo --listen` gives it.
    ///
    /// # Errors
    ///
    /// What is wrong with it and what would be right.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        port(&Text::plain(text))
    }
}

/// Splits `host:port`; the error says what is wrong.
fn host_port(text: &str) -> Result<HostPort, &'static str> {
    if text.contains("://") {
        return Err("it is a URL");
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once("]:").ok_or("the port is missing")?;
            let _: std::net::Ipv6Addr = host
                .parse()
                .map_err(|_| "what stands in brackets is not an IPv6 address")?;
            (host, port)
        }
        None => {
            let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
            if host.contains(':') {
                return Err("an IPv6 address needs brackets");
            }
            (host, port)
        }
    };
    let unusual = |c: char| !(c.is_alphanumeric() || "-._:%".contains(c));
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(unusual) {
        return Err("the host has a character that no host has");
    }
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits => Ok(HostPort {
            host: host.to_owned(),
            port,
        }),
        _ => Err("the port is not a number from 0 to 65535"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        upstream(&Text::plain(text))
            .map(|address| address.to_string())
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn addresses_that_are_right_print_as_they_were_written() {
        for text in [
            "127.0.0.1:3306",
            "db-1.shop_internal:3306",
            "[::1]:3306",
            "[fe80::1]:1",
            "unix:/run/mysqld/mysqld.sock",
        ] {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn addresses_that_are_wrong_say_why() {
        for (text, why) in [
            ("127.0.0.1", "the port is missing"),
            ("[::1]", "the port is missing"),
            ("::1:3306", "an IPv6 address needs brackets"),
            (
                "[shop]:3306",
                "what stands in brackets is not an IPv6 address",
            ),
            (":3306", "the host is missing"),
            ("db:", "the port is not a number from 0 to 65535"),
            ("db:+1", "the port is not a number from 0 to 65535"),
            ("db:65536", "the port is not a number from 0 to 65535"),
            ("db:0", "nothing can be reached at port 0"),
            ("a b:1", "the host has a character that no host has"),
            ("mysql://db:3306", "it is a URL"),
            ("unix:", "the path is missing"),
        ] {
            assert_eq!(
                shown(text).unwrap_err(),
                format!("`{text}` is not an address: {why}; write {EXAMPLE}")
            );
        }
    }

    #[test]
    fn several_addresses_may_be_listened_on() {
        let parsed = |text: &str| Listen::parse(text).map(|listen| listen.to_string());
        let several = "127.0.0.1:6033, [::1]:0, unix:/run/countersink/mysqld.sock";
        assert_eq!(parsed(several).unwrap(), several);
        assert_eq!(parsed("a:1,b:2").unwrap(), "a:1, b:2");
        let long = format!("unix:/{}", "a".repeat(LONGEST_PATH));
        for (text, why) in [
            ("6033", "the port is missing"),
            ("a:1, 6033", "the port is missing"),
            ("a:1,", "the port is missing"),
            ("unix:", "the path is missing"),
            (&*long, "the path has more than 96 bytes"),
            ("a:1, a:1", "an address stands there twice"),
        ] {
            assert_eq!(
                parsed(text).unwrap_err().to_string(),
                format!("`{text}` is not an address: {why}; write {LISTEN_EXAMPLE}")
            );
        }
    }

    #[test]
    fn port_0_may_be_listened_on() {
        assert_eq!(HostPort::parse("127.0.0.1:0").unwrap().port, 0);
    }
}

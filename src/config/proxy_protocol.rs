//! The PROXY protocol: who may say where clients have connected from, and whether the server is told.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::check::Text;
use super::error::Problem;

/// What is done with its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// Where balancers connect from that send a header for each client.
    pub from: Vec<IpNet>,
    /// The server behind the proxy is sent one.
    pub send: bool,
}

impl ProxyProtocol {
    /// Whether connections from this address begin with a header.
    pub fn is_expected_from(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.from.iter().any(|network| network.contains(&address))
    }
}

/// A network, or one address.
pub(super) fn network(text: &Text) -> Result<IpNet, Problem> {
    let address = || IpAddr::from_str(&text.value).map(IpNet::from);
    IpNet::from_str(&text.value)
        .or_else(|_| address())
        .map_err(|_| Problem::Network {
            value: text.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_addresses_are_trusted_and_no_others() {
        let from = ["10.0.0.0/8", "192.168.0.7", "2001:db8::/32"];
        let from = from.map(|text| network(&Text::plain(text)).unwrap());
        let trusted = ProxyProtocol {
            from: from.to_vec(),
            send: false,
        };
        let expected = |address: &str| trusted.is_expected_from(address.parse().unwrap());
        for address in ["10.1.2.3", "::ffff:10.1.2.3", "192.168.0.7", "2001:db8::1"] {
            assert!(expected(address), "{address}");
        }
        for address in ["11.0.0.1", "192.168.0.8", "2001:db9::1", "::1"] {
            assert!(!expected(address), "{address}");
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0"] {
            assert!(network(&Text::plain(text)).is_err(), "{text}");
        }
    }
}

//! The rules of the demo's proxy, as rules.yaml would have them.

use crate::config::{Address, HostPort};

/// No TLS, which the clients of the comparison do not speak on the direct way either.
pub(super) fn rules(listen: &HostPort, upstream: &Address) -> String {
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
    use crate::config::Config;

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

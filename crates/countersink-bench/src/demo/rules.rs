//! The rules of the demo's proxy.

use std::net::SocketAddr;

/// As rules.yaml would have them.
///
/// No TLS, which the clients of the comparison do not speak on the direct way either.
pub fn rules(listen: &str, upstream: SocketAddr) -> String {
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

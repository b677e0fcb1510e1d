//! The rules of the demo's proxy.

use std::net::SocketAddr;

/// The text of rules.yaml.
///
/// Without TLS, which the demo's clients do not use when they connect directly either.
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

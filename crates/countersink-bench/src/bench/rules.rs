//! The rules of the benchmark's proxy.

use super::tables::PROXIED;

/// As rules.yaml has them, with variables for what [`Proxy::start`](crate::lent::Proxy::start) is told.
///
/// No TLS, which the clients of the comparison do not speak on the direct way either.
pub fn rules(schema: &str, slots: u16) -> String {
    // By way of variables, for names and passwords may have any character in them.
    format!(
        r#"
listen: 127.0.0.1:0
upstream: "${{UPSTREAM}}"
control: {{ user: "${{USER}}", password: "${{PASSWORD}}" }}
tls: {{ client: disabled }}
upstream_tls: {{ mode: disabled }}
counters:
  - table: {schema}.{PROXIED}
    columns: [views]
    slots: {slots}
"#
    )
}

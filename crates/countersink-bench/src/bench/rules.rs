//! The rules of the benchmark's proxy.

use super::tables::PROXIED;
use super::work::Work;

/// The text of rules.yaml, with variables for the values that [`Proxy::start`](crate::lent::Proxy::start) gets.
///
/// Without TLS, which the benchmark's clients do not use when they connect directly either.
pub fn rules(schema: &str, slots: u16) -> String {
    let counters = Work::COUNTERS;
    // Through variables, because names and passwords may contain any character.
    format!(
        r#"
listen: 127.0.0.1:0
upstream: "${{UPSTREAM}}"
control: {{ user: "${{USER}}", password: "${{PASSWORD}}" }}
tls: {{ client: disabled }}
upstream_tls: {{ mode: disabled }}
counters:
  - table: {schema}.{PROXIED}
    columns: [{counters}]
    slots: {slots}
"#
    )
}

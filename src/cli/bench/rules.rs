//! The rules of the benchmark's proxy.

use super::tables::PROXIED;
use crate::cli::target::Target;
use crate::config::{Config, Error};

/// No TLS, which the clients of the comparison do not speak on the direct way either.
pub(super) fn rules(target: &Target, schema: &str, slots: u16) -> Result<Config, Error> {
    // By way of variables, for names and passwords may have any character in them.
    let text = format!(
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
    );
    Config::from_str(&text, &|name| match name {
        "UPSTREAM" => Some(target.upstream.to_string()),
        "USER" => Some(target.user.clone()),
        "PASSWORD" => Some(target.password.reveal().to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, Secret};

    #[test]
    fn any_name_and_password_will_do() {
        for address in ["[::1]:3306", "unix:/run/my sql/a.sock"] {
            let target = Target {
                upstream: Address::parse(address).expect("an address"),
                user: "o'brien: \"x\"".to_owned(),
                password: Secret::new("${USER} $$ # '\"\\ {".to_owned()),
            };
            let config = rules(&target, "countersink_bench", 8).expect("rules");
            assert_eq!(config.upstream, target.upstream);
            assert_eq!(config.control.user, target.user);
            assert_eq!(config.control.password, target.password);
            assert_eq!(config.rules[0].slots, 8);
        }
    }
}

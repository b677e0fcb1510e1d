//! SHOW CONFIG: what rules.yaml says outside the rules, without its secrets. SHOW UPSTREAMS: the servers that it names.

use std::path::Path;
use std::time::Duration;

use super::super::handles::Desk;
use super::super::table::{Value, integer, text};
use super::Report;
use crate::config::{CertificateFiles, ClientTls, Config, UpstreamTls};

pub(super) const CONFIG: Report = Report {
    name: "CONFIG",
    about: "the settings outside the rules",
    columns: &[
        text("name", "the setting, as rules.yaml names it"),
        text(
            "value",
            "its value, given or by default; NULL when it is off. Passwords are not shown",
        ),
    ],
    rows: |desk: &Desk| {
        let settings = settings(&desk.config()).into_iter();
        settings
            .map(|(name, value)| vec![name.into(), value])
            .collect()
    },
};

pub(super) const UPSTREAMS: Report = Report {
    name: "UPSTREAMS",
    about: "the server behind the proxy, or the several of which it follows the primary",
    columns: &[
        text("address", "where it is, as rules.yaml names it"),
        integer("is_used", "1 for the server that clients are connected to"),
        text(
            "state",
            "what was found there a moment ago: `takes writes`, `is read-only`, or why it is no primary; NULL where there is one \
             server only, which is not looked at",
        ),
    ],
    rows: |desk: &Desk| {
        let route = desk.control.route();
        let (used, seen) = (route.address(), route.seen());
        let upstreams = &desk.control.config().upstream;
        let rows = upstreams.addresses().map(|address| {
            let state = seen.iter().find(|(seen, _)| seen == address);
            vec![
                address.to_string().into(),
                Value::truth(*address == *used),
                state.map(|(_, state)| state.as_str()).into(),
            ]
        });
        rows.collect()
    },
};

/// Each setting; the compiler reports a missing one.
fn settings(config: &Config) -> Vec<(&'static str, Value)> {
    let Config {
        listen,
        upstream,
        single_writer,
        admin,
        http,
        control,
        tls,
        upstream_tls,
        upstream_certificate,
        upstream_public_key,
        upstream_compression,
        sentinel,
        proxy_protocol,
        slot_table,
        handshake_timeout,
        drain_timeout,
        connections,
        memory,
        bypass,
        rules: _,
    } = config;
    let networks = proxy_protocol.from.iter();
    let networks: Vec<_> = networks.map(ToString::to_string).collect();
    let limit = |limit: Option<usize>| limit.map(|limit| limit.to_string()).into();
    let [certificate, key] = paths(tls.as_ref().and_then(|tls| tls.certificate.as_ref()));
    let [own_certificate, own_key] = paths(upstream_certificate.as_ref());
    let clients = tls.as_ref().and_then(|tls| tls.clients.as_ref());
    let client_tls = match tls {
        None => "disabled",
        Some(ClientTls {
            is_required: false, ..
        }) => "enabled",
        Some(ClientTls {
            is_required: true, ..
        }) => "required",
    };
    let client_certificate = clients.map(|clients| match clients.is_required {
        false => "optional",
        true => "required",
    });
    let mode = match upstream_tls {
        UpstreamTls::Disabled => "disabled",
        UpstreamTls::Preferred => "preferred",
        UpstreamTls::AsClient(_) => "as_client",
        UpstreamTls::Required(_) => "required",
    };
    let verify = upstream_tls.verify();
    let verify_host = verify.is_some_and(|verify| verify.host);
    vec![
        ("listen", listen.to_string().into()),
        ("upstream", upstream.to_string().into()),
        ("single_writer", single_writer.to_string().into()),
        (
            "admin",
            admin.as_ref().map(|admin| admin.address.to_string()).into(),
        ),
        (
            "admin_account.user",
            admin.as_ref().map(|admin| admin.user.as_str()).into(),
        ),
        ("http", http.as_ref().map(ToString::to_string).into()),
        ("control.user", control.user.as_str().into()),
        ("tls.client", client_tls.into()),
        ("tls.certificate", certificate.into()),
        ("tls.key", key.into()),
        ("tls.ca", clients.map(|clients| path(&clients.ca)).into()),
        (
            "tls.crl",
            clients
                .and_then(|clients| clients.crl.as_deref())
                .map(path)
                .into(),
        ),
        ("tls.client_certificate", client_certificate.into()),
        ("upstream_tls.mode", mode.into()),
        (
            "upstream_tls.ca",
            verify.map(|verify| path(&verify.ca)).into(),
        ),
        ("upstream_tls.verify_host", verify_host.to_string().into()),
        ("upstream_tls.certificate", own_certificate.into()),
        ("upstream_tls.key", own_key.into()),
        (
            "upstream_tls.public_key",
            upstream_public_key.as_deref().map(path).into(),
        ),
        ("upstream_compression", upstream_compression.name().into()),
        (
            "sentinel.server_id",
            sentinel.map(|id| id.to_string()).into(),
        ),
        ("proxy_protocol.from", networks.join(",").into()),
        (
            "proxy_protocol.send",
            proxy_protocol.send.to_string().into(),
        ),
        ("slot_table", slot_table.to_string().into()),
        ("handshake_timeout", duration(*handshake_timeout)),
        ("drain_timeout", duration(*drain_timeout)),
        (
            "idle_timeout",
            connections.idle_timeout.map_or(Value::Null, duration),
        ),
        ("max_connections", connections.most.to_string().into()),
        ("max_user_connections", limit(connections.most_of_user)),
        (
            "max_address_connections",
            limit(connections.most_of_address),
        ),
        ("max_logins", connections.most_logins.to_string().into()),
        (
            "reserved_connections.connections",
            connections.reserved.places.to_string().into(),
        ),
        (
            "reserved_connections.users",
            connections.reserved.users.join(",").into(),
        ),
        ("memory.statement", size(memory.statement)),
        (
            "memory.prepared_statements",
            size(memory.prepared_statements),
        ),
        ("memory.prepared_queries", size(memory.prepared_queries)),
        ("memory.plan_cache", size(memory.plan_cache)),
        ("bypass.users", bypass.users.join(",").into()),
        ("bypass.programs", bypass.programs.join(",").into()),
    ]
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Of a certificate and of its key.
fn paths(files: Option<&CertificateFiles>) -> [Option<String>; 2] {
    let Some(CertificateFiles { certificate, key }) = files else {
        return [None, None];
    };
    [certificate, key].map(|file| Some(path(file)))
}

/// As rules.yaml writes it.
fn duration(duration: Duration) -> Value {
    match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()).into(),
        _ => format!("{}ms", duration.as_millis()).into(),
    }
}

/// As rules.yaml writes it.
fn size(bytes: u64) -> Value {
    let kib = bytes / 1024;
    match kib % 1024 {
        0 => format!("{}MiB", kib / 1024).into(),
        _ => format!("{kib}KiB").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_shown_and_passwords_are_not() {
        let config = Config::from_str(
            "upstream: db:3306\nadmin: 127.0.0.1:6032\nadmin_account: {password: hunter2}\n\
             control: {password: hunter3}\nhandshake_timeout: 1500ms\n\
             counters:\n- {table: shop.posts, columns: [views]}\n",
            &|_| None,
        )
        .expect("a config");
        let settings = settings(&config);
        let value = |name: &str| {
            let found = settings.iter().find(|(other, _)| *other == name);
            found.and_then(|(_, value)| value.shown())
        };
        assert_eq!(value("admin").as_deref(), Some("127.0.0.1:6032"));
        assert_eq!(value("admin_account.user").as_deref(), Some("admin"));
        assert_eq!(value("slot_table").as_deref(), Some("{table}_slots"));
        assert_eq!(value("handshake_timeout").as_deref(), Some("1500ms"));
        assert_eq!(value("http"), None);
        assert!(!format!("{settings:?}{config:?}").contains("hunter"));
    }
}

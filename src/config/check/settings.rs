//! The settings outside the rules.

use std::time::Duration;

use super::{Check, Text, rules};
use crate::config::environment::Environment;
use crate::config::error::{Error, Problem};
use crate::config::limits::{Range, duration, number};
use crate::config::raw::{RawAccount, RawBypass, RawConfig, RawProxyProtocol, RawSentinel, Scalar};
use crate::config::{
    Account, Bypass, Config, HostPort, ProxyProtocol, Secret, Upstreams, address, compression,
    names, proxy_protocol,
};

/// Tools that copy or alter tables row by row, and followers of the binary log: they must see base as it is.
const BYPASS_PROGRAMS: [&str; 16] = [
    "mysqldump",
    "mariadb-dump",
    "mysqlpump",
    "mydumper",
    "myloader",
    "gh-ost",
    "pt-online-schema-change",
    "pt-table-checksum",
    "pt-table-sync",
    "pt-archiver",
    "mysqlbinlog",
    "mariadb-binlog",
    "xtrabackup",
    "mariabackup",
    "debezium",
    "maxwell",
];

const TIMEOUT: Range = Range {
    low: (Duration::from_millis(100), "100ms"),
    high: (Duration::from_secs(600), "10m"),
};

const DRAIN: Range = Range {
    low: (Duration::ZERO, "0s"),
    high: (Duration::from_secs(3600), "1h"),
};

/// Yes or no.
pub(super) fn truth(text: &Text) -> Result<bool, Problem> {
    match text.value.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "true or false",
        }),
    }
}

/// Checks everything.
pub(in crate::config) fn config(
    mut raw: RawConfig,
    environment: Environment<'_>,
) -> Result<Config, Error> {
    let check = Check {
        environment,
        rule: None,
    };
    let connections = check.connections(&mut raw)?;
    let upstream = check.upstreams(raw.upstream, raw.upstreams)?;
    let slot_table = check
        .field("slot_table", raw.slot_table, names::pattern)?
        .unwrap_or_default();
    let mut upstream_tls = raw.upstream_tls.unwrap_or_default();
    let public_key = upstream_tls.public_key.take();
    let (upstream_tls, upstream_certificate) = check.upstream_tls(upstream_tls, &upstream)?;
    Ok(Config {
        listen: check
            .field("listen", raw.listen, address::listen)?
            .unwrap_or_else(|| {
                let host = "127.0.0.1".to_owned();
                HostPort { host, port: 6033 }.into()
            }),
        single_writer: check
            .field("single_writer", raw.single_writer, truth)?
            .unwrap_or_default(),
        admin: check.admin(raw.admin, raw.admin_account)?,
        http: check.field("http", raw.http, address::port)?,
        control: check.account(raw.control.unwrap_or_default())?,
        tls: check.client_tls(raw.tls.unwrap_or_default())?,
        upstream_public_key: check.path("upstream_tls.public_key", public_key)?,
        upstream_certificate,
        upstream_tls,
        upstream_compression: check
            .field(
                "upstream_compression",
                raw.upstream_compression,
                compression::upstream_compression,
            )?
            .unwrap_or_default(),
        sentinel: check.sentinel(raw.sentinel)?,
        proxy_protocol: check.proxy_protocol(raw.proxy_protocol.unwrap_or_default())?,
        handshake_timeout: check
            .field("handshake_timeout", raw.handshake_timeout, |text| {
                duration(text, &TIMEOUT)
            })?
            .unwrap_or(Duration::from_secs(10)),
        drain_timeout: check
            .field("drain_timeout", raw.drain_timeout, |text| {
                duration(text, &DRAIN)
            })?
            .unwrap_or(Duration::from_secs(10)),
        connections,
        memory: check.memory(raw.memory.unwrap_or_default())?,
        bypass: check.bypass(raw.bypass.unwrap_or_default())?,
        rules: rules::rules(raw.counters, environment, &slot_table)?,
        upstream,
        slot_table,
    })
}

impl Check<'_> {
    fn upstreams(
        &self,
        one: Option<Scalar>,
        several: Option<Vec<Scalar>>,
    ) -> Result<Upstreams, Error> {
        let Some(several) = several else {
            let one = self.field("upstream", one, address::upstream)?;
            return one.map(Upstreams::from).ok_or_else(|| {
                self.missing(
                    "upstream",
                    "name the MySQL server, as in upstream: 127.0.0.1:3306",
                )
            });
        };
        let line = several.first().map_or(0, |first| first.referenced.line());
        let refuse = |problem| self.error("upstreams", line, problem);
        if one.is_some() {
            return Err(refuse(Problem::Together(
                "stands beside upstream; name one server by upstream, or several by upstreams",
            )));
        }
        let mut addresses = Vec::with_capacity(several.len());
        for written in several {
            addresses.extend(self.field("upstreams", Some(written), address::one_of_several)?);
        }
        address::several(addresses).map_err(refuse)
    }

    fn sentinel(&self, raw: Option<RawSentinel>) -> Result<Option<u32>, Error> {
        let Some(raw) = raw else { return Ok(None) };
        let remedy = "choose one that no replica of this server has, and no other proxy";
        let id = self.field("sentinel.server_id", raw.server_id, |text| {
            number(text, (1, u32::MAX), remedy)
        })?;
        let missing = || {
            self.missing(
                "sentinel.server_id",
                "choose one that no replica of this server has, as in sentinel: {server_id: 6033}",
            )
        };
        id.map(Some).ok_or_else(missing)
    }

    fn proxy_protocol(&self, raw: RawProxyProtocol) -> Result<ProxyProtocol, Error> {
        let mut from = Vec::new();
        for written in raw.from.into_iter().flatten() {
            let network = proxy_protocol::network;
            from.extend(self.field("proxy_protocol.from", Some(written), network)?);
        }
        let send = self.field("proxy_protocol.send", raw.send, truth)?;
        Ok(ProxyProtocol {
            from,
            send: send.unwrap_or_default(),
        })
    }

    fn account(&self, raw: RawAccount) -> Result<Account, Error> {
        let user = self.field("control.user", raw.user, |text| {
            match text.value.is_empty() {
                true => Err(Problem::Empty {
                    remedy: "name the proxy's own account, or leave user out for countersink",
                }),
                false => Ok(text.value.clone()),
            }
        })?;
        Ok(Account {
            user: user.unwrap_or_else(|| "countersink".to_owned()),
            password: Secret::new(
                self.text("control.password", raw.password)?
                    .unwrap_or_default(),
            ),
        })
    }

    fn bypass(&self, raw: RawBypass) -> Result<Bypass, Error> {
        Ok(Bypass {
            users: self.texts("bypass.users", raw.users)?.unwrap_or_default(),
            programs: self
                .texts("bypass.programs", raw.programs)?
                .unwrap_or_else(|| BYPASS_PROGRAMS.map(str::to_owned).to_vec()),
        })
    }
}

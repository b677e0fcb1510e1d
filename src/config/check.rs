//! From what is written to what is meant.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::environment::{Environment, substitute};
use super::error::{Error, Place, Problem};
use super::limits::{Range, duration, number};
use super::raw::{RawAccount, RawBypass, RawClientTls, RawConfig, RawRule, RawUpstreamTls, Scalar};
use super::{
    Account, Address, Bypass, ClientTls, Config, HostPort, Mode, Rule, Secret, SlotTable,
    TableName, UpstreamTls, address, names,
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
const ROLLUP: Range = Range {
    low: (Duration::from_millis(10), "10ms"),
    high: (Duration::from_secs(86_400), "24h"),
};

/// A scalar: what it means, and how the file writes it.
///
/// Errors show the written form: a value from the environment may be a password in the wrong place.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) value: String,
    written: String,
}

impl Text {
    pub(super) fn plain(text: &str) -> Self {
        Self {
            value: text.to_owned(),
            written: text.to_owned(),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.written)
    }
}

/// Checks everything.
pub(super) fn config(raw: RawConfig, environment: Environment<'_>) -> Result<Config, Error> {
    let check = Check {
        environment,
        rule: None,
    };
    let host_port = |field, scalar: Option<Scalar>| check.field(field, scalar, address::listen);
    let upstream = check
        .field("upstream", raw.upstream, address::upstream)?
        .ok_or_else(|| {
            check.missing(
                "upstream",
                "name the MySQL server, as in upstream: 127.0.0.1:3306",
            )
        })?;
    let slot_table = check
        .field("slot_table", raw.slot_table, names::pattern)?
        .unwrap_or_default();
    let most = |text: &Text| number(text, (1, 1_000_000), "the default is 10000");
    Ok(Config {
        listen: host_port("listen", raw.listen)?.unwrap_or_else(|| HostPort {
            host: "127.0.0.1".to_owned(),
            port: 6033,
        }),
        admin: host_port("admin", raw.admin)?,
        control: check.account(raw.control.unwrap_or_default())?,
        tls: check.client_tls(raw.tls.unwrap_or_default())?,
        upstream_tls: check.upstream_tls(raw.upstream_tls.unwrap_or_default(), &upstream)?,
        handshake_timeout: check
            .field("handshake_timeout", raw.handshake_timeout, |text| {
                duration(text, &TIMEOUT)
            })?
            .unwrap_or(Duration::from_secs(10)),
        max_connections: check
            .field("max_connections", raw.max_connections, most)?
            .unwrap_or(10_000) as usize,
        bypass: check.bypass(raw.bypass.unwrap_or_default())?,
        rules: rules(raw.counters, environment, &slot_table)?,
        upstream,
        slot_table,
    })
}

/// All rules, then what must hold between them.
fn rules(
    raw: Option<Vec<Spanned<RawRule>>>,
    environment: Environment<'_>,
    pattern: &SlotTable,
) -> Result<Vec<Rule>, Error> {
    let nowhere = Check {
        environment,
        rule: None,
    };
    let remedy = "list at least one table with its columns";
    let raw = raw.ok_or_else(|| nowhere.missing("counters", remedy))?;
    if raw.is_empty() {
        return Err(nowhere.error("counters", 0, Problem::Empty { remedy }));
    }
    let rules: Vec<Rule> = raw
        .into_iter()
        .enumerate()
        .map(|(index, raw)| rule(index, raw, environment, pattern))
        .collect::<Result<_, _>>()?;
    apart(&rules)?;
    Ok(rules)
}

/// No table twice, and no slot table that is something else already.
fn apart(rules: &[Rule]) -> Result<(), Error> {
    let mut hot: HashMap<&TableName, usize> = HashMap::new();
    for rule in rules {
        if let Some(first) = hot.insert(&rule.table, rule.index) {
            return Err(Error {
                place: Box::new(rule.place("table")),
                problem: Problem::DuplicateRule { first },
            });
        }
    }
    let mut slots: HashMap<&TableName, usize> = HashMap::new();
    for rule in rules {
        let other = match (
            hot.get(&rule.slot_table),
            slots.insert(&rule.slot_table, rule.index),
        ) {
            (Some(index), _) => format!("the hot table of counters[{index}]"),
            (None, Some(index)) => format!("the slot table of counters[{index}]"),
            (None, None) => continue,
        };
        return Err(Error {
            place: Box::new(rule.place("slot_table")),
            problem: Problem::SlotTableTaken {
                name: rule.slot_table.to_string(),
                other,
            },
        });
    }
    Ok(())
}

fn rule(
    index: usize,
    raw: Spanned<RawRule>,
    environment: Environment<'_>,
    pattern: &SlotTable,
) -> Result<Rule, Error> {
    let line = raw.referenced.line();
    let raw = raw.value;
    let mut check = Check {
        environment,
        rule: Some((index, String::new(), line)),
    };
    let table = check
        .field("table", raw.table, names::table)?
        .ok_or_else(|| check.missing("table", "name the hot table, as in table: shop.posts"))?;
    check.rule = Some((index, table.to_string(), line));
    let remedy = "name the counter columns, as in columns: [views, likes]";
    let columns = check
        .columns("columns", raw.columns)?
        .ok_or_else(|| check.missing("columns", remedy))?;
    if columns.is_empty() {
        return Err(check.error("columns", line, Problem::Empty { remedy }));
    }
    let touch = check.columns("touch", raw.touch)?.unwrap_or_default();
    if let Some(both) = touch.iter().find(|name| contains(&columns, name)) {
        let value = format!("`{both}`");
        return Err(check.error("touch", line, Problem::TouchIsCounter { value }));
    }
    let own = check.field("slot_table", raw.slot_table, names::slot_table)?;
    let slot_table = own
        .as_ref()
        .unwrap_or(pattern)
        .of(&table)
        .map_err(|problem| check.error("slot_table", line, problem))?;
    let slots = |text: &Text| number(text, (0, 256), "the default, 64, suits most");
    Ok(Rule {
        index,
        line,
        slot_table,
        columns,
        touch,
        // 0..=256 by the check just made.
        slots: check.field("slots", raw.slots, slots)?.unwrap_or(64) as u16,
        mode: check.field("mode", raw.mode, mode)?.unwrap_or_default(),
        rollup: check
            .field("rollup", raw.rollup, |text| duration(text, &ROLLUP))?
            .unwrap_or(Duration::from_secs(1)),
        table,
    })
}

fn contains(names: &[String], name: &str) -> bool {
    let name = name.to_lowercase();
    names.iter().any(|other| other.to_lowercase() == name)
}

fn mode(text: &Text) -> Result<Mode, Problem> {
    match text.value.as_str() {
        "off" => Ok(Mode::Off),
        "observe" => Ok(Mode::Observe),
        "enforce" => Ok(Mode::Enforce),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "off, observe or enforce",
        }),
    }
}

/// Gives each value its place, for errors.
struct Check<'a> {
    environment: Environment<'a>,
    /// Position, table and line of the rule that is being checked.
    rule: Option<(usize, String, u64)>,
}

impl Check<'_> {
    fn error(&self, field: &str, line: u64, problem: Problem) -> Error {
        Error {
            place: Box::new(Place {
                rule: self
                    .rule
                    .as_ref()
                    .map(|(index, table, _)| (*index, table.clone())),
                field: Some(field.to_owned()),
                line,
            }),
            problem,
        }
    }

    fn missing(&self, field: &str, remedy: &'static str) -> Error {
        let line = self.rule.as_ref().map_or(0, |(_, _, line)| *line);
        self.error(field, line, Problem::Missing { remedy })
    }

    /// One value: variables put in, then parsed.
    fn field<T>(
        &self,
        field: &str,
        scalar: Option<Scalar>,
        parse: impl FnOnce(&Text) -> Result<T, Problem>,
    ) -> Result<Option<T>, Error> {
        let Some(scalar) = scalar else {
            return Ok(None);
        };
        let line = scalar.referenced.line();
        substitute(&scalar.value, self.environment)
            .map(|value| Text {
                value,
                written: scalar.value,
            })
            .and_then(|text| parse(&text))
            .map(Some)
            .map_err(|problem| self.error(field, line, problem))
    }

    fn text(&self, field: &str, scalar: Option<Scalar>) -> Result<Option<String>, Error> {
        self.field(field, scalar, |text| Ok(text.value.clone()))
    }

    fn path(
        &self,
        field: &str,
        scalar: Option<Scalar>,
    ) -> Result<Option<std::path::PathBuf>, Error> {
        self.field(field, scalar, |text| match text.value.is_empty() {
            true => Err(Problem::Empty {
                remedy: "name a PEM file",
            }),
            false => Ok(text.value.clone().into()),
        })
    }

    fn columns(
        &self,
        field: &str,
        list: Option<Vec<Scalar>>,
    ) -> Result<Option<Vec<String>>, Error> {
        let Some(list) = list else {
            return Ok(None);
        };
        let mut columns: Vec<String> = Vec::with_capacity(list.len());
        for scalar in list {
            let column = self.field(field, Some(scalar), |text| {
                let column = names::column(text)?;
                match contains(&columns, &column) {
                    true => Err(Problem::DuplicateColumn {
                        value: text.to_string(),
                    }),
                    false => Ok(column),
                }
            })?;
            columns.extend(column);
        }
        Ok(Some(columns))
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

    fn client_tls(&self, raw: RawClientTls) -> Result<ClientTls, Error> {
        let client = self.field("tls.client", raw.client, |text| match text.value.as_str() {
            "disabled" => Ok(false),
            "enabled" => Ok(true),
            _ => Err(Problem::Choice {
                value: text.to_string(),
                choices: "disabled, or leave it out",
            }),
        })?;
        let certificate = self.path("tls.certificate", raw.certificate)?;
        let key = self.path("tls.key", raw.key)?;
        let together = |field, text| Err(self.error(field, 0, Problem::Together(text)));
        match (client != Some(false), certificate, key) {
            (true, Some(certificate), Some(key)) => Ok(ClientTls::Files { certificate, key }),
            (true, None, None) => Ok(ClientTls::SelfSigned),
            (true, Some(_), None) => together("tls.key", "is missing; a certificate needs its key"),
            (true, None, Some(_)) => {
                together("tls.certificate", "is missing; a key needs its certificate")
            }
            (false, None, None) => Ok(ClientTls::Disabled),
            (false, _, _) => together(
                "tls.client",
                "is disabled, but there is a certificate or a key; delete the one or the other",
            ),
        }
    }

    fn upstream_tls(&self, raw: RawUpstreamTls, upstream: &Address) -> Result<UpstreamTls, Error> {
        let ca = self.path("upstream_tls.ca", raw.ca)?;
        let mode = self.field("upstream_tls.mode", raw.mode, |text| {
            match (text.value.as_str(), upstream) {
                ("disabled", _) => Ok(Some(UpstreamTls::Disabled)),
                ("preferred", _) => Ok(Some(UpstreamTls::Preferred)),
                ("required", Address::Tcp(_)) => Ok(None),
                ("required", Address::Unix(_)) => Err(Problem::Together(
                    "TLS over a unix socket protects nothing; leave upstream_tls out",
                )),
                _ => Err(Problem::Choice {
                    value: text.to_string(),
                    choices: "disabled, preferred or required",
                }),
            }
        })?;
        let together = |text| Err(self.error("upstream_tls.ca", 0, Problem::Together(text)));
        match (mode.unwrap_or(Some(UpstreamTls::Preferred)), ca) {
            (Some(mode), None) => Ok(mode),
            (Some(_), Some(_)) => {
                together("certificates are only verified in mode required; write mode: required")
            }
            (None, Some(ca)) => Ok(UpstreamTls::Required { ca }),
            (None, None) => together("is missing; name the PEM file that verifies the server"),
        }
    }

    fn bypass(&self, raw: RawBypass) -> Result<Bypass, Error> {
        let list = |field, list: Option<Vec<Scalar>>| {
            list.map(|list| {
                list.into_iter()
                    .map(|scalar| self.text(field, Some(scalar)))
                    .filter_map(Result::transpose)
                    .collect::<Result<Vec<String>, Error>>()
            })
            .transpose()
        };
        Ok(Bypass {
            users: list("bypass.users", raw.users)?.unwrap_or_default(),
            programs: list("bypass.programs", raw.programs)?
                .unwrap_or_else(|| BYPASS_PROGRAMS.map(str::to_owned).to_vec()),
        })
    }
}

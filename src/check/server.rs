//! Findings about the server itself.

use super::code::Code;
use super::evidence::{Clock, Evidence};
use super::finding::Finding;
use super::{cluster, has_skip_locked, problem};
use crate::catalog::{grants, version};
use crate::config::Config;
use crate::counter::cluster::Cluster;
use crate::counter::grants::for_sentinel;

/// So far the clocks may be apart, in seconds.
const CLOCKS_APART: f64 = 1.0;

/// What of a server's schema shows views, triggers and events.
const TO_SEE_PROGRAMS: &[&str] = &["SELECT", "SHOW VIEW", "TRIGGER", "EVENT"];

pub(super) fn findings(config: &Config, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let examination = &evidence.examination;
    let problems = examination.problem.iter();
    let problems = problems.chain(&examination.logins);
    findings.extend(problems.map(problem::of_server));
    if evidence.examination.catalog.tables.is_empty() {
        return findings; // Without slots, nothing below matters.
    }
    findings.extend(read_only(evidence));
    findings.extend(skip_locked(evidence));
    findings.extend(binlog(evidence));
    findings.extend(cluster::finding(config, evidence));
    findings.extend(cluster::lacking(config, evidence));
    findings.extend(own_certificate(config, evidence));
    findings.extend(sentinel(config, evidence));
    findings.extend(clock(evidence));
    findings.extend(unseen_programs(evidence));
    if evidence.accounts.is_none() {
        findings.push(unseen_accounts(config, evidence));
    }
    findings
}

fn read_only(evidence: &Evidence) -> Option<Finding> {
    let reason = "the server has read_only on, as replicas do: reads are exact there, but nothing can be incremented";
    let finding = Finding::new(Code::ReadOnly, None, reason);
    let advice = "for writes, name the primary server as upstream, or open this one for them (SET GLOBAL read_only = OFF)";
    evidence.read_only.then(|| finding.advice(advice))
}

fn skip_locked(evidence: &Evidence) -> Option<Finding> {
    let server = &evidence.examination.server;
    let reason = format!(
        "the server is {}, which has no SKIP LOCKED: slots are not rolled up in the background, but by the statements \
         that need it",
        server.version
    );
    let finding =
        Finding::new(Code::NoSkipLocked, None, reason).advice("use MariaDB 10.6 or later");
    (!has_skip_locked(evidence)).then_some(finding)
}

fn binlog(evidence: &Evidence) -> Option<Finding> {
    let format = evidence.binlog_format.as_ref()?;
    let reason = "binlog_format is STATEMENT, with which InnoDB refuses writes under READ COMMITTED (1665): the \
                  roll-up's own, too";
    let set = "SET GLOBAL binlog_format = 'ROW'";
    let finding = Finding::new(Code::BinlogFormat, None, reason)
        .advice("log rows; sessions that are open keep what they have")
        .statements([set.to_owned()]);
    format.eq_ignore_ascii_case("STATEMENT").then_some(finding)
}

/// Since 11.4, MariaDB's server proves its certificate to a client by the password that both know. The proof passes
/// through the proxy, and is of the server's certificate.
fn own_certificate(config: &Config, evidence: &Evidence) -> Option<Finding> {
    let server = &evidence.examination.server;
    let verifies = server.mariadb && version(&server.version) >= [11, 4, 0];
    let tls = config.tls.as_ref();
    let has_own = tls.is_some_and(|tls| tls.certificate.is_none());
    let reason = "MariaDB's clients of 11.4 and later trust this server's certificate without being told to, but not the \
                  proxy's own over TCP (2026)";
    let advice = "give the server a certificate (ssl_cert, ssl_key), and the proxy the same one (tls.certificate, tls.key)";
    let finding = Finding::new(Code::OwnCertificate, None, reason);
    (verifies && has_own).then(|| finding.advice(advice))
}

/// What keeps the sentinel from telling who writes past the proxy.
fn sentinel(config: &Config, evidence: &Evidence) -> Option<Finding> {
    config.sentinel?;
    let server = &evidence.examination.server;
    let has_several_writers = |cluster: &Cluster| cluster.has_several_writers(config);
    let warn = |reason: &str, advice: &str| {
        Some(Finding::new(Code::Sentinel, None, reason).advice(advice))
    };
    if evidence.cluster.as_ref().is_some_and(has_several_writers) {
        return warn(
            "the sentinel does not watch a cluster whose members all take writes",
            "take sentinel out, or name a single_writer",
        );
    }
    let Some(format) = &evidence.binlog_format else {
        return warn(
            "the server writes no binary log (log_bin is off), in which the sentinel could see who writes past the proxy",
            "turn log_bin on, or take sentinel out",
        );
    };
    // MariaDB calls REPLICATION CLIENT so.
    let client = match server.mariadb {
        true => "BINLOG MONITOR",
        false => "REPLICATION CLIENT",
    };
    let lacking = grants::lacking(&server.grants, "", None, &["REPLICATION SLAVE", client]);
    if !lacking.is_empty() {
        let reason = format!(
            "the control account {} lacks {}, with which the sentinel reads the binary log",
            evidence.account,
            lacking.join(", ")
        );
        let finding = Finding::new(Code::ControlGrants, None, reason).advice("allow it");
        return Some(finding.statements([for_sentinel(&evidence.account)]));
    }
    let names_threads = !server.mariadb || version(&server.version) >= [11, 5, 0];
    if !names_threads && format.eq_ignore_ascii_case("ROW") {
        return warn(
            "MariaDB before 11.5 does not say in its binary log which thread has changed a row, and binlog_format is ROW: \
             the sentinel can tell nothing",
            "SET GLOBAL binlog_format = 'MIXED', with which most statements are logged as such, or a later version",
        );
    }
    None
}

fn clock(evidence: &Evidence) -> Option<Finding> {
    let mut tables = evidence.examination.catalog.tables.iter();
    if tables.all(|table| table.touches.is_empty()) {
        return None;
    }
    let apart = apart(evidence.clock).filter(|apart| apart.abs() > CLOCKS_APART)?;
    let direction = if apart > 0.0 { "ahead of" } else { "behind" };
    let reason = format!(
        "the server's clock is {:.1} s {direction} this machine's: a time that an application sets in a touch column \
         is slotted only when it is the server's present",
        apart.abs()
    );
    let advice = "let both machines, and those of the application, keep time by NTP";
    Some(Finding::new(Code::Clock, None, reason).advice(advice))
}

/// By how many seconds the server is certainly ahead (negative: behind); none if that is not certain.
fn apart(clock: Clock) -> Option<f64> {
    let ahead = clock.said - clock.answered;
    let behind = clock.said - clock.asked;
    match () {
        () if ahead > 0.0 => Some(ahead),
        () if behind < 0.0 => Some(behind),
        () => None,
    }
}

fn unseen_programs(evidence: &Evidence) -> Option<Finding> {
    let server = &evidence.examination.server;
    let mut statements = Vec::new();
    let mut schemas: Vec<&str> = Vec::new();
    for table in &evidence.examination.catalog.tables {
        let schema = table.schema.as_str();
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    for schema in schemas {
        let lacking = grants::lacking(&server.grants, schema, None, TO_SEE_PROGRAMS);
        if !lacking.is_empty() {
            statements.push(format!(
                "GRANT {} ON {}.* TO {}",
                lacking.join(", "),
                crate::counter::quote::name(schema),
                evidence.account
            ));
        }
    }
    statements.extend(unseen_routines(evidence));
    let reason = "the control account is not shown all views, routines, triggers and events, which may use counters \
                  out of the proxy's sight";
    let advice =
        "let it see them, or run this command by an account that does; `serve` needs none of these";
    let finding = Finding::new(Code::ProgramsUnseen, None, reason).advice(advice);
    (!statements.is_empty()).then(|| finding.statements(statements))
}

/// What would show the bodies of routines, if anything is lacking.
fn unseen_routines(evidence: &Evidence) -> Option<String> {
    let server = &evidence.examination.server;
    let lacks = |schema, table, privilege| {
        !grants::lacking(&server.grants, schema, table, &[privilege]).is_empty()
    };
    let account = &evidence.account;
    match server.mariadb {
        true => lacks("mysql", Some("proc"), "SELECT")
            .then(|| format!("GRANT SELECT ON `mysql`.`proc` TO {account}")),
        // A dynamic privilege, which is on everything; so is SELECT that shows routines.
        false => (lacks("", None, "SHOW_ROUTINE") && lacks("", None, "SELECT"))
            .then(|| format!("GRANT SHOW_ROUTINE ON *.* TO {account}")),
    }
}

fn unseen_accounts(config: &Config, evidence: &Evidence) -> Finding {
    let reason = format!(
        "the control account may not see other accounts' grants: those with grants on a hot table alone need {} on its \
         slot table as well",
        crate::counter::grants::ON_SLOT_TABLE.join(", ")
    );
    let roles = match evidence.examination.server.mariadb {
        true => "roles_mapping",
        false => "role_edges",
    };
    let tables = ["user", "db", "tables_priv", "columns_priv", roles];
    let statements = tables.map(|table| {
        format!(
            "GRANT SELECT ON `mysql`.{} TO {}",
            crate::counter::quote::name(table),
            evidence.account
        )
    });
    Finding::new(Code::ClientGrantsUnseen, None, reason)
        .advice(format!(
            "run this command with an account that may, in the place of {} (mysql.user also holds the hashes of \
             passwords), or let it see them",
            config.control.user
        ))
        .statements(statements)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::catalog::read::Server;
    use crate::catalog::{Catalog, Changers, Examination, HotTable};
    use crate::check::evidence::Accounts;

    /// A server with one hot table and nothing to say.
    fn evidence(version: &str, mariadb: bool) -> Evidence {
        let table = HotTable {
            schema: "shop".to_owned(),
            name: "posts".to_owned(),
            slot_schema: "shop".to_owned(),
            slot_name: "posts_slots".to_owned(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            counters: Vec::new(),
            touches: vec![0],
            unique_keys: None,
            changed_by: Changers::default(),
            cascades: Vec::new(),
            has_triggers: false,
            slots: 8,
            rollup: Duration::from_secs(1),
            may_rest: false,
            is_gated: false,
            adopted: None,
        };
        Evidence {
            examination: Examination {
                server: Server {
                    version: version.to_owned(),
                    other_engine: None,
                    mariadb,
                    lower_case_table_names: 0,
                    sql_mode: String::new(),
                    grants: vec!["GRANT ALL PRIVILEGES ON *.* TO `c`@`%`".to_owned()],
                    checks: true,
                    has_snapshot_isolation: false,
                },
                problem: None,
                logins: Vec::new(),
                tables: Vec::new(),
                catalog: Catalog {
                    tables: vec![Arc::new(table)],
                    mariadb,
                    ..Catalog::default()
                },
            },
            account: "'c'@'%'".to_owned(),
            read_only: false,
            binlog_format: Some("ROW".to_owned()),
            cluster: None,
            clock: Clock {
                asked: 100.0,
                said: 100.1,
                answered: 100.2,
            },
            tables: Vec::new(),
            unserved: Vec::new(),
            accounts: Some(Accounts::default()),
        }
    }

    fn config(upstream: &str) -> Config {
        let counters = "counters:\n- {table: shop.posts, columns: [views]}\n";
        Config::from_str(&format!("{upstream}\n{counters}"), &|_| None).unwrap()
    }

    fn codes(evidence: &Evidence) -> Vec<&'static str> {
        let findings = findings(&config("upstream: db:1"), evidence);
        findings.iter().map(|finding| finding.code.name()).collect()
    }

    #[test]
    fn versions_without_skip_locked_are_warned_of() {
        assert_eq!(codes(&evidence("9.7.4", false)), [""; 0]);
        assert_eq!(codes(&evidence("10.6.0-MariaDB", true)), [""; 0]);
        assert_eq!(
            codes(&evidence("10.5.27-MariaDB", true)),
            ["no-skip-locked"]
        );
    }

    #[test]
    fn a_sentinel_needs_a_log_that_names_threads() {
        let config = config("upstream: db:1\nsentinel: {server_id: 9}\ntls: {client: disabled}");
        let said = |evidence: &Evidence| {
            let findings = findings(&config, evidence);
            let codes = findings.iter().map(|finding| finding.code.name());
            codes.collect::<Vec<_>>()
        };
        let mysql = || evidence("9.7.4", false);
        assert_eq!(said(&mysql()), [""; 0]);
        assert_eq!(said(&evidence("11.8.2-MariaDB", true)), [""; 0]);
        assert_eq!(said(&evidence("10.11.6-MariaDB", true)), ["sentinel"]);
        let mixed = Evidence {
            binlog_format: Some("MIXED".to_owned()),
            ..evidence("10.11.6-MariaDB", true)
        };
        assert_eq!(said(&mixed), [""; 0]);
        let without_log = Evidence {
            binlog_format: None,
            ..mysql()
        };
        assert_eq!(said(&without_log), ["sentinel"]);
        assert_eq!(codes(&without_log), [""; 0], "where there is a sentinel");
        let several = Evidence {
            cluster: Some(Cluster::Galera(3)),
            ..mysql()
        };
        assert!(said(&several).contains(&"sentinel"));
        let mut poor = mysql();
        poor.examination.server.grants =
            vec!["GRANT REPLICATION SLAVE ON *.* TO `c`@`%`".to_owned()];
        assert!(said(&poor).contains(&"control-grants"));
    }

    #[test]
    fn certificates_that_mariadbs_clients_do_not_trust_are_noticed() {
        let server = evidence("11.4.0-MariaDB", true);
        assert_eq!(codes(&server), ["own-certificate"]);
        let with_files = config("upstream: db:1\ntls: {certificate: c.pem, key: k.pem}");
        assert_eq!(findings(&with_files, &server), []);
        assert_eq!(codes(&evidence("11.3.2-MariaDB", true)), [""; 0]);
    }

    #[test]
    fn a_server_that_is_too_old_is_an_error_and_the_only_one() {
        let mut old = evidence("5.7.44", false);
        old.examination.catalog.tables.clear();
        old.examination.problem = Some(crate::catalog::Problem::TooOld {
            server: "MySQL",
            version: "5.7.44".to_owned(),
        });
        assert_eq!(codes(&old), ["server-version"]);
        old.examination.problem = Some(crate::catalog::Problem::OtherEngine {
            engine: "TiDB",
            why: "locks nothing",
        });
        assert_eq!(codes(&old), ["other-engine"]);
    }

    #[test]
    fn clocks_matter_where_there_are_touch_columns() {
        let mut ahead = evidence("9.7.4", false);
        ahead.clock.said = 101.1;
        assert_eq!(codes(&ahead), [""; 0], "not by more than a second");
        ahead.clock.said = 101.5;
        assert_eq!(codes(&ahead), ["clock"]);
        let mut table = (*ahead.examination.catalog.tables[0]).clone();
        table.touches.clear();
        ahead.examination.catalog.tables = vec![Arc::new(table)];
        assert_eq!(codes(&ahead), [""; 0]);
    }

    #[test]
    fn statements_in_the_binary_log_are_warned_of() {
        let mut logged = evidence("9.7.4", false);
        logged.binlog_format = Some("STATEMENT".to_owned());
        assert_eq!(codes(&logged), ["binlog-format"]);
        logged.binlog_format = None;
        assert_eq!(codes(&logged), [""; 0]);
    }

    #[test]
    fn clusters_are_told_by_who_writes() {
        use crate::counter::cluster::Cluster;
        let mut member = evidence("9.7.4", false);
        let group = |members, single_primary| Cluster::Group {
            members,
            single_primary,
        };
        let two = "upstreams: [db:1, db:2]";
        for (cluster, upstream, code, words) in [
            (
                Cluster::Galera(3),
                two,
                "multi-writer",
                "a Galera cluster of 3 members",
            ),
            (group(Some(5), false), two, "multi-writer", "of 5 members"),
            (
                group(None, false),
                two,
                "multi-writer",
                "(Group Replication), of which",
            ),
            (
                group(Some(3), true),
                "upstream: db:1",
                "single-primary",
                "of 3 members",
            ),
        ] {
            member.cluster = Some(cluster);
            let found = findings(&config(upstream), &member);
            let [finding] = &found[..] else {
                panic!("{found:?}");
            };
            assert_eq!(finding.code.name(), code);
            assert!(finding.reason.contains(words), "{}", finding.reason);
            let all = "upstreams: [db:1, db:2, db:3, db:4, db:5]\nsingle_writer: true";
            assert!(cluster::finding(&config(all), &member).is_none());
        }
    }

    #[test]
    fn proxies_before_a_cluster_need_a_table() {
        use crate::counter::cluster::Cluster;
        let mut member = evidence("9.7.4", false);
        member.cluster = Some(Cluster::Galera(3));
        assert_eq!(codes(&member), [""; 0]);
        let grants = ["GRANT ALL PRIVILEGES ON `shop`.* TO `c`@`%`".to_owned()];
        member.examination.server.grants = grants.to_vec();
        assert!(codes(&member).contains(&"control-grants"));
        let finding = cluster::lacking(&config("upstream: db:1"), &member).unwrap();
        assert_eq!(
            finding.statements,
            ["GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON `countersink`.* TO 'c'@'%';"]
        );
        let one = config("upstream: db:1\nsingle_writer: true");
        assert!(cluster::lacking(&one, &member).is_none());
    }

    #[test]
    fn clocks_are_apart_by_what_no_delay_explains() {
        let apart = |asked, said, answered| {
            apart(Clock {
                asked,
                said,
                answered,
            })
        };
        assert_eq!(apart(100.0, 100.5, 101.0), None);
        assert_eq!(apart(100.0, 90.0, 101.0), Some(-10.0));
        assert_eq!(apart(100.0, 111.0, 101.0), Some(10.0));
        assert_eq!(apart(100.0, 102.0, 130.0), None, "a slow answer");
    }
}

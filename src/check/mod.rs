//! What is wrong, or will be, between the rules and the live server: everything at once, and nothing is changed.
//!
//! `read` asks the control connection, the other modules turn what it says into findings: pure.

mod accounts;
mod cluster;
mod code;
mod evidence;
mod finding;
mod problem;
mod programs;
mod read;
mod server;
mod slots;
mod table;

use mysql_async::Conn;

use crate::catalog::version;
use crate::config::{Config, Rule};
use crate::{catalog, counter};
use evidence::Evidence;

pub use code::{Code, Severity};
pub use finding::{Finding, Report};

/// Why the server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// About the tables of the rules.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// About a slot table.
    #[error(transparent)]
    Slots(counter::provision::Problem),
    /// About anything else.
    #[error(transparent)]
    Query(catalog::Problem),
}

/// Looks at everything that the rules rely on. Reads alone; slot tables need not exist.
///
/// # Errors
///
/// A query that failed for another reason than a lack of privileges; what is wrong with rules and server is the report.
pub async fn check(conn: &mut Conn, config: &Config) -> Result<Report, Error> {
    let evidence = read::gather(conn, config).await?;
    Ok(report(config, &evidence))
}

fn report(config: &Config, evidence: &Evidence) -> Report {
    let server = &evidence.examination.server;
    let mut findings = server::findings(config, evidence);
    findings.sort_by_key(Finding::severity);
    for rule in &config.rules {
        let mut of_rule = about(config, rule, evidence);
        of_rule.sort_by_key(Finding::severity);
        findings.append(&mut of_rule);
    }
    Report {
        server: match server.mariadb {
            true => "MariaDB",
            false => "MySQL",
        },
        version: server.version.clone(),
        rules: config.rules.len(),
        findings,
    }
}

/// What is found about one rule.
fn about(config: &Config, rule: &Rule, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(slots::unserved(rule, evidence));
    let tables = evidence.examination.tables.iter().zip(&evidence.tables);
    let Some((examined, seen)) = tables
        .into_iter()
        .find(|(table, _)| table.rule == rule.index)
    else {
        return findings;
    };
    let problem = |problem| problem::finding(problem, rule, evidence);
    findings.extend(examined.problems.iter().map(problem));
    findings.extend(accounts::control(rule, examined, seen, evidence));
    let (Some(table), Some(facts), true) = (&examined.table, &examined.facts, rule.has_slots())
    else {
        return findings;
    };
    findings.extend(table::findings(rule, table, facts, seen));
    findings.extend(slots::findings(rule, seen));
    let adopted = seen.adopted.iter();
    let adopted = adopted.map(|why| Finding::parted(Code::Adopted, Some(&rule.table), why));
    findings.extend(adopted);
    findings.extend(programs::findings(rule, table, &seen.programs));
    findings.extend(accounts::clients(config, table, rule, evidence));
    findings
}

/// Whether the server has FOR UPDATE SKIP LOCKED.
fn has_skip_locked(evidence: &Evidence) -> bool {
    let server = &evidence.examination.server;
    let since = match server.mariadb {
        true => [10, 6, 0],
        false => [8, 0, 1],
    };
    version(&server.version) >= since
}

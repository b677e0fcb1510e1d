//! Findings about several servers that hold the same tables.

use super::code::Code;
use super::evidence::Evidence;
use super::finding::Finding;
use crate::catalog::grants;
use crate::config::{Config, Rule};
use crate::counter::cluster::Cluster;
use crate::counter::grants::{ON_REGISTRY, for_registry, to_see_locks};
use crate::counter::unfit::Unfit;
use crate::counter::{held_locks, registry};

/// What the control account lacks for proxies on several members: to hear each other, and to know of a transaction that
/// MySQL has rolled back without telling.
pub(super) fn lacking(config: &Config, evidence: &Evidence) -> Option<Finding> {
    let cluster = evidence.cluster?;
    let has_slots = config.rules.iter().any(Rule::has_slots);
    if !has_slots || !cluster.has_several_writers(config) || cluster.is_refused(config) {
        return None;
    }
    let given = &evidence.examination.server.grants;
    let registry = registry::table();
    let locks = held_locks::table();
    let wanted = [
        (&registry, ON_REGISTRY, for_registry(&evidence.account)),
        (&locks, &["SELECT"][..], to_see_locks(&evidence.account)),
    ];
    // MariaDB forgets nothing.
    let wanted = wanted
        .into_iter()
        .take(if cluster.is_galera() { 1 } else { 2 });
    let (mut lacking, mut statements) = (Vec::new(), Vec::new());
    for (table, privileges, statement) in wanted {
        let missing = grants::lacking(given, &table.schema, Some(&table.name), privileges);
        if !missing.is_empty() {
            lacking.push(format!("{} on {table}", missing.join(", ")));
            statements.push(statement);
        }
    }
    if lacking.is_empty() {
        return None;
    }
    let reason = format!(
        "the control account {} lacks {}, by which proxies on several members hear each other and see what is lost",
        evidence.account,
        lacking.join(", and ")
    );
    let finding = Finding::new(Code::ControlGrants, None, reason).advice("allow it");
    Some(finding.statements(statements))
}

pub(super) fn finding(config: &Config, evidence: &Evidence) -> Option<Finding> {
    let cluster = evidence.cluster?;
    if cluster.is_refused(config) {
        let problem = Unfit::SeveralWriters(cluster).to_string();
        return Some(Finding::parted(Code::MultiWriter, None, &problem));
    }
    let is_followed = config.upstream.only().is_none();
    match cluster {
        Cluster::Group {
            single_primary: true,
            ..
        } if !is_followed => {
            let reason = format!(
                "the server is in {cluster}; the proxy follows the primary if upstreams names the members"
            );
            let advice = "name all members as upstreams";
            Some(Finding::new(Code::SinglePrimary, None, reason).advice(advice))
        }
        _ => None,
    }
}

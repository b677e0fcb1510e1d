//! Findings about several servers that hold the same tables.

use super::code::Code;
use super::evidence::Evidence;
use super::finding::Finding;
use crate::catalog::grants;
use crate::config::{Config, Rule};
use crate::counter::cluster::Cluster;
use crate::counter::grants::{ON_REGISTRY, for_registry};
use crate::counter::registry;
use crate::counter::unfit::Unfit;

/// What the control account lacks for the proxies on several members to hear each other.
pub(super) fn lacking(config: &Config, evidence: &Evidence) -> Option<Finding> {
    let cluster = evidence.cluster?;
    let has_slots = config.rules.iter().any(Rule::has_slots);
    if !has_slots || !cluster.has_several_writers(config) || cluster.is_refused(config) {
        return None;
    }
    let table = registry::table();
    let given = &evidence.examination.server.grants;
    let lacking = grants::lacking(given, &table.schema, Some(&table.name), ON_REGISTRY);
    if lacking.is_empty() {
        return None;
    }
    let reason = format!(
        "the control account {} lacks {} on {table}, by which proxies on several members hear each other",
        evidence.account,
        lacking.join(", ")
    );
    let finding = Finding::new(Code::ControlGrants, None, reason).advice("allow it");
    Some(finding.statements([for_registry(&evidence.account)]))
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

//! Findings about several servers that hold the same tables.

use super::code::Code;
use super::evidence::Evidence;
use super::finding::Finding;
use crate::config::Config;
use crate::counter::cluster::Cluster;
use crate::counter::unfit::Unfit;

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

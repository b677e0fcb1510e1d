//! Findings about several servers that hold the same tables.

use super::code::Code;
use super::evidence::Evidence;
use super::finding::Finding;

/// What the server is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cluster {
    /// A Galera cluster of MariaDB, with this many members.
    Galera(u64),
    /// Group Replication of MySQL.
    Group {
        /// None when the control account may not see them.
        members: Option<u64>,
        /// One member alone takes writes.
        single_primary: bool,
    },
}

pub(super) fn finding(evidence: &Evidence) -> Option<Finding> {
    let of = |members: Option<u64>| match members {
        Some(members) => format!(" of {members} members"),
        None => String::new(),
    };
    let (name, members) = match evidence.cluster? {
        Cluster::Galera(members) => ("a Galera cluster", Some(members)),
        Cluster::Group {
            members,
            single_primary: false,
        } => ("a multi-primary group (Group Replication)", members),
        Cluster::Group {
            members,
            single_primary: true,
        } => {
            let reason = format!(
                "the server is in a single-primary group (Group Replication){}; the proxy follows the primary if upstreams \
                 names the members",
                of(members)
            );
            let advice = "name all members as upstreams";
            return Some(Finding::new(Code::SinglePrimary, None, reason).advice(advice));
        }
    };
    let reason = format!(
        "the server is in {name}{}, and writers on several members are not supported yet: what proxies agree upon by user \
         locks holds on one member, and increments on one and folds on another end in 1213",
        of(members)
    );
    let advice = "let all proxies, and all that writes hot tables, use one and the same member; when another takes its place \
                  the proxy's own connections follow";
    Some(Finding::new(Code::MultiWriter, None, reason).advice(advice))
}

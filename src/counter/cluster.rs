//! Whether the server is one of several that hold the same tables.

use std::fmt;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};

use crate::config::Config;
use crate::wire::error_code::lacks_privilege;

/// What the server is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cluster {
    /// A Galera cluster of MariaDB or Percona, with this many members.
    Galera(u64),
    /// Group Replication of MySQL.
    Group {
        /// None when the control account may not see them.
        members: Option<u64>,
        /// One member alone takes writes.
        single_primary: bool,
    },
}

impl Cluster {
    /// Whether other members may take writes as well, as far as the rules neither say nor show by their `upstreams`
    /// that one member takes them all.
    pub fn has_several_writers(self, config: &Config) -> bool {
        let members = match self {
            Self::Group {
                single_primary: true,
                ..
            } => return false,
            Self::Galera(members) => Some(members),
            Self::Group { members, .. } => members,
        };
        let named = config.upstream.addresses().count() as u64;
        // One that is alone may be joined by others.
        let are_named = named > 1 && members.is_some_and(|members| members <= named);
        !(are_named || config.single_writer)
    }

    /// Whether it is one of Galera.
    pub(crate) fn is_galera(self) -> bool {
        matches!(self, Self::Galera(_))
    }

    /// Whether the rules do not go with it: some members are named to be followed from one to the next, and others,
    /// which are not, may take writes.
    pub fn is_refused(self, config: &Config) -> bool {
        self.has_several_writers(config) && config.upstream.only().is_none()
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, members) = match *self {
            Self::Galera(members) => ("a Galera cluster", Some(members)),
            Self::Group {
                members,
                single_primary: false,
            } => ("a multi-primary group (Group Replication)", members),
            Self::Group {
                members,
                single_primary: true,
            } => ("a single-primary group (Group Replication)", members),
        };
        match members {
            Some(members) => write!(formatter, "{name} of {members} members"),
            None => formatter.write_str(name),
        }
    }
}

/// Variables that show a cluster, under the names that servers give them.
const QUESTIONS: [&str; 2] = [
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
     ('wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode')",
    "SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_cluster_size'",
];

/// Not shown to every account.
const MEMBERS: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
                       WHERE MEMBER_STATE <> 'OFFLINE'";

/// Asks the server; `None` where it is no member of anything.
///
/// # Errors
///
/// What the server says.
pub async fn read(conn: &mut Conn) -> Result<Option<Cluster>, DriverFailure> {
    let mut told: Vec<(String, String)> = Vec::new();
    for question in QUESTIONS {
        told.extend(conn.query::<(String, String), _>(question).await?);
    }
    let value = |name: &str| {
        let mut told = told.iter();
        let found = told.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    };
    if value("wsrep_on") == "ON" {
        let members = value("wsrep_cluster_size").parse().unwrap_or_default();
        return Ok(Some(Cluster::Galera(members)));
    }
    if value("group_replication_group_name").is_empty() {
        return Ok(None);
    }
    let members = match conn.query_first(MEMBERS).await {
        Err(DriverFailure::Server(error)) if lacks_privilege(error.code) => None,
        members => members?,
    };
    let single_primary = value("group_replication_single_primary_mode") == "ON";
    let group = Cluster::Group {
        members,
        single_primary,
    };
    // A group that is configured and not running is none.
    Ok((members != Some(0)).then_some(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_members_that_take_writes_are_refused_unless_the_rules_say_that_one_does() {
        let group = |members, single_primary| Cluster::Group {
            members,
            single_primary,
        };
        for (cluster, rules, is_refused) in [
            (Cluster::Galera(3), "upstream: db1:1", false),
            (Cluster::Galera(1), "upstream: db1:1", false),
            (Cluster::Galera(3), "upstreams: [db1:1, db2:1]", true),
            (
                Cluster::Galera(3),
                "upstreams: [db1:1, db2:1, db3:1]",
                false,
            ),
            (
                Cluster::Galera(3),
                "upstream: db1:1\nsingle_writer: true",
                false,
            ),
            (group(Some(3), false), "upstream: db1:1", false),
            (group(None, false), "upstreams: [db1:1, db2:1, db3:1]", true),
            (
                group(None, false),
                "upstream: db1:1\nsingle_writer: true",
                false,
            ),
            (group(Some(3), true), "upstream: db1:1", false),
        ] {
            let text = format!("{rules}\ncounters: [{{table: a.b, columns: [c]}}]\n");
            let config = Config::from_str(&text, &|_| None).expect("rules");
            assert_eq!(
                cluster.is_refused(&config),
                is_refused,
                "{cluster}: {rules}"
            );
        }
    }
}

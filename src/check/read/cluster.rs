//! Whether the server is one of several that hold the same tables.

use mysql_async::Conn;

use crate::catalog::Problem;
use crate::catalog::read::rows;
use crate::check::cluster::Cluster;

/// Variables that show a cluster, under the names that servers give them.
const QUESTIONS: [&str; 2] = [
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
     ('wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode')",
    "SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_cluster_size'",
];

/// Not shown to every account.
const MEMBERS: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
                       WHERE MEMBER_STATE <> 'OFFLINE'";

pub(super) async fn read(conn: &mut Conn) -> Result<Option<Cluster>, Problem> {
    let mut told = Vec::new();
    for question in QUESTIONS {
        let pair = mysql_async::from_row_opt::<(String, String)>;
        told.extend(rows(conn, "the server's cluster", question, (), pair).await?);
    }
    let value = |name: &str| {
        let mut told = told.iter();
        let found = told.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    };
    if super::is_on(value("wsrep_on")) {
        let members = value("wsrep_cluster_size").parse().unwrap_or_default();
        return Ok(Some(Cluster::Galera(members)));
    }
    if value("group_replication_group_name").is_empty() {
        return Ok(None);
    }
    let number = mysql_async::from_row_opt::<u64>;
    let members = rows(conn, "the group's members", MEMBERS, (), number).await;
    let members = super::unless_denied(members)?.and_then(|members| members.first().copied());
    let single_primary = super::is_on(value("group_replication_single_primary_mode"));
    let group = Cluster::Group {
        members,
        single_primary,
    };
    // A group that is configured and not running is none.
    Ok((members != Some(0)).then_some(group))
}

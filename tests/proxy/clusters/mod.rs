//! Clusters whose members all take writes, with a proxy before each: nothing is lost or counted twice, whatever is
//! written on the others at the same moment.

mod changes;
mod forgotten;
mod killed;
mod load;
mod past;

use std::time::Duration;

use countersink::driver::Driver;
use countersink_sandbox::{Replication, Server, start_cluster};

use crate::support::block_on;
use crate::support::client::{connect, create_schema, number, run};
use crate::support::proxy::Proxy;
use crate::support::twin::{installation, options};
use load::{KEYS, Ledger, Load};

const MEMBERS: usize = 3;
const SCHEMA: &str = "cs_clusters";
const GROUP: Replication = Replication::Group {
    single_primary: false,
};

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT, stars BIGINT NOT NULL, title VARCHAR(40)); \
                      CREATE TABLE small (id INT PRIMARY KEY, n SMALLINT NOT NULL); \
                      CREATE TABLE likes (id BIGINT PRIMARY KEY AUTO_INCREMENT, post INT); \
                      INSERT INTO posts VALUES (1, 0, 0, 'a'), (2, 0, 0, 'b'), (3, 0, 0, 'c'); \
                      INSERT INTO small VALUES (1, 0); INSERT INTO likes VALUES (1, 1)";

/// The tables of [`crate::failover::load`].
const TABLES_OF_LOAD: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); \
                              INSERT INTO posts VALUES (1, 0); CREATE USER app IDENTIFIED BY 'app'; \
                              GRANT ALL ON cs_failover.* TO app";

const RULES: &str = "counters:\n- {table: cs_clusters.posts, columns: [views, stars], rollup: 50ms}\n\
                     - {table: cs_clusters.small, columns: [n], rollup: 50ms}\n";

/// A cluster with a proxy before each member.
struct Cluster {
    replication: Replication,
    members: Vec<Server>,
    proxies: Vec<Proxy>,
}

impl Cluster {
    async fn start(replication: Replication) -> Self {
        let mut cluster = Self::members(replication, SCHEMA, TABLES).await;
        let before = |member: &Server| Proxy::start(&member.address(), RULES);
        cluster.proxies = cluster.members.iter().map(before).collect();
        cluster
    }

    /// The rules of all proxies come to this stage.
    async fn arrives(&self, stage: &str) {
        for proxy in &self.proxies {
            proxy.arrives(stage).await;
        }
    }

    /// The members alone.
    async fn members(replication: Replication, schema: &str, tables: &str) -> Self {
        let installation = installation(replication.flavour());
        let members = start_cluster(&installation, replication, MEMBERS, &options());
        let members = members.unwrap_or_else(|error| panic!("{error}"));
        create_schema(&members[0].address(), schema, tables).await;
        Self {
            replication,
            members,
            proxies: Vec::new(),
        }
    }

    /// A session past the proxy, whose reads wait for what the other members have committed.
    async fn session(&self, member: usize) -> Driver {
        let mut session = connect(&self.members[member].address(), Some(SCHEMA)).await;
        self.wait_for_others(&mut session).await;
        session
    }

    async fn wait_for_others(&self, session: &mut Driver) {
        let waits = match self.replication {
            Replication::Galera => "SET SESSION wsrep_sync_wait = 1",
            Replication::Group { .. } => "SET SESSION group_replication_consistency = 'BEFORE'",
        };
        run(session, waits).await;
    }

    /// Every value is what was acknowledged, through every proxy and past them.
    async fn check(&self, ledger: &Ledger) {
        let mut differences = Vec::new();
        let mut compare = |what: String, found: i64, expected: i64| {
            if found != expected {
                differences.push(format!("{what}: {found} instead of {expected}"));
            }
        };
        for (member, proxy) in self.proxies.iter().enumerate() {
            let mut client = connect(&proxy.address, Some(SCHEMA)).await;
            self.wait_for_others(&mut client).await;
            let mut session = self.session(member).await;
            for key in 1..=KEYS {
                for (column, expected) in
                    [("views", ledger.views[&key]), ("stars", ledger.stars[&key])]
                {
                    let value = format!("SELECT {column} FROM posts WHERE id = {key}");
                    let found = number(&mut client, &value).await;
                    compare(
                        format!("{column} of {key} through proxy {member}"),
                        found,
                        expected,
                    );
                    let sum = format!(
                        "SELECT {column} + (SELECT COALESCE(SUM(s.{column}), 0) FROM posts_slots AS s \
                         WHERE s.id = {key}) FROM posts WHERE id = {key}"
                    );
                    let found = number(&mut session, &sum).await;
                    compare(
                        format!("{column} of {key} on member {member}"),
                        found,
                        expected,
                    );
                }
            }
            let small = number(&mut client, "SELECT n FROM small WHERE id = 1").await;
            compare(format!("n through proxy {member}"), small, ledger.small);
            // One row was there before.
            let likes = number(&mut session, "SELECT COUNT(id) FROM likes").await - 1;
            compare(format!("likes on member {member}"), likes, ledger.likes);
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

fn everything_at_once_is_exact(replication: Replication) {
    block_on(async {
        let cluster = Cluster::start(replication).await;
        let load = Load::start(&cluster.proxies);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let ledger = load.end().await;
        eprintln!("{replication:?}: {ledger:?}");
        cluster.check(&ledger).await;
        assert!(ledger.increments > 100, "{ledger:?}");
        assert!(
            ledger.lost_increments * 100 <= ledger.increments,
            "{ledger:?}"
        );
    });
}

#[test]
fn everything_at_once_is_exact_on_galera() {
    everything_at_once_is_exact(Replication::Galera);
}

#[test]
fn everything_at_once_is_exact_in_a_group() {
    everything_at_once_is_exact(GROUP);
}

//! Clusters of three members: who may stand before one, and what happens when its writer goes.

use std::time::Instant;

use countersink::cli::prepare;
use countersink::driver::Driver;
use countersink_sandbox::{Address, Replication, Server, start_cluster};

use super::load::{Ledger, Load, SCHEMA, VALUE, app, base_and_slots};
use crate::replica::until;
use crate::support::block_on;
use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::{installation, options};

const MEMBERS: usize = 3;

/// A cluster, and a session on each member, beside the proxy.
struct Cluster {
    members: Vec<Server>,
    sessions: Vec<Driver>,
}

impl Cluster {
    async fn start(replication: Replication) -> Self {
        let mut options = options();
        if let Replication::Group { .. } = replication {
            // A member that has died is expelled as soon as it is missed.
            let expel = "--loose-group-replication-member-expel-timeout=0";
            options.extra.push(expel.to_owned());
        }
        let begun = Instant::now();
        let installation = installation(replication.flavour());
        let members = start_cluster(&installation, replication, MEMBERS, &options);
        let members = members.unwrap_or_else(|error| panic!("{error}"));
        eprintln!(
            "{replication:?}: {MEMBERS} members in {:.1?}",
            begun.elapsed()
        );
        let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 0); \
                      CREATE USER app IDENTIFIED BY 'app'; GRANT ALL ON cs_failover.* TO app";
        let mut sessions = vec![create_schema(&members[0].address(), SCHEMA, tables).await];
        for member in &members[1..] {
            sessions.push(connect(&member.address(), None).await);
        }
        Self { members, sessions }
    }

    /// A proxy before all of them.
    fn proxy(&self) -> Proxy {
        let addresses: Vec<_> = self.members.iter().map(Server::address).collect();
        // The order says nothing.
        let addresses: Vec<&Address> = addresses.iter().rev().collect();
        Proxy::start_before(&addresses, RULES)
    }

    /// Waits until this member has what was told, and no more than what may be. Returns how long.
    async fn until_it_works(&mut self, member: usize) {
        let session = &mut self.sessions[member];
        let before = number(session, &base_and_slots()).await;
        until("increments go on", async || {
            number(session, &base_and_slots()).await > before + 200
        })
        .await;
    }

    async fn check(&mut self, member: usize, ledger: Ledger, proxy: &Proxy) -> i64 {
        let mut client = connect(&app(&proxy.address), Some(SCHEMA)).await;
        let value = number(&mut client, VALUE).await;
        let most = ledger.acknowledged + ledger.ambiguous;
        assert!(
            (ledger.acknowledged..=most).contains(&value),
            "{value} of {ledger:?}"
        );
        let session = &mut self.sessions[member];
        assert_eq!(value, number(session, &base_and_slots()).await);
        value
    }
}

const RULES: &str =
    "counters:\n- {table: cs_failover.posts, columns: [views], rest: auto, rollup: 50ms}\n";

/// Clients that go straight to another member when theirs is killed are refused increments there, too, without a proxy:
/// what the one before had sent last comes before them (1213), or the member does not know yet who is left (1047).
const REFUSALS: [u16; 7] = [1290, 1205, 1836, 1053, 1927, 1213, 1047];

/// Starts a load, and waits until the value has grown.
async fn load(proxy: &Proxy) -> Load {
    let load = Load::start_before(&proxy.address, &REFUSALS);
    let mut watch = connect(&app(&proxy.address), Some(SCHEMA)).await;
    until("they work", async || number(&mut watch, VALUE).await > 300).await;
    load
}

/// What `serve` says of one member, or of some whose names are given in place of it.
async fn refusal(members: &[Server], more: &str) -> Option<String> {
    let first = members[0].address();
    let names = members.iter().map(Server::address);
    let names: Vec<_> = names
        .map(|at| format!("'{}:{}'", at.host, at.port))
        .collect();
    let mut head = rules_head(&first);
    if names.len() > 1 {
        let one = format!("upstream: {}:{}\n", first.host, first.port);
        head = head.replace(&one, &format!("upstreams: [{}]\n", names.join(", ")));
    }
    let text = head + more + RULES;
    prepare(&config_of(&text))
        .await
        .err()
        .map(|error| error.to_string())
}

#[test]
fn a_galera_cluster_has_one_writer_and_another_takes_its_place() {
    block_on(async {
        let mut cluster = Cluster::start(Replication::Galera).await;
        for session in &mut cluster.sessions[1..] {
            run(session, "SET GLOBAL read_only = 1").await;
        }
        // Of three members two are named.
        let two = &cluster.members[..2];
        let refused = refusal(two, "").await.expect("refused");
        assert!(
            refused.contains("in a Galera cluster of 3 members"),
            "{refused}"
        );
        assert_eq!(refusal(two, "single_writer: true\n").await, None);
        let proxy = cluster.proxy();
        let working = load(&proxy).await;
        cluster.members[0].crash().expect("killed");
        let killed = Instant::now();
        run(&mut cluster.sessions[1], "SET GLOBAL read_only = 0").await;
        until("the cluster goes on", async || {
            let ready = rows(&mut cluster.sessions[1], "SHOW STATUS LIKE 'wsrep_ready'").await;
            ready[0][1] == "ON"
        })
        .await;
        cluster.until_it_works(1).await;
        let silence = killed.elapsed();
        let ledger = working.end().await;
        let value = cluster.check(1, ledger, &proxy).await;
        eprintln!("Galera, its writer is killed: {silence:.1?}; {value} of {ledger:?}");
    });
}

#[test]
fn a_group_has_one_primary_or_is_refused_and_the_proxy_follows() {
    block_on(async {
        let group = Replication::Group {
            single_primary: true,
        };
        let mut cluster = Cluster::start(group).await;
        assert_eq!(refusal(&cluster.members[..1], "").await, None);
        let several = "SELECT group_replication_switch_to_multi_primary_mode()";
        run(&mut cluster.sessions[0], several).await;
        let told = refusal(&cluster.members[1..2], "single_writer: true\n").await;
        assert_eq!(told, None);
        let one = "SELECT group_replication_switch_to_single_primary_mode(@@server_uuid)";
        run(&mut cluster.sessions[0], one).await;
        let proxy = cluster.proxy();

        let working = load(&proxy).await;
        let uuid = rows(&mut cluster.sessions[2], "SELECT @@server_uuid").await;
        let choose = format!("SELECT group_replication_set_as_primary('{}')", uuid[0][0]);
        let chosen = Instant::now();
        run(&mut cluster.sessions[0], &choose).await;
        cluster.until_it_works(2).await;
        let silence = chosen.elapsed();
        let ledger = working.end().await;
        let value = cluster.check(2, ledger, &proxy).await;
        eprintln!("Group Replication, another is chosen: {silence:.1?}; {value} of {ledger:?}");

        let working = load(&proxy).await;
        cluster.members[2].crash().expect("killed");
        let killed = Instant::now();
        let mut primary = None;
        until("the group has a primary", async || {
            for member in [0, 1] {
                let read_only = "SELECT @@GLOBAL.super_read_only";
                if number(&mut cluster.sessions[member], read_only).await == 0 {
                    primary = Some(member);
                }
            }
            primary.is_some()
        })
        .await;
        let primary = primary.expect("found");
        cluster.until_it_works(primary).await;
        let silence = killed.elapsed();
        let more = working.end().await;
        let sum = Ledger {
            acknowledged: value + more.acknowledged,
            ambiguous: more.ambiguous,
        };
        let value = cluster.check(primary, sum, &proxy).await;
        eprintln!("Group Replication, its primary is killed: {silence:.1?}; {value} of {sum:?}");
    });
}

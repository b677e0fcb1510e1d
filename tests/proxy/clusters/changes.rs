//! Rules go out of force and come back, and a drain runs on one member, while clients of every member write.

use countersink::config::Mode;
use countersink_sandbox::Replication;

use super::load::Load;
use super::{Cluster, GROUP, MEMBERS, RULES};
use crate::replica::until;
use crate::support::binary::{countersink, rules_file};
use crate::support::block_on;
use crate::support::client::number;
use crate::support::proxy::{Proxy, rules_head};

const TABLES: [&str; 2] = ["cs_clusters.posts", "cs_clusters.small"];

#[test]
fn rules_change_under_load_on_galera() {
    block_on(rules_change_under_load(Replication::Galera));
}

#[test]
fn rules_change_under_load_in_a_group() {
    block_on(rules_change_under_load(GROUP));
}

async fn rules_change_under_load(replication: Replication) {
    let cluster = Cluster::start(replication).await;
    enforced(&cluster).await;
    let load = Load::start(&cluster.proxies);
    let mut acknowledged = grown(&load, 0).await;

    // One proxy after the other goes out of force, and back.
    for (mode, stage) in [(Mode::Off, "off"), (Mode::Enforce, "enforced")] {
        for proxy in &cluster.proxies {
            set(proxy, mode).await;
            acknowledged = grown(&load, acknowledged).await;
        }
        arrive(&cluster, stage).await;
        acknowledged = grown(&load, acknowledged).await;
    }

    // A drain through the last member is heard on all.
    let (_folder, file) =
        rules_file(&(rules_head(&cluster.members[MEMBERS - 1].address()) + RULES));
    let drain = move || countersink(&["drain", "--timeout", "90s"], &file);
    let (code, output, errors) = tokio::task::spawn_blocking(drain).await.expect("no panic");
    assert_eq!(code, 0, "{output}{errors}");
    arrive(&cluster, "drained").await;
    acknowledged = grown(&load, acknowledged).await;

    // And the rules come back.
    for proxy in &cluster.proxies {
        set(proxy, Mode::Enforce).await;
    }
    enforced(&cluster).await;
    grown(&load, acknowledged).await;

    let ledger = load.end().await;
    eprintln!("{replication:?}: {ledger:?}");
    // Increments of different members fail each other while they go to the row, as they do directly: only values count.
    cluster.check(&ledger).await;
}

async fn set(proxy: &Proxy, mode: Mode) {
    for table in TABLES {
        let set = proxy.rules.set_mode(table, mode).await;
        set.unwrap_or_else(|why| panic!("{why}"));
    }
}

/// More has been acknowledged since.
async fn grown(load: &Load, before: u64) -> u64 {
    until("increments go on", async || {
        load.acknowledged() > before + 100
    })
    .await;
    load.acknowledged()
}

/// Slots are in use in every proxy.
async fn enforced(cluster: &Cluster) {
    arrive(cluster, "enforced").await;
    for member in 0..MEMBERS {
        let mut session = cluster.session(member).await;
        let slots = "SELECT COUNT(*) FROM information_schema.tables \
                     WHERE table_schema = 'cs_clusters' AND table_name LIKE '%_slots'";
        assert_eq!(number(&mut session, slots).await, 2, "on member {member}");
    }
}

async fn arrive(cluster: &Cluster, stage: &str) {
    until(stage, async || {
        let is_there = |proxy: &Proxy| proxy.rules.show().iter().all(|rule| rule.stage == stage);
        cluster.proxies.iter().all(is_there)
    })
    .await;
}

//! Rules go out of force and come back, and a drain runs on one member, while clients of every member write.

use countersink::config::Mode;
use countersink::driver::Driver;
use countersink_sandbox::Replication;

use super::load::Load;
use super::{Cluster, GROUP, MEMBERS, RULES, SCHEMA};
use crate::replica::until;
use crate::support::binary::{countersink, rules_file};
use crate::support::block_on;
use crate::support::client::{connect, number, rows, run};
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
        cluster.arrives(stage).await;
        acknowledged = grown(&load, acknowledged).await;
    }

    // A drain through the last member is heard on all.
    let (_folder, file) =
        rules_file(&(rules_head(&cluster.members[MEMBERS - 1].address()) + RULES));
    let drain = move || countersink(&["drain", "--timeout", "90s"], &file);
    let (code, output, errors) = tokio::task::spawn_blocking(drain).await.expect("no panic");
    assert_eq!(code, 0, "{output}{errors}");
    cluster.arrives("drained").await;
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

#[test]
fn a_drain_that_is_not_heard_begins_again_on_galera() {
    block_on(async {
        let cluster = Cluster::start(Replication::Galera).await;
        enforced(&cluster).await;
        // As long as this is open, its proxy does not end its use of slots.
        let mut client = connect(&cluster.proxies[0].address, Some(SCHEMA)).await;
        for text in ["BEGIN", "UPDATE posts SET views = views + 1 WHERE id = 1"] {
            run(&mut client, text).await;
        }
        let (_folder, file) = rules_file(&(rules_head(&cluster.members[1].address()) + RULES));
        let drain = move || countersink(&["drain", "cs_clusters.posts", "--timeout", "90s"], &file);
        let drain = tokio::task::spawn_blocking(drain);
        let mut session = cluster.session(1).await;
        let lost = drain_under_way(&mut session, "").await;
        let delete = format!("DELETE FROM countersink.proxies WHERE proxy = '{lost}'");
        run(&mut session, &delete).await;
        drain_under_way(&mut session, &lost).await;
        run(&mut client, "COMMIT").await;
        let (code, output, errors) = drain.await.expect("no panic");
        assert_eq!(code, 0, "{output}{errors}");
        assert!(errors.contains("was taken, or deleted"), "{errors}");
        assert_eq!(
            number(&mut session, "SELECT views FROM posts WHERE id = 1").await,
            1
        );
    });
}

/// By what a drain is known that is under way, and not known by this.
async fn drain_under_way(session: &mut Driver, but: &str) -> String {
    let read = format!(
        "SELECT proxy FROM countersink.proxies WHERE says LIKE 'countersink.drain.%' AND proxy <> '{but}'"
    );
    let mut found = None;
    until("a drain is under way", async || {
        found = rows(session, &read).await.into_iter().flatten().next();
        found.is_some()
    })
    .await;
    found.expect("it is there")
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
    cluster.arrives("enforced").await;
    for member in 0..MEMBERS {
        let mut session = cluster.session(member).await;
        let slots = "SELECT COUNT(*) FROM information_schema.tables \
                     WHERE table_schema = 'cs_clusters' AND table_name LIKE '%_slots'";
        assert_eq!(number(&mut session, slots).await, 2, "on member {member}");
    }
}

//! A proxy is killed, and a member of the cluster, while clients increment through all of them.

use std::time::Instant;

use countersink_sandbox::{Address, Replication};

use super::{Cluster, GROUP, TABLES_OF_LOAD};
use crate::failover::load::{Ledger, Load, SCHEMA, VALUE, app, base_and_slots};
use crate::replica::until;
use crate::support::binary::{Serving, rules_file};
use crate::support::block_on;
use crate::support::client::{connect, number, run};
use crate::support::proxy::rules_head;

const RULES: &str = "counters:\n- {table: cs_failover.posts, columns: [views], rollup: 50ms}\n";

/// What a transaction may be told beside the errors of a server that goes: that another member was first, and that the
/// member does not know yet who is left.
const REFUSALS: [u16; 10] = [1290, 1205, 1836, 1053, 1927, 1213, 1180, 3101, 1047, 3100];

/// A proxy in a process of its own.
pub(super) fn serve(before: &Address, rules: &str) -> (Serving, Address) {
    let (folder, file) = rules_file(&(rules_head(before) + rules));
    let serving = Serving::start(&file).unwrap_or_else(|ended| panic!("{}", ended.errors));
    drop(folder);
    let address = serving.in_front_of(before);
    (serving, address)
}

#[test]
fn a_proxy_and_a_member_of_galera_are_killed_under_load() {
    block_on(killed_under_load(Replication::Galera));
}

#[test]
fn a_proxy_and_a_member_of_a_group_are_killed_under_load() {
    block_on(killed_under_load(GROUP));
}

async fn killed_under_load(replication: Replication) {
    let mut cluster = Cluster::members(replication, SCHEMA, TABLES_OF_LOAD).await;
    let addresses: Vec<_> = cluster
        .members
        .iter()
        .map(|member| member.address())
        .collect();
    let mut proxies: Vec<_> = addresses
        .iter()
        .map(|address| serve(address, RULES))
        .collect();
    let loads = proxies
        .iter()
        .map(|(_, address)| Load::start_before(address, &REFUSALS));
    let mut loads: Vec<_> = loads.collect();
    let mut watch = connect(&addresses[0], Some(SCHEMA)).await;
    let grown = async |watch: &mut _, by: i64| {
        let before = number(watch, &base_and_slots()).await;
        until("increments go on", async || {
            number(watch, &base_and_slots()).await > before + by
        })
        .await;
    };
    grown(&mut watch, 300).await;

    // The proxy of the second member.
    proxies[1].0.binary.signal("KILL");
    let killed = Instant::now();
    grown(&mut watch, 300).await;
    eprintln!(
        "{replication:?}, a proxy is killed: {:.1?}",
        killed.elapsed()
    );
    let gone = loads.remove(1).end().await;
    let (serving, address) = serve(&addresses[1], RULES);
    proxies[1] = (serving, address);
    loads.push(Load::start_before(&proxies[1].1, &REFUSALS));
    grown(&mut watch, 300).await;

    // The third member.
    cluster.members[2].crash().expect("killed");
    let killed = Instant::now();
    grown(&mut watch, 300).await;
    eprintln!(
        "{replication:?}, a member is killed: {:.1?}",
        killed.elapsed()
    );
    let ledger = Load::end_all(loads).await + gone;
    check(&cluster, &proxies, ledger).await;
}

async fn check(cluster: &Cluster, proxies: &[(Serving, Address)], ledger: Ledger) {
    let mut values = Vec::new();
    for (member, (_, proxy)) in proxies.iter().enumerate().take(2) {
        let mut client = connect(&app(proxy), Some(SCHEMA)).await;
        cluster.wait_for_others(&mut client).await;
        values.push(number(&mut client, VALUE).await);
        let mut session = connect(&cluster.members[member].address(), Some(SCHEMA)).await;
        cluster.wait_for_others(&mut session).await;
        values.push(number(&mut session, &base_and_slots()).await);
        run(&mut session, "DO 0").await;
    }
    eprintln!("{values:?} of {ledger:?}");
    let most = ledger.acknowledged + ledger.ambiguous;
    assert!(
        (ledger.acknowledged..=most).contains(&values[0]),
        "{values:?} of {ledger:?}"
    );
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
}

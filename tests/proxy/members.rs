//! Proxies on several members of a cluster whose members all take writes: they hear each other, and whoever is killed
//! is not waited for for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use countersink::cli::prepare;
use countersink::config::Mode;
use countersink::counter::control::Control;
use countersink::counter::node::Node;
use countersink::driver::{Driver, Reply};
use countersink::wire::error_code::is_rolled_back;
use countersink_sandbox::{Address, Replication, Server, start_cluster};

use crate::replica::until;
use crate::support::binary::{Serving, countersink, rules_file};
use crate::support::block_on;
use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::{installation, options};

const SCHEMA: &str = "cs_members";
const TABLE: &str = "cs_members.posts";
const RULES: &str =
    "counters:\n- {table: cs_members.posts, columns: [views], rest: never, rollup: 1h}\n";
const NUMBERS: &str = "SELECT number FROM countersink.proxies ORDER BY number";

/// A cluster of two members, and a session on each.
struct Cluster {
    members: Vec<Server>,
    sessions: Vec<Driver>,
}

impl Cluster {
    async fn start(replication: Replication) -> Self {
        let begun = Instant::now();
        let installation = installation(replication.flavour());
        let members = start_cluster(&installation, replication, 2, &options());
        let members = members.unwrap_or_else(|error| panic!("{error}"));
        eprintln!("{replication:?}: two members in {:.1?}", begun.elapsed());
        let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 0); \
                      CREATE USER control IDENTIFIED BY 'control'; GRANT ALL ON cs_members.* TO control";
        let first = create_schema(&members[0].address(), SCHEMA, tables).await;
        let mut second = connect(&members[1].address(), None).await;
        until("the table is on both", async || {
            let there =
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'cs_members'";
            number(&mut second, there).await == 1
        })
        .await;
        Self {
            members,
            sessions: vec![first, second],
        }
    }

    /// Where a member is, with an account that may do no more than is necessary.
    fn address(&self, member: usize) -> Address {
        Address {
            user: "control".to_owned(),
            password: "control".to_owned(),
            ..self.members[member].address()
        }
    }

    /// rules.yaml for a proxy before a member.
    fn rules(&self, member: usize) -> String {
        rules_head(&self.address(member)) + RULES
    }

    fn proxy(&self, member: usize) -> Proxy {
        Proxy::start(&self.address(member), RULES)
    }

    async fn numbers(&mut self, member: usize) -> Vec<String> {
        let rows = rows(&mut self.sessions[member], NUMBERS).await;
        rows.into_iter().flatten().collect()
    }
}

/// The stage of the one rule, and what it waits for.
fn stage(proxy: &Proxy) -> (&'static str, String) {
    let shown = proxy.rules.show();
    let waits_for = shown[0].waits_for.clone().unwrap_or_default();
    (shown[0].stage, waits_for)
}

async fn set(proxy: &Proxy, mode: Mode) {
    let set = proxy.rules.set_mode(TABLE, mode).await;
    set.unwrap_or_else(|why| panic!("{why}"));
}

async fn arrives(proxies: &[&Proxy], at: &str) {
    let seen = || proxies.iter().map(|proxy| stage(proxy)).collect::<Vec<_>>();
    let begun = Instant::now();
    while seen().iter().any(|(stage, _)| *stage != at) {
        assert!(begun.elapsed().as_secs() < 60, "{at}: {:?}", seen());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn waits_for(proxy: &Proxy, what: &str) {
    until(what, async || stage(proxy).1.contains(what)).await;
}

/// Increments through each of these proxies; the value is what was acknowledged, through each of them.
async fn counts(proxies: &[&Proxy], value: &mut i64) {
    for proxy in proxies {
        let mut client = connect(&proxy.address, Some(SCHEMA)).await;
        for _ in 0..5 {
            run(
                &mut client,
                "UPDATE posts SET views = views + 1 WHERE id = 1",
            )
            .await;
            *value += 1;
        }
    }
    for proxy in proxies {
        let mut client = connect(&proxy.address, Some(SCHEMA)).await;
        until("it is told", async || {
            number(&mut client, "SELECT views FROM posts WHERE id = 1").await == *value
        })
        .await;
    }
}

/// Increments until it is told to stop. How many were acknowledged; those that lost against another member were not
/// done.
async fn work(address: Address, stop: Arc<AtomicBool>) -> i64 {
    let mut client = connect(&address, Some(SCHEMA)).await;
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = "UPDATE posts SET views = views + 1 WHERE id = 1";
        match client.query(text).await {
            Ok(Reply::Err(error)) => {
                let message = error.message.as_bytes();
                assert!(is_rolled_back(error.code, message), "{error}");
            }
            reply => {
                reply.expect("an answer");
                done += 1;
            }
        }
    }
    done
}

#[test]
fn proxies_on_members_of_a_galera_cluster_hear_each_other() {
    block_on(hear_each_other(Replication::Galera));
}

#[test]
fn proxies_on_members_of_a_group_hear_each_other() {
    block_on(hear_each_other(Replication::Group {
        single_primary: false,
    }));
}

async fn hear_each_other(replication: Replication) {
    let mut cluster = Cluster::start(replication).await;
    let (_folder, file) = rules_file(&cluster.rules(0));
    let check = move || countersink(&["check"], &file).1;
    let checked = tokio::task::spawn_blocking(check).await.expect("no panic");
    let mut grants = 0;
    while let Err(refused) = prepare(&config_of(&cluster.rules(0))).await {
        let refused = refused.to_string();
        let (_, grant) = refused.split_once("allow it: ").expect("a GRANT");
        let (grant, _) = grant.split_once("..").expect("an account");
        assert!(checked.contains(grant), "{grant} in:\n{checked}");
        run(&mut cluster.sessions[0], &format!("{grant}control")).await;
        grants += 1;
    }
    let expected = match replication {
        Replication::Galera => 1,
        // Also to see which locks sessions hold.
        Replication::Group { .. } => 2,
    };
    assert_eq!(grants, expected);
    let mut value = 0;
    let one = cluster.proxy(0);
    let mut other = cluster.proxy(1);
    arrives(&[&one, &other], "enforced").await;
    assert_eq!(cluster.numbers(1).await, ["0", "1"]);
    counts(&[&one, &other], &mut value).await;

    // One goes out of force, and back, when both do.
    set(&other, Mode::Off).await;
    waits_for(&other, "node 0, which increments in slots").await;
    counts(&[&one, &other], &mut value).await;
    set(&one, Mode::Off).await;
    arrives(&[&one, &other], "off").await;
    set(&one, Mode::Enforce).await;
    waits_for(&one, "node 1, which reads base alone").await;
    assert_eq!(stage(&one).0, "switching on");
    counts(&[&one, &other], &mut value).await;
    set(&other, Mode::Enforce).await;
    arrives(&[&one, &other], "enforced").await;
    counts(&[&one, &other], &mut value).await;

    // One that is stopped says so; one that is killed does not, and is silent.
    other.stop();
    assert_eq!(cluster.numbers(1).await, ["0"]);
    let (_folder, file) = rules_file(&cluster.rules(1));
    let killed = Serving::start(&file).unwrap_or_else(|ended| panic!("{}", ended.errors));
    let config = config_of(&cluster.rules(0));
    let control = Control::open(&config).await.expect("the control account");
    let here = async || {
        let here = control.agreement().here(&control, None).await;
        let here = here.unwrap_or_else(|error| panic!("{error}"));
        here.into_keys().collect::<Vec<_>>()
    };
    until("the second is there", async || here().await == [0, 1]).await;
    drop(killed);
    let begun = Instant::now();
    until("the second is silent", async || here().await == [0]).await;
    let silence = begun.elapsed().as_secs_f32();
    assert!((12.0..25.0).contains(&silence), "{silence}");
    assert_eq!(cluster.numbers(1).await, ["0", "1"]);
    let node = Node::claim(&control).await.expect("a number");
    assert_eq!(node.number, 1);
    control.agreement().leave(&control).await;
    assert_eq!(cluster.numbers(0).await, ["0"]);
    counts(&[&one], &mut value).await;

    // A drain through one member is heard on the other, while increments go on there.
    let other = cluster.proxy(1);
    arrives(&[&one, &other], "enforced").await;
    counts(&[&one, &other], &mut value).await;
    let stop = Arc::new(AtomicBool::new(false));
    let working = work(one.address.clone(), Arc::clone(&stop));
    let working = tokio::spawn(working);
    let drain = move || countersink(&["drain", "--timeout", "50s"], &file);
    let drained = tokio::task::spawn_blocking(drain).await;
    let (code, output, errors) = drained.expect("it does not panic");
    stop.store(true, Ordering::Relaxed);
    let done = working.await.expect("a client that does not panic");
    assert!(done > 0);
    value += done;
    assert_eq!(code, 0, "{output}{errors}");
    assert_eq!(
        output,
        "cs_members.posts: drained; cs_members.posts_slots is gone\n"
    );
    arrives(&[&one, &other], "drained").await;
    for session in &mut cluster.sessions {
        until("the slot table is gone", async || {
            let slots =
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'posts_slots'";
            number(session, slots).await == 0
        })
        .await;
        let base = "SELECT views FROM cs_members.posts";
        until("all of it is there", async || {
            number(session, base).await == value
        })
        .await;
    }
    counts(&[&one, &other], &mut value).await;
    assert_eq!(
        cluster.numbers(0).await,
        ["0", "1"],
        "the drain says nothing more"
    );
}

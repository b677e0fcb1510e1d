//! Slots that an application writes by hand, in the table of the published pattern, which two rules share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};
use rand::RngExt;

use crate::rollup::stage::deadline;
use crate::support::binary::{countersink, rules_file};
use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::{Proxy, rules_head};
use crate::support::twin::twin;

on_both![
    an_application_that_writes_them_still_loses_nothing,
    what_cannot_be_moved_stays,
];

const TABLES: &str = "CREATE TABLE slotted_counters (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, record_type VARCHAR(20) NOT NULL, record_id INT NOT NULL, \
                      slot INT NOT NULL DEFAULT 0, count INT DEFAULT NULL, UNIQUE KEY records_and_slots (record_type, record_id, slot)); \
                      CREATE TABLE posts (id INT PRIMARY KEY, views SMALLINT UNSIGNED, at TIMESTAMP NOT NULL DEFAULT '2024-01-01' ON UPDATE CURRENT_TIMESTAMP); \
                      CREATE TABLE users (id INT PRIMARY KEY, seen BIGINT NOT NULL); \
                      INSERT INTO posts (id, views) VALUES (1, 100), (2, NULL), (3, 65530), (4, 0); INSERT INTO users VALUES (1, 0); \
                      INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES ('App\\\\User', 1, 0, 0), \
                      ('App\\\\User', 1, 1, 0), ('App\\\\User', 1, 2, 0), ('App\\\\User', 1, 3, 0), ('App\\\\User', 1, 4, 0)";

fn rules(schema: &str) -> String {
    format!(
        "counters:\n\
         - {{table: {schema}.posts, columns: [views], rollup: 10ms, adopts: {schema}.slotted_counters, record_type: Post}}\n\
         - {{table: {schema}.users, columns: [seen], rollup: 10ms, adopts: {schema}.slotted_counters, record_type: 'App\\User'}}\n"
    )
}

/// The published increment: into a slot by chance.
fn by_hand(record_type: &str, id: i64) -> String {
    let slot = rand::rng().random_range(0..5);
    format!(
        "INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES ('{record_type}', {id}, {slot}, 1) \
         ON DUPLICATE KEY UPDATE count = count + 1"
    )
}

/// Runs a statement unless it is the victim of a deadlock, with its transaction: upserts of new slots lock gaps, and
/// old code is in each other's way without a proxy as well.
async fn is_done(client: &mut Driver, text: &str) -> bool {
    const ER_LOCK_DEADLOCK: u16 = 1213;
    match client.query(text).await.expect("an answer") {
        Reply::Err(error) if error.code == ER_LOCK_DEADLOCK => false,
        Reply::Err(error) => panic!("{error} to {text}"),
        _ => true,
    }
}

/// Old code: by hand, in autocommit and in transactions that change the row as well. How much it has added.
///
/// The users' slots are there from the beginning, so that nothing but the roll-up could be half of a deadlock upon
/// them.
async fn old_code(address: Address, schema: &str, stop: Arc<AtomicBool>) -> i64 {
    let mut client = connect(&address, Some(schema)).await;
    let mut added = 0;
    while !stop.load(Ordering::Relaxed) {
        added += i64::from(is_done(&mut client, &by_hand("Post", 1)).await);
        run(&mut client, &by_hand("App\\\\User", 1)).await;
        run(&mut client, "BEGIN").await;
        let is_first = rand::rng().random_bool(0.5);
        let row = "UPDATE posts SET views = views + 1 WHERE id = 1".to_owned();
        let mut statements = [by_hand("Post", 1), row];
        if is_first {
            statements.reverse();
        }
        let [one, another] = statements;
        if is_done(&mut client, &one).await && is_done(&mut client, &another).await {
            run(&mut client, "COMMIT").await;
            added += 2;
        }
    }
    added
}

async fn an_application_that_writes_them_still_loses_nothing(flavour: Flavour) {
    let schema = "cs_rollup_adopted";
    let address = twin(flavour).proxied.clone();
    let mut direct = create_schema(&address, schema, TABLES).await;
    let rules = rules(schema);
    let proxy = Proxy::start(&address, &rules);
    let stop = Arc::new(AtomicBool::new(false));
    let old = [address.clone(), proxy.address.clone(), address.clone()];
    let old = old.map(|address| tokio::spawn(old_code(address, schema, Arc::clone(&stop))));

    // New code increments the row, and old code reads both: never less than before.
    let mut client = connect(&proxy.address, Some(schema)).await;
    let both = "SELECT views + (SELECT COALESCE(SUM(count), 0) FROM slotted_counters \
                WHERE record_type = 'Post' AND record_id = 1) FROM posts WHERE id = 1";
    let (mut before, mut added) = (100, 0);
    while proxy.shared.metrics.adopted() < 300 || added < 300 {
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        added += 1;
        let value = number(&mut client, both).await;
        assert!(value >= before, "{value} after {before}");
        before = value;
    }
    stop.store(true, Ordering::Relaxed);
    for old in old {
        added += old.await.expect("a client that does not panic");
    }
    assert_eq!(number(&mut client, both).await, 100 + added);
    let left = "SELECT COALESCE(SUM(count), 0) FROM slotted_counters";
    let until = deadline();
    while number(&mut direct, left).await > 0 {
        assert!(std::time::Instant::now() < until, "they are moved");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let views = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(number(&mut client, views).await, 100 + added);
    assert_eq!(proxy.shared.metrics.drifted(), 0);

    // What comes at the end is taken along by the drain.
    drop(proxy);
    run(&mut direct, &by_hand("Post", 1)).await;
    run(
        &mut direct,
        "UPDATE posts SET at = '2024-02-02' WHERE id = 1",
    )
    .await;
    let (_folder, file) = rules_file(&(rules_head(&address) + &rules));
    let (code, output, errors) = countersink(&["drain", &format!("{schema}.posts")], &file);
    assert_eq!(code, 0, "{output}{errors}");
    let expected = format!("{schema}.slotted_counters: 1 row moved\n");
    assert!(output.ends_with(&expected), "{output}");
    assert_eq!(number(&mut direct, views).await, 101 + added);
    let at = "SELECT DATE(at) FROM posts WHERE id = 1";
    assert_eq!(
        rows(&mut direct, at).await,
        [["2024-02-02"]],
        "it is no change of the row"
    );
}

/// Rows that are gone, NULL, or full; slots of another type; slots that somebody holds.
async fn what_cannot_be_moved_stays(flavour: Flavour) {
    let schema = "cs_rollup_adopted_left";
    let address = twin(flavour).proxied.clone();
    let mut direct = create_schema(&address, schema, TABLES).await;
    let slots = "INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES ('Post', 1, 0, 5), ('Post', 1, 1, 7), \
                 ('Post', 2, 0, 3), ('Post', 3, 0, 6), ('Post', 4, 0, -1), ('Post', 77, 0, 9), ('Tag', 1, 0, 11), ('Post', 4, 1, NULL)";
    run(&mut direct, slots).await;
    let mut holder = connect(&address, Some(schema)).await;
    run(&mut holder, "BEGIN").await;
    run(
        &mut holder,
        "UPDATE slotted_counters SET count = count + 1 WHERE record_type = 'Post' AND record_id = 1 AND slot = 1",
    )
    .await;
    let (_folder, file) = rules_file(&(rules_head(&address) + &rules(schema)));
    let (code, output, errors) = countersink(&["provision"], &file);
    assert_eq!(code, 0, "{output}{errors}");
    let (code, output, errors) = countersink(&["rollup", "--now"], &file);
    let expected = format!(
        "{schema}.posts: {schema}.slotted_counters: 1 row moved, what belongs to 4 keys left (locked by open transactions, \
         or the row is gone, NULL, or has no room)\n"
    );
    assert!(code == 0 && output.contains(&expected), "{output}{errors}");
    let posts = "SELECT id, COALESCE(views, 'NULL') FROM posts ORDER BY id";
    let full = [["1", "105"], ["2", "NULL"], ["3", "65530"], ["4", "0"]];
    assert_eq!(rows(&mut direct, posts).await, full);
    run(&mut holder, "COMMIT").await;
    let (code, output, errors) = countersink(&["rollup", "--now"], &file);
    assert!(
        code == 0 && output.contains("slotted_counters: 1 row moved"),
        "{output}{errors}"
    );
    let views = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(number(&mut direct, views).await, 113);
    let left =
        "SELECT record_type, record_id, count FROM slotted_counters WHERE count <> 0 ORDER BY 1, 2";
    let expected = [
        ["Post", "2", "3"],
        ["Post", "3", "6"],
        ["Post", "4", "-1"],
        ["Post", "77", "9"],
        ["Tag", "1", "11"],
    ];
    assert_eq!(rows(&mut direct, left).await, expected);
}

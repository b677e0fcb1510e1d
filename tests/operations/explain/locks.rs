//! The locks that explanations name are those that InnoDB says are held.

use std::collections::BTreeSet;

use countersink::driver::Driver;
use countersink_sandbox::Flavour;

use crate::explain::{INCREMENT, TABLES};
use crate::support::client::{connect, number, rows, run};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

/// Record locks of a connection: table, mode, record. `supremum` stands for the gap behind all records.
async fn held(observer: &mut Driver, schema: &str, connection: i64) -> BTreeSet<String> {
    let question = format!(
        "SELECT CONCAT_WS(' ', OBJECT_NAME, LOCK_MODE, REPLACE(LOCK_DATA, ' pseudo-record', '')) \
         FROM performance_schema.data_locks JOIN performance_schema.threads USING (THREAD_ID) \
         WHERE PROCESSLIST_ID = {connection} AND OBJECT_SCHEMA = '{schema}' AND LOCK_TYPE = 'RECORD'"
    );
    let locks = rows(observer, &question).await;
    locks.into_iter().flatten().collect()
}

/// What the proxy says that a statement locks, all ways of it.
async fn said(driver: &mut Driver, statement: &str) -> String {
    let lines = rows(driver, &format!("EXPLAIN FORMAT=COUNTERSINK {statement}")).await;
    let locks = lines.into_iter().filter(|line| line[0] == "locks");
    let text = locks.map(|line| format!("{}|{}\n", line[1], line[2]));
    text.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn are_those_that_are_taken() {
    let server = single(Flavour::MySql);
    let schema = format!("locks_{}", std::process::id());
    let mut observer = connect(server, None).await;
    run(&mut observer, &format!("CREATE DATABASE {schema}")).await;
    for table in TABLES.split(';') {
        run(&mut observer, &table.replace('~', &schema)).await;
    }
    let rule = format!("counters:\n- table: {schema}.posts\n  columns: [views]\n");
    let proxy = Proxy::start(server, &rule);
    let mut driver = connect(&proxy.address, Some(&schema)).await;
    let connection = number(&mut driver, "SELECT CONNECTION_ID()").await;
    // Proxies of other tests may have the lowest range.
    let slot = proxy
        .shared
        .slots
        .first(&proxy.shared.hot().catalog.tables[0]);
    let slot_row = format!("posts_slots X,REC_NOT_GAP 42, {slot}");
    let set = |locks: &[&str]| -> BTreeSet<String> {
        locks.iter().map(|lock| (*lock).to_owned()).collect()
    };

    // Such transactions have to be known to do nothing but increment.
    let all = "UPDATE posts SET views = views + 1 WHERE author_id = 7";
    for statement in [INCREMENT, all] {
        for statement in ["BEGIN", statement, "COMMIT"] {
            run(&mut driver, statement).await;
        }
    }

    // The slot row is not known: the row shared, and of the slot row no more than that it is new.
    run(&mut driver, "BEGIN").await;
    let locks = said(&mut driver, INCREMENT).await;
    let unknown = format!(
        "When it is not, or a fold has closed it|{schema}.posts: the rows that the WHERE finds, S"
    );
    assert!(locks.contains(&unknown), "{locks}");
    run(&mut driver, INCREMENT).await;
    let taken = held(&mut observer, &schema, connection).await;
    assert_eq!(taken, set(&["posts S,REC_NOT_GAP 42"]));
    run(&mut driver, "COMMIT").await;

    // It is known: itself, and nothing of the row.
    run(&mut driver, "BEGIN").await;
    let known =
        format!("When the slot row is known to be there|{schema}.posts_slots: the one slot row, X");
    assert!(locks.contains(&known), "{locks}");
    run(&mut driver, INCREMENT).await;
    let taken = held(&mut observer, &schema, connection).await;
    assert_eq!(taken, set(&[&slot_row]));
    run(&mut driver, "COMMIT").await;

    // A fold: the row, and its open slot row; no gap.
    run(&mut driver, "BEGIN").await;
    let set_it = "UPDATE posts SET views = 5 WHERE id = 42";
    let locks = said(&mut driver, set_it).await;
    let expected = format!(
        "|{schema}.posts: the rows WHERE `id` = 42, X\n\
         |{schema}.posts_slots: their open slot rows, X\n"
    );
    assert!(locks.starts_with(&expected), "{locks}");
    run(&mut driver, set_it).await;
    let taken = held(&mut observer, &schema, connection).await;
    assert_eq!(taken, set(&["posts X,REC_NOT_GAP 42", &slot_row]));
    run(&mut driver, "ROLLBACK").await;

    // No key is named: every row that is looked at.
    run(&mut driver, "BEGIN").await;
    let locks = said(&mut driver, all).await;
    assert!(
        locks.contains("posts: all that the WHERE looks at, S"),
        "{locks}"
    );
    run(&mut driver, all).await;
    let taken = held(&mut observer, &schema, connection).await;
    for row in ["1", "42"] {
        assert!(taken.contains(&format!("posts S {row}")), "{taken:?}");
    }
    run(&mut driver, "ROLLBACK").await;

    // A consistent read: none.
    run(&mut driver, "BEGIN").await;
    let locks = said(&mut driver, "SELECT views FROM posts").await;
    assert!(locks.starts_with("|none: a consistent read"), "{locks}");
    run(&mut driver, "SELECT views FROM posts").await;
    assert_eq!(held(&mut observer, &schema, connection).await, set(&[]));
    run(&mut driver, "COMMIT").await;

    drop(proxy);
    run(&mut observer, &format!("DROP DATABASE {schema}")).await;
}

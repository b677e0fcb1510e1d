//! A statement that meets locks waits as long as it would without the proxy, and not once for each row.

mod support;

use countersink::driver::Reply;
use countersink::sandbox::Flavour;
use countersink::wire::capability;
use support::client::{connect, connect_as, create_schema, number, run};
use support::on_both;
use support::proxy::Proxy;
use support::twin::twin;

on_both![a_fold_of_many_locked_slot_rows_waits_once];

const TABLES: &str =
    "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(9));
    INSERT INTO posts (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')";

async fn a_fold_of_many_locked_slot_rows_waits_once(flavour: Flavour) {
    let schema = "cs_lock_waits";
    let upstream = &twin(flavour).proxied;
    let mut direct = create_schema(upstream, schema, TABLES).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    // Of clients with several statements in a packet, and without.
    for capabilities in [0, capability::MULTI_STATEMENTS] {
        let capabilities = countersink::driver::Driver::CAPABILITIES | capabilities;
        let client = connect_as(&proxy.address, Some(schema), capabilities).await;
        let mut client = client.expect("a session");
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id <= 5",
        )
        .await;
        let mut holder = connect(upstream, Some(schema)).await;
        run(&mut holder, "BEGIN").await;
        run(&mut holder, "SELECT * FROM posts_slots FOR UPDATE").await;

        run(&mut client, "SET innodb_lock_wait_timeout = 1").await;
        let waits = "SELECT CAST(variable_value AS SIGNED) FROM {} WHERE variable_name = 'Innodb_row_lock_waits'";
        let waits = waits.replace(
            "{}",
            match flavour {
                Flavour::MySql => "performance_schema.global_status",
                Flavour::MariaDb => "information_schema.global_status",
            },
        );
        let before = number(&mut direct, &waits).await;
        let answer = client.query("UPDATE posts SET views = 7").await;
        match answer.expect("an answer") {
            Reply::Err(error) => assert_eq!(error.code, 1205, "{}", error.message),
            other => panic!("{other:?}"),
        }
        assert_eq!(number(&mut direct, &waits).await - before, 1);

        run(&mut holder, "ROLLBACK").await;
        run(&mut client, "UPDATE posts SET views = 7").await;
        assert_eq!(
            number(&mut direct, "SELECT SUM(views) FROM posts").await,
            5 * 7
        );
        // It may send several statements only if it asked for that.
        let several = client.query("DO 1; DO 2").await.expect("an answer");
        let is_refused = matches!(several, Reply::Err(_));
        assert_eq!(is_refused, capabilities & capability::MULTI_STATEMENTS == 0);
    }
}

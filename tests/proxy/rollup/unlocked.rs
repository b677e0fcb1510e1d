//! A roll-up locks rows for a moment. Statements that do not wait for locks never meet that.

use countersink::driver::Reply;
use countersink_sandbox::Flavour;

use crate::rollup::stage::deadline;
use crate::support::client::{connect, create_schema, rows, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

on_both![a_row_that_is_rolled_up_is_not_locked_for_those_who_do_not_wait];

/// How many roll-ups must have taken place meanwhile.
const ROLL_UPS: u64 = 150;

async fn a_row_that_is_rolled_up_is_not_locked_for_those_who_do_not_wait(flavour: Flavour) {
    let schema = "cs_rollup_unlocked";
    let address = twin(flavour).proxied.clone();
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, title TEXT); \
                  INSERT INTO posts (id, views) VALUES (1, 0), (2, 0)";
    create_schema(&address, schema, tables).await;
    let proxy = Proxy::start(
        &address,
        &format!(
            "counters:\n- {{table: {schema}.posts, columns: [views], rollup: 10ms, rest: never}}\n"
        ),
    );
    let mut client = connect(&proxy.address, Some(schema)).await;
    let prepare = "PREPARE skip FROM 'SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED'";
    run(&mut client, prepare).await;
    let statements = [
        "SELECT id FROM posts ORDER BY id FOR UPDATE SKIP LOCKED",
        "EXECUTE skip",
        "SELECT id FROM posts ORDER BY id FOR UPDATE NOWAIT",
    ];
    let until = deadline();
    while proxy.shared.metrics.roll_ups() < ROLL_UPS {
        assert!(std::time::Instant::now() < until, "it is rolled up");
        run(&mut client, "UPDATE posts SET views = views + 1").await;
        for statement in statements.iter().cycle().take(9) {
            if let Ok(Reply::Err(error)) = client.query(statement).await {
                panic!("{error} to {statement}");
            }
            assert_eq!(
                rows(&mut client, statement).await,
                [["1"], ["2"]],
                "{statement}"
            );
        }
    }
}

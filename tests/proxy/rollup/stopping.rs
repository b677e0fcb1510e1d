//! A proxy that is told to stop rolls up all that its slots hold.

use countersink_sandbox::Flavour;

use crate::rollup::stage::{POSTS, Stage};
use crate::support::client::{number, run};
use crate::support::on_both;

on_both![
    a_proxy_that_stops_leaves_nothing_in_slots,
    nor_what_was_incremented_without_a_key,
];

async fn a_proxy_that_stops_leaves_nothing_in_slots(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_stop", POSTS, "1h").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    let mut direct = stage.direct().await;
    assert_eq!(
        number(&mut direct, "SELECT views FROM posts WHERE id = 1").await,
        0
    );
    drop(stage.proxy);
    assert_eq!(
        number(&mut direct, "SELECT views FROM posts WHERE id = 1").await,
        5
    );
    assert_eq!(
        number(&mut direct, "SELECT SUM(views) FROM posts_slots").await,
        0
    );
}

async fn nor_what_was_incremented_without_a_key(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_stop_keyless", POSTS, "10ms").await;
    let mut client = stage.client().await;
    // More rows than a search finds at a time.
    let many = "INSERT INTO posts (id, title) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999)
        SELECT a.i + 1000 * b.i, 'many' FROM n AS a JOIN n AS b ON b.i < 6";
    run(&mut client, many).await;
    let one = "UPDATE posts SET views = views + 5 WHERE title = 'one'";
    run(&mut client, one).await;
    stage.until_rolled_up().await;
    // The slot table has just been searched.
    run(&mut client, one).await;
    let all = "UPDATE posts SET views = views + 1 WHERE title = 'many'";
    run(&mut client, all).await;
    let mut direct = stage.direct().await;
    drop(stage.proxy);
    let base = number(&mut direct, "SELECT SUM(views) FROM posts").await;
    assert_eq!(base, 10 + 999 * 5);
    let held = "SELECT COUNT(*) FROM posts_slots WHERE views <> 0";
    assert_eq!(number(&mut direct, held).await, 0);
}

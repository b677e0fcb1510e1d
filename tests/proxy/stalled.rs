//! A client that does not read its answer keeps nobody waiting.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply};
use countersink::wire::command;
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::Flavour;

use crate::support::client::{connect, create_schema, number, prepare, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

on_both![locks_of_a_fold_do_not_wait_for_the_client];

const TABLES: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
    INSERT INTO posts (id) VALUES (1), (2);
    CREATE TABLE numbers (n INT PRIMARY KEY);
    INSERT INTO numbers VALUES (1), (2), (3), (4), (5), (6), (7), (8)";

/// Half a mebibyte in each row.
const ROW: usize = 512 * 1024;

/// A parameter in the select list is folded for. 64 MiB are more than all sockets take.
const SELECT: &str = "SELECT views + ?, REPEAT('x', 524288) FROM posts, numbers AS a, numbers AS b ORDER BY posts.id";

async fn locks_of_a_fold_do_not_wait_for_the_client(flavour: Flavour) {
    let schema = "cs_stalled";
    let upstream = &twin(flavour).proxied;
    let mut direct = create_schema(upstream, schema, TABLES).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    let mut client = connect(&proxy.address, Some(schema)).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;

    let id = prepare(&mut client, SELECT).await;
    let mut execute = vec![command::STMT_EXECUTE];
    execute.extend_from_slice(&id.to_le_bytes());
    // No cursor, one iteration, no NULL, a type: LONGLONG, and 2.
    execute.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    client.send(&execute).await.expect("sent");

    // The fold has run, and its locks are released, though nothing has been read.
    let deadline = Instant::now() + Duration::from_secs(60);
    while number(&mut direct, "SELECT views FROM posts WHERE id = 1").await == 0
        || !is_free(&mut direct).await
    {
        assert!(
            Instant::now() < deadline,
            "the locks of the fold are released"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let packets = client
        .packets(ResponseKind::Results)
        .await
        .expect("an answer");
    let rows: Vec<_> = packets
        .iter()
        .filter(|packet| packet.packet_kind == PacketKind::Row)
        .collect();
    assert_eq!(rows.len(), 2 * 8 * 8);
    for (position, row) in rows.iter().enumerate() {
        let sum = if position < 64 { 5 + 2 } else { 2 };
        assert_eq!(row.payload[2], sum, "row {position}");
        assert_eq!(
            row.payload.iter().filter(|byte| **byte == b'x').count(),
            ROW
        );
    }
    assert_eq!(
        number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
        5
    );
}

async fn is_free(direct: &mut Driver) -> bool {
    let lock = "SELECT views FROM posts WHERE id = 1 FOR UPDATE NOWAIT";
    matches!(direct.query(lock).await.expect("an answer"), Reply::Rows(_))
}

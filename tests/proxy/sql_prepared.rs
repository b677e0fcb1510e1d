//! EXECUTE takes the same way as the statement that it runs: increments to slots, reads to sums, and no fold.

use std::collections::BTreeMap;

use countersink::reason::Reason;
use countersink_sandbox::Flavour;

use crate::support;
use crate::support::client::{connect, rows, run};
use crate::support::proxy::Proxy;
use crate::support::twin::single;

const SCHEMA: &str = "cs_sql_prepared_ways";

async fn execute_takes_the_way_of_its_text(flavour: Flavour) {
    let server = single(flavour);
    let mut direct = connect(server, None).await;
    run(&mut direct, &format!("DROP DATABASE IF EXISTS {SCHEMA}")).await;
    run(&mut direct, &format!("CREATE DATABASE {SCHEMA}")).await;
    let create = format!(
        "CREATE TABLE {SCHEMA}.posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL)"
    );
    run(&mut direct, &create).await;
    let insert = format!("INSERT INTO {SCHEMA}.posts VALUES (1, 'a', 10), (2, 'b', 20)");
    run(&mut direct, &insert).await;
    let rules = format!("counters:\n  - {{table: {SCHEMA}.posts, columns: [views]}}\n");
    let proxy = Proxy::start(server, &rules);
    let mut client = connect(&proxy.address, Some(SCHEMA)).await;
    for text in [
        "SET @n = 2, @id = 1, @title = 'a', @float = 1e0",
        "PREPARE inc FROM 'UPDATE posts SET views = views + ? WHERE id = ?'",
        "EXECUTE inc USING @n, @id",
        "EXECUTE INC USING @n, @id",
        "SET @sql = 'SELECT views FROM posts WHERE title = ?'",
        "PREPARE seek FROM @sql",
        "EXECUTE seek USING @title",
        "PREPARE put FROM 'UPDATE posts SET views = ? WHERE id = ?'",
        "EXECUTE put USING @n, @n",
        "EXECUTE inc USING @n, @float",
    ] {
        run(&mut client, text).await;
    }
    let expected = [
        (Reason::Slotted, 2),
        (Reason::Summed, 1),
        (Reason::AbsoluteSet, 1),
        // A DOUBLE has no literal that surely means the same.
        (Reason::Fallback, 1),
        (Reason::SqlPrepare, 3),
    ];
    let counted = proxy.shared.metrics.statements();
    let counted: BTreeMap<_, _> = counted
        .into_iter()
        .filter(|(reason, _)| !matches!(reason, Reason::NotHot | Reason::Metadata))
        .collect();
    assert_eq!(counted, BTreeMap::from(expected));
    let values = rows(&mut client, "SELECT id, views FROM posts ORDER BY id").await;
    assert_eq!(values, [["1", "16"], ["2", "2"]]);
}

#[test]
fn mysql() {
    support::block_on(execute_takes_the_way_of_its_text(Flavour::MySql));
}

#[test]
fn mariadb() {
    support::block_on(execute_takes_the_way_of_its_text(Flavour::MariaDb));
}

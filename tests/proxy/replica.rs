//! A proxy before a replica: reads are exact by the slots that its source fills, and the proxy writes nothing there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersink::counter::control::Control;
use countersink::counter::rollup::{Error as RollUpError, RollUp};
use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour, Server};

use crate::support::client::{connect, create_schema, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::{installation, options};

on_both![reads_are_exact_and_nothing_is_written];

const SCHEMA: &str = "cs_replica";
const VALUE: &str = "SELECT views FROM posts WHERE id = 1";
const IN_SLOTS: &str = "SELECT COALESCE(SUM(views), 0) FROM posts_slots";

/// A server that others can follow, and that can follow others.
pub fn server(flavour: Flavour, id: u32) -> Server {
    let mut options = options();
    let settings = [
        format!("--server-id={id}"),
        "--log-bin=binlog".to_owned(),
        "--binlog-format=ROW".to_owned(),
        format!("--relay-log=relay-{id}"),
    ];
    options.extra.extend(settings);
    if flavour == Flavour::MySql {
        let by_gtid = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
        options.extra.extend(by_gtid.map(str::to_owned));
    }
    Server::start(&installation(flavour), &options).expect("a server")
}

/// Has a server follow another one, from its beginning.
pub async fn follow(replica: &mut Driver, source: &Address, flavour: Flavour) {
    let Address {
        host, port, user, ..
    } = source;
    let statements = match flavour {
        Flavour::MySql => [
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = '{user}', \
                 SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            "START REPLICA".to_owned(),
        ],
        Flavour::MariaDb => [
            format!(
                "CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = '{user}', \
                 MASTER_CONNECT_RETRY = 1"
            ),
            "START SLAVE".to_owned(),
        ],
    };
    for statement in &statements {
        run(replica, statement).await;
    }
}

/// Waits until it is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn reads_are_exact_and_nothing_is_written(flavour: Flavour) {
    let (source, replica) = (server(flavour, 1), server(flavour, 2));
    let (source, replica) = (source.address(), replica.address());
    let mut of_replica = connect(&replica, None).await;
    follow(&mut of_replica, &source, flavour).await;
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 10); \
                  CREATE USER app IDENTIFIED BY 'app'; GRANT ALL ON cs_replica.* TO app";
    let mut of_source = create_schema(&source, SCHEMA, tables).await;
    let rules = |rest| {
        format!(
            "counters:\n- {{table: {SCHEMA}.posts, columns: [views], rest: {rest}, rollup: 1h}}\n"
        )
    };
    let before_source = Proxy::start(&source, &rules("never"));
    until("it is replicated", async || {
        let slots = "SELECT COUNT(*) FROM information_schema.tables \
                     WHERE table_schema = 'cs_replica' AND table_name = 'posts_slots'";
        number(&mut of_replica, slots).await == 1
    })
    .await;
    run(&mut of_replica, &format!("USE {SCHEMA}")).await;
    run(&mut of_replica, "SET GLOBAL read_only = 1").await;
    // It would rest before a server of its own: nobody here needs slots.
    let before_replica = Proxy::start(&replica, &rules("auto"));
    let as_app = |address: &Address| Address {
        user: "app".to_owned(),
        password: "app".to_owned(),
        ..address.clone()
    };
    let mut reader = connect(&as_app(&before_replica.address), Some(SCHEMA)).await;
    // As a transaction does through the other proxy.
    run(&mut of_source, &slot_row(5)).await;
    until("it is replicated", async || {
        number(&mut of_replica, IN_SLOTS).await == 5
    })
    .await;
    assert_eq!(number(&mut reader, VALUE).await, 15);
    run(&mut of_source, &slot_row(7)).await;
    until("it is replicated", async || {
        number(&mut of_replica, IN_SLOTS).await == 7
    })
    .await;
    assert_eq!(number(&mut reader, VALUE).await, 17);
    let listed = rows(
        &mut reader,
        "SELECT id, views FROM posts ORDER BY views DESC LIMIT 3",
    )
    .await;
    assert_eq!(listed, [["1", "17"]]);

    let mut direct = connect(&as_app(&replica), Some(SCHEMA)).await;
    for script in [
        &["UPDATE posts SET views = views + 1 WHERE id = 1"][..],
        &[
            "BEGIN",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "ROLLBACK",
        ],
        &["UPDATE posts SET views = 0"],
        &["DELETE FROM posts WHERE id = 1"],
        &["INSERT INTO posts VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1"],
        &["TRUNCATE posts"],
    ] {
        for statement in script {
            let answers = [
                answer(&mut direct, statement).await,
                answer(&mut reader, statement).await,
            ];
            assert_eq!(answers[0], answers[1], "{statement}");
        }
    }
    let config = config_of(&(rules_head(&replica) + &rules("auto")));
    let control = Control::open(&config).await.expect("the control account");
    let shared = Arc::clone(&before_replica.shared);
    let table = Arc::clone(&shared.hot().catalog.tables[0]);
    let rolled = RollUp::new(control, Arc::clone(&shared.metrics))
        .now(&table)
        .await;
    assert!(matches!(rolled, Err(RollUpError::ReadOnly)), "{rolled:?}");
    assert_eq!(number(&mut of_replica, IN_SLOTS).await, 7);
    assert_eq!(number(&mut reader, VALUE).await, 17);

    // It becomes a server of its own.
    drop(before_source);
    let stop = match flavour {
        Flavour::MySql => "STOP REPLICA",
        Flavour::MariaDb => "STOP SLAVE",
    };
    run(&mut of_replica, stop).await;
    run(&mut of_replica, "SET GLOBAL read_only = 0").await;
    until("it comes to rest", async || {
        before_replica.rules.show()[0].stage == "at rest"
    })
    .await;
    assert_eq!(number(&mut of_replica, IN_SLOTS).await, 0);
    assert_eq!(number(&mut of_replica, VALUE).await, 17);
    run(
        &mut reader,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    assert_eq!(number(&mut reader, VALUE).await, 18);

    // It becomes a replica again while the table rests.
    run(&mut of_replica, "SET GLOBAL read_only = 1").await;
    run(&mut of_replica, &slot_row(5)).await;
    until("the slots are read", async || {
        number(&mut reader, VALUE).await == 23
    })
    .await;
}

/// As a transaction leaves it.
fn slot_row(views: i64) -> String {
    format!("REPLACE INTO posts_slots (id, slot, open, views) VALUES (1, 0, 1, {views})")
}

/// The code and the message of an error, if it is one.
async fn answer(client: &mut Driver, text: &str) -> Option<(u16, String)> {
    match client.query(text).await.expect("an answer") {
        Reply::Err(error) => Some((error.code, error.message.clone())),
        _ => None,
    }
}

//! A statement that meets locks waits as long as it would without the proxy, and not once for each row. A deadlock that
//! it would not be in without the proxy is not told of.

use countersink::driver::{Driver, Reply};
use countersink::wire::capability;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::{Address, Flavour};
use tokio::task::JoinHandle;

use crate::support::client::{
    connect, connect_as, create_schema, number, number_of_transactions, run, run_all,
};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::thorough::every_nth;
use crate::support::twin::{alone, twin};

on_both![
    a_fold_of_many_locked_slot_rows_waits_once,
    a_deadlock_over_slots_is_nobodys,
    what_begins_again_is_tracked_as_if_it_had_not,
    a_locking_read_locks_what_it_meets,
    deletes_that_cascade_wait_one_for_the_other,
    lock_tables_that_fails_leaves_no_table_locked,
];

const TABLES: &str =
    "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, title VARCHAR(9));
    INSERT INTO posts (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')";

/// LOCK TABLES releases the locks of before, also where it fails.
async fn lock_tables_that_fails_leaves_no_table_locked(flavour: Flavour) {
    let (schema, upstream) = ("cs_lock_tables_fails", &twin(flavour).proxied);
    create_schema(upstream, schema, TABLES).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    let mut client = connect(&proxy.address, Some(schema)).await;
    let mut other = connect(&proxy.address, Some(schema)).await;
    let views = "SELECT views FROM posts WHERE id = 1";
    for failing in ["posts WRITE, nowhere WRITE", "nowhere WRITE"] {
        run(&mut client, "UPDATE posts SET views = 0 WHERE id = 1").await;
        run(&mut client, "LOCK TABLES posts WRITE").await;
        let failed = client.query(&format!("LOCK TABLES {failing}")).await;
        assert!(matches!(failed, Ok(Reply::Err(_))), "{failed:?}");
        for _ in 0..3 {
            run(
                &mut other,
                "UPDATE posts SET views = views + 1 WHERE id = 1",
            )
            .await;
        }
        assert_eq!(number(&mut client, views).await, 3, "{failing}");
    }
}

async fn a_fold_of_many_locked_slot_rows_waits_once(flavour: Flavour) {
    let schema = "cs_lock_waits";
    // What it counts is the whole server's.
    let (upstream, _turn) = alone(flavour).await;
    let mut direct = create_schema(upstream, schema, TABLES).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    // Of clients with several statements in a packet, and without.
    for capabilities in [0, capability::MULTI_STATEMENTS] {
        let capabilities = Driver::CAPABILITIES | capabilities;
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

/// Another has locked slots, and then wants the base row: an increment, or a fold, is the server's victim. MySQL has
/// one row to wait for, and no deadlock.
async fn a_deadlock_over_slots_is_nobodys(flavour: Flavour) {
    let schema = "cs_deadlocks";
    let upstream = &twin(flavour).plain;
    let tables = format!(
        "{TABLES}; INSERT INTO posts (id) VALUES (6), (7); CREATE TABLE ballast (id INT PRIMARY KEY)"
    );
    let mut direct = create_schema(upstream, schema, &tables).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    // The first transaction of its kind would increment the row itself.
    let mut client = connect(&proxy.address, Some(schema)).await;
    let shown = "BEGIN; UPDATE posts SET views = views + 1 WHERE id = 6; COMMIT";
    run_all(&mut client, shown).await;
    // BEGIN begins a block in MariaDB's Oracle mode.
    let in_oracle_mode: &[_] = match flavour {
        Flavour::MySql => &["START TRANSACTION"],
        Flavour::MariaDb => &["SET sql_mode = 'ORACLE'", "START TRANSACTION"],
    };
    // Increments have rows of their own, for whose slots there are no rows yet.
    for (id, before, set, value) in [
        (1, &[][..], "views + 1", Some(1)),
        (1, &[], "7", Some(7)),
        (2, &["BEGIN"], "views + 1", Some(1)),
        (3, &["start transaction"], "views + 1", Some(1)),
        (6, &["SET autocommit = 0"], "views + 1", Some(2)),
        (7, &[], "views + 1", Some(1)),
        // These have slots by now.
        (2, &["BEGIN"], "7", Some(7)),
        (3, &["SET autocommit = 0"], "views * 2 + 3", Some(5)),
        (7, in_oracle_mode, "7", Some(7)),
        // What was done before is gone with the transaction.
        (
            4,
            &["BEGIN", "SELECT COUNT(*) FROM ballast"],
            "views + 1",
            None,
        ),
        (5, &["START TRANSACTION READ WRITE"], "views + 1", None),
        (6, &["BEGIN", "SELECT COUNT(*) FROM ballast"], "7", None),
    ] {
        let statement = format!("UPDATE posts SET views = {set} WHERE id = {id}");
        let mut holder = connect(upstream, Some(schema)).await;
        run(&mut holder, "BEGIN").await;
        // The server ends the transaction that has changed less.
        let ballast: Vec<_> = (1..=100).map(|id| format!("({id})")).collect();
        let fill = format!("INSERT INTO ballast VALUES {}", ballast.join(", "));
        run(&mut holder, &fill).await;
        run(&mut holder, "SELECT * FROM posts_slots FOR UPDATE").await;
        let mut client = connect(&proxy.address, Some(schema)).await;
        let session = client.thread_id();
        let task = tokio::spawn(async move {
            for begin in before {
                run(&mut client, begin).await;
            }
            let answer = client.query(&statement).await.expect("an answer");
            (client, answer)
        });
        until_blocked(&mut direct, session, &task).await;
        let update = format!("UPDATE posts SET title = 'x' WHERE id = {id}");
        run(&mut holder, &update).await;
        run(&mut holder, "ROLLBACK").await;
        let (mut client, answer) = task.await.expect("it does not panic");
        match value {
            Some(value) => {
                assert!(matches!(answer, Reply::Ok(1)), "{before:?}: {answer:?}");
                run(&mut client, "COMMIT").await;
                let read = format!("SELECT views FROM posts WHERE id = {id}");
                assert_eq!(number(&mut client, &read).await, value, "{before:?}");
            }
            None => assert!(
                matches!(&answer, Reply::Err(error) if error.code == 1213),
                "{before:?}: {answer:?}"
            ),
        }
        run(&mut direct, "DELETE FROM ballast").await;
    }
}

/// MySQL tells a client that asks for it what its transaction has done, in every OK.
async fn what_begins_again_is_tracked_as_if_it_had_not(flavour: Flavour) {
    let schema = "cs_deadlocks_tracked";
    let upstream = &twin(flavour).plain;
    let tables = format!("{TABLES}; CREATE TABLE ballast (id INT PRIMARY KEY)");
    let mut direct = create_schema(upstream, schema, &tables).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    let mut shown = connect(&proxy.address, Some(schema)).await;
    let both = "BEGIN; UPDATE posts SET views = views + 1 WHERE id = 5; COMMIT";
    run_all(&mut shown, both).await;
    // It has a slot.
    run(
        &mut shown,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    let mut told = Vec::new();
    for (address, deadlocks) in [(upstream, false), (&proxy.address, true)] {
        let mut holder = connect(upstream, Some(schema)).await;
        if deadlocks {
            run(&mut holder, "BEGIN").await;
            let ballast: Vec<_> = (1..=100).map(|id| format!("({id})")).collect();
            let fill = format!("INSERT INTO ballast VALUES {}", ballast.join(", "));
            run(&mut holder, &fill).await;
            run(&mut holder, "SELECT * FROM posts_slots FOR UPDATE").await;
        }
        let capabilities = Driver::CAPABILITIES | capability::SESSION_TRACK;
        let client = connect_as(address, Some(schema), capabilities).await;
        let mut client = client.expect("a session");
        run(&mut client, "SET session_track_transaction_info = 'STATE'").await;
        let session = client.thread_id();
        let task = tokio::spawn(async move {
            let mut told = Vec::new();
            let statements = [
                "BEGIN",
                "UPDATE posts SET views = 7 WHERE id = 1",
                "COMMIT",
                "BEGIN",
                "SELECT COUNT(*) FROM ballast",
                "ROLLBACK",
            ];
            for statement in statements {
                let query = client.query_payload(statement);
                client.send(&query).await.expect("sent");
                let packets = client.packets(ResponseKind::Results).await;
                let packets = packets.expect("an answer").into_iter();
                told.push((statement, packets.map(|it| it.payload).collect::<Vec<_>>()));
            }
            told
        });
        if deadlocks {
            until_blocked(&mut direct, session, &task).await;
            run(&mut holder, "UPDATE posts SET title = 'x' WHERE id = 1").await;
            run(&mut holder, "ROLLBACK").await;
        }
        told.push(task.await.expect("it does not panic"));
        run(&mut direct, "UPDATE posts SET views = 0 WHERE id = 1").await;
    }
    assert_eq!(told[1], told[0]);
}

/// What FOR UPDATE and FOR SHARE by an index locks, it locks with its slots, and nothing else is waited for.
async fn a_locking_read_locks_what_it_meets(flavour: Flavour) {
    let schema = "cs_locking_reads";
    let upstream = &twin(flavour).plain;
    let tables = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, author INT, title VARCHAR(9), KEY (author));
        CREATE TABLE authors (id INT PRIMARY KEY, name VARCHAR(9), KEY (name))";
    let mut direct = create_schema(upstream, schema, tables).await;
    let rows: Vec<_> = (1..=200).map(|id| format!("({id}, {id})")).collect();
    let rows = rows.join(", ");
    run(
        &mut direct,
        &format!("INSERT INTO posts (id, author) VALUES {rows}"),
    )
    .await;
    run(
        &mut direct,
        &format!("INSERT INTO authors (id, name) VALUES {rows}"),
    )
    .await;
    run(&mut direct, "ANALYZE TABLE posts, authors").await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    let reads = [
        "SELECT views FROM posts WHERE author = 3 FOR UPDATE",
        "SELECT p.views FROM authors a JOIN posts p ON p.author = a.id WHERE a.name = '3' FOR UPDATE",
        "SELECT id FROM posts WHERE author = 3 FOR UPDATE",
        "SELECT title FROM posts WHERE author = 3 LOCK IN SHARE MODE",
        "SELECT p.title FROM authors a LEFT JOIN posts p ON p.author = a.id WHERE a.name IN ('3', 'nobody') FOR UPDATE",
        "(SELECT id FROM posts WHERE author = 3 FOR UPDATE) UNION ALL (SELECT 1)",
    ];
    let repeatable = reads.map(|read| ("REPEATABLE READ", read));
    let committed = [reads[0], reads[1]].map(|read| ("READ COMMITTED", read));
    let all: Vec<_> = repeatable.into_iter().chain(committed).collect();
    let what = format!("lock waits on {flavour}, locking reads");
    // Each waits for seconds.
    for (level, read) in every_nth(&what, 3, all) {
        let direct = others_beside(upstream, schema, level, read).await;
        let proxied = others_beside(&proxy.address, schema, level, read).await;
        assert_eq!(direct, proxied, "{level}: {read}");
    }
}

/// What others are answered while a transaction is open that has read: the codes of their errors, or 0.
async fn others_beside(
    address: &Address,
    schema: &'static str,
    level: &str,
    read: &str,
) -> Vec<(&'static str, u16)> {
    const OTHERS: [&str; 6] = [
        "UPDATE posts SET views = views + 1 WHERE id = 3",
        "UPDATE posts SET views = views + 1 WHERE id = 150",
        "UPDATE posts SET title = 'x' WHERE id = 160",
        "UPDATE posts SET views = 7 WHERE id = 170",
        "SELECT views FROM posts WHERE id = 180 FOR UPDATE",
        "SELECT views FROM posts WHERE author = 3 FOR UPDATE",
    ];
    let mut holder = connect(address, Some(schema)).await;
    // Slot rows are there, and known.
    for _ in 0..2 {
        run(&mut holder, OTHERS[0]).await;
        run(&mut holder, OTHERS[1]).await;
    }
    let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
    run(&mut holder, &level).await;
    run(&mut holder, "BEGIN").await;
    run(&mut holder, read).await;
    let mut tasks = Vec::new();
    for text in OTHERS {
        let mut other = connect(address, Some(schema)).await;
        run(&mut other, "SET innodb_lock_wait_timeout = 1").await;
        tasks.push(tokio::spawn(async move {
            match other.query(text).await.expect("an answer") {
                Reply::Err(error) => (text, error.code),
                _ => (text, 0),
            }
        }));
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.expect("a session"));
    }
    run(&mut holder, "ROLLBACK").await;
    answers
}

/// Each locks the row above as its DELETE will, before it folds the rows below.
async fn deletes_that_cascade_wait_one_for_the_other(flavour: Flavour) {
    let schema = "cs_lock_cascades";
    let tables = "CREATE TABLE authors (id INT PRIMARY KEY); INSERT INTO authors VALUES (1); \
        CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL, views INT NOT NULL, \
        FOREIGN KEY (author) REFERENCES authors (id) ON DELETE CASCADE); \
        INSERT INTO posts VALUES (1, 1, 0)";
    let upstream = &twin(flavour).proxied;
    let mut direct = create_schema(upstream, schema, tables).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(upstream, &rules);
    let mut holder = connect(upstream, Some(schema)).await;
    run(&mut holder, "BEGIN").await;
    run(&mut holder, "SELECT * FROM posts WHERE id = 1 FOR UPDATE").await;
    let mut deletes = Vec::new();
    for _ in 0..2 {
        let mut client = connect(&proxy.address, Some(schema)).await;
        let session = client.thread_id();
        let task = tokio::spawn(async move {
            // What is not in a transaction would be tried again.
            run(&mut client, "BEGIN").await;
            let answer = client.query("DELETE FROM authors WHERE id = 1").await;
            run(&mut client, "COMMIT").await;
            answer
        });
        until_blocked(&mut direct, session, &task).await;
        deletes.push(task);
    }
    run(&mut holder, "ROLLBACK").await;
    for delete in deletes {
        let answer = delete.await.expect("it ends").expect("an answer");
        assert!(matches!(answer, Reply::Ok(_)), "{answer:?}");
    }
}

/// Waits until a session's statement, which is the task's, waits for a lock.
async fn until_blocked<T>(direct: &mut Driver, session: u32, task: &JoinHandle<T>) {
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {session} \
         AND trx_state = 'LOCK WAIT'"
    );
    while number_of_transactions(direct, &waits).await == 0 {
        assert!(!task.is_finished(), "it has to wait");
    }
}

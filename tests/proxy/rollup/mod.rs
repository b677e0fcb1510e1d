//! Roll-up: what lies in slots comes to lie in base rows, nobody waits for that, and no value changes.

mod adopted;
mod command;
mod killed;
mod stage;
mod stopping;
mod unlocked;

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersink::counter::control::Control;
use countersink::counter::rollup::RollUp;
use countersink::driver::Reply;
use countersink_sandbox::Flavour;
use tokio::task::JoinSet;

use crate::support::client::{connect, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::{Proxy, config_of};
use stage::{POSTS, Stage, deadline};

on_both![
    increments_come_to_lie_in_base_rows,
    nothing_is_asked_while_nothing_changes,
    each_table_has_an_interval_of_its_own,
    a_locked_slot_row_is_left_for_later,
    a_locked_base_row_is_left_for_later,
    a_table_that_is_locked_holds_up_nobody_else,
    slots_of_rows_that_are_no_more_go_with_them,
    base_stays_within_the_bounds_of_open_slots,
    a_counter_that_became_null_stays_null,
    the_time_of_the_last_change_is_kept,
    keys_of_every_kind,
    under_load_no_increment_is_lost,
    what_would_change_a_value_is_rolled_back,
    what_fails_half_way_is_rolled_back,
    slot_rows_that_nobody_uses_are_deleted,
    a_proxy_that_starts_rolls_up_what_another_has_left,
];

async fn increments_come_to_lie_in_base_rows(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_plain", POSTS, "10ms").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 2, likes = likes - 1 WHERE id IN (1, 2)",
    )
    .await;
    // No key is named: the slot table is searched.
    run(
        &mut client,
        "UPDATE posts SET likes = likes + 3 WHERE title = 'one'",
    )
    .await;
    // Slots that cancel each other out.
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 3",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET views = views - 1 WHERE id = 3",
    )
    .await;
    stage.until_rolled_up().await;
    let base = "SELECT id, views, likes FROM posts ORDER BY id";
    let expected = [["1", "7", "2"], ["2", "2", "-1"], ["3", "0", "0"]];
    assert_eq!(rows(&mut stage.direct().await, base).await, expected);
    assert_eq!(rows(&mut client, base).await, expected);
    assert_eq!(stage.proxy.shared.metrics.drifted(), 0);
    // Slot rows stay open, and so the next increment need not ask base.
    let open = "SELECT COUNT(*) FROM posts_slots WHERE open = 0";
    assert_eq!(number(&mut stage.direct().await, open).await, 0);
}

async fn nothing_is_asked_while_nothing_changes(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_idle", POSTS, "10ms").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    stage.until_rolled_up().await;
    let roll_ups = || stage.proxy.shared.metrics.roll_ups();
    // It waits for the next increment, and for no time: once all is rolled up, no more is asked.
    let deadline = deadline();
    loop {
        let before = roll_ups();
        tokio::time::sleep(Duration::from_millis(200)).await;
        if before > 0 && roll_ups() == before {
            break;
        }
        assert!(Instant::now() < deadline, "it comes to rest");
    }
}

async fn each_table_has_an_interval_of_its_own(flavour: Flavour) {
    let schema = "cs_rollup_intervals";
    let tables = format!(
        "{POSTS}; CREATE TABLE patient LIKE posts; INSERT INTO patient SELECT * FROM posts"
    );
    let stage = Stage::new(flavour, schema, &tables, "10ms").await;
    let patient = format!("- {{table: {schema}.patient, columns: [views], rollup: 1h}}\n");
    let proxy = Proxy::start(&stage.twin.proxied, &(stage.counters.clone() + &patient));
    let mut client = connect(&proxy.address, Some(schema)).await;
    // The patient one is marked first.
    run(
        &mut client,
        "UPDATE patient SET views = views + 1 WHERE id = 1",
    )
    .await;
    let dirty = proxy.shared.slots.dirty();
    stage.until(|| async { !dirty.oldest().is_empty() }).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    stage.until_base_is(1, 1).await;
    let patient = "SELECT views FROM patient WHERE id = 1";
    assert_eq!(number(&mut stage.direct().await, patient).await, 0);
}

async fn a_locked_slot_row_is_left_for_later(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_slot_lock", POSTS, "10ms").await;
    stage.show_that_transactions_only_increment().await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    stage.until_rolled_up().await;
    let mut open = stage.client().await;
    run(&mut open, "BEGIN").await;
    run(&mut open, "UPDATE posts SET views = views + 1 WHERE id = 1").await;
    // In another slot, meanwhile.
    run(
        &mut client,
        "UPDATE posts SET views = views + 2 WHERE id = 1",
    )
    .await;
    stage.until_base_is(1, 7).await;
    run(&mut open, "COMMIT").await;
    stage.until_base_is(1, 8).await;
}

async fn a_locked_base_row_is_left_for_later(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_base_lock", POSTS, "10ms").await;
    let mut client = stage.client().await;
    for id in [1, 2] {
        run(
            &mut client,
            &format!("UPDATE posts SET views = views + 1 WHERE id = {id}"),
        )
        .await;
    }
    stage.until_rolled_up().await;
    let mut holder = stage.direct().await;
    run(&mut holder, "BEGIN").await;
    run(
        &mut holder,
        "SELECT id FROM posts WHERE id = 1 LOCK IN SHARE MODE",
    )
    .await;
    for id in [1, 2] {
        run(
            &mut client,
            &format!("UPDATE posts SET views = views + 1 WHERE id = {id}"),
        )
        .await;
    }
    stage.until_base_is(2, 2).await;
    // The slot row that was locked together with its base row is free again.
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    let base = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(number(&mut holder, base).await, 1);
    run(&mut holder, "COMMIT").await;
    stage.until_base_is(1, 3).await;
}

async fn a_table_that_is_locked_holds_up_nobody_else(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_table_lock", POSTS, "10ms").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    stage.until_rolled_up().await;
    let mut holder = stage.direct().await;
    run(&mut holder, "LOCK TABLES posts READ").await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    let failed = || async { stage.proxy.shared.metrics.failed_roll_ups() > 0 };
    stage.until(failed).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 1",
    )
    .await;
    run(&mut holder, "UNLOCK TABLES").await;
    stage.until_base_is(1, 3).await;
}

async fn slots_of_rows_that_are_no_more_go_with_them(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_orphans", POSTS, "10ms").await;
    let mut client = stage.client().await;
    let mut direct = stage.direct().await;
    // Past the proxy, before what is in slots has been rolled up.
    run(&mut direct, "BEGIN").await;
    run(
        &mut direct,
        "SELECT id FROM posts WHERE id = 1 LOCK IN SHARE MODE",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    run(&mut direct, "DELETE FROM posts WHERE id = 1").await;
    run(&mut direct, "COMMIT").await;
    let mut watch = stage.direct().await;
    let gone = "SELECT COUNT(*) FROM posts_slots WHERE id = 1";
    let deadline = deadline();
    while number(&mut watch, gone).await > 0 {
        assert!(Instant::now() < deadline, "the orphan is deleted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run(&mut direct, "INSERT INTO posts VALUES (1, 0, 0, 'new')").await;
    assert_eq!(
        number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
        0
    );
}

/// A base row at half its type's range has no room for open slots; what they hold stays there until somebody needs it.
async fn base_stays_within_the_bounds_of_open_slots(flavour: Flavour) {
    let table = "CREATE TABLE posts (id INT PRIMARY KEY, views SMALLINT NOT NULL, likes SMALLINT NOT NULL, title VARCHAR(9));
        INSERT INTO posts VALUES (1, 16380, 0, ''), (2, 0, 0, '')";
    let stage = Stage::new(flavour, "cs_rollup_bounds", table, "10ms").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 3 WHERE id = 1",
    )
    .await;
    stage.until_base_is(1, 16_383).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 4, likes = likes + 1 WHERE id = 1",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 2",
    )
    .await;
    stage.until_base_is(2, 1).await;
    let all = "SELECT views, likes FROM posts WHERE id = 1";
    assert_eq!(rows(&mut stage.direct().await, all).await, [["16383", "0"]]);
    assert_eq!(rows(&mut client, all).await, [["16387", "1"]]);
    for _ in 0..3 {
        let more = "UPDATE posts SET views = views + 5000 WHERE id = 1";
        run(&mut client, more).await;
    }
    assert_eq!(rows(&mut client, all).await, [["31387", "1"]]);
    let Reply::Err(error) = client
        .query("UPDATE posts SET views = views + 5000 WHERE id = 1")
        .await
        .expect("an answer")
    else {
        panic!("the type has room for it");
    };
    assert_eq!(error.code, 1264, "{error}");
    assert_eq!(rows(&mut client, all).await, [["31387", "1"]]);
}

/// Set past the proxy, while a slot had a value.
async fn a_counter_that_became_null_stays_null(flavour: Flavour) {
    let table = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NULL, likes INT NOT NULL, title VARCHAR(9));
        INSERT INTO posts VALUES (1, 0, 0, ''), (2, 0, 0, '')";
    let stage = Stage::new(flavour, "cs_rollup_null", table, "10ms").await;
    let mut client = stage.client().await;
    let mut direct = stage.direct().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1",
    )
    .await;
    stage.until_base_is(1, 1).await;
    run(&mut direct, "UPDATE posts SET views = NULL WHERE id = 1").await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = 2",
    )
    .await;
    stage.until_base_is(2, 1).await;
    let all = "SELECT views, likes FROM posts WHERE id = 1";
    assert_eq!(rows(&mut client, all).await, [["NULL", "2"]]);
    assert_eq!(stage.proxy.shared.metrics.drifted(), 0);
}

async fn the_time_of_the_last_change_is_kept(flavour: Flavour) {
    let table = "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0, title VARCHAR(9),
          changed TIMESTAMP(6) NOT NULL DEFAULT '2001-01-01' ON UPDATE CURRENT_TIMESTAMP(6), seen DATETIME NULL);
        INSERT INTO posts (id) VALUES (1), (2)";
    let stage =
        Stage::with_rule(flavour, "cs_rollup_touch", table, "10ms", "touch: [seen], ").await;
    let mut client = stage.client().await;
    run(&mut client, "SET timestamp = UNIX_TIMESTAMP() - 2").await;
    let past = rows(&mut client, "SELECT NOW(6), NOW()").await.remove(0);
    run(
        &mut client,
        "UPDATE posts SET views = views + 1, seen = NOW() WHERE id = 1",
    )
    .await;
    run(
        &mut client,
        "UPDATE posts SET likes = likes + 1 WHERE id = 2",
    )
    .await;
    stage.until_rolled_up().await;
    let times = "SELECT views + likes, changed, seen FROM posts ORDER BY id";
    let expected = [["1", &past[0], &past[1]], ["1", &past[0], "NULL"]];
    for address in [&stage.twin.proxied, &stage.proxy.address] {
        let mut reader = connect(address, Some(&stage.schema)).await;
        run(&mut reader, "SET time_zone = '+00:00'").await;
        assert_eq!(rows(&mut reader, times).await, expected);
    }
    // Before what base has: as without slots, the row gets it.
    run(&mut client, "SET timestamp = UNIX_TIMESTAMP(SYSDATE()) - 4").await;
    let earlier = rows(&mut client, "SELECT NOW(6), NOW()").await.remove(0);
    run(
        &mut client,
        "UPDATE posts SET views = views + 1, seen = NOW() WHERE id = 1",
    )
    .await;
    let row = "SELECT views, changed, seen FROM posts WHERE id = 1";
    assert_eq!(
        rows(&mut client, row).await,
        [["2", &earlier[0], &earlier[1]]]
    );
}

async fn keys_of_every_kind(flavour: Flavour) {
    let table = "CREATE TABLE posts (a VARCHAR(20) CHARACTER SET latin1, b DATE, c BINARY(2), views DECIMAL(20,4) NOT NULL DEFAULT 0,
          likes DECIMAL(65,2) NOT NULL DEFAULT 0, title VARCHAR(9), PRIMARY KEY (a, b, c));
        INSERT INTO posts (a, b, c) VALUES ('it''s', '2024-02-29', 'x'), ('\u{e9}t\u{e9}', '2024-02-29', 0x0027), ('plain', '2024-02-29', 'ab')";
    let stage = Stage::new(flavour, "cs_rollup_keys", table, "10ms").await;
    let mut client = stage.client().await;
    run(&mut client, "SET NAMES utf8mb4").await;
    for key in [
        "'it''s' AND c = 0x7800",
        "'\u{e9}t\u{e9}'",
        "'plain' AND b = '2024-02-29' AND c = 'ab'",
        "\"plain\"",
    ] {
        let text =
            format!("UPDATE posts SET views = views + 1.5, likes = likes + 0.01 WHERE a = {key}");
        run(&mut client, &text).await;
    }
    stage.until_rolled_up().await;
    let base = "SELECT views, likes FROM posts ORDER BY views";
    let expected = [["1.5000", "0.01"], ["1.5000", "0.01"], ["3.0000", "0.02"]];
    assert_eq!(rows(&mut stage.direct().await, base).await, expected);
}

/// In autocommit and in transactions, some of which are rolled back, while others read and fold.
async fn under_load_no_increment_is_lost(flavour: Flavour) {
    const CLIENTS: i64 = 64;
    const INCREMENTS: i64 = 300;
    let stage = Stage::new(flavour, "cs_rollup_load", POSTS, "10ms").await;
    stage.show_that_transactions_only_increment().await;
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        let mut driver = stage.client().await;
        tasks.spawn(async move {
            let mut acknowledged = 0;
            for round in 0..INCREMENTS {
                let in_transaction = (client + round) % 3 == 0;
                if in_transaction {
                    run(&mut driver, "BEGIN").await;
                }
                run(
                    &mut driver,
                    "UPDATE posts SET views = views + 1 WHERE id = 1",
                )
                .await;
                acknowledged += 1;
                if in_transaction && round % 2 == 0 {
                    run(&mut driver, "ROLLBACK").await;
                    acknowledged -= 1;
                } else if in_transaction {
                    run(&mut driver, "COMMIT").await;
                }
                if round % 50 == 7 {
                    run(&mut driver, "SELECT views FROM posts WHERE id = 1").await;
                }
                if client == 0 && round % 50 == 9 {
                    run(
                        &mut driver,
                        "UPDATE posts SET title = 'x', views = views + 1 WHERE id = 1",
                    )
                    .await;
                    acknowledged += 1;
                }
            }
            acknowledged
        });
    }
    let mut expected = 0;
    let mut watch = stage.client().await;
    let mut last = 0;
    while let Some(done) = tasks.join_next().await {
        expected += done.expect("a client that sees no error");
        let value = number(&mut watch, "SELECT views FROM posts WHERE id = 1").await;
        assert!(value >= last, "the value went from {last} to {value}");
        last = value;
    }
    assert_eq!(
        number(&mut watch, "SELECT views FROM posts WHERE id = 1").await,
        expected
    );
    let metrics = &stage.proxy.shared.metrics;
    eprintln!(
        "{flavour}: {} slot rows rolled up in {} transactions",
        metrics.rolled_up(),
        metrics.roll_ups()
    );
    assert!(metrics.rolled_up() > 10, "rolled up under load");
    assert_eq!((metrics.drifted(), metrics.failed_roll_ups()), (0, 0));
    stage.until_base_is(1, expected).await;
}

/// A trigger of base that nobody knew of when the proxy started.
async fn what_would_change_a_value_is_rolled_back(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_drift", POSTS, "10ms").await;
    let mut client = stage.client().await;
    let mut direct = stage.direct().await;
    let trigger =
        "CREATE TRIGGER one_more BEFORE UPDATE ON posts FOR EACH ROW SET NEW.views = NEW.views + 1";
    run(&mut direct, trigger).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    let metrics = &stage.proxy.shared.metrics;
    stage.until(|| async { metrics.drifted() > 0 }).await;
    let value = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(number(&mut client, value).await, 5);
    run(&mut direct, "DROP TRIGGER one_more").await;
    stage.until_base_is(1, 5).await;
    assert_eq!(number(&mut client, value).await, 5);
}

/// Base has got the sum when the slot row refuses to give it away.
async fn what_fails_half_way_is_rolled_back(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_half", POSTS, "10ms").await;
    let mut client = stage.client().await;
    let mut direct = stage.direct().await;
    let trigger = "CREATE TRIGGER kept BEFORE UPDATE ON posts_slots FOR EACH ROW \
                   SET NEW.slot = IF(OLD.views <> 0 AND NEW.views = 0, 'no number', OLD.slot)";
    run(&mut direct, trigger).await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    let metrics = &stage.proxy.shared.metrics;
    // Again and again: what one attempt has left must not be committed by the next.
    stage
        .until(|| async { metrics.failed_roll_ups() > 3 })
        .await;
    let value = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(number(&mut client, value).await, 5);
    // Whoever asks for it is told what the server has said of the second statement of a packet.
    let config = config_of(&stage.rules);
    let control = Control::open(&config).await.expect("a control account");
    let mut roll_up = RollUp::new(control, Arc::default());
    let table = Arc::clone(&stage.proxy.shared.hot().catalog.tables[0]);
    let deadline = deadline();
    let error = loop {
        assert!(Instant::now() < deadline, "it fails");
        // What the proxy's own roll-up has locked at the moment is left out.
        if let Err(error) = roll_up.now(&table).await {
            break error.to_string();
        }
        tokio::task::yield_now().await;
    };
    assert!(error.contains("no number"), "{error}");
    run(&mut direct, "DROP TRIGGER kept").await;
    stage.until_base_is(1, 5).await;
    assert_eq!(number(&mut client, value).await, 5);
    assert_eq!(metrics.drifted(), 0);
}

async fn slot_rows_that_nobody_uses_are_deleted(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_unused", POSTS, "10ms").await;
    let mut client = stage.client().await;
    let mut direct = stage.direct().await;
    let increment = |id| format!("UPDATE posts SET views = views + 1 WHERE id = {id}");
    run(&mut client, &increment(1)).await;
    stage.until_base_is(1, 1).await;
    // Beside the proxy's own roll-up, which is patient, one that is not.
    let config = config_of(&stage.rules);
    let control = Control::open(&config).await.expect("a control account");
    let hasty = RollUp::new(control, Arc::default()).with_idle(Duration::ZERO);
    let shared = Arc::clone(&stage.proxy.shared);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let hasty = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        hasty.keep(&shared.slots, stopped).await;
    });
    let unused = "SELECT COUNT(*) FROM posts_slots WHERE id = 1";
    let mut increments = 0;
    let deadline = deadline();
    while number(&mut direct, unused).await > 0 {
        assert!(Instant::now() < deadline, "it is deleted");
        run(&mut client, &increment(2)).await;
        increments += 1;
    }
    // Aborted, it would take with it what it is about to roll up.
    drop(stop);
    hasty.await.expect("it ends");
    run(&mut client, &increment(1)).await;
    stage.until_base_is(1, 2).await;
    stage.until_base_is(2, increments).await;
}

async fn a_proxy_that_starts_rolls_up_what_another_has_left(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_rollup_left", POSTS, "1h").await;
    let mut client = stage.client().await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 5 WHERE id = 1",
    )
    .await;
    let mut direct = stage.direct().await;
    // As if it had been killed.
    let left = rows(&mut direct, "SELECT id, slot, views FROM posts_slots").await;
    drop(stage.proxy);
    run(&mut direct, "UPDATE posts SET views = 0 WHERE id = 1").await;
    let restored = format!(
        "UPDATE posts_slots SET views = {} WHERE id = {} AND slot = {}",
        left[0][2], left[0][0], left[0][1]
    );
    run(&mut direct, &restored).await;
    let proxy = Proxy::start(&stage.twin.proxied, &stage.counters.replace("1h", "10ms"));
    let deadline = deadline();
    while number(&mut direct, "SELECT views FROM posts WHERE id = 1").await != 5 {
        assert!(Instant::now() < deadline, "it leads, and rolls up");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(proxy);
}

//! What one session sees while rules change under it.

use std::time::Instant;

use countersink::config::Mode;
use countersink_sandbox::Flavour;

use crate::changeover::stage::{Stage, arrives, close, execute, switch, waits_for};
use crate::support::binary::PATIENCE;
use crate::support::client::{number, number_of_transactions, prepare, run};
use crate::support::on_both;

const ADD: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const READ: &str = "SELECT views FROM posts WHERE id = 1";

on_both! {
    what_is_observed_is_counted_and_passes,
    a_rule_goes_in_and_out_under_an_idle_session,
    a_transaction_reads_the_time_when_it_began,
    a_transaction_with_increments_of_its_own_holds_its_rule,
    tables_that_are_locked_stay_as_they_are,
    statements_prepared_before_the_rule_hold_it_up,
    prepared_statements_change_with_the_rule,
    two_proxies_never_read_different_values,
    what_slots_hold_at_the_start_is_moved_first,
    a_column_more_is_known_to_all_before_it_is_slotted,
    a_transaction_from_before_the_rule_holds_it_up,
    a_proxy_that_comes_later_asks_the_others,
    a_proxy_that_is_silent_is_waited_for,
    what_still_takes_base_alone_is_waited_for,
    temporary_tables_stay_in_front,
    slots_follow_the_type_of_their_counter,
    a_trigger_takes_a_rule_out_of_force_and_in_again,
    who_reads_the_binary_log_holds_nothing_up,
}

async fn what_is_observed_is_counted_and_passes(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_observed").await;
    let proxy = stage.proxy("columns: [views], mode: observe");
    let mut client = stage.client(&proxy).await;
    for _ in 0..3 {
        run(&mut client, ADD).await;
    }
    assert_eq!(number(&mut client, READ).await, 3);
    run(&mut client, "UPDATE posts SET views = 7 WHERE id = 2").await;
    run(&mut client, "SELECT title FROM posts").await;
    let prepared = prepare(&mut client, ADD).await;
    for _ in 0..2 {
        execute(&mut client, prepared).await;
    }
    assert!(!stage.has_slot_table().await);
    let observed = proxy.shared.metrics.observed();
    let observed: Vec<_> = observed
        .iter()
        .map(|(reason, count)| (reason.code(), *count))
        .collect();
    assert_eq!(
        observed,
        [
            ("forwarded:no-counter", 1),
            ("slotted", 5),
            ("summed", 1),
            ("folded:absolute-set", 1),
        ]
    );
    assert_eq!(proxy.counted("forwarded:observed"), 8);
    assert_eq!(number(&mut stage.direct, READ).await, 5);
}

async fn a_rule_goes_in_and_out_under_an_idle_session(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_idle").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let mut client = stage.client(&proxy).await;
    let mut idle = stage.client(&proxy).await;
    run(&mut client, ADD).await;
    switch(&proxy, &table, Mode::Enforce, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(stage.slot_rows().await, 1);
    assert_eq!(number(&mut stage.direct, READ).await, 1);
    assert_eq!(number(&mut idle, READ).await, 2);
    switch(&proxy, &table, Mode::Off, "off").await;
    assert_eq!(number(&mut stage.direct, READ).await, 2);
    run(&mut client, ADD).await;
    assert_eq!(number(&mut stage.direct, READ).await, 3);
    assert_eq!(number(&mut idle, READ).await, 3);
    assert_eq!(proxy.counted("slotted"), 1);
    switch(&proxy, &table, Mode::Observe, "observed").await;
    switch(&proxy, &table, Mode::Enforce, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut idle, READ).await, 4);
    assert_eq!(proxy.counted("slotted"), 2);
}

async fn a_transaction_reads_the_time_when_it_began(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_over_snapshot").await;
    let proxy = stage.proxy("columns: [views], rollup: 1h");
    let (mut old, mut client) = (stage.client(&proxy).await, stage.client(&proxy).await);
    run(&mut client, ADD).await;
    run(&mut old, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    run(&mut client, ADD).await;
    let table = stage.table();
    let off = proxy.rules.set_mode(&table, Mode::Off).await;
    off.expect("there is such a rule");
    waits_for(&proxy, "transactions").await;
    // The snapshot has 1 in a slot and 0 in base; base has 2 now.
    assert_eq!(number(&mut old, READ).await, 1);
    assert_eq!(number(&mut client, READ).await, 2);
    run(&mut old, "COMMIT").await;
    arrives(&proxy, "off").await;
    assert_eq!(number(&mut old, READ).await, 2);
}

async fn a_transaction_with_increments_of_its_own_holds_its_rule(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_own").await;
    let proxy = stage.proxy("columns: [views], rollup: 1h");
    let (mut open, mut client) = (stage.client(&proxy).await, stage.client(&proxy).await);
    // Shows the shape, so that the next one goes to slots.
    run(&mut open, "BEGIN").await;
    run(&mut open, ADD).await;
    run(&mut open, "COMMIT").await;
    run(&mut open, "BEGIN").await;
    run(&mut open, ADD).await;
    assert!(stage.slot_rows().await >= 0);
    let table = stage.table();
    let off = proxy.rules.set_mode(&table, Mode::Off).await;
    off.expect("there is such a rule");
    waits_for(&proxy, "transactions").await;
    run(
        &mut client,
        "UPDATE posts SET views = views + 10 WHERE id = 2",
    )
    .await;
    run(&mut open, ADD).await;
    assert_eq!(number(&mut open, READ).await, 3);
    run(&mut open, "COMMIT").await;
    arrives(&proxy, "off").await;
    assert_eq!(number(&mut stage.direct, READ).await, 3);
    assert_eq!(
        number(&mut stage.direct, "SELECT views FROM posts WHERE id = 2").await,
        10
    );
}

async fn tables_that_are_locked_stay_as_they_are(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_locked").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: observe");
    let mut locker = stage.client(&proxy).await;
    run(&mut locker, "LOCK TABLES posts WRITE").await;
    run(&mut locker, ADD).await;
    let on = proxy.rules.set_mode(&table, Mode::Enforce).await;
    on.expect("there is such a rule");
    waits_for(&proxy, "statements that are under way").await;
    run(&mut locker, ADD).await;
    assert_eq!(number(&mut locker, READ).await, 2);
    run(&mut locker, "UNLOCK TABLES").await;
    arrives(&proxy, "enforced").await;
    run(&mut locker, ADD).await;
    assert_eq!(number(&mut locker, READ).await, 3);
    assert_eq!(proxy.counted("slotted"), 1);
    assert_eq!(stage.slot_rows().await, 1);
}

async fn statements_prepared_before_the_rule_hold_it_up(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_before").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: off");
    let mut client = stage.client(&proxy).await;
    let mut other = stage.client(&proxy).await;
    let read = prepare(&mut client, READ).await;
    let on = proxy.rules.set_mode(&table, Mode::Enforce).await;
    on.expect("there is such a rule");
    waits_for(&proxy, "prepared before the rule").await;
    run(&mut other, ADD).await;
    assert_eq!(execute(&mut client, read).await, 1);
    assert_eq!(proxy.counted("folded:changing-over"), 1);
    close(&mut client, read).await;
    arrives(&proxy, "enforced").await;
    run(&mut other, ADD).await;
    assert_eq!(proxy.counted("slotted"), 1);
    assert_eq!(stage.slot_rows().await, 1);
}

async fn prepared_statements_change_with_the_rule(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_prepared").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let mut client = stage.client(&proxy).await;
    let add = prepare(&mut client, ADD).await;
    let read = prepare(&mut client, READ).await;
    run(
        &mut client,
        "PREPARE s FROM 'SELECT views FROM posts WHERE id = 1'",
    )
    .await;
    let mut expected = 0_i64;
    for (mode, name) in [
        (Mode::Enforce, "enforced"),
        (Mode::Off, "off"),
        (Mode::Enforce, "enforced"),
        (Mode::Observe, "observed"),
    ] {
        execute(&mut client, add).await;
        expected += 1;
        switch(&proxy, &table, mode, name).await;
        execute(&mut client, add).await;
        expected += 1;
        assert_eq!(execute(&mut client, read).await, expected, "{name}");
        assert_eq!(number(&mut client, "EXECUTE s").await, expected, "{name}");
    }
    assert_eq!(number(&mut stage.direct, READ).await, expected);
    assert_eq!(proxy.counted("slotted"), 4);
}

async fn two_proxies_never_read_different_values(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_two").await;
    let table = stage.table();
    let first = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let second = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let (mut one, mut two) = (stage.client(&first).await, stage.client(&second).await);
    let on = first.rules.set_mode(&table, Mode::Enforce).await;
    on.expect("there is such a rule");
    waits_for(&first, "which reads base alone").await;
    run(&mut one, ADD).await;
    assert_eq!(number(&mut two, READ).await, 1);
    switch(&second, &table, Mode::Enforce, "enforced").await;
    arrives(&first, "enforced").await;
    run(&mut one, ADD).await;
    run(&mut two, ADD).await;
    assert_eq!(number(&mut stage.direct, READ).await, 1);
    assert_eq!(number(&mut one, READ).await, 3);
    let off = second.rules.set_mode(&table, Mode::Off).await;
    off.expect("there is such a rule");
    waits_for(&second, "which increments in slots").await;
    run(&mut two, ADD).await;
    assert_eq!(number(&mut one, READ).await, 4);
    assert_eq!(number(&mut two, READ).await, 4);
    switch(&first, &table, Mode::Off, "off").await;
    arrives(&second, "off").await;
    assert_eq!(number(&mut stage.direct, READ).await, 4);
}

async fn what_slots_hold_at_the_start_is_moved_first(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_start").await;
    let proxy = stage.proxy("columns: [views]");
    drop(proxy);
    run(
        &mut stage.direct,
        "INSERT INTO posts_slots (id, slot, views) VALUES (1, 3, 40), (2, 0, 2)",
    )
    .await;
    let proxy = stage.proxy("columns: [views], mode: off");
    let mut client = stage.client(&proxy).await;
    assert_eq!(number(&mut client, READ).await, 40);
    arrives(&proxy, "off").await;
    assert_eq!(
        number(&mut stage.direct, "SELECT SUM(views) FROM posts").await,
        42
    );
    assert_eq!(number(&mut client, READ).await, 40);
}

async fn a_column_more_is_known_to_all_before_it_is_slotted(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_column").await;
    let narrow = stage.proxy("columns: [views], rollup: 1h");
    let wide = stage.proxy("columns: [views, likes], rollup: 1h");
    let (mut one, mut two) = (stage.client(&narrow).await, stage.client(&wide).await);
    waits_for(&wide, "other columns").await;
    run(&mut two, "UPDATE posts SET likes = likes + 5 WHERE id = 1").await;
    let likes = "SELECT likes FROM posts WHERE id = 1";
    assert_eq!(number(&mut one, likes).await, 5);
    drop(narrow);
    arrives(&wide, "enforced").await;
    run(&mut two, "UPDATE posts SET likes = likes + 5 WHERE id = 1").await;
    assert_eq!(number(&mut two, likes).await, 10);
    assert_eq!(number(&mut stage.direct, likes).await, 5);
}

/// Its snapshot is older than the slot table, which the server refuses to show it.
async fn a_transaction_from_before_the_rule_holds_it_up(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_older").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let (mut old, mut client) = (stage.client(&proxy).await, stage.client(&proxy).await);
    run(&mut old, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    let on = proxy.rules.set_mode(&table, Mode::Enforce).await;
    on.expect("there is such a rule");
    waits_for(&proxy, "transactions").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut old, READ).await, 0);
    run(&mut old, "COMMIT").await;
    arrives(&proxy, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut old, READ).await, 2);
    assert_eq!(number(&mut stage.direct, READ).await, 1);
}

/// There is nothing in slots when it comes, but there may be at any time.
async fn a_proxy_that_comes_later_asks_the_others(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_over_later").await;
    let table = stage.table();
    let first = stage.proxy("columns: [views], rollup: 1h");
    // The second leaves something in slots, with which the first would not start.
    for settings in [
        "columns: [views], slots: 0",
        "columns: [views], mode: observe",
    ] {
        let second = stage.proxy(settings);
        waits_for(&second, "which increments in slots").await;
        let (mut one, mut two) = (stage.client(&first).await, stage.client(&second).await);
        run(&mut one, ADD).await;
        run(&mut two, "UPDATE posts SET views = 70 WHERE id = 1").await;
        run(&mut one, ADD).await;
        assert_eq!(number(&mut one, READ).await, 71, "{settings}");
        assert_eq!(number(&mut two, READ).await, 71, "{settings}");
    }
    switch(&first, &table, Mode::Off, "off").await;
    let mut client = stage.client(&first).await;
    assert_eq!(number(&mut client, READ).await, 71);
}

/// Its connection is lost by which it says that it uses slots.
async fn a_proxy_that_is_silent_is_waited_for(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_silent").await;
    let table = stage.table();
    let settings = "columns: [views], rollup: 1h, slots: 4";
    let (first, second) = (stage.proxy(settings), stage.proxy(settings));
    arrives(&second, "enforced").await;
    let (mut one, mut two) = (stage.client(&first).await, stage.client(&second).await);
    let number_of_first = {
        let hot = first.shared.hot();
        let table = &hot.catalog.tables[0];
        first.shared.slots.first(table) / table.slots
    };
    let lock = format!("'countersink.node.{number_of_first}'");
    let holder = number(&mut stage.direct, &format!("SELECT IS_USED_LOCK({lock})")).await;
    run(&mut stage.direct, &format!("KILL {holder}")).await;
    // As if it had its number again, and had said nothing yet.
    let taken = format!("SELECT GET_LOCK({lock}, 60)");
    assert_eq!(number(&mut stage.direct, &taken).await, 1);
    let off = second.rules.set_mode(&table, Mode::Off).await;
    off.expect("there is such a rule");
    waits_for(&second, "the proxy of node").await;
    for expected in 1..=50 {
        run(&mut one, ADD).await;
        assert_eq!(number(&mut two, READ).await, expected);
    }
    // It comes back, and all is agreed upon again.
    run(&mut stage.direct, &format!("DO RELEASE_LOCK({lock})")).await;
    waits_for(&second, "which increments in slots").await;
    arrives(&first, "enforced").await;
    run(&mut one, ADD).await;
    assert_eq!(number(&mut two, READ).await, 51);
    switch(&first, &table, Mode::Off, "off").await;
    arrives(&second, "off").await;
    assert_eq!(number(&mut stage.direct, READ).await, 51);
}

/// A statement that was forwarded is under way still when the other proxy has its rule in force otherwise.
async fn what_still_takes_base_alone_is_waited_for(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_slow").await;
    let table = stage.table();
    let first = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let second = stage.proxy("columns: [views], mode: observe, rollup: 1h");
    let (mut slow, mut client) = (stage.client(&first).await, stage.client(&second).await);
    run(&mut stage.direct, "BEGIN").await;
    let lock = "SELECT views FROM posts WHERE id = 1 FOR UPDATE";
    run(&mut stage.direct, lock).await;
    let zero = tokio::spawn(async move {
        run(&mut slow, "UPDATE posts SET views = 0").await;
        slow
    });
    // Its statement waits for the lock, so that it goes by the rule that is observed.
    let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx t \
                   JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
                   WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()";
    let deadline = Instant::now() + PATIENCE;
    while number_of_transactions(&mut client, waiting).await == 0 {
        assert!(Instant::now() < deadline, "it waits for the lock");
    }
    for proxy in [&first, &second] {
        let on = proxy.rules.set_mode(&table, Mode::Enforce).await;
        on.expect("there is such a rule");
    }
    waits_for(&first, "statements that are under way").await;
    waits_for(&second, "which reads base alone").await;
    run(&mut stage.direct, "COMMIT").await;
    let mut slow = zero.await.expect("it is answered");
    arrives(&first, "enforced").await;
    arrives(&second, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut slow, READ).await, 1);
}

/// Made before the rule was in force, and known after the hot table has changed.
async fn temporary_tables_stay_in_front(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_temporary").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: off, rollup: 1h");
    let (mut own, mut other) = (stage.client(&proxy).await, stage.client(&proxy).await);
    let temporary =
        "CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0)";
    run(&mut own, temporary).await;
    run(&mut own, "INSERT INTO posts VALUES (1, 100)").await;
    switch(&proxy, &table, Mode::Enforce, "enforced").await;
    let mut expected = 0;
    let change = "ALTER TABLE posts ADD COLUMN dislikes INT NOT NULL DEFAULT 0";
    for ddl in ["DO 0", change] {
        run(&mut other, ddl).await;
        arrives(&proxy, "enforced").await;
        run(&mut other, ADD).await;
        expected += 1;
        run(&mut own, ADD).await;
        run(&mut own, "UPDATE posts SET views = views * 2 WHERE id = 1").await;
        assert_eq!(number(&mut other, READ).await, expected, "behind {ddl}");
    }
    assert_eq!(number(&mut own, READ).await, 406);
    run(&mut own, "DROP TEMPORARY TABLE posts").await;
    assert_eq!(number(&mut own, READ).await, expected);
    switch(&proxy, &table, Mode::Off, "off").await;
    assert_eq!(number(&mut stage.direct, READ).await, expected);
}

/// What may be put into slots goes by the type: those of another type would take too much, or round.
async fn slots_follow_the_type_of_their_counter(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_over_type").await;
    let proxy = stage.proxy("columns: [views], rollup: 1h");
    let (mut client, mut other) = (stage.client(&proxy).await, stage.client(&proxy).await);
    run(
        &mut other,
        "UPDATE posts SET views = 1200000000 WHERE id = 1",
    )
    .await;
    run(&mut client, ADD).await;
    run(
        &mut client,
        "ALTER TABLE posts MODIFY views INT NOT NULL DEFAULT 0",
    )
    .await;
    for (session, expected) in [(&mut client, 1_200_000_002), (&mut other, 1_200_000_003)] {
        run(session, ADD).await;
        assert_eq!(number(session, READ).await, expected);
    }
    arrives(&proxy, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut other, READ).await, 1_200_000_004);
    run(
        &mut client,
        "ALTER TABLE posts MODIFY views DECIMAL(20,4) NOT NULL DEFAULT 0",
    )
    .await;
    // Behind the answer the proxy reads the table again.
    run(&mut client, "DO 0").await;
    arrives(&proxy, "enforced").await;
    let little = "UPDATE posts SET views = views + 0.0025 WHERE id = 1";
    run(&mut client, little).await;
    run(&mut other, little).await;
    let read = "SELECT CAST(views * 10000 AS SIGNED) FROM posts WHERE id = 1";
    assert_eq!(number(&mut client, read).await, 12_000_000_040_050);
    assert_eq!(
        proxy.counted("slotted"),
        3,
        "the first, and those behind the second change"
    );
}

async fn a_trigger_takes_a_rule_out_of_force_and_in_again(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_trigger").await;
    let proxy = stage.proxy("columns: [views], rollup: 1h");
    let mut client = stage.client(&proxy).await;
    run(&mut client, ADD).await;
    let trigger =
        "CREATE TRIGGER seen BEFORE UPDATE ON posts FOR EACH ROW SET NEW.likes = OLD.likes + 1";
    run(&mut client, trigger).await;
    waits_for(&proxy, "the trigger `seen`").await;
    run(&mut client, ADD).await;
    run(&mut client, ADD).await;
    let both = "SELECT views * 10 + likes FROM posts WHERE id = 1";
    assert_eq!(number(&mut client, both).await, 32);
    assert_eq!(number(&mut stage.direct, both).await, 32);
    run(&mut client, "DROP TRIGGER seen").await;
    arrives(&proxy, "enforced").await;
    run(&mut client, ADD).await;
    assert_eq!(number(&mut stage.direct, both).await, 32);
    assert_eq!(number(&mut client, both).await, 42);
}

/// It asks for no statement, and may go on for months.
async fn who_reads_the_binary_log_holds_nothing_up(flavour: Flavour) {
    const BINLOG_DUMP: u8 = 0x12;
    let stage = Stage::new(flavour, "cs_over_replica").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], rollup: 1h");
    let mut replica = stage.client(&proxy).await;
    // The server refuses replicas that could not check what it sends.
    let checksums = "SET @source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'";
    run(&mut replica, checksums).await;
    // From byte 4 of the first file, to wait for more at the end, as server 77.
    let dump = [BINLOG_DUMP, 4, 0, 0, 0, 0, 0, 77, 0, 0, 0];
    replica.send(&dump).await.expect("sent");
    let deadline = Instant::now() + PATIENCE;
    let is_dumping = || {
        let sessions = proxy.shared.sessions.now();
        sessions.iter().any(|one| one.command == "Binlog Dump")
    };
    while !is_dumping() {
        assert!(Instant::now() < deadline, "it asks for the log");
        tokio::task::yield_now().await;
    }
    switch(&proxy, &table, Mode::Off, "off").await;
    assert_eq!(proxy.shared.metrics.sessions(), 1, "it is there still");
}

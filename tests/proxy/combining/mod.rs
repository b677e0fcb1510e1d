//! Increments of several clients that travel together: what each is told, and what becomes of them when one of them is
//! killed or goes, when the server refuses them, and when a lock is in their way.
//!
//! A lock that a session past the proxy holds keeps the first increment on its way, so that the others are sure to wait
//! for it; the proxy's metrics say when they do.

mod any_order;
mod base;
mod rows;
mod sold_out;
mod stage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Reply};
use countersink::wire::reply::Ok as OkPacket;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::{Address, Flavour};

use crate::support::client::{connect, number, rows, run, run_all};
use crate::support::on_both;
use crate::support::twin::alone;
use stage::{INCREMENT, Stage, answers, clients, code, is_one_row, send, until};

on_both![
    a_server_that_becomes_read_only_refuses_each,
    each_is_told_what_its_own_update_would_have_told_it,
    keys_that_wait_share_a_transaction,
    who_is_killed_is_told_and_the_others_count,
    a_lost_connection_closes_all_that_were_on_it,
    a_client_that_goes_takes_nobody_with_it,
    a_lock_wait_timeout_is_for_all_that_waited,
    who_waits_is_not_idle,
    a_locked_key_holds_no_other_up,
    a_deadlock_of_a_batch_is_nobodys,
    sessions_that_differ_do_not_wait_for_each_other,
];

/// The status flag of a session in autocommit mode, without a transaction.
const AUTOCOMMIT: u16 = 0x0002;

async fn each_is_told_what_its_own_update_would_have_told_it(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "told").await;
    let locker = stage.lock_the_slot_row().await;
    let mut sent = stage.queue(clients(&stage, 4).await, INCREMENT).await;
    let more = [
        "UPDATE posts SET views = views + 1 WHERE id = 1 LIMIT 1",
        "UPDATE posts SET views = 1 + views WHERE id = 1",
        "UPDATE posts SET views = views + 40, score = score + 0.25 WHERE id = 1",
        "UPDATE posts SET score = score - 1.5, views = views - 3 WHERE id = 1",
    ];
    for text in more {
        let client = clients(&stage, 1).await.remove(0);
        sent.push(send(client, text.to_owned()));
    }
    let (batches, _) = stage.proxy.shared.metrics.combined();
    drop(locker);
    let mut done = Vec::new();
    for answer in sent {
        done.push(answer.await.expect("it does not panic"));
    }
    for (client, answer) in &mut done {
        assert!(is_one_row(answer), "{answer:?}");
        let told = rows(client, "SELECT ROW_COUNT(), @@warning_count").await;
        assert_eq!(told, [["1", "0"]]);
        assert!(rows(client, "SHOW WARNINGS").await.is_empty());
    }
    assert!(
        stage.proxy.shared.metrics.combined().0 > batches,
        "three were written as one"
    );
    assert_eq!(stage.value("views", 1).await, "43");
    assert_eq!(stage.value("score", 1).await, "-1.25");
}

async fn keys_that_wait_share_a_transaction(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "keys").await;
    let mut running = Vec::new();
    for (number, mut client) in clients(&stage, 24).await.into_iter().enumerate() {
        running.push(tokio::spawn(async move {
            for round in 0..100 {
                // Row 9 is not there.
                let id = (number + round) % 9 + 1;
                let text = format!("UPDATE posts SET views = views + 1 WHERE id = {id}");
                let payload = client.query_payload(&text);
                client.send(&payload).await.expect("the proxy is there");
                let answer = client
                    .packets(ResponseKind::Results)
                    .await
                    .expect("an answer");
                let ok = OkPacket::decode(&answer[0].payload).expect("an OK");
                assert_eq!(ok.affected_rows, u64::from(id < 9), "{text}");
                assert_eq!(ok.status, AUTOCOMMIT, "the client is in no transaction");
            }
        }));
    }
    for client in running {
        client.await.expect("it does not panic");
    }
    let (batches, increments) = stage.proxy.shared.metrics.combined();
    assert!(
        increments > batches,
        "{increments} increments in {batches} batches"
    );
    let mut client = stage.client().await;
    let ids = (0..24_usize).flat_map(|number| (0..100).map(move |round| (number + round) % 9 + 1));
    let mut expected = [0_i64; 10];
    ids.for_each(|id| expected[id] += 1);
    // Those by which sessions introduced themselves.
    expected[8] += 24;
    for (id, expected) in expected.into_iter().enumerate().skip(1).take(8) {
        let question = format!("SELECT views FROM posts WHERE id = {id}");
        assert_eq!(number(&mut client, &question).await, expected, "row {id}");
    }
}

async fn who_is_killed_is_told_and_the_others_count(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "killed").await;
    let locker = stage.lock_the_slot_row().await;
    let clients = clients(&stage, 4).await;
    let ids: Vec<u32> = clients.iter().map(Driver::thread_id).collect();
    let mut sent = stage.queue(clients, INCREMENT).await;
    let mut direct = stage.direct().await;
    run(&mut direct, &format!("KILL QUERY {}", ids[0])).await;
    let (_, first) = sent.remove(0).await.expect("it does not panic");
    assert_eq!(code(&first), Some(1317), "{first:?}");
    // The second leads now, for three.
    stage.until_waiting(2).await;
    stage.until_blocked(&mut direct).await;
    run(&mut direct, &format!("KILL QUERY {}", ids[1])).await;
    let (_, second) = sent.remove(0).await.expect("it does not panic");
    assert_eq!(code(&second), Some(1317), "{second:?}");
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
    assert_eq!(stage.value("views", 1).await, "2");
}

async fn a_lost_connection_closes_all_that_were_on_it(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "lost").await;
    let locker = stage.lock_the_slot_row().await;
    let clients = clients(&stage, 4).await;
    let ids: Vec<u32> = clients.iter().map(Driver::thread_id).collect();
    let mut sent = stage.queue(clients, INCREMENT).await;
    let mut direct = stage.direct().await;
    run(&mut direct, &format!("KILL QUERY {}", ids[0])).await;
    drop(sent.remove(0).await);
    stage.until_waiting(2).await;
    stage.until_blocked(&mut direct).await;
    run(&mut direct, &format!("KILL {}", ids[1])).await;
    for answer in answers(sent).await {
        assert!(
            answer.is_err(),
            "nobody knows what became of it: {answer:?}"
        );
    }
    drop(locker);
    // It did not come so far.
    assert_eq!(stage.value("views", 1).await, "0");
    let next = stage.client().await.query(INCREMENT).await;
    assert!(is_one_row(&next), "{next:?}");
}

async fn a_client_that_goes_takes_nobody_with_it(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "gone").await;
    let locker = stage.lock_the_slot_row().await;
    let mut sent = stage.queue(clients(&stage, 5).await, INCREMENT).await;
    // The one that leads, and one that waits.
    for gone in [0, 2] {
        sent[gone].abort();
    }
    sent.retain(|client| !client.is_finished());
    drop(locker);
    let mut acknowledged = 0;
    for client in sent {
        match client.await {
            Ok((_, answer)) => {
                assert!(is_one_row(&answer), "{answer:?}");
                acknowledged += 1;
            }
            Err(gone) => assert!(gone.is_cancelled()),
        }
    }
    assert_eq!(acknowledged, 3);
    // What had been sent by those that went counts, as it would with MySQL.
    until("all that were sent are written", async || {
        stage.value("views", 1).await == "5"
    })
    .await;
}

async fn a_lock_wait_timeout_is_for_all_that_waited(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "timeout").await;
    let locker = stage.lock_the_slot_row().await;
    let mut impatient = Vec::new();
    for mut client in clients(&stage, 3).await {
        run(&mut client, "SET innodb_lock_wait_timeout = 1").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 8",
        )
        .await;
        impatient.push(client);
    }
    let sent = stage.queue(impatient, INCREMENT).await;
    for (position, answer) in sent.into_iter().enumerate() {
        let (mut client, answer) = answer.await.expect("it does not panic");
        assert_eq!(code(&answer), Some(1205), "{answer:?}");
        let shown = rows(&mut client, "SHOW WARNINGS").await;
        let mut codes: Vec<_> = shown.iter().map(|row| row[1].as_str()).collect();
        // MariaDB says it twice to the session that has waited itself.
        codes.dedup();
        assert_eq!(codes, ["1205"], "client {position}");
    }
    drop(locker);
    assert_eq!(stage.value("views", 1).await, "0");
}

/// To the server a session is idle whose increment another one writes.
async fn who_waits_is_not_idle(flavour: Flavour) {
    const TIMEOUT: &str = "SET SESSION wait_timeout = 1";
    let stage = Stage::slotted(flavour, "idle").await;
    let mut clients = clients(&stage, 3).await;
    for client in &mut clients {
        run(client, TIMEOUT).await;
    }
    let locker = stage.lock_the_slot_row().await;
    let sent = stage.queue(clients, INCREMENT).await;
    // Two that are idle, one after the other: whoever waits has been for longer than either.
    for _ in 0..2 {
        let mut idle = stage.direct().await;
        run(&mut idle, TIMEOUT).await;
        let closed = idle.packets(ResponseKind::Results).await;
        assert!(closed.is_err() || closed.is_ok_and(|told| told[0].payload[0] == 0xFF));
    }
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
    assert_eq!(stage.value("views", 1).await, "3");
}

/// Slot rows of one key that a client has locked for itself: increments of other keys go on.
async fn a_locked_key_holds_no_other_up(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "stall").await;
    let mut locker = stage.client().await;
    let clients = clients(&stage, 12).await;
    run(&mut locker, "BEGIN").await;
    run(
        &mut locker,
        "SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
    )
    .await;
    let (is_over, counted) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut others = clients;
    let locked_out = others.split_off(8);
    let others: Vec<_> = others
        .into_iter()
        .map(|mut client| {
            let (is_over, counted) = (Arc::clone(&is_over), Arc::clone(&counted));
            tokio::spawn(async move {
                for id in (2..=7).cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = format!("UPDATE posts SET views = views + 1 WHERE id = {id}");
                    run(&mut client, &text).await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let count_more = async || {
        let goal = counted.load(Ordering::Relaxed) + 300;
        let has_come = async || counted.load(Ordering::Relaxed) >= goal;
        until("other keys are counted", has_come).await;
    };
    count_more().await;
    // Now they come to a batch that is under way, and wait for the next.
    let sent: Vec<_> = locked_out
        .into_iter()
        .map(|client| send(client, INCREMENT.to_owned()))
        .collect();
    count_more().await;
    assert!(
        sent.iter().all(|sent| !sent.is_finished()),
        "they wait for the lock"
    );
    run(&mut locker, "COMMIT").await;
    is_over.store(true, Ordering::Relaxed);
    for other in others {
        other.await.expect("each counts");
    }
    let answers = answers(sent).await;
    assert!(answers.iter().all(is_one_row), "{answers:?}");
    assert_eq!(stage.value("views", 1).await, "4");
}

/// A transaction of several keys may be in a circle of waits, where none of its increments would have been by itself.
async fn a_deadlock_of_a_batch_is_nobodys(flavour: Flavour) {
    const CLIENTS: usize = 24;
    // Deadlocks are counted for the whole server.
    let (server, _turn) = alone(flavour).await;
    let stage = Stage::slotted_at(server, "deadlock").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut running = Vec::new();
    for (number, mut client) in clients(&stage, CLIENTS).await.into_iter().enumerate() {
        let is_over = Arc::clone(&is_over);
        running.push(tokio::spawn(async move {
            let mut sent = [0_i64; 9];
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let id = (number + round) % 8 + 1;
                let text = format!("UPDATE posts SET views = views + 1 WHERE id = {id}");
                let answer = client.query(&text).await;
                assert!(is_one_row(&answer), "{answer:?}");
                sent[id] += 1;
            }
            sent
        }));
    }
    // A session past the proxy locks the slot rows from the last key to the first, and has written more than any batch:
    // of the two the batch is rolled back.
    let mut locker = stage.direct().await;
    run(&mut locker, "CREATE TABLE weights (n INT PRIMARY KEY)").await;
    let numbers = (0..1000)
        .map(|n| format!("({n})"))
        .collect::<Vec<_>>()
        .join(", ");
    let before = stage.deadlocks(flavour).await;
    let mut own = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while stage.deadlocks(flavour).await - before - own < 3 {
        assert!(Instant::now() < deadline, "no deadlock of a batch");
        run(&mut locker, "BEGIN").await;
        run(
            &mut locker,
            &format!("INSERT INTO weights VALUES {numbers}"),
        )
        .await;
        for id in (1..=8).rev() {
            let text = format!("SELECT * FROM posts_slots WHERE id = {id} FOR UPDATE");
            if let Ok(Reply::Err(error)) = locker.query(&text).await {
                assert_eq!(error.code, 1213, "{error:?}");
                own += 1;
                break;
            }
        }
        run(&mut locker, "ROLLBACK").await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut expected = [0; 9];
    for client in running {
        let sent = client.await.expect("it does not panic");
        for (expected, sent) in expected.iter_mut().zip(sent) {
            *expected += sent;
        }
    }
    // Those by which sessions introduced themselves.
    expected[8] += i64::try_from(CLIENTS).expect("few");
    for id in 1..=8 {
        let value = stage.value("views", id).await;
        assert_eq!(value, expected[id as usize].to_string(), "row {id}");
    }
}

async fn a_server_that_becomes_read_only_refuses_each(flavour: Flavour) {
    // It becomes so for all of its sessions, and waits for them.
    let (server, _turn) = alone(flavour).await;
    let stage = Stage::slotted_at(server, "read_only").await;
    let mut direct = stage.direct().await;
    run_all(
        &mut direct,
        &format!(
            "DROP USER IF EXISTS cs_reader; CREATE USER cs_reader IDENTIFIED BY '';
             GRANT SELECT, INSERT, UPDATE ON {}.* TO cs_reader",
            stage.schema
        ),
    )
    .await;
    let ordinary = Address {
        user: "cs_reader".into(),
        ..stage.proxy.address.clone()
    };
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = connect(&ordinary, Some(&stage.schema)).await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 8",
        )
        .await;
        clients.push(client);
    }
    let locker = stage.lock_the_slot_row().await;
    let sent = stage.queue(clients, INCREMENT).await;
    // It waits for statements that write, and those that come wait for it.
    let read_only = send(direct, "SET GLOBAL read_only = 1".to_owned());
    let mut watch = stage.direct().await;
    let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SET GLOBAL%' AND state LIKE 'Waiting%'";
    let watched = tokio::sync::Mutex::new(&mut watch);
    until("the server is about to become read-only", async || {
        number(*watched.lock().await, waits).await > 0
    })
    .await;
    drop(locker);
    let answers = answers(sent).await;
    let (mut direct, set) = read_only.await.expect("it does not panic");
    assert!(matches!(set, Ok(Reply::Ok(_))), "{set:?}");
    run_all(&mut direct, "SET GLOBAL read_only = 0; DROP USER cs_reader").await;
    let written = answers.iter().filter(|answer| is_one_row(answer)).count();
    for answer in &answers {
        assert!(
            is_one_row(answer) || code(answer) == Some(1290),
            "{answer:?}"
        );
    }
    assert!(written < 3, "those that waited come too late: {answers:?}");
    assert_eq!(stage.value("views", 1).await, written.to_string());
}

async fn sessions_that_differ_do_not_wait_for_each_other(flavour: Flavour) {
    let stage = Stage::slotted(flavour, "differ").await;
    let locker = stage.lock_the_slot_row().await;
    let sent = stage.queue(clients(&stage, 1).await, INCREMENT).await;
    for difference in [
        "SET time_zone = '+05:00'",
        "SET sql_mode = ''",
        "SET foreign_key_checks = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET innodb_lock_wait_timeout = 2",
        "CREATE TEMPORARY TABLE other (id INT)",
    ] {
        let mut client = stage.client().await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 2",
        )
        .await;
        run(&mut client, difference).await;
        // In another slot, which nobody has locked.
        let answer = client.query(INCREMENT).await;
        assert!(is_one_row(&answer), "{difference}: {answer:?}");
        assert_eq!(stage.proxy.shared.metrics.waiting(), 0, "{difference}");
        run(&mut client, "ROLLBACK").await;
    }
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
}

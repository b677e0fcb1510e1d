//! A row without slots: whatever waits for it runs in one transaction, and what goes wrong with one statement, or with
//! the session that runs them all, is nobody else's concern.

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Flavour;
use tokio::sync::Mutex;

use super::stage::{Answer, LOCK_WAITS, Stage, answers, clients, code, is_one_row, send, until};
use crate::support::client::{number, number_of_transactions, rows, run};
use crate::support::on_both;

on_both![
    who_waits_for_a_row_shares_a_transaction,
    what_is_sold_out_is_asked_for_once,
    what_is_in_stock_again_is_sold_once,
    who_is_killed_leaves_the_others_their_statements,
    a_lost_connection_is_the_leaders_alone,
    a_lock_wait_timeout_is_for_all_behind_it,
    warnings_are_those_of_each_statement,
    warnings_of_the_text_alone_are_told_to_all,
    numbers_of_a_sequence_are_drawn_once_each,
];

const BUY: &str = "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 1";

async fn sold(stage: &Stage, stock: u32) {
    let text = format!("UPDATE posts SET views = {stock} WHERE id = 1");
    run(&mut stage.direct().await, &text).await;
}

/// How many statements have written something together with others.
fn together(stage: &Stage) -> (u64, u64) {
    stage.proxy.shared.metrics.combined()
}

async fn who_waits_for_a_row_shares_a_transaction(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows", "slots: 0").await;
    let filled = "UPDATE posts SET views = 3, likes = 1 WHERE id = 1";
    run(&mut stage.direct().await, filled).await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let before = together(&stage);
    let mut sent = stage.queue(clients(&stage, 1).await, BUY).await;
    let texts = [
        "UPDATE posts SET views = views + 4 WHERE id = 1",
        "UPDATE posts SET title = 'new', likes = 7 WHERE id = 1",
        "UPDATE posts SET likes = likes - 8 WHERE id = 1",
        "INSERT INTO posts (id, title, views, score, likes) VALUES (1, '', 1, 0, 0)",
        "INSERT INTO posts (id, title, views, score, likes) VALUES (1, '', 1, 0, 0) ON DUPLICATE KEY UPDATE score = score + 2.5",
        "UPDATE posts SET views = views + 3 WHERE id = 1",
    ];
    for (position, text) in texts.iter().enumerate() {
        let client = clients(&stage, 1).await.remove(0);
        sent.push(send(client, (*text).to_owned()));
        stage.until_waiting(position as u64 + 1).await;
    }
    drop(locker);
    let answers = answers(sent).await;
    let told = answers.iter().map(|answer| match answer {
        Ok(Reply::Ok(rows)) => i64::try_from(*rows).expect("few"),
        answer => -i64::from(code(answer).expect("an error of the server's")),
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [1, 1, 1, -1690, -1062, 2, 1], "{answers:?}");
    let (batches, statements) = together(&stage);
    // Those that failed have written nothing, and have had the first transaction rolled back.
    assert!(batches > before.0 && statements > before.1 + 2);
    let mut direct = stage.direct().await;
    let row = "SELECT title, views, score, likes FROM posts WHERE id = 1";
    assert_eq!(rows(&mut direct, row).await, [["new", "9", "2.50", "7"]]);
}

/// Runs one that finds nothing, and has others wait for it: the batch of these.
async fn wait_for_stock(stage: &Stage, count: usize) -> Vec<Answer> {
    let locker = stage.lock("posts WHERE id = 1").await;
    let sent = stage.queue(clients(stage, count).await, BUY).await;
    drop(locker);
    answers(sent).await
}

async fn what_is_sold_out_is_asked_for_once(flavour: Flavour) {
    let stage = Stage::new(flavour, "sold_out", "slots: 0").await;
    sold(&stage, 0).await;
    let mut direct = stage.direct().await;
    // Counted by the schema's digests, because other tests run on the same server.
    let digests = "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest \
         WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT LIKE 'UPDATE%`views` >= ?%'";
    let is_counted = number(&mut direct, "SELECT @@performance_schema").await == 1;
    let before = number(&mut direct, digests).await;
    for answer in wait_for_stock(&stage, 8).await {
        assert!(matches!(answer, Ok(Reply::Ok(0))), "{answer:?}");
    }
    if is_counted {
        // The first one's, and one for the seven that waited. The server counts a statement after it has answered.
        let expected = before + 2;
        let direct = Mutex::new(direct);
        let counted = async || number(&mut *direct.lock().await, digests).await;
        until("both are counted", async || counted().await >= expected).await;
        assert_eq!(counted().await, expected);
    }
}

/// The first is sold nothing, and so are those that wait for it. Then there is some.
async fn what_is_in_stock_again_is_sold_once(flavour: Flavour) {
    let stage = Stage::new(flavour, "in_stock", "slots: 0").await;
    sold(&stage, 0).await;
    let mut locker = stage.lock("posts WHERE id = 1").await;
    let mut sent = stage.queue(clients(&stage, 7).await, BUY).await;
    // The first of them finds nothing; the others are asked for together, and find three.
    let mut second = stage.direct().await;
    let restock = "UPDATE posts SET views = 3 WHERE id = 1";
    let restocked = tokio::spawn(async move {
        run(&mut second, restock).await;
    });
    let direct = Mutex::new(stage.direct().await);
    until("both wait for the lock", async || {
        number_of_transactions(&mut *direct.lock().await, LOCK_WAITS).await == 2
    })
    .await;
    run(&mut locker, "COMMIT").await;
    restocked.await.expect("it does not panic");
    sent.extend(stage.queue_freely(clients(&stage, 3).await, BUY));
    let answers = answers(sent).await;
    let sold = answers.iter().filter(|answer| is_one_row(answer)).count();
    let refused = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Reply::Ok(0))))
        .count();
    assert_eq!((sold, refused), (3, 7), "{answers:?}");
    assert_eq!(stage.value("views", 1).await, "0");
}

async fn who_is_killed_leaves_the_others_their_statements(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows_killed", "slots: 0").await;
    sold(&stage, 10).await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let buyers = clients(&stage, 4).await;
    let ids: Vec<u32> = buyers.iter().map(Driver::thread_id).collect();
    let mut sent = stage.queue(buyers, BUY).await;
    let mut direct = stage.direct().await;
    for (id, waiting) in [(ids[0], 2), (ids[1], 1)] {
        run(&mut direct, &format!("KILL QUERY {id}")).await;
        let (_, killed) = sent.remove(0).await.expect("it does not panic");
        assert_eq!(code(&killed), Some(1317), "{killed:?}");
        stage.until_waiting(waiting).await;
        stage.until_blocked(&mut direct).await;
    }
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
    assert_eq!(stage.value("views", 1).await, "8");
}

/// Nothing is sent for the others before the row is locked, so they run what they have sent once more.
async fn a_lost_connection_is_the_leaders_alone(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows_lost", "slots: 0").await;
    sold(&stage, 10).await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let buyers = clients(&stage, 4).await;
    let ids: Vec<u32> = buyers.iter().map(Driver::thread_id).collect();
    let mut sent = stage.queue(buyers, BUY).await;
    let mut direct = stage.direct().await;
    for (id, waiting) in [(ids[0], 2), (ids[1], 1)] {
        run(&mut direct, &format!("KILL {id}")).await;
        let (_, lost) = sent.remove(0).await.expect("it does not panic");
        assert!(!is_one_row(&lost), "{lost:?}");
        stage.until_waiting(waiting).await;
        stage.until_blocked(&mut direct).await;
    }
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
    assert_eq!(stage.value("views", 1).await, "8");
}

async fn a_lock_wait_timeout_is_for_all_behind_it(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows_timeout", "slots: 0").await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let mut impatient = Vec::new();
    for mut client in clients(&stage, 3).await {
        run(&mut client, "SET innodb_lock_wait_timeout = 1").await;
        run(&mut client, "UPDATE posts SET views = 5 WHERE id = 8").await;
        impatient.push(client);
    }
    let sent = stage.queue(impatient, BUY).await;
    for answer in sent {
        let (mut client, answer) = answer.await.expect("it does not panic");
        assert_eq!(code(&answer), Some(1205), "{answer:?}");
        let shown = rows(&mut client, "SHOW WARNINGS").await;
        assert_eq!(shown[0][1], "1205");
        assert_eq!(number(&mut client, "SELECT ROW_COUNT()").await, -1);
    }
    drop(locker);
}

/// MySQL warns of VALUES(): the most usual upsert there is.
async fn warnings_are_those_of_each_statement(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows_warnings", "slots: 0").await;
    let upsert = "INSERT INTO posts (id, title, views, score, likes) VALUES (1, '', 2, 0, 0) \
         ON DUPLICATE KEY UPDATE views = views + VALUES(views), score = '1.234'";
    // Once to learn that it warns, by a batch that is rolled back; from then on the messages are asked for.
    for is_known in [false, true] {
        let locker = stage.lock("posts WHERE id = 1").await;
        let before = together(&stage);
        let sent = stage.queue(clients(&stage, 5).await, upsert).await;
        drop(locker);
        let mut shown = Vec::new();
        for answer in sent {
            let (mut client, answer) = answer.await.expect("it does not panic");
            assert!(matches!(answer, Ok(Reply::Ok(2))), "{answer:?}");
            let messages = rows(&mut client, "SHOW WARNINGS").await;
            let count = number(&mut client, "SELECT @@warning_count").await;
            assert_eq!(usize::try_from(count), Ok(messages.len()), "{messages:?}");
            shown.push(messages);
        }
        assert!(!shown[0].is_empty(), "it warns");
        shown.dedup();
        assert_eq!(shown.len(), 1, "{shown:?}");
        let together = together(&stage).1 - before.1;
        assert!(together > 1 || !is_known, "some of them met");
    }
    assert_eq!(stage.value("views", 1).await, "20");
}

/// The most usual upsert there is, of whose VALUES() MySQL warns each time: it does not keep clients from being added
/// up.
async fn warnings_of_the_text_alone_are_told_to_all(flavour: Flavour) {
    let stage = Stage::new(flavour, "rows_values", "slots: 0").await;
    let upsert = "INSERT INTO posts (id, title, views, score, likes) VALUES (1, '', 2, 0, 0) \
         ON DUPLICATE KEY UPDATE views = views + VALUES(views)";
    for round in 0..2 {
        let locker = stage.lock("posts WHERE id = 1").await;
        let before = together(&stage);
        let sent = stage.queue(clients(&stage, 6).await, upsert).await;
        drop(locker);
        for answer in sent {
            let (mut client, answer) = answer.await.expect("it does not panic");
            assert!(matches!(answer, Ok(Reply::Ok(2))), "{answer:?}");
            let messages = rows(&mut client, "SHOW WARNINGS").await;
            let expected = usize::from(flavour == Flavour::MySql);
            assert_eq!(messages.len(), expected, "{messages:?}");
        }
        let (batches, statements) = together(&stage);
        if round > 0 {
            assert_eq!((batches - before.0, statements - before.1), (1, 5));
        }
    }
    assert_eq!(stage.value("views", 1).await, "24");
}

async fn numbers_of_a_sequence_are_drawn_once_each(flavour: Flavour) {
    let stage = Stage::new(flavour, "sequence", "slots: 0").await;
    let draw = "UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 1";
    let locker = stage.lock("posts WHERE id = 1").await;
    let before = together(&stage);
    let sent = stage.queue(clients(&stage, 8).await, draw).await;
    drop(locker);
    let mut drawn = Vec::new();
    for answer in sent {
        let (mut client, answer) = answer.await.expect("it does not panic");
        assert!(is_one_row(&answer), "{answer:?}");
        drawn.push(number(&mut client, "SELECT LAST_INSERT_ID()").await);
    }
    assert_eq!(
        drawn,
        [1, 2, 3, 4, 5, 6, 7, 8],
        "in the order in which they came"
    );
    assert_eq!(together(&stage).1 - before.1, 7);
}

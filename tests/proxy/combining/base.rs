//! Without slots the base row itself takes the sum of increments that travel together.

use countersink::driver::{Driver, Reply};
use countersink::wire::command;
use countersink::wire::reply::Ok as OkPacket;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Flavour;
use tokio::task::JoinHandle;

use super::stage::{
    Answer, INCREMENT, LOCK_WAITS, Stage, answers, clients, code, is_one_row, send, until,
};
use crate::support::client::{number_of_transactions, prepare, rows, run};
use crate::support::on_both;
use crate::support::twin::twin;

on_both![
    without_slots_the_row_itself_takes_the_sum,
    without_slots_who_adds_nothing_changes_nothing,
    without_slots_the_limits_of_the_type_are_mysqls,
    without_slots_a_value_is_cut_to_its_type_as_mysql_does,
    a_temporary_table_of_the_same_name_is_its_sessions,
    without_a_key_the_only_row_takes_the_sum,
    without_a_key_several_rows_are_left_alone,
    without_a_key_a_second_row_may_come_meanwhile,
];

async fn without_slots_the_row_itself_takes_the_sum(flavour: Flavour) {
    let stage = Stage::new(flavour, "base", "slots: 0").await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let mut sent = stage.queue(clients(&stage, 4).await, INCREMENT).await;
    let other = "UPDATE posts SET score = score + 1.25, views = views + 5 WHERE id = 1";
    sent.push(send(clients(&stage, 1).await.remove(0), other.to_owned()));
    let (batches, _) = stage.proxy.shared.metrics.combined();
    drop(locker);
    for answer in answers(sent).await {
        assert!(is_one_row(&answer), "{answer:?}");
    }
    assert!(
        stage.proxy.shared.metrics.combined().0 > batches,
        "three were written as one"
    );
    let mut direct = stage.direct().await;
    let row = rows(&mut direct, "SELECT views, score FROM posts WHERE id = 1").await;
    assert_eq!(row, [["9", "1.25"]]);
    let tables = rows(&mut direct, "SHOW TABLES").await;
    assert_eq!(tables, [["posts"]], "no slot table");
}

async fn without_slots_who_adds_nothing_changes_nothing(flavour: Flavour) {
    let stage = Stage::new(flavour, "nothing", "slots: 0").await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let mut direct = stage.direct().await;
    let mut sent = Vec::new();
    let adding = [1, 1, 1, 0].into_iter().enumerate();
    for ((position, amount), mut client) in adding.zip(clients(&stage, 4).await) {
        let add = "UPDATE posts SET views = views + ? WHERE id = 1";
        let id = prepare(&mut client, add).await;
        sent.push(execute(client, id, amount));
        match position {
            0 => stage.until_blocked(&mut direct).await,
            3 => {}
            _ => stage.until_waiting(position as u64).await,
        }
    }
    let direct = tokio::sync::Mutex::new(direct);
    until("it has come", async || {
        let blocked = number_of_transactions(&mut *direct.lock().await, LOCK_WAITS).await;
        stage.proxy.shared.metrics.waiting() == 3 || blocked > 1
    })
    .await;
    drop(locker);
    let answers = answers(sent).await;
    let (last, others) = answers.split_last().expect("four");
    assert!(others.iter().all(is_one_row), "{others:?}");
    assert!(matches!(last, Ok(Reply::Ok(0))), "{last:?}");
    assert_eq!(stage.value("views", 1).await, "3");
}

/// Near its limits, and where it is NULL, each of them has to be asked for by itself.
async fn without_slots_the_limits_of_the_type_are_mysqls(flavour: Flavour) {
    let stage = Stage::new(flavour, "limits", "slots: 0").await;
    let mut direct = stage.direct().await;
    run(
        &mut direct,
        "UPDATE posts SET views = 2147483645 WHERE id = 1",
    )
    .await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let sent = stage.queue(clients(&stage, 5).await, INCREMENT).await;
    drop(locker);
    let answers = answers(sent).await;
    let written = answers.iter().filter(|answer| is_one_row(answer)).count();
    let refused = answers
        .iter()
        .filter(|answer| matches!(code(answer), Some(1264 | 1690)))
        .count();
    assert_eq!((written, refused), (2, 3), "{answers:?}");
    assert_eq!(stage.value("views", 1).await, "2147483647");
}

/// Without a strict sql_mode the server cuts a value to its type, and warns: a sum would be cut for all of them.
async fn without_slots_a_value_is_cut_to_its_type_as_mysql_does(flavour: Flavour) {
    let stage = Stage::new(flavour, "cut", "slots: 0").await;
    let mut direct = stage.direct().await;
    run(
        &mut direct,
        "UPDATE posts SET views = 2147483645 WHERE id = 1",
    )
    .await;
    let locker = stage.lock("posts WHERE id = 1").await;
    let mut lenient = Vec::new();
    for mut client in clients(&stage, 5).await {
        run(&mut client, "SET sql_mode = ''").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 8",
        )
        .await;
        lenient.push(client);
    }
    let sent = stage.queue(lenient, INCREMENT).await;
    drop(locker);
    let answers = answers(sent).await;
    let written = answers.iter().filter(|answer| is_one_row(answer)).count();
    let cut = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Reply::Ok(0))))
        .count();
    assert_eq!((written, cut), (2, 3), "{answers:?}");
}

/// It hides the hot table from its own session, whatever waits for the row of that.
async fn a_temporary_table_of_the_same_name_is_its_sessions(flavour: Flavour) {
    for (name, rule) in [("hidden", "slots: 0"), ("hidden_at_rest", "slots: 8")] {
        let stage = Stage::new(flavour, name, rule).await;
        let mut writers = clients(&stage, 3).await;
        let mut hiding = writers.remove(0);
        let table = "CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)";
        run(&mut hiding, table).await;
        run(&mut hiding, "INSERT INTO posts VALUES (1, 40)").await;
        let locker = stage.lock("posts WHERE id = 1").await;
        let sent = stage.queue(writers, INCREMENT).await;
        run(&mut hiding, INCREMENT).await;
        assert_eq!(rows(&mut hiding, "SELECT views FROM posts").await, [["41"]]);
        drop(locker);
        for answer in answers(sent).await {
            assert!(is_one_row(&answer), "{answer:?}");
        }
        assert_eq!(stage.value("views", 1).await, "2", "{rule}");
        run(&mut hiding, "DROP TEMPORARY TABLE posts").await;
        run(&mut hiding, INCREMENT).await;
        assert_eq!(stage.value("views", 1).await, "3", "{rule}");
    }
}

/// A table of one row, which no statement needs to name.
const KEYLESS: &str = "CREATE TABLE posts (id INT, views INT); INSERT INTO posts VALUES (1, 0)";

const COUNT: &str = "UPDATE posts SET views = views + 1";
const DRAW: &str = "UPDATE posts SET views = LAST_INSERT_ID(views + 10)";

async fn keyless(flavour: Flavour, name: &str) -> Stage {
    let rule = "columns: [views], slots: 0";
    Stage::of_tables(&twin(flavour).proxied, name, KEYLESS, rule).await
}

async fn without_a_key_the_only_row_takes_the_sum(flavour: Flavour) {
    for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
        let stage = keyless(flavour, "keyless").await;
        let mut writers = clients(&stage, 7).await;
        for client in &mut writers {
            let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
            run(client, &set).await;
        }
        let locker = stage.lock("posts").await;
        let drawing = writers.split_off(4);
        let mut sent = stage.queue(writers, COUNT).await;
        for (position, client) in drawing.into_iter().enumerate() {
            sent.push(send(client, DRAW.to_owned()));
            stage.until_waiting(position as u64 + 4).await;
        }
        let before = stage.proxy.shared.metrics.combined();
        drop(locker);
        let mut drawn = Vec::new();
        for (position, sent) in sent.into_iter().enumerate() {
            let (mut client, answer) = sent.await.expect("it runs");
            assert!(is_one_row(&answer), "{answer:?}");
            if position >= 4 {
                drawn.extend(rows(&mut client, "SELECT LAST_INSERT_ID()").await.remove(0));
            }
        }
        drawn.sort();
        assert_eq!(drawn, ["14", "24", "34"], "{isolation}");
        let (batches, statements) = stage.proxy.shared.metrics.combined();
        let together = (batches - before.0, statements - before.1);
        assert_eq!(
            together,
            (1, 6),
            "all that waited for the first one, under {isolation}"
        );
        let found = rows(&mut stage.direct().await, "SELECT views FROM posts").await;
        assert_eq!(found, [["34"]]);
    }
}

/// Each of them writes all rows, whatever else they hold.
async fn without_a_key_several_rows_are_left_alone(flavour: Flavour) {
    let stage = keyless(flavour, "several").await;
    let mut direct = stage.direct().await;
    run(
        &mut direct,
        "INSERT INTO posts VALUES (2, NULL), (3, 2147483640)",
    )
    .await;
    let writers = clients(&stage, 5).await;
    let locker = stage.lock("posts").await;
    let sent = stage.queue(writers, COUNT).await;
    drop(locker);
    for answer in answers(sent).await {
        assert!(matches!(answer, Ok(Reply::Ok(2))), "{answer:?}");
    }
    assert_eq!(stage.proxy.shared.metrics.combined(), (0, 0));
    let found = rows(&mut direct, "SELECT COALESCE(views, 'NULL') FROM posts").await;
    assert_eq!(found, [["5"], ["NULL"], ["2147483645"]]);
}

/// READ COMMITTED locks no gaps, so another row can come while a batch runs. Here it waits for a parent in the middle:
/// of the sum, the first row has no room for it, and the second has.
async fn without_a_key_a_second_row_may_come_meanwhile(flavour: Flavour) {
    const TABLES: &str = "CREATE TABLE parents (id INT PRIMARY KEY); INSERT INTO parents VALUES (1), (2);
        CREATE TABLE posts (id INT, views INT, parent INT, FOREIGN KEY (parent) REFERENCES parents (id));
        INSERT INTO posts VALUES (1, 2147483000, 1)";
    let rule = "columns: [views], slots: 0";
    let server = &twin(flavour).proxied;
    let stage = Stage::of_tables(server, "meanwhile", TABLES, rule).await;
    let mut writers = clients(&stage, 4).await;
    for client in &mut writers {
        run(
            client,
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        )
        .await;
    }
    let row = stage.lock("posts").await;
    let parent = stage.lock("parents WHERE id = 2").await;
    let waiting = writers.split_off(1);
    let first = stage.queue(writers, COUNT).await.remove(0);
    let texts = ["UPDATE posts SET parent = 2", COUNT, COUNT];
    let mut sent = Vec::new();
    for (position, (client, text)) in waiting.into_iter().zip(texts).enumerate() {
        sent.push(send(client, text.to_owned()));
        stage.until_waiting(position as u64 + 1).await;
    }
    drop(row);
    let (_, answer) = first.await.expect("it runs");
    assert!(is_one_row(&answer), "{answer:?}");
    let mut direct = stage.direct().await;
    stage.until_blocked(&mut direct).await;
    run(&mut direct, "INSERT INTO posts VALUES (2, 0, 1)").await;
    drop(parent);
    for answer in answers(sent).await {
        assert!(matches!(answer, Ok(Reply::Ok(2))), "{answer:?}");
    }
    let found = rows(&mut direct, "SELECT views, parent FROM posts ORDER BY id").await;
    assert_eq!(found, [["2147483003", "2"], ["2", "2"]]);
}

/// COM_STMT_EXECUTE with one BIGINT.
fn execute(mut client: Driver, id: u32, amount: i64) -> JoinHandle<(Driver, Answer)> {
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    // No cursor, once; nothing is NULL, and the types come with it.
    payload.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 0x08, 0x00]);
    payload.extend_from_slice(&amount.to_le_bytes());
    tokio::spawn(async move {
        let answer = async {
            client.send(&payload).await?;
            let packets = client.packets(ResponseKind::Results).await?;
            let ok = OkPacket::decode(&packets[0].payload)?;
            Ok(Reply::Ok(ok.affected_rows))
        };
        let answer = answer.await;
        (client, answer)
    })
}

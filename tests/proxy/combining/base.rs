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

on_both![
    without_slots_the_row_itself_takes_the_sum,
    without_slots_who_adds_nothing_changes_nothing,
    without_slots_the_limits_of_the_type_are_mysqls,
    without_slots_a_value_is_cut_to_its_type_as_mysql_does,
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

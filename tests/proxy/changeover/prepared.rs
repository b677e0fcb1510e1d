//! Statements of the binary protocol that were prepared before a rule acted.

use countersink::config::Mode;
use countersink::driver::Driver;
use countersink::wire::command;
use countersink::wire::reader::put_lenenc_bytes;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Flavour;

use crate::changeover::stage::{Stage, arrives, close, switch, waits_for};
use crate::support::client::{number, prepare, rows, run};
use crate::support::on_both;

const LONGLONG: [u8; 2] = [8, 0];
const BLOB: [u8; 2] = [0xFC, 0];

on_both! {
    types_that_were_told_once_are_remembered,
    long_data_goes_with_the_rule,
    a_statement_that_is_closed_twice_counts_once,
}

/// COM_STMT_EXECUTE with these values; clients tell their types at the first execution only.
async fn execute(driver: &mut Driver, id: u32, types: Option<&[u8]>, values: &[u8]) {
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    // No cursor, once; one parameter, which is not NULL.
    payload.extend_from_slice(&[0, 1, 0, 0, 0, 0, u8::from(types.is_some())]);
    payload.extend_from_slice(types.unwrap_or_default());
    payload.extend_from_slice(values);
    driver.send(&payload).await.expect("sent");
    let packets = driver
        .packets(ResponseKind::Results)
        .await
        .expect("an answer");
    let answer = String::from_utf8_lossy(&packets[0].payload);
    assert_eq!(packets[0].payload[0], 0, "{answer}");
}

async fn types_that_were_told_once_are_remembered(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_types").await;
    let table = stage.table();
    // In its lower bytes it is another key.
    let key = 327_681_i64;
    let insert = format!("INSERT INTO posts (id) VALUES (5), ({key})");
    run(&mut stage.direct, &insert).await;
    let proxy = stage.proxy("columns: [views], mode: observe");
    let mut client = stage.client(&proxy).await;
    let add = prepare(
        &mut client,
        "UPDATE posts SET views = views + 1 WHERE id = ?",
    )
    .await;
    let values = key.to_le_bytes();
    execute(&mut client, add, Some(&LONGLONG), &values).await;
    switch(&proxy, &table, Mode::Enforce, "enforced").await;
    for _ in 0..3 {
        execute(&mut client, add, None, &values).await;
    }
    let changed = "SELECT id, views FROM posts WHERE views <> 0 ORDER BY id";
    let seen = rows(&mut client, changed).await;
    assert_eq!(seen, [[key.to_string(), "4".to_owned()]]);
}

async fn long_data_goes_with_the_rule(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_over_long_data").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: observe");
    let mut client = stage.client(&proxy).await;
    let mut other = stage.client(&proxy).await;
    let text = "UPDATE posts SET title = ?, views = 5 WHERE id = 1";
    let set = prepare(&mut client, text).await;
    let mut at_once = Vec::new();
    put_lenenc_bytes(&mut at_once, b"whole");
    for (mode, name) in [
        (Mode::Enforce, "enforced"),
        (Mode::Observe, "observed"),
        (Mode::Enforce, "enforced"),
    ] {
        for part in [&b"in "[..], b"parts"] {
            let data = [
                &[command::STMT_SEND_LONG_DATA][..],
                &set.to_le_bytes(),
                &[0, 0],
                part,
            ];
            client.send(&data.concat()).await.expect("sent");
        }
        // The data was sent before.
        switch(&proxy, &table, mode, name).await;
        let add = "UPDATE posts SET views = views + 7 WHERE id = 1";
        run(&mut other, add).await;
        execute(&mut client, set, Some(&BLOB), &[]).await;
        let read = "SELECT views FROM posts WHERE id = 1 AND title = 'in parts'";
        assert_eq!(number(&mut other, read).await, 5, "{name}");
        execute(&mut client, set, None, &at_once).await;
        let read = "SELECT views FROM posts WHERE id = 1 AND title = 'whole'";
        assert_eq!(number(&mut other, read).await, 5, "{name}");
    }
}

async fn a_statement_that_is_closed_twice_counts_once(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_over_closed").await;
    let table = stage.table();
    let proxy = stage.proxy("columns: [views], mode: off");
    let mut client = stage.client(&proxy).await;
    let first = prepare(&mut client, "SELECT 1").await;
    let second = prepare(&mut client, "UPDATE posts SET views = ? WHERE id = 1").await;
    close(&mut client, first).await;
    close(&mut client, first).await;
    run(&mut client, "DO 0").await;
    let on = proxy.rules.set_mode(&table, Mode::Enforce).await;
    on.expect("there is such a rule");
    waits_for(&proxy, "prepared before the rule").await;
    close(&mut client, second).await;
    arrives(&proxy, "enforced").await;
}

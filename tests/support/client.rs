//! Clients of a server or of a proxy.

use std::time::Duration;

use countersink::driver::{Driver, Error, Login, Reply};
use countersink::wire::response::{PrepareOk, ResponseKind};
use countersink::wire::{capability, command};
use countersink_sandbox::Address;
use tokio::net::TcpStream;

/// Logs in with the default capabilities, and several statements in a packet.
pub async fn connect(to: &Address, schema: Option<&str>) -> Driver {
    connect_as(
        to,
        schema,
        Driver::CAPABILITIES | capability::MULTI_STATEMENTS,
    )
    .await
    .unwrap_or_else(|error| panic!("{to:?}: {error}"))
}

/// Logs in with these capabilities, as far as the server has them.
pub async fn connect_as(
    to: &Address,
    schema: Option<&str>,
    capabilities: u64,
) -> Result<Driver, Error> {
    let stream = TcpStream::connect((to.host.as_str(), to.port)).await?;
    stream.set_nodelay(true)?;
    let login = Login {
        schema,
        capabilities,
        ..Login::new(&to.user, &to.password)
    };
    Driver::connect(Box::new(stream), &login).await
}

/// Runs a statement that must not fail.
pub async fn run(driver: &mut Driver, text: &str) -> Reply {
    match driver.query(text).await {
        Ok(Reply::Err(error)) => panic!("{error} in: {text}"),
        Ok(reply) => reply,
        Err(error) => panic!("{error} in: {text}"),
    }
}

/// Runs a script of statements, none of which may fail, in one packet: the client must have MULTI_STATEMENTS.
pub async fn run_all(driver: &mut Driver, script: &str) {
    run(driver, script).await;
}

/// COM_STMT_PREPARE; the statement's id.
pub async fn prepare(driver: &mut Driver, text: &str) -> u32 {
    let payload = [&[command::STMT_PREPARE], text.as_bytes()].concat();
    driver.send(&payload).await.expect("sent");
    let packets = driver
        .packets(ResponseKind::Prepared)
        .await
        .expect("an answer");
    let ok = PrepareOk::decode(&packets[0].payload);
    ok.expect("it can be prepared").statement_id
}

/// Makes a schema anew, with these tables; the session that is in it.
pub async fn create_schema(on: &Address, schema: &str, tables: &str) -> Driver {
    let mut driver = connect(on, None).await;
    let script = format!(
        "SET NAMES utf8mb4; DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; {tables}"
    );
    run_all(&mut driver, &script).await;
    driver
}

/// The rows of a query, as text; NULL is `NULL`.
pub async fn rows(driver: &mut Driver, text: &str) -> Vec<Vec<String>> {
    let Reply::Rows(rows) = run(driver, text).await else {
        panic!("no rows: {text}");
    };
    let shown = |value: Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    rows.into_iter()
        .map(|row| row.into_iter().map(shown).collect())
        .collect()
}

/// The one number that a query gives.
pub async fn number(driver: &mut Driver, text: &str) -> i64 {
    let rows = rows(driver, text).await;
    match rows.as_slice() {
        [row] if row.len() == 1 => row[0]
            .parse()
            .unwrap_or_else(|_| panic!("{text} gave {:?}", row[0])),
        _ => panic!("{text} gave {rows:?}"),
    }
}

/// A number from information_schema.innodb_trx. The server makes that table anew only when nobody has read it for a
/// tenth of a second, so tests take turns.
pub async fn number_of_transactions(driver: &mut Driver, text: &str) -> i64 {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = TURN.lock().await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    number(driver, text).await
}

/// What the server says of its latest deadlock.
pub async fn latest_deadlock(driver: &mut Driver) -> String {
    let status = rows(driver, "SHOW ENGINE INNODB STATUS").await;
    let (_, deadlock) = status[0][2].split_once("DEADLOCK").unwrap_or_default();
    let end = deadlock.find("\nTRANSACTIONS\n").unwrap_or(deadlock.len());
    deadlock[..end].to_owned()
}

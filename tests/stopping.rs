//! Told to stop, the proxy closes idle sessions at once and lets open transactions end.

mod support;

use countersink::driver::{Driver, Error};
use countersink::net::ReadError;
use countersink::sandbox::Flavour;
use countersink::wire::answer::Form;
use support::client::{connect, number, run, run_all};
use support::proxy::Proxy;
use support::twin::twin;

const SCHEMA: &str = "cs_stopping";

#[test]
fn idle_sessions_close_and_open_transactions_end() {
    support::block_on(async {
        let upstream = &twin(Flavour::MySql).proxied;
        let mut direct = connect(upstream, None).await;
        let script = format!(
            "DROP DATABASE IF EXISTS {SCHEMA};
            CREATE DATABASE {SCHEMA};
            CREATE TABLE {SCHEMA}.posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0)"
        );
        run_all(&mut direct, &script).await;
        let rules = format!("counters:\n- {{table: {SCHEMA}.posts, columns: [views]}}\n");
        let proxy = Proxy::start(upstream, &rules);
        let mut idle = connect(&proxy.address, None).await;
        let mut busy = connect(&proxy.address, None).await;
        run(&mut busy, "BEGIN").await;
        let stopped = std::thread::spawn(move || drop(proxy));
        expect_closed(&mut idle).await;
        assert_eq!(number(&mut busy, "SELECT 1").await, 1);
        run(&mut busy, "COMMIT").await;
        expect_closed(&mut busy).await;
        stopped.join().expect("the proxy stops");
    });
}

/// Waits for a packet and finds that there is none.
async fn expect_closed(client: &mut Driver) {
    let answer = client.packets(Form::Single).await;
    assert!(
        matches!(answer, Err(Error::Read(ReadError::Closed))),
        "{answer:?}"
    );
}

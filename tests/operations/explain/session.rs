//! EXPLAIN FORMAT=COUNTERSINK in sessions: nothing of the statement is run, in whatever way it comes.

use countersink::driver::Driver;
use countersink::reason::Reason;
use countersink::wire::capability;
use countersink_sandbox::{Address, Flavour};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use crate::explain::{INCREMENT, TABLES};
use crate::support::client::{connect, connect_as, rows, run};
use crate::support::proxy::Proxy;
use crate::support::twin::single;
use crate::support::{Sandbox, servers};

/// A schema with a proxy in front of its server.
pub async fn world(flavour: Flavour) -> (Sandbox, Proxy) {
    let server = single(flavour);
    let at = |options: &&mysql_async::Opts| options.tcp_port() == server.port;
    let servers = servers();
    let options = servers.iter().find(at).expect("one of the servers");
    let sandbox = Sandbox::new(options, TABLES).await;
    let rule = format!(
        "bypass: {{programs: [sleepwalker]}}\ncounters:\n- table: {}.posts\n  columns: [views]\n",
        sandbox.schema
    );
    let proxy = Proxy::start(server, &rule);
    (sandbox, proxy)
}

/// The plan that a session is told of.
pub async fn plan(driver: &mut Driver, statement: &str) -> String {
    let answer = rows(driver, &format!("EXPLAIN FORMAT=COUNTERSINK {statement}")).await;
    assert_eq!(answer[0][0], "plan");
    answer[0][2].clone()
}

pub async fn at(address: &Address, sandbox: &Sandbox) -> Driver {
    connect(address, Some(&sandbox.schema)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_run() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let mut driver = at(&proxy.address, &sandbox).await;
        for (statement, expected) in [
            (INCREMENT, "slotted"),
            ("DELETE FROM posts", "folded:delete"),
            ("TRUNCATE posts", "folded:ddl"),
            ("LOCK TABLES posts WRITE", "locked"),
            ("BEGIN", "forwarded:not-hot"),
            ("EXPLAIN SELECT views FROM posts", "forwarded:metadata"),
            (
                "PREPARE s FROM 'DELETE FROM posts'",
                "forwarded:sql-prepare",
            ),
            (
                "CREATE TEMPORARY TABLE posts (id INT)",
                "folded:temporary-table",
            ),
            ("no statement at all", "forwarded:not-hot"),
        ] {
            assert_eq!(plan(&mut driver, statement).await, expected, "{statement}");
        }
        // Nor does the session believe that anything was.
        assert_eq!(plan(&mut driver, "EXECUTE s").await, "forwarded:not-hot");
        assert_eq!(
            plan(&mut driver, "DELETE FROM posts").await,
            "folded:delete"
        );
        assert_eq!(
            rows(&mut driver, "SELECT SUM(views) FROM posts").await,
            [["110"]]
        );
        let slots = sandbox.ask("SELECT COUNT(*) FROM ~.posts_slots").await;
        assert_eq!(slots, ["0"]);
        let counted = proxy.shared.metrics.statements();
        assert_eq!(counted[&Reason::Explained], 11);
        assert_eq!(counted.get(&Reason::Slotted), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_any_age_are_answered() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        for without in [0, capability::DEPRECATE_EOF] {
            let capabilities = Driver::CAPABILITIES & !without;
            let driver = connect_as(&proxy.address, Some(&sandbox.schema), capabilities).await;
            let mut driver = driver.expect("a login");
            assert_eq!(plan(&mut driver, INCREMENT).await, "slotted");
            assert_eq!(rows(&mut driver, "SELECT 1").await, [["1"]]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_statements_only_the_explained_one_is_not_run() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let mut driver = at(&proxy.address, &sandbox).await;
        run(
            &mut driver,
            &format!("EXPLAIN FORMAT=COUNTERSINK DELETE FROM posts; {INCREMENT}; SELECT 1"),
        )
        .await;
        assert_eq!(
            rows(&mut driver, "SELECT SUM(views) FROM posts").await,
            [["111"]]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_run_it_either() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let question = format!("EXPLAIN FORMAT=COUNTERSINK {INCREMENT}");
        let mut direct = at(single(flavour), &sandbox).await;
        let answer = format!("{:?}", direct.query(&question).await);
        assert!(answer.contains("1791"), "{answer}");
        // The binary protocol goes to the server.
        let options = OptsBuilder::from_opts(sandbox.server.clone())
            .ip_or_hostname(proxy.address.host.clone())
            .tcp_port(proxy.address.port)
            .db_name(Some(sandbox.schema.clone()));
        let mut conn = Conn::new(options).await.expect("a login");
        let answer = conn.exec_drop(&question, ()).await;
        assert!(format!("{answer:?}").contains("1791"), "{answer:?}");
        conn.disconnect().await.expect("a goodbye");
        assert_eq!(sandbox.ask("SELECT SUM(views) FROM ~.posts").await, ["110"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_left_alone_is_told_so() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let options = OptsBuilder::from_opts(sandbox.server.clone())
            .ip_or_hostname(proxy.address.host.clone())
            .tcp_port(proxy.address.port)
            .connect_attribute("program_name", "sleepwalker");
        let mut conn = Conn::new(options).await.expect("a login");
        let question = format!(
            "EXPLAIN FORMAT=COUNTERSINK DELETE FROM {}.posts",
            sandbox.schema
        );
        let answer: Vec<(String, String, String)> = conn.query(question).await.expect("rows");
        assert_eq!(answer[0].2, "forwarded:off");
        conn.disconnect().await.expect("a goodbye");
    }
}

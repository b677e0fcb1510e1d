//! How `serve` begins and ends.

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use tokio::net::TcpStream;

use super::stage::{POSTS, through};
use crate::support::binary::{Ended, PATIENCE, Serving};
use crate::support::{Sandbox, countersink, servers};

#[tokio::test]
async fn ends_at_sigterm_and_at_ctrl_c_though_clients_are_there() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        for signal in ["TERM", "INT"] {
            let serving = Serving::start(&sandbox.rules("columns: [views]"));
            let serving = serving.expect("it serves");
            let mut client = through(&sandbox, &serving).await;
            serving.binary.signal(signal);
            let Ended { code, errors, .. } = serving.binary.wait();
            assert_eq!(code, Some(0), "SIG{signal}: {errors}");
            assert!(errors.trim_end().ends_with("stopped"), "{errors}");
            assert!(client.ping().await.is_err(), "it is closed");
        }
    }
}

#[tokio::test]
async fn lets_an_open_transaction_end() {
    let table = "CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO ~.posts VALUES (1, 0)";
    for server in servers() {
        let sandbox = Sandbox::new(&server, table).await;
        let serving = Serving::start(&sandbox.rules("columns: [views]"));
        let serving = serving.expect("it serves");
        let mut client = through(&sandbox, &serving).await;
        let increment = format!("UPDATE {}.posts SET views = views + 1", sandbox.schema);
        client.query_drop("BEGIN").await.expect("begun");
        client.query_drop(&increment).await.expect("counted");
        serving.binary.signal("TERM");
        until_nobody_listens(&serving).await;
        client.query_drop(&increment).await.expect("counted");
        client.query_drop("COMMIT").await.expect("committed");
        let Ended { code, errors, .. } = serving.binary.wait();
        assert_eq!(code, Some(0), "{errors}");
        let value = "SELECT CAST(views + (SELECT COALESCE(SUM(views), 0) FROM ~.posts_slots) AS CHAR) FROM ~.posts";
        assert_eq!(sandbox.ask(value).await, ["2"]);
    }
}

async fn until_nobody_listens(serving: &Serving) {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(serving.address).await.is_ok() {
        assert!(Instant::now() < deadline, "it goes on listening");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn clients_come_over_a_unix_socket_too() {
    let table = "CREATE TABLE ~.posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO ~.posts VALUES (1, 0)";
    for server in servers() {
        let mut sandbox = Sandbox::new(&server, table).await;
        // Nobody has logged in as this one: the server wants the password itself.
        let user = sandbox.user("BY 'secret'").await;
        sandbox.run(&format!("GRANT ALL ON ~.* TO '{user}'")).await;
        let socket = sandbox.folder.path().join("mysqld.sock");
        let listen = format!("127.0.0.1:0,unix:{}", socket.display());
        let rules = sandbox.rules("columns: [views]");
        let serving = Serving::start_with(&rules, &["--listen", &listen]);
        let serving = serving.expect("it serves");
        let mut over_tcp = through(&sandbox, &serving).await;
        let options = OptsBuilder::default()
            .socket(socket.to_str())
            .user(Some(user))
            .pass(Some("secret"))
            .db_name(Some(sandbox.schema.clone()));
        let mut client = Conn::new(options).await.expect("a login over the socket");
        let increment = format!("UPDATE {}.posts SET views = views + 1", sandbox.schema);
        for client in [&mut client, &mut over_tcp] {
            client.query_drop(&increment).await.expect("counted");
        }
        let value: Option<u64> = client
            .query_first("SELECT views FROM posts")
            .await
            .expect("it is read");
        assert_eq!(value, Some(2));
        let Ended { code, errors, .. } = serving.stop();
        assert_eq!(code, Some(0), "{errors}");
        assert!(
            errors.contains(&format!(" and unix:{}", socket.display())),
            "{errors}"
        );
        assert!(!socket.exists(), "it goes with the proxy");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules("columns: [views]");
        let taken = format!("127.0.0.1:{}", server.tcp_port());
        let (code, _, errors) = countersink(&["serve", "--listen", &taken], &rules);
        let expected = format!("countersink: {}: listen: {taken}: ", rules.display());
        assert!(errors.contains(&expected), "{errors}");
        assert_eq!(code, 1, "{errors}");
    }
}

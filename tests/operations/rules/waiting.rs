//! What `serve` waits for: a server that is not there yet, and tables that are made later.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use countersink_sandbox::Address;
use mysql_async::Opts;
use mysql_async::prelude::Queryable;
use tokio::net::TcpListener;

use super::stage::{POSTS, slot_tables, through};
use crate::support::binary::{Binary, Ended, PATIENCE, Serving};
use crate::support::forwarder::Forwarder;
use crate::support::http::get;
use crate::support::{Sandbox, servers};

/// Has the rules lead to another port of this machine, and open one for HTTP, where it then is.
async fn lead_to(rules: &Path, sandbox: &Sandbox, port: u16) -> SocketAddr {
    let http = free_address().await;
    let text = std::fs::read_to_string(rules).expect("rules");
    let server = format!(":{}\n", sandbox.server.tcp_port());
    let text = text.replacen(&server, &format!(":{port}\nhttp: {http}\n"), 1);
    std::fs::write(rules, text).expect("rules can be written");
    http
}

/// Where nobody listens.
async fn free_address() -> SocketAddr {
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    nobody.local_addr().expect("an address")
}

fn address(server: &Opts) -> Address {
    Address {
        host: server.ip_or_hostname().to_owned(),
        port: server.tcp_port(),
        user: server.user().unwrap_or_default().to_owned(),
        password: server.pass().unwrap_or_default().to_owned(),
    }
}

fn serve(rules: &Path) -> Binary {
    let rules = rules.to_str().expect("UTF-8");
    Binary::start(&["serve", "--listen", "127.0.0.1:0", "--rules", rules])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules("columns: [views]");
        let address = address(&server);
        let forwarder = Forwarder::start(&address).await;
        let closed = free_address().await;
        forwarder.lead_to(&Address {
            port: closed.port(),
            ..address.clone()
        });
        let http = lead_to(&rules, &sandbox, forwarder.upstream().port).await;
        let mut binary = serve(&rules);
        let why = binary.wait_for("not serving yet: upstream: ");
        let why = why.expect("it does not end");
        let (_, why) = why.trim_end().split_once(" not serving").expect("why");
        let unavailable = (503, format!("not serving{why}\n"));
        for path in ["/readyz", "/metrics", "/status.json", "/traffic.json"] {
            assert_eq!(get(http, path), unavailable, "{path}");
        }
        assert_eq!(get(http, "/healthz"), (200, "ok\n".to_owned()));
        forwarder.lead_to(&address);
        let listening = binary.address_behind("listening on ");
        let serving = Serving {
            binary,
            address: listening.expect("it serves"),
        };
        // It says that it listens, then it is ready.
        let deadline = Instant::now() + PATIENCE;
        while get(http, "/readyz") != (200, "ready\n".to_owned()) {
            assert!(Instant::now() < deadline, "it is ready");
        }
        let posts = format!("SELECT COUNT(*) FROM {}.posts", sandbox.schema);
        let mut client = through(&sandbox, &serving).await;
        let asked = client.query_first(posts).await;
        assert_eq!(asked.expect("an answer"), Some(0));
        let Ended { code, errors, .. } = serving.stop();
        assert_eq!(code, Some(0), "{errors}");
        assert_eq!(errors.matches("not serving yet").count(), 1, "{errors}");
    }
}

#[tokio::test]
async fn a_server_that_never_comes_is_waited_for_until_the_signal() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules("columns: [views]");
        let port = free_address().await.port();
        lead_to(&rules, &sandbox, port).await;
        let mut binary = serve(&rules);
        let why = binary.wait_for("not serving yet: ").expect("it waits");
        let expected = format!("upstream: 127.0.0.1:{port} cannot be reached: ");
        assert!(why.contains(&expected), "{why}");
        assert!(
            why.contains("; start the server, or correct upstream"),
            "{why}"
        );
        binary.signal("TERM");
        let Ended { code, errors, .. } = binary.wait();
        assert_eq!(code, Some(0), "{errors}");
    }
}

/// An application is installed through the proxy.
#[tokio::test]
async fn a_rule_waits_for_its_table() {
    const OTHERS: &str = "CREATE TABLE ~.authors (id INT PRIMARY KEY, followers INT NOT NULL); \
                          INSERT INTO ~.authors VALUES (1, 0)";
    for server in servers() {
        let sandbox = Sandbox::new(&server, OTHERS).await;
        let rules = sandbox.rules_as(
            &sandbox.owner(),
            "counters:\n- {table: ~.posts, columns: [views], rest: never}\n- {table: ~.authors, columns: [followers]}\n",
        );
        let mut serving = Serving::start(&rules).expect("it serves");
        let mut client = through(&sandbox, &serving).await;
        let run = async |client: &mut mysql_async::Conn, text: &str| {
            let text = text.replace('~', &sandbox.schema);
            let done = client.query_drop(&text).await;
            done.unwrap_or_else(|error| panic!("{text}: {error}"));
        };
        run(
            &mut client,
            "UPDATE ~.authors SET followers = followers + 1",
        )
        .await;
        run(
            &mut client,
            &POSTS.replace("BIGINT UNSIGNED PRIMARY", "INT PRIMARY"),
        )
        .await;
        run(&mut client, "INSERT INTO ~.posts (id) VALUES (1)").await;
        let increment = "UPDATE ~.posts SET views = views + 1 WHERE id = 1";
        run(&mut client, increment).await;
        let in_force = format!("{}.posts: in force", sandbox.schema);
        serving.binary.wait_for(&in_force).expect("it is in force");
        let slot_tables = slot_tables(&sandbox).await;
        assert!(
            slot_tables.contains(&"posts_slots".to_owned()),
            "{slot_tables:?}"
        );
        run(&mut client, increment).await;
        let value = format!("SELECT views FROM {}.posts", sandbox.schema);
        let value: Option<u64> = client.query_first(value).await.expect("an answer");
        assert_eq!(value, Some(2));
        let Ended { code, errors, .. } = serving.stop();
        assert_eq!(code, Some(0), "{errors}");
        let waits = format!("no table {}.posts can be seen", sandbox.schema);
        assert!(errors.contains(&waits), "{errors}");
        assert!(errors.contains("; the rule waits for that"), "{errors}");
    }
}

/// What it has said to other proxies by then is lost with its connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_agrees_again_after_a_lost_connection() {
    let tables = 1..=4;
    let schema = tables
        .clone()
        .map(|table| POSTS.replace("~.posts", &format!("~.posts_{table}")) + ";");
    let schema: String = schema.collect();
    let rules = tables
        .map(|table| format!("- {{table: ~.posts_{table}, columns: [views], rest: never}}\n"));
    let rules = format!("counters:\n{}", rules.collect::<String>());
    for server in servers() {
        let sandbox = Sandbox::new(&server, &schema).await;
        let rules = sandbox.rules_as(&sandbox.owner(), &rules);
        // Between two rules there is time for it.
        let far = Duration::from_millis(20);
        let forwarder = Forwarder::start_far_from(&address(&server), far).await;
        lead_to(&rules, &sandbox, forwarder.upstream().port).await;
        let mut binary = serve(&rules);
        binary.wait_for(": in force").expect("it starts");
        forwarder.cut();
        binary.address_behind("listening on ").expect("it serves");
        binary.signal("TERM");
        let Ended { code, errors, .. } = binary.wait();
        assert_eq!(code, Some(0), "{errors}");
        assert!(!errors.contains("not in force yet"), "{errors}");
        // The first one is once more.
        assert!(errors.matches(": in force").count() > 4, "{errors}");
    }
}

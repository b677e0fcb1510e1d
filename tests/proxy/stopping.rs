//! Told to stop, the proxy closes idle sessions at once and lets open transactions end, for a time; another may take
//! over its port.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersink::driver::{Driver, Error};
use countersink::net::ReadError;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Flavour;

use crate::support;
use crate::support::binary::{Binary, Serving, rules_file};
use crate::support::client::{connect, connect_as, create_schema, number, run};
use crate::support::proxy::{Proxy, rules_head};
use crate::support::twin::twin;

const SCHEMA: &str = "cs_stopping";

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0);
    INSERT INTO posts (id) VALUES (1)";

fn rules(schema: &str) -> String {
    format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n")
}

#[test]
fn idle_sessions_close_and_open_transactions_end() {
    support::block_on(async {
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, SCHEMA, POSTS).await;
        let proxy = Proxy::start(upstream, &rules(SCHEMA));
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

/// A transaction that does not end is rolled back when its time is over.
#[test]
fn open_transactions_have_drain_timeout() {
    support::block_on(async {
        let schema = "cs_stopping_late";
        let upstream = &twin(Flavour::MySql).proxied;
        let mut direct = create_schema(upstream, schema, POSTS).await;
        let proxy = Proxy::start(
            upstream,
            &format!("drain_timeout: 300ms\n{}", rules(schema)),
        );
        let mut busy = connect(&proxy.address, None).await;
        run(&mut busy, "BEGIN").await;
        run(
            &mut busy,
            &format!("UPDATE {schema}.posts SET views = views + 1 WHERE id = 1"),
        )
        .await;
        let told = Instant::now();
        drop(proxy);
        let most = Duration::from_secs(8);
        assert!(told.elapsed() < most, "the default is 10 s");
        expect_closed(&mut busy).await;
        let value = format!("SELECT views FROM {schema}.posts WHERE id = 1 FOR UPDATE");
        assert_eq!(number(&mut direct, &value).await, 0);
    });
}

/// Clients that connect all the time meet nobody who refuses them while one process takes over from another.
#[test]
fn a_new_process_takes_over_the_port() {
    support::block_on(async {
        let schema = "cs_stopping_takeover";
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, POSTS).await;
        let (_folder, file) = rules_file(&(rules_head(upstream) + &rules(schema)));
        let old = Serving::start(&file).expect("it serves");
        let address = old.in_front_of(upstream);
        let listen = old.address.to_string();
        let Err(twice) = Serving::start_with(&file, &["--listen", &listen]) else {
            panic!("two share a port, and nobody has asked for it");
        };
        assert!(
            twice.errors.contains("serve --take-over"),
            "{}",
            twice.errors
        );

        let over = Arc::new(AtomicBool::new(false));
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (address, over) = (address.clone(), Arc::clone(&over));
            clients.spawn(async move {
                let mut increments = 0;
                while !over.load(Ordering::Relaxed) {
                    let connected = connect_as(&address, Some(schema), Driver::CAPABILITIES).await;
                    let mut client = connected.expect("nobody refuses");
                    run(
                        &mut client,
                        "UPDATE posts SET views = views + 1 WHERE id = 1",
                    )
                    .await;
                    increments += 1;
                }
                increments
            });
        }
        let new = Serving::start_with(&file, &["--take-over", "--listen", &listen])
            .expect("it takes over");
        let ended = old.stop();
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        connect(&address, Some(schema)).await;
        over.store(true, Ordering::Relaxed);
        let mut increments = 0;
        while let Some(client) = clients.join_next().await {
            increments += client.expect("a client that sees no error");
        }
        let mut client = connect(&address, Some(schema)).await;
        assert_eq!(
            number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
            increments
        );
        assert!(increments > 8, "{increments} were few");
        assert_eq!(new.stop().code, Some(0));
    });
}

/// Both would count apart at one address, so the new process shows its metrics when the old one has ended.
#[test]
fn metrics_are_taken_over_behind_the_port() {
    support::block_on(async {
        let schema = "cs_stopping_metrics";
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, POSTS).await;
        let text = |http: &str| rules_head(upstream) + &format!("http: {http}\n") + &rules(schema);
        let (_folder, file) = rules_file(&text("127.0.0.1:0"));
        let shown = |serving: &mut Serving| {
            let line = serving.binary.wait_for("metrics at http://");
            line.expect("it says where")
        };
        let mut old = Serving::start(&file).expect("it serves");
        let line = shown(&mut old);
        let (_, address) = line.split_once("http://").expect("an address");
        let address = address.split('/').next().expect("an address");
        let (_folder, file) = rules_file(&text(address));
        let listen = old.address.to_string();
        let mut new = Serving::start_with(&file, &["--take-over", "--listen", &listen])
            .expect("it takes over");
        assert_eq!(old.stop().code, Some(0));
        assert!(shown(&mut new).trim_end().ends_with("/metrics"));
        assert!(std::net::TcpStream::connect(address).is_ok());
        let ended = new.stop();
        assert_eq!(ended.code, Some(0));
        let told = format!("http: {address} is taken over when the other process has ended");
        assert!(ended.errors.contains(&told), "{}", ended.errors);
    });
}

#[test]
fn systemd_is_told() {
    let schema = "cs_stopping_systemd";
    let upstream = &twin(Flavour::MySql).proxied;
    support::block_on(async {
        create_schema(upstream, schema, POSTS).await;
    });
    let (folder, file) = rules_file(&(rules_head(upstream) + &rules(schema)));
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket
        .set_read_timeout(Some(support::binary::PATIENCE))
        .expect("a timeout");
    let told = || {
        let mut bytes = [0; 100];
        let length = socket.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let path = path.to_str().expect("UTF-8");
    let file = file.to_str().expect("UTF-8");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--rules", file];
    let serving = Binary::start_with(&arguments, &[("NOTIFY_SOCKET", path)]);
    assert_eq!(told(), "READY=1\n");
    serving.signal("TERM");
    assert_eq!(told(), "STOPPING=1\n");
    assert_eq!(serving.wait().code, Some(0));
}

/// Waits for a packet and finds that there is none.
async fn expect_closed(client: &mut Driver) {
    let answer = client.packets(ResponseKind::Single).await;
    assert!(
        matches!(answer, Err(Error::Read(ReadError::Closed))),
        "{answer:?}"
    );
}
